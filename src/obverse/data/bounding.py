"""At most so much of one person: the one place where values are clamped and people's rows are bounded.

A measure is a whole number a row, on a power-of-two grid fixed by declared bounds alone. Its total over a table
changes by no more than `sensitivity` when one unit comes or goes:

- unit = a row: the total changes by that row's measure, which lies in low … high.
- unit = everybody's rows by a column, at most C of them counting: a person with n > C rows has the whole vector
  of totals that their rows make scaled by C/n, towards zero. Scaling shrinks the L1 norm of a vector of n rows,
  at most n·m, to at most C·m; cutting towards zero shrinks it further. A person's part depends on their own rows
  alone, so removing them changes nobody else's.
- the same, where rows carry ranks: a person's rows are numbered 0, 1, 2, … in a secret random order that follows from
  their own rows alone, no number twice, and those below C count. Removing a person removes at most C rows and leaves
  the others as they are: the vector of totals moves by at most C·m, numbers of people by one in at most C groups.
- replace-one: one person leaves and another comes, so the two distances add up.

A row whose unit column is missing is nobody's, and counts in no answer: it would be a person by itself
(`data/unit.distance`), but together such rows might be one person's.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, floor

from sqlglot import exp

from obverse.data.forms import RANK, copied
from obverse.data.schema import Column, Neighbours, Schema, Type, Unit
from obverse.loss.loss import Sensitivity

BIGINT, DOUBLE, INT128, TEXT = (exp.DataType.build(name) for name in ("BIGINT", "DOUBLE", "INT128", "TEXT"))
FINEST = 30
COARSEST = 4094  # steps between the bounds of a histogram, and one more at either end
DIGITS = 52  # of a DOUBLE, behind the first
SCALED = 2**16
MOST_WEIGHTED = 1024


@dataclass(frozen=True)
class Rows:
    """Where rows come from, and whose they are: what stands in FROM, and the unit by a column of it.

    `bounded` says that nobody has more than `unit.rows` of those that `sampled` keeps.
    """

    source: exp.Expr
    unit: Unit
    neighbours: Neighbours = Neighbours.ADD_REMOVE
    bounded: bool = False

    @property
    def sampled(self) -> exp.Expr | None:
        """Which rows count by their ranks, where it is ranks that bound them."""
        if self.unit.rank is None:
            return None
        rank = exp.column(exp.to_identifier(self.unit.rank, quoted=True))
        first = exp.GTE(this=rank, expression=_whole(0))
        return exp.And(this=first, expression=exp.LT(this=rank, expression=_whole(self.unit.rows)))

    def fewer(self, rows: int, groups: int | None) -> Rows:
        """The same, of which no more rows of one person count.

        Where ranks are still to be looked at they say which. A subquery has looked at them, and let more of them by:
        what those add up to is scaled down.
        """
        kept = self.bounded and (self.unit.rank is not None or rows >= self.unit.rows)
        return replace(self, unit=replace(self.unit, rows=rows, groups=groups), bounded=kept)


def own(schema: Schema, *, sampled: bool = False) -> Rows:
    """A table's own rows; `sampled` takes of each person those of the lowest ranks, where rows have ranks."""
    by_rank = sampled and ranked(schema)
    unit = replace(schema.unit, rank=RANK if by_rank else None)
    name = exp.to_identifier(schema.name, quoted=True)
    return Rows(exp.Table(this=name), unit, schema.neighbours, by_rank)


def ranked(schema: Schema) -> bool:
    """Whether its rows have ranks: written by the curator, or made when the table is copied."""
    return schema.unit.column is not None and (schema.unit.rank is not None or copied(schema))


@dataclass(frozen=True)
class Measure:
    """A whole number for each row, in steps of `grid`, between `low` and `high`; NULL counts for nothing.

    `distinct` counts the different values there are instead of adding them up; `people` says that the value is
    the unit's own column.
    """

    value: exp.Expr | None
    low: int
    high: int
    grid: Fraction = Fraction(1)
    distinct: bool = False
    people: bool = False

    @property
    def counts(self) -> bool:
        """Whether it only counts rows."""
        return self.low == self.high == 1

    @property
    def largest(self) -> int:
        return max(abs(self.low), abs(self.high))


def step(low: Fraction, high: Fraction) -> Fraction:
    """The grid of numbers in low … high: a power of two, 2³⁰ to 2³¹ steps to the larger end."""
    size = max(abs(low), abs(high))
    return Fraction(2) ** (ceil_log2(size) - FINEST)


def coarse(low: Fraction, high: Fraction, *, whole: bool) -> Fraction:
    """The grid of a histogram: a power of two, at most 4,096 steps from low to high; whole numbers where they fit.

    No finer than a DOUBLE is at the larger end: then no number of steps leaves 64 bits, and no cast fails on a row.
    """
    if whole and high - low <= COARSEST:
        return Fraction(1)
    finest = Fraction(2) ** (ceil_log2(max(abs(low), abs(high))) - DIGITS)
    return max(finest, Fraction(2) ** ceil_log2((high - low) / COARSEST))


def ceil_log2(x: Fraction) -> int:
    """The least k with 2^k ≥ x > 0, or 0 for x = 0."""
    if x == 0:
        return 0
    k = x.numerator.bit_length() - x.denominator.bit_length() - 1
    while Fraction(2) ** k < x:
        k += 1
    return k


def on_grid(number: exp.Expr, low: Fraction, high: Fraction, grid: Fraction, centre: int = 0) -> exp.Expr:
    """A DOUBLE clamped to low … high in whole steps of the grid, less `centre`; NULL stays NULL.

    The ends are whole steps outside the bounds, and rounding is monotone, so what lies between the bounds lies
    between the ends: no rounding leaves them.
    """
    steps = exp.Mul(this=number, expression=_double(1 / grid))
    bottom, top = floor(low / grid), ceil(high / grid)
    near = exp.Cast(
        this=exp.Floor(this=exp.Add(this=steps, expression=_double(Fraction(1, 2)))),
        to=BIGINT,
    )
    return exp.Case(
        ifs=[
            exp.If(this=exp.GTE(this=number, expression=_double(high)), true=_whole(top - centre)),
            exp.If(this=exp.GT(this=number, expression=_double(low)), true=_less(near, centre)),
            exp.If(this=exp.LTE(this=number, expression=_double(low)), true=_whole(bottom - centre)),
        ]
    )


def clamped(number: exp.Expr, low: int, high: int, centre: int = 0) -> exp.Expr:
    """A whole number clamped to low … high, less `centre`; NULL stays NULL."""
    return exp.Case(
        ifs=[
            exp.If(this=exp.GTE(this=number, expression=_whole(high)), true=_whole(high - centre)),
            exp.If(this=exp.GT(this=number, expression=_whole(low)), true=_less(number, centre)),
            exp.If(this=exp.LTE(this=number, expression=_whole(low)), true=_whole(low - centre)),
        ]
    )


def column_on_grid(column: Column) -> tuple[exp.Expr, Fraction] | None:
    """A bounded number column as whole steps, and its grid: what an engine may prepare once for all questions."""
    if not (isinstance(column.low, Fraction) and isinstance(column.high, Fraction)):
        return None
    named = exp.column(exp.to_identifier(column.name, quoted=True))
    if column.type is Type.INTEGER:
        return clamped(named, ceil(column.low), floor(column.high)), Fraction(1)
    grid = step(column.low, column.high)
    return on_grid(named, column.low, column.high, grid), grid


def sensitivity(rows: Rows, measure: Measure, grouped: bool) -> Sensitivity:
    """How far the totals of a measure move, in `out_grid` steps, between two neighbouring tables."""
    one = _one_unit(rows, measure, grouped)
    if rows.neighbours is Neighbours.ADD_REMOVE:
        return one
    if grouped:
        return Sensitivity(2 * one.l1, 4 * one.l2_squared, 2 * one.most)
    spread = max(measure.high, 0) - min(measure.low, 0)
    return Sensitivity.of(one.l1 * spread / measure.largest if measure.largest else 0)


def _one_unit(rows: Rows, measure: Measure, grouped: bool) -> Sensitivity:
    if rows.unit.column is None or (measure.people and not grouped):
        return Sensitivity.of(measure.largest)
    if rows.bounded and measure.people:
        return Sensitivity.of(1, numbers=rows.unit.rows)
    return Sensitivity.of(Fraction(rows.unit.rows * measure.largest * _scale(rows, measure, grouped)))


def out_grid(rows: Rows, measure: Measure, grouped: bool) -> Fraction:
    """What one step of a total is worth."""
    return measure.grid / _scale(rows, measure, grouped)


def _scale(rows: Rows, measure: Measure, grouped: bool) -> int:
    """How many steps a step of a measure is divided into where people's parts are scaled down."""
    whole = measure.distinct and not (measure.people and grouped)
    return 1 if rows.unit.column is None or rows.bounded or whole else SCALED


def totals(
    rows: Rows,
    where: exp.Expr | None,
    keys: tuple[exp.Expr, ...],
    measures: tuple[Measure, ...],
) -> exp.Select:
    """One row a group: its keys, then the bounded total of each measure.

    Measures that count different values are read apart from the others: `apart` tells which go together.
    """
    if rows.unit.column is None or rows.bounded:
        return by_row(rows, where, keys, measures)
    if measures[0].distinct and not measures[0].people:
        return _distinct_by_person(rows, where, keys, measures[0])
    return _by_person(rows, where, keys, measures)


def apart(rows: Rows, measures: tuple[Measure, ...]) -> list[tuple[int, ...]]:
    """Which measures one SELECT can total together, by their places."""
    if rows.unit.column is None or rows.bounded:
        return [tuple(range(len(measures)))]
    alone = [i for i, measure in enumerate(measures) if measure.distinct and not measure.people]
    together = tuple(i for i in range(len(measures)) if i not in alone)
    return [part for part in (together, *((i,) for i in alone)) if part]


def by_row(
    rows: Rows,
    where: exp.Expr | None,
    keys: tuple[exp.Expr, ...],
    measures: tuple[Measure, ...],
) -> exp.Select:
    single = rows.bounded and rows.unit.rows == 1
    return by_key(read(rows, where), keys, [_total(measure, single=single) for measure in measures])


def _total(measure: Measure, *, single: bool = False) -> exp.Expr:
    """The total of a measure; where everybody has a `single` row, to count people is to count rows."""
    if measure.distinct and not (single and measure.people):
        return exp.Count(this=exp.Distinct(expressions=[measure.value]))
    if measure.counts:
        return exp.Count(this=measure.value or exp.Star())
    return exp.Sum(this=measure.value)


def _by_person(
    rows: Rows,
    where: exp.Expr | None,
    keys: tuple[exp.Expr, ...],
    measures: tuple[Measure, ...],
) -> exp.Select:
    """Each person's part of each group, scaled down together where they have more than their rows."""
    person = whose(rows)
    within: exp.Expr = exp.Count(this=exp.Star())
    spread: exp.Expr = exp.Count(this=exp.Star())
    if keys:
        within = _big(exp.Window(this=exp.Sum(this=within), partition_by=[person]))
        spread = exp.Window(this=spread, partition_by=[person])
    inner = read(rows, where).group_by(person, *keys)
    inner = inner.select(*[exp.alias_(key, f"k{i}") for i, key in enumerate(keys)], exp.alias_(within, "n"))
    if any(measure.people for measure in measures):
        inner = inner.select(exp.alias_(spread, "g"))
    inner = inner.select(*[exp.alias_(_total(m), f"m{i}") for i, m in enumerate(measures) if not m.people])
    outer_keys = tuple(exp.column(f"k{i}") for i in range(len(keys)))
    parts = [_part(rows, measure, i, bool(keys)) for i, measure in enumerate(measures)]
    return by_key(exp.select().from_(inner.subquery("person")), outer_keys, parts)


def _part(rows: Rows, measure: Measure, place: int, grouped: bool) -> exp.Expr:
    """A person's part, scaled. In 64 bits where bounds prove that it fits, which it does for who has few rows."""
    if measure.people and not grouped:
        return exp.Count(this=exp.Star())
    limit, scale = _whole(rows.unit.rows), _whole(SCALED)
    size, whole, wide = exp.column("g"), scale, _wide(scale)
    if not measure.people:
        size, held = exp.column("n"), exp.column(f"m{place}")
        wide = exp.Mul(this=_wide(held), expression=scale)
        whole = exp.Mul(this=_big(held), expression=scale)
    scaled: exp.Expr = exp.IntDiv(this=exp.Paren(this=exp.Mul(this=wide, expression=limit)), expression=size)
    if rows.unit.rows * measure.largest * SCALED < 2**63:
        scaled = _big(scaled)
    else:
        whole = wide
    few = exp.LTE(this=size, expression=limit)
    return exp.Sum(this=exp.Case(ifs=[exp.If(this=few, true=whole)], default=scaled))


def _distinct_by_person(
    rows: Rows, where: exp.Expr | None, keys: tuple[exp.Expr, ...], measure: Measure
) -> exp.Select:
    """At most so many different values of one person, chosen by a hash of the value, then by its group."""
    assert measure.value is not None
    person = whose(rows)
    named = [exp.alias_(key, f"k{i}") for i, key in enumerate(keys)]
    pairs = (
        read(rows, where).select(exp.alias_(person, "u"), *named, exp.alias_(measure.value, "v")).distinct()
    )
    hashed = exp.MD5(this=exp.Cast(this=exp.column("v"), to=TEXT))
    outer_keys = tuple(exp.column(f"k{i}") for i in range(len(keys)))
    order = exp.Order(expressions=[exp.Ordered(this=each) for each in (hashed, *outer_keys)])
    rank = exp.Window(this=exp.RowNumber(), partition_by=[exp.column("u")], order=order)
    ranked = (
        exp.select(*outer_keys, "v", exp.alias_(rank, "r"))
        .from_(pairs.subquery("pairs"))
        .where("NOT v IS NULL")
    )
    kept = exp.select().from_(ranked.subquery("ranked"))
    kept = kept.where(exp.LTE(this=exp.column("r"), expression=exp.Literal.number(str(rows.unit.rows))))
    return by_key(kept, outer_keys, [exp.Count(this=exp.Distinct(expressions=[exp.column("v")]))])


def histogram_sensitivity(rows: Rows) -> Sensitivity:
    """How many of the values that are counted may be another's."""
    most = 1 if rows.unit.column is None else rows.unit.rows
    return Sensitivity.of(2 * most if rows.neighbours is Neighbours.REPLACE else most)


def most_groups(rows: Rows) -> int:
    """In how many groups one unit counts, at most."""
    if rows.unit.column is None:
        return 1
    return min(rows.unit.rows, rows.unit.groups or rows.unit.rows)


def naming_sensitivity(rows: Rows) -> Sensitivity:
    """How far the numbers of units move: each by one at most, in so many groups."""
    twice = 2 if rows.neighbours is Neighbours.REPLACE else 1
    return Sensitivity.of(1, numbers=twice * most_groups(rows))


def most_weighted(rows: Rows) -> int:
    """The same where people's weights are shared out; of whom nobody knows how many rows they have, very many."""
    if rows.unit.told or rows.unit.groups is not None:
        return min(most_groups(rows), MOST_WEIGHTED)
    return MOST_WEIGHTED


def weights_sensitivity(rows: Rows) -> Sensitivity:
    """How far the sums of people's weights ⌊SCALED/√n⌋ move: those of one person have a length of SCALED at most.

    Two who are exchanged move them by no more than the length of both, since no weight is below 0.
    """
    twice = 2 if rows.neighbours is Neighbours.REPLACE else 1
    return Sensitivity(
        Fraction(twice * SCALED * most_weighted(rows)), Fraction(twice * SCALED**2), Fraction(SCALED)
    )


def read(rows: Rows, where: exp.Expr | None) -> exp.Select:
    """The rows that count: somebody's, and where ranks say it, not too many of one person."""
    select = exp.Select(from_=exp.From(this=rows.source))
    owned = rows.unit.column is not None
    somebody = exp.Not(this=exp.Is(this=whose(rows), expression=exp.Null())) if owned else None
    kept = [each for each in (where, rows.sampled, somebody) if each is not None]
    return select.where(*kept, copy=False) if kept else select


def by_key(select: exp.Select, keys: tuple[exp.Expr, ...], parts: list[exp.Expr]) -> exp.Select:
    select = select.select(*keys, *parts, copy=False)
    places = [exp.Literal.number(str(i + 1)) for i in range(len(keys))]
    return select.group_by(*places, copy=False) if keys else select


def whose(rows: Rows) -> exp.Expr:
    assert rows.unit.column is not None
    return exp.column(exp.to_identifier(rows.unit.column, quoted=True))


def _wide(sql: exp.Expr) -> exp.Expr:
    return exp.Cast(this=sql, to=INT128)


def _big(sql: exp.Expr) -> exp.Expr:
    return exp.Cast(this=sql, to=BIGINT)


def _less(sql: exp.Expr, centre: int) -> exp.Expr:
    return exp.Paren(this=exp.Sub(this=sql, expression=_whole(centre))) if centre else sql


def _whole(value: int) -> exp.Expr:
    literal = exp.Literal.number(str(abs(value)))
    return exp.Paren(this=exp.Neg(this=literal)) if value < 0 else literal


def _double(value: Fraction) -> exp.Expr:
    """A constant as DOUBLE; bounds that are no double are rounded outward by the ends of `on_grid`, not here."""
    literal = exp.Literal.number(repr(abs(float(value))))
    signed = exp.Neg(this=literal) if value < 0 else literal
    return exp.Cast(this=signed, to=DOUBLE)
