"""Bounds that nobody declared, chosen for each question from what was learnt of its tables.

Few rows of a person, or narrow clamps, take much off an answer; many, or wide ones, add noise. What both are expected
to do follows from the learnt histograms and from the noise of the question planned with one row of a person, so that
the best bounds do too: the choice is made of public facts alone, and whatever it is, the plan is as private
[AKMV19, Section 3]. The noise of a total grows as the rows of one person, and as the width of the clamps.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from math import ceil, floor, log2, pi, prod, sqrt
from typing import Protocol

import numpy as np
from sqlglot import exp

from obverse.data.learnt import Binned, Numbers, Sizes
from obverse.data.schema import Column, Schema, Type
from obverse.errors import BadQuestion
from obverse.loss.loss import Loss
from obverse.mechanisms.gaussian import Gaussian
from obverse.query.choose import Noisy, NoisyTotal
from obverse.query.plan import AskPlan
from obverse.query.recipes import Total
from obverse.query.relation import Relation
from obverse.synthesise.measure import Read

ROUNDS = 3  # rows and clamps are chosen in turn
FINE = 2.0**20  # the narrowest clamp that is tried, of the widest


class Celled(Protocol):
    """A plan that counts cells."""

    @property
    def relation(self) -> Relation: ...

    @property
    def read(self) -> Read: ...

    @property
    def guarantee(self) -> Loss: ...


@dataclass(frozen=True)
class Wish:
    """What one aggregate is made of: a total that adds up or a mean, and its noise with one row of a person.

    `width` is that of the values that are added up, 0 where rows are counted or a value is found by its rank.
    """

    adds: bool
    noise: float
    width: float


def widest(schemas: Mapping[str, Schema]) -> Mapping[str, Schema]:
    """The tables with every number that was learnt of clamped as widely as anybody is expected to be."""
    if all(schema.learnt is None for schema in schemas.values()):
        return schemas
    return {name: _widest(schema) for name, schema in schemas.items()}


@lru_cache(maxsize=64)
def _widest(schema: Schema) -> Schema:
    if schema.learnt is None:
        return schema
    return replace(schema, columns=tuple(_unclamped(schema, column) for column in schema.columns))


def _unclamped(schema: Schema, column: Column) -> Column:
    sizes = _learnt(schema, column)
    if sizes is None:
        return column
    ends = [max((float(each.largest) for each in side), default=0.0) for side in sides(sizes)]
    return clamped(column, *ends)


def _learnt(schema: Schema, column: Column) -> Sizes | None:
    """What was learnt of a column that needs it, if anybody was seen there."""
    sizes = None if column.bounded or schema.learnt is None else schema.learnt.sizes(column.name)
    return sizes if sizes is not None and seen(sizes) else None


def sides(sizes: Sizes) -> tuple[list[Binned], list[Binned]]:
    """Who may be above 0, and who below it."""
    above, below = ([b for b in (one, sizes.mixed) if b.expected] for one in (sizes.positive, sizes.negative))
    return above, below


def clamped(column: Column, high: float, low: float) -> Column:
    """The column between −low and high, and those that were declared where one was."""
    ends = Fraction(-low), Fraction(high)
    if column.type is Type.INTEGER:
        limit = Fraction(2**62)
        ends = max(ends[0], -limit), min(ends[1], limit)
    below = ends[0] if column.low is None else column.low
    above = ends[1] if column.high is None else column.high
    if not isinstance(below, Fraction) or not isinstance(above, Fraction) or below >= above:
        return column
    return replace(column, low=below, high=above, told=False)


def chosen(plan: AskPlan, schemas: Mapping[str, Schema]) -> Mapping[str, Schema] | None:
    """The tables with the bounds that suit a question planned with the widest; None where none was to be chosen."""
    private = _known(plan.question.relation.private)
    used = columns_used(plan)
    open_ = {schema.name: free(schema, used) for schema in private}
    if all(schema.unit.told and not open_[schema.name] for schema in private):
        return None
    wishes, groups = _wishes(plan), _groups(plan)
    return {
        **schemas,
        **{schema.name: _Fit(schema, open_[schema.name], wishes, groups).schema for schema in private},
    }


def chosen_cells(plan: Celled, schemas: Mapping[str, Schema]) -> Mapping[str, Schema] | None:
    """The same for a question whose rows are drawn from the counts of cells: each cell is a group."""
    private = _known(plan.relation.private)
    if all(schema.unit.told for schema in private):
        return None
    noise = float(plan.read.sensitivity.l1 * plan.read.grid) / plan.guarantee.epsilon(1e-6)
    cells = float(prod(plan.read.shape))
    fitted = {
        schema.name: _Fit(schema, {}, (Wish(True, noise, 0.0),), cells).schema
        for schema in map(_widest, private)
    }
    return {**widest(schemas), **fitted}


def _known(private: tuple[Schema, ...]) -> tuple[Schema, ...]:
    """The same tables, of each of which it is known how many rows of a person count, or how to choose it."""
    for schema in private:
        if not schema.unit.told and counted(schema) is None:
            raise BadQuestion(
                f"how many rows of one {schema.unit.column} of {schema.name} count was not declared: add rows to its "
                f"unit, or learn it once with obverse register {schema.name} --epsilon 0.1"
            )
    return private


def counted(schema: Schema) -> Binned | None:
    """People by how many rows they have, if that was learnt and anybody was seen."""
    rows = None if schema.learnt is None else schema.learnt.rows
    return rows if rows is not None and rows.expected else None


def columns_used(plan: AskPlan) -> set[str]:
    """The columns that aggregates are made of, as table.column; of a subquery's numbers all columns that are in it."""
    relation = plan.question.relation
    asked = [each.value.sql for each in plan.question.aggregates if each.value is not None]
    columns = {node for sql in asked for node in sql.find_all(exp.Column)}
    fields = [field for field in relation.fields if field.typed.sql in columns]
    used = {field.origin for field in fields}
    if "" in used:
        names = {node.name for node in relation.rows.source.find_all(exp.Column)}
        used |= {f"{s.name}.{c.name}" for s in relation.schemas for c in s.columns if c.name in names}
    return used


def free(schema: Schema, used: set[str]) -> dict[Column, Sizes]:
    """The columns whose clamps are to be chosen, and what was learnt of them."""
    learnt = schema.learnt
    columns = [c for c in schema.columns if not c.told and f"{schema.name}.{c.name}" in used]
    return {c: sizes for c in columns if learnt is not None and (sizes := learnt.sizes(c.name)) is not None}


def _groups(plan: AskPlan) -> float:
    """How many groups the rows are spread over; where they are found, as many as may have people enough to be named."""
    if plan.naming is None:
        return float(max(1, len(plan.groups())))
    rows = [counted(schema) for schema in plan.question.relation.private]
    people = max((each.people for each in rows if each is not None), default=1.0)
    return max(1.0, people / (2 * plan.naming.mechanism.interval(0.5)))


def _wishes(plan: AskPlan) -> tuple[Wish, ...]:
    """What each aggregate is made of; a number of people, which no bound takes anything off, wishes nothing."""
    wishes, each = [], by_person(plan)
    for recipe in plan.recipes:
        noisy = plan.numbers[recipe.totals[0]]
        if cut(plan, noisy):
            valued = not (noisy.measure.counts or noisy.measure.distinct or each)
            wide = float((noisy.measure.high - noisy.measure.low) * noisy.measure.grid)
            width = wide if valued and isinstance(noisy, NoisyTotal) else 0.0
            wishes.append(Wish(each or isinstance(recipe, Total), _noise(noisy), width))
    return tuple(wishes)


def by_person(plan: AskPlan) -> bool:
    """Whether a subquery has put together what one person has: then numbers are cut where rows would be."""
    return plan.question.relation.rows.source.find(exp.Group) is not None


def cut(plan: AskPlan, noisy: Noisy) -> bool:
    """Whether the bound on a person's rows takes anything off a total: not off a number of people."""
    if by_person(plan):
        return not noisy.measure.counts
    return bool(plan.question.keys) or not noisy.measure.people


def _noise(noisy: Noisy) -> float:
    """How far noise moves a total on average; of a value found by rank, by how many ranks it often is off."""
    if not isinstance(noisy, NoisyTotal):
        return noisy.off(0.5)
    if isinstance(noisy.mechanism, Gaussian):
        return sqrt(2 / pi * float(noisy.mechanism.variance)) * float(noisy.grid)
    return float(noisy.mechanism.scale * noisy.grid)


@dataclass
class _Fit:
    """A table's bounds, brought nearer to the best ones in turn."""

    schema: Schema
    free: dict[Column, Sizes]
    wishes: tuple[Wish, ...]
    groups: float

    def __post_init__(self) -> None:
        self.rows, unit = counted(self.schema), self.schema.unit
        self.most, self.narrow = unit.rows, dict.fromkeys(self.free, 1.0)
        fitted = dict[str, Column]()
        for _ in range(ROUNDS if self.free else 1):
            if not unit.told:
                self.most = self._most()
            fitted = {column.name: self._narrowed(column) for column in self.free}
        columns = tuple(fitted.get(column.name, column) for column in self.schema.columns)
        self.schema = replace(self.schema, unit=replace(unit, rows=self.most), columns=columns)

    def _most(self) -> int:
        """As many rows of a person as are expected to lose least."""
        assert self.rows is not None
        tried = candidates(float(self.rows.largest))
        tried = tried[tried == np.floor(tried)]
        sizes, people = self.rows.points
        kept = np.minimum(sizes, tried[:, None]) @ people
        missing, moved = 1 - kept / self.rows.total, shift(self.rows, tried) * sqrt(self.groups)
        lost = missing / FINE
        for wish in self.wishes:
            noise = tried * self._relative(wish) * self.groups
            lost += missing + noise / self.rows.total if wish.adds else moved + noise / kept
        return int(tried[int(np.argmin(lost))])

    def _relative(self, wish: Wish) -> float:
        """The noise of one row of a person beside what a row usually adds."""
        if not wish.width:
            return wish.noise
        if not self.free:
            return wish.noise / (wish.width / 4)
        return wish.noise * min(self.narrow.values()) / min(map(mean, self.free.values()))

    def _narrowed(self, column: Column) -> Column:
        """The column between the clamps that are expected to lose least."""
        sizes = self.free[column]
        ends = [self._end(side, sizes) for side in sides(sizes)]
        found = clamped(replace(column, low=None, high=None), *ends)
        self.narrow[column] = width(found) / width(column)
        return found

    def _end(self, side: list[Binned], sizes: Sizes) -> float:
        """How far one side is to reach."""
        if not side:
            return 0.0
        largest = max(float(each.largest) for each in side)
        tried = candidates(largest, largest / FINE)
        over = np.zeros(len(tried))
        for each in side:
            over += np.maximum(each.points[0] - tried[:, None], 0) @ each.points[1]
        wide = [wish.noise / wish.width for wish in self.wishes if wish.width]
        noise = self._each() * self.groups * (sum(wide) + 1 / FINE) / mean(sizes)
        return float(tried[int(np.argmin(max(1, len(wide)) * over / total(sizes) + noise * tried))])

    def _each(self) -> float:
        """How much of the noise of one row of a person there is for each row that counts."""
        if self.rows is None:
            return 1 / max(1.0, max(sum(part.people for part in seen(sizes)) for sizes in self.free.values()))
        return self.most / max(1.0, self.rows.total - self.rows.beyond(self.most))


def candidates(largest: float, least: float = 1.0) -> Numbers:
    """What is tried: each power of two from `least` to `largest`, and three steps between it and the next."""
    bottom, top = floor(log2(least)), ceil(log2(max(largest, 2 * least)))
    found: Numbers = np.ldexp(np.array([4.0, 5.0, 6.0, 7.0]), np.arange(bottom - 2, top - 1)[:, None]).ravel()
    return found


def shift(rows: Binned, limits: Numbers) -> Numbers:
    """How far an average moves when people count for at most so many rows, in spreads of what people have.

    Where a person's rows are alike, and people's are not more alike for their number, the average of all rows weighs
    each person by their rows: it moves by the root of the sum of the squares of what their weights move by.
    """
    sizes, people = rows.points
    before = sizes / rows.total
    counted = np.minimum(sizes, limits[:, None])
    after = counted / (counted @ people)[:, None]
    found: Numbers = np.sqrt((after - before) ** 2 @ people)
    return found


def seen(sizes: Sizes) -> list[Binned]:
    """Where anybody was seen."""
    return [part for part in (sizes.positive, sizes.negative, sizes.mixed) if part.expected]


def total(sizes: Sizes) -> float:
    """The sum of all people's largest |x|, about."""
    return sum(part.total for part in seen(sizes))


def mean(sizes: Sizes) -> float:
    """The mean of them."""
    return total(sizes) / sum(part.people for part in seen(sizes))


def bounds(column: Column) -> tuple[float, float]:
    """The bounds of a number that has them."""
    assert isinstance(column.low, Fraction) and isinstance(column.high, Fraction)
    return float(column.low), float(column.high)


def width(column: Column) -> float:
    """How far they are apart."""
    low, high = bounds(column)
    return high - low
