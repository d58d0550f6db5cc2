"""Ask: a question in SQL, taken through the passes in order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from sqlglot import exp

from obverse.data.schema import Schema
from obverse.errors import BadQuestion
from obverse.query.answer import Answer
from obverse.query.bigquery import asked
from obverse.query.bound import bound
from obverse.query.choose import choose, name
from obverse.query.chosen import chosen, chosen_cells, widest
from obverse.query.parse import Parsed, parse
from obverse.query.plan import AskPlan
from obverse.query.within import aimed, further
from obverse.release import Terms

if TYPE_CHECKING:
    from obverse.query.rows import RowsPlan

NAMING = 2  # to name groups costs as much as so many statistics of them


@dataclass(frozen=True)
class Ask:
    """A question in SQL: `DP-SELECT 0.5 COUNT(*) FROM people`, or a plain SELECT at the account's default ε."""

    sql: str
    second: Fraction | None = None

    def __str__(self) -> str:
        return self.sql

    def plan(self, schemas: Mapping[str, Schema], terms: Terms) -> AskPlan | RowsPlan:
        """Planned with the widest bounds that were learnt, to see its noise, and then with those that suit it."""
        parsed = parse(self.sql)
        if _wants_rows(parsed.select):
            if parsed.options.within is not None:
                raise BadQuestion(
                    "rows that are drawn have no ±, so that WITHIN asks nothing of them: say an ε"
                )
            if parsed.options.clause is not None:
                raise BadQuestion(
                    "WITH DIFFERENTIAL_PRIVACY is of aggregates: ask for rows by DP-SELECT, or for COUNT, SUM or AVG"
                )
            from obverse.query.drawn import plan_rows  # with all that draws rows, which few questions need

            drawn = plan_rows(parsed, widest(schemas), terms)
            suited = chosen_cells(drawn, schemas)
            return drawn if suited is None else plan_rows(parsed, suited, terms)
        widely = planned(parsed, widest(schemas), terms)
        fitting = chosen(widely, schemas)
        known = widest(schemas) if fitting is None else fitting
        within = parsed.options.within
        if within is None:
            return widely if fitting is None else planned(parsed, known, terms)
        most = terms.epsilon if parsed.options.epsilon is None else parsed.options.epsilon
        return aimed(lambda epsilon: planned(parsed, known, terms, epsilon), most, within, self.second)

    def after(
        self, first: AskPlan, answer: Answer, schemas: Mapping[str, Schema], terms: Terms
    ) -> Ask | None:
        """The second question, if this one was the first of two: what it spends follows from what was released."""
        if first.aim is None or not first.aim.steps or self.second is not None:
            return None
        parsed = parse(self.sql)
        known = chosen(planned(parsed, widest(schemas), terms), schemas) or widest(schemas)
        return Ask(self.sql, further(lambda epsilon: planned(parsed, known, terms, epsilon), first, answer))


def _wants_rows(select: exp.Select) -> bool:
    """Whether a SELECT asks for rows: of no column an aggregate, and no groups."""
    if select.args.get("group") or select.args.get("having") or not select.args.get("from_"):
        return False
    return not any(
        node.find(exp.AggFunc, exp.Window, exp.Filter, exp.WithinGroup, exp.Anonymous)
        for node in select.expressions
    )


def planned(
    parsed: Parsed, schemas: Mapping[str, Schema], terms: Terms, spent: Fraction | None = None
) -> AskPlan:
    """The plan of a question about tables whose bounds are all known; it spends what it says, or what it is told to."""
    question = asked(parsed.select, schemas, parsed.options.clause)
    hidden = terms.smallest_group if question.keys else None
    bounded = bound(question, count_rows=hidden is not None)
    options = parsed.options
    rows = question.relation.rows
    epsilon = spent or options.epsilon or terms.epsilon
    delta = terms.delta if options.delta is None else options.delta
    naming, left = None, delta
    if question.found:
        share = epsilon * NAMING / (len(bounded.measures) + NAMING)
        naming = name(rows, len(question.keys), share, _needed(delta))
        epsilon, left = epsilon - share, Fraction(0)
    noisy = choose(rows, bounded.measures, bool(question.keys), epsilon, left)
    confidence = Fraction(terms.confidence) if options.confidence is None else options.confidence
    return AskPlan(
        parsed.text,
        question,
        noisy,
        bounded.recipes,
        confidence,
        hidden,
        options.nonnegative,
        naming,
        delta,
        options.fresh,
    )


def _needed(delta: Fraction) -> Fraction:
    if not delta:
        raise BadQuestion(
            "GROUP BY finds groups in the data here, and to name one a δ is needed: add categories to the schema, "
            "or end with WITH (delta = 1e-6)"
        )
    return delta
