"""What the bounds are expected to take off an answer, beside the noise: known where it was learnt, and only so.

Of the learnt histograms follows which share of all rows is of people beyond the bound, and which share of all sums lies
beyond the clamps. Of a question about some of the rows, or of each of its groups, that is what to expect if those rows
are like all; where they are those of people with very many, more is missing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sqlglot import exp

from obverse.data.learnt import Binned
from obverse.data.schema import Schema, with_owners
from obverse.query.choose import NoisyTotal
from obverse.query.chosen import bounds, by_person, columns_used, counted, cut, free, shift, sides, total
from obverse.query.plan import AskPlan
from obverse.query.recipes import Mean, Recipe, Total


@dataclass(frozen=True)
class Bias:
    """What is expected to be missing of one aggregate, as a share of it; None where nobody knows.

    `moved` is how far an average or a rank may move besides, in spreads of its values; `why` says in words what is
    cut, or how it could be known.
    """

    name: str
    share: float | None
    why: str = ""
    moved: float = 0.0

    def __str__(self) -> str:
        if self.share is None:
            return f"{self.name}  unknown: {self.why}"
        moved = f", and ± {_percent(self.moved)} of the spread of its values" if self.moved else ""
        return f"{self.name}  {_percent(self.share, sign='+')}{moved}: {self.why}"


def _percent(share: float, sign: str = "-") -> str:
    return f"{100 * share:{sign}.2g} %".replace("-", "−")


def expected(plan: object) -> tuple[Bias, ...]:
    """What is expected to be missing of each aggregate from which bounds take anything; of no other plan anything."""
    if not isinstance(plan, AskPlan):
        return ()
    pairs = zip(plan.question.aggregates, plan.recipes, strict=True)
    found = (_expected(plan, aggregate.text, recipe) for aggregate, recipe in pairs)
    return tuple(bias for bias in found if bias is not None)


def told(plan: object) -> list[str]:
    """The same as lines below an answer or a preview."""
    return [f"bias of the bounds, expected: {bias}" for bias in expected(plan)]


def _expected(plan: AskPlan, name: str, recipe: Recipe) -> Bias | None:
    noisy = plan.numbers[recipe.totals[0]]
    added = isinstance(noisy, NoisyTotal) and not (noisy.measure.counts or noisy.measure.distinct)
    clamps = _clamps(plan) if added else ()  # who is how far beyond does not matter to a rank
    person = plan.question.relation.owner is not None and cut(plan, noisy)
    if not (clamps or person):
        return None
    adds = isinstance(recipe, Total) or by_person(plan)
    if clamps and not (adds or isinstance(recipe, Mean)):
        return Bias(name, None, "what clamping takes off it does not follow from how large numbers are")
    share, why = sum(part for part, _ in clamps), [said for _, said in clamps]
    if not person:
        return Bias(name, share, " and ".join(why))
    rows = _rows(plan)
    if isinstance(rows, str):
        return Bias(name, None, rows)
    most = (_schema(plan) if by_person(plan) else plan.question.relation.rows).unit.rows
    alike = "" if plan.question.where is None else ", if the rows asked for are like all"
    why.append(f"people with more than {most:,} {'row' if most == 1 else 'rows'}{alike}")
    if adds:
        return Bias(name, share - rows.beyond(most) / rows.total, " and ".join(why))
    return Bias(name, share, " and ".join(why), moved=float(shift(rows, np.array([float(most)]))[0]))


def _schema(plan: AskPlan) -> Schema:
    """The table whose people are bounded."""
    return plan.question.relation.private[0]


def _rows(plan: AskPlan) -> Binned | str:
    """People by how many rows they have, or why that is not known."""
    relation, schema = plan.question.relation, _schema(plan)
    owners = len(with_owners(schema, {each.name: each for each in relation.private})) - 1
    joins = len(
        list(relation.rows.source.find_all(exp.Join, exp.Union))
    )  # those that say whose rows these are
    if len(relation.private) > 1 + owners or joins > owners:
        return "how many rows one person has in joined tables was not learnt"
    if (rows := counted(schema)) is None:
        return f"how many rows people have was not learnt; obverse register {schema.name} --epsilon 0.1 learns it"
    return rows


def _clamps(plan: AskPlan) -> tuple[tuple[float, str], ...]:
    """What each learnt clamp takes off a sum, as a share of it, and which it is."""
    used, found = columns_used(plan), []
    for schema in plan.question.relation.private:
        for column, sizes in free(schema, used).items():
            low, high = bounds(column)
            ends, largest = (high, -low), max(total(sizes), 1e-300)
            above, below = (
                sum(each.beyond(end) for each in side) for side, end in zip(sides(sizes), ends, strict=True)
            )
            found.append(((below - above) / largest, f"{column.name} clamped to {low:,.7g} … {high:,.7g}"))
    return tuple(found)
