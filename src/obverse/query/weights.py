"""A question's conditions, keys and numbers on the cells of a release: how much each cell counts in each total."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import prod

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from obverse.data.bounding import Measure
from obverse.data.schema import Category
from obverse.mechanisms.strategy import Floats
from obverse.query.cells import bare, breaks, columns, conjuncts, evaluate
from obverse.query.kept import Group
from obverse.query.plan import AskPlan
from obverse.query.publication import FINE, Counts, PublishPlan, Weights
from obverse.query.ranges import Scalar
from obverse.synthesise.domain import Span

MOST = 100_000  # cells that one expression is evaluated on
Key = tuple[Category | None, ...]


class Untold(Exception):
    """The release does not tell it."""


@dataclass(frozen=True, eq=False)
class Published:
    """A release that left: its name, its receipt's number, its plan, and its cells in steps of 1/FINE of a row."""

    name: str
    number: int
    plan: PublishPlan
    counts: Counts


def step(plan: AskPlan, place: int) -> Fraction:
    """What a total is rounded to: a count to whole rows."""
    noisy = plan.noisy[place]
    return Fraction(1) if noisy.measure.counts else noisy.grid


class Told:
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
            noisy, least = self.plan.noisy[number], step(self.plan, number)
            rows = Fraction(_total(self.release.counts, weights)) / FINE
            found.append(int(round(rows * noisy.measure.grid / least) * least / noisy.grid))
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
