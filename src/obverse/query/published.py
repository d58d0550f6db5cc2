"""A question answered from what was published before, free: as totals of a release's cells, each with its own ±.

Every condition, key and number of the question is evaluated on the cells, which are public. Whatever cannot be told of
a cell as a whole, or of a column that the release has not, makes the release no answer, and the question is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import prod

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from obverse.data.bounding import Measure
from obverse.data.schema import Category
from obverse.data.table import Tables
from obverse.loss.loss import FREE, Loss
from obverse.mechanisms.strategy import Floats
from obverse.noise.entropy import Entropy
from obverse.query.answer import Answer
from obverse.query.cells import bare, breaks, columns, conjuncts, evaluate
from obverse.query.choose import NoisyTotal
from obverse.query.kept import Group
from obverse.query.plan import AskPlan
from obverse.query.publish import FINE, Counts, PublishPlan, Weights, wide
from obverse.query.relation import Relation
from obverse.query.released import Row, Scalar
from obverse.query.resolve import Question
from obverse.query.rollup import rolled_up
from obverse.release import Accuracy, Kind
from obverse.synthesise.domain import Span

MOST = 100_000  # cells that one expression is evaluated on
Key = tuple[Category | None, ...]
Whole = tuple[Key, frozenset[int]]
KNOWN = {"relation", "where", "keys", "aggregates", "items", "having", "order", "limit", "offset", "sets"}


class Untold(Exception):
    """The release does not tell it."""


@dataclass(frozen=True, eq=False)
class Published:
    """A release that left: its name, its receipt's number, its plan, and its cells in steps of 1/FINE of a row."""

    name: str
    number: int
    plan: PublishPlan
    counts: Counts


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
        asked = "; ".join(f"{each.name} ± {each.margin:,.4g}" for each in self.asked.accuracy)
        return (
            f"answered from release '{self.name}' (receipt {self.number}), ε = 0 now",
            f"asked afresh, WITH (fresh = true), it would be {asked}",
            f"each ± holds in {float(100 * self.confidence):.4g} % of runs",
        )

    @cached_property
    def _by_row(self) -> dict[Whole, tuple[float, ...]]:
        return dict(self.spreads)

    def _off(self, place: int, row: Row, confidence: float) -> Fraction:
        """The noise's ±, and what rounding to a step adds in each part."""
        spread = self._by_row[tuple(row.key), row.rolled][place]
        return Fraction(wide(confidence) * spread) + row.parts * _step(self.asked, place) / 2

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
        told = _Told(plan, release)
        totals = tuple(told.totals(group) for group in plan.groups())
        rows = rolled_up(plan.question.sets, plan.groups(), totals)
        spreads = tuple(((row.key, row.rolled), told.spreads(row.key, row.rolled)) for row in rows)
    except Untold:
        return None
    return FromRelease(plan, release.name, release.number, totals, spreads)


def _fits(plan: AskPlan, release: PublishPlan) -> None:
    """The same rows of the same table, and nothing asked but totals."""
    question = plan.question
    same = _apart_from_bounds(question.relation) == _apart_from_bounds(release.relation)
    plain = plan.naming is None and all(isinstance(each, NoisyTotal) for each in plan.noisy)
    if not same or not plain or any(each.measure.distinct or each.measure.people for each in plan.noisy):
        raise Untold
    if any(
        each.default != getattr(question, each.name) for each in fields(Question) if each.name not in KNOWN
    ):
        raise Untold  # a clause that came later, of which nothing is known here


def _apart_from_bounds(relation: Relation) -> tuple[object, ...]:
    """Whose rows these are; how many of a person's count, and which, each question may say for itself."""
    rows = relation.rows
    tables = tuple(
        (each.name, each.source, tuple(c for c in each.columns if c.told), each.unit.column)
        for each in relation.schemas
    )
    return tables, rows.source, rows.unit.column, rows.neighbours


def _step(plan: AskPlan, place: int) -> Fraction:
    """What a total is rounded to: a count to whole rows."""
    noisy = plan.noisy[place]
    return Fraction(1) if noisy.measure.counts else noisy.grid


class _Told:
    """The question's conditions, keys and numbers on the cells of a release."""

    def __init__(self, plan: AskPlan, release: Published) -> None:
        self.plan, self.release = plan, release
        self.axes = release.plan.read.axes
        fields = {field.name: field.typed.sql for field in release.plan.relation.fields}
        self.columns = [fields[axis.name] for axis in self.axes]
        self.where = [self.over(each, lambda told: told is True) for each in conjuncts(plan.question.where)]
        self.keys = [self._key(key.sql, key.domain or ()) for key in plan.question.keys]
        self.measures = [self._measure(each.measure) for each in plan.noisy]
        self.domains: list[tuple[Category | None, ...]] = [key.domain or () for key in plan.question.keys]

    def over(self, tree: exp.Expr, read: Callable[[Scalar], float]) -> Weights:
        """What `read` makes of an expression in each combination of its columns' cells."""
        used = columns(tree)
        places = tuple(place for place, column in enumerate(self.columns) if column in used)
        told = evaluate(tree, *(self.columns[place] for place in places))
        axes = [self.axes[place] for place in places]
        spans = any(isinstance(held, Span) for axis in axes for held in axis.holds)
        sizes = [axis.size for axis in axes]
        if told is None or len(places) < len(used) or prod(sizes) > MOST or (spans and not bare(tree)):
            raise Untold
        probes = [axis.probes(breaks(tree, axis.type)) for axis in axes]
        found = []
        for combination in product(*probes):
            seen = {read(told(*values)) for values in product(*combination)}
            if len(seen) > 1:
                raise Untold
            found.append(seen.pop())
        return places, np.array(found, np.float64).reshape(sizes)

    def _key(self, tree: exp.Expr, domain: tuple[Scalar, ...]) -> Weights:
        known = {value: place for place, value in enumerate(domain)}
        return self.over(tree, lambda value: -1 if value is None else known.get(value, -1))

    def _measure(self, measure: Measure) -> Weights | None:
        if measure.value is None:
            return None
        return self.over(measure.value, _there if measure.counts else _number)

    def totals(self, group: Group) -> tuple[int, ...]:
        """Each total of a group, in steps of the plan's own."""
        found = []
        for number, weights in enumerate(self._weights(group, frozenset())):
            noisy, step = self.plan.noisy[number], _step(self.plan, number)
            rows = Fraction(_total(self.release.counts, weights)) / FINE
            found.append(int(round(rows * noisy.measure.grid / step) * step / noisy.grid))
        return tuple(found)

    def spreads(self, key: Key, rolled: frozenset[int]) -> tuple[float, ...]:
        """Of each total of a row, over all groups of the keys that are rolled up, the noise's standard deviation."""
        plan = self.release.plan
        return tuple(
            plan.spread(*weights) * float(self.plan.noisy[number].measure.grid)
            for number, weights in enumerate(self._weights(key, rolled))
        )

    def _weights(self, key: Key, rolled: frozenset[int]) -> list[tuple[Weights, ...]]:
        """For each total how much each cell counts in it."""
        inside = []
        for place, (axes, table) in enumerate(self.keys):
            kept = table >= 0 if place in rolled else table == self.domains[place].index(key[place])
            inside.append((axes, kept.astype(np.float64)))
        return [
            _disjoint([*self.where, *inside, *([] if measure is None else [measure])])
            for measure in self.measures
        ]


def _there(value: Scalar) -> float:
    return float(value is not None)


def _number(value: Scalar) -> float:
    if value is None:
        return 0.0
    if not isinstance(value, int | Fraction) or Fraction(value).denominator != 1:
        raise Untold
    return float(value)


def _disjoint(factors: list[Weights]) -> tuple[Weights, ...]:
    """The same product with no axis in two tables: those that share one are multiplied out."""
    found: list[Weights] = []
    for axes, table in factors:
        for other in [each for each in found if set(each[0]) & set(axes)]:
            found.remove(other)
            axes, table = _multiplied((axes, table), other)
        found.append((axes, table))
    return tuple(found)


def _multiplied(one: Weights, other: Weights) -> Weights:
    axes = tuple(sorted({*one[0], *other[0]}))
    return axes, _spread_out(one, axes) * _spread_out(other, axes)


def _spread_out(weights: Weights, axes: tuple[int, ...]) -> Floats:
    """The table with an axis of length one for each that it lacks."""
    order = np.argsort(weights[0])
    table = weights[1].transpose(order)
    sizes = iter(table.shape)
    return table.reshape([next(sizes) if axis in weights[0] else 1 for axis in axes])


def _total(counts: Counts, weights: tuple[Weights, ...]) -> float:
    """The weighted total of the cells."""
    left: NDArray[np.float64] = counts.astype(np.float64)
    names = list(range(counts.ndim))
    for axes, table in weights:
        left = np.tensordot(left, table, ([names.index(axis) for axis in axes], list(range(len(axes)))))
        names = [name for name in names if name not in axes]
    return float(left.sum())
