"""A question answered from what was published before, free: as totals of a release's cells, each with its own ±.

Every condition, key and number of the question is evaluated on the cells, which are public. Whatever cannot be told of
a cell as a whole, or of a column that the release has not, makes the release no answer, and the question is asked.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from fractions import Fraction
from functools import cached_property

from obverse.data.table import Tables
from obverse.loss.loss import FREE, Loss
from obverse.noise.entropy import Entropy
from obverse.query.answer import Answer
from obverse.query.choose import NoisyTotal
from obverse.query.plan import AskPlan
from obverse.query.publication import PublishPlan, wide
from obverse.query.relation import Relation
from obverse.query.released import Row
from obverse.query.resolve import Question
from obverse.query.rollup import rolled_up
from obverse.query.show import plus_minus
from obverse.query.weights import Key, Published, Told, Untold, step
from obverse.release import Accuracy, Kind

Whole = tuple[Key, frozenset[int]]
QUESTION = {
    "relation",
    "where",
    "keys",
    "aggregates",
    "items",
    "having",
    "order",
    "limit",
    "offset",
    "sets",
    "ends",
}
PLAN = {
    "text",
    "question",
    "noisy",
    "recipes",
    "confidence",
    "smallest_group",
    "nonnegative",
    "delta",
    "fresh",
    "aim",
    "kind",
}


@dataclass(frozen=True)
class FromRelease:
    """A question's plan where a release answers it: nothing is read, nothing charged.

    `spreads` is for each row that may be shown, by its key, and each of its totals the standard deviation of the
    release's noise in it.
    """

    asked: AskPlan
    name: str
    number: int
    totals: tuple[tuple[int, ...], ...]
    spreads: tuple[tuple[Whole, tuple[float, ...]], ...]
    bounds: str = ""
    delta: Fraction = Fraction(0)
    kind: Kind = field(default="answer", init=False)

    @property
    def tables(self) -> tuple[str, ...]:
        return self.asked.tables

    @property
    def guarantee(self) -> Loss:
        return FREE

    @property
    def confidence(self) -> Fraction:
        return self.asked.confidence

    @property
    def protects(self) -> str:
        return self.asked.protects

    @property
    def key(self) -> str:
        return f"{self.asked.key}\nfrom release {self.name} {self.number}"

    @property
    def accuracy(self) -> tuple[Accuracy, ...]:
        """Of each aggregate, in the group where the release's noise is largest."""
        stated, confidence = [], float(self.confidence)
        for aggregate, recipe in zip(self.asked.question.aggregates, self.asked.recipes, strict=True):
            most = max((spread[recipe.totals[0]] for _, spread in self.spreads), default=0.0)
            stated.append(Accuracy(aggregate.text, wide(confidence) * most, confidence, recipe.note))
        return tuple(stated)

    @property
    def notes(self) -> tuple[str, ...]:
        asked = "; ".join(map(plus_minus, self.asked.accuracy))
        bound = (f"in it {self.bounds}",) if self.bounds else ()
        return (
            f"answered from release '{self.name}' (receipt {self.number}), ε = 0 now",
            f"asked afresh, WITH (fresh = true), it would be {asked}",
            *bound,
            f"each ± holds in {float(100 * self.confidence):.4g} % of runs",
        )

    @cached_property
    def _by_row(self) -> dict[Whole, tuple[float, ...]]:
        return dict(self.spreads)

    def _off(self, place: int, row: Row, confidence: float) -> Fraction:
        """The noise's ±, and what rounding to a step adds in each part."""
        spread = self._by_row[tuple(row.key), row.rolled][place]
        return Fraction(wide(confidence) * spread) + row.parts * step(self.asked, place) / 2

    @property
    def answer(self) -> Answer:
        return self.asked.present(self.asked.groups(), self.totals, self.confidence, self._off)

    def at(self, answer: Answer, confidence: Fraction) -> Answer:
        """The same answer, with the ± of another confidence."""
        return self.asked.present(answer.groups, answer.totals, confidence, self._off)

    def run(self, tables: Tables, entropy: Entropy) -> Answer:
        return self.answer

    def pack(self, value: Answer) -> bytes:
        return self.asked.pack(value)

    def unpack(self, kept: bytes) -> Answer:
        return self.answer


def from_releases(plan: AskPlan, releases: Iterable[Published]) -> FromRelease | None:
    """The answer of the release that tells it best, if one does."""
    found = [told for release in releases if (told := from_release(plan, release)) is not None]
    return min(
        found, key=lambda told: max((max(each) for _, each in told.spreads), default=0.0), default=None
    )


def from_release(plan: AskPlan, release: Published) -> FromRelease | None:
    """The answer of a release; None where it does not tell it."""
    try:
        _fits(plan, release.plan)
        told = Told(plan, release)
        totals = tuple(told.totals(group) for group in plan.groups())
        rows = rolled_up(plan.question.sets, plan.groups(), totals)
        spreads = tuple(((row.key, row.rolled), told.spreads(row.key, row.rolled)) for row in rows)
    except Untold:
        return None
    found = FromRelease(plan, release.name, release.number, totals, spreads, release.plan.read.bounds)
    return found if _near(found) else None


def _near(found: FromRelease) -> bool:
    """Whether it is as accurate as the question wants it, if it wants that."""
    aim = found.asked.aim
    if aim is None:
        return True
    margins = (margin for row in found.answer.margins for margin in row if margin is not None)
    return not aim.steps and all(margin <= aim.within.margin for margin in margins)


def _fits(plan: AskPlan, release: PublishPlan) -> None:
    """The same rows of the same table, and nothing asked but totals."""
    question = plan.question
    same = _apart_from_bounds(question.relation) == _apart_from_bounds(release.relation)
    known = plan.naming is None and not question.looked_up
    plain = known and all(isinstance(each, NoisyTotal) for each in plan.noisy)
    if not same or not plain or any(each.measure.distinct or each.measure.people for each in plan.noisy):
        raise Untold
    if _says(question, QUESTION) or _says(plan, PLAN):
        raise Untold  # a clause that came later, of which nothing is known here


def _says(asked: Question | AskPlan, known: set[str]) -> bool:
    """Whether it says anything beyond what is known here, such as a clause that came later."""
    return any(each.name not in known and getattr(asked, each.name) != each.default for each in fields(asked))


def _apart_from_bounds(relation: Relation) -> tuple[object, ...]:
    """Whose rows these are; how many of a person's count, and which, each question may say for itself."""
    rows = relation.rows
    tables = tuple(
        (each.name, each.source, tuple(c for c in each.columns if c.told), each.unit.column)
        for each in relation.schemas
    )
    return tables, rows.source, rows.unit.column, rows.neighbours
