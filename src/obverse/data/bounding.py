"""At most so much of one person: the one place where values are clamped and people's rows are bounded.

A measure is a whole number a row, on a power-of-two grid fixed by declared bounds alone. Its total over a table
changes by no more than `sensitivity` when one unit comes or goes:

- unit = a row: the total changes by that row's measure, which lies in low … high.
- unit = everybody's rows by a column, at most C of them counting: a person with n > C rows has the whole vector
  of totals that their rows make scaled by C/n, towards zero. Scaling shrinks the L1 norm of a vector of n rows,
  at most n·m, to at most C·m; cutting towards zero shrinks it further. A person's part depends on their own rows
  alone, so removing them changes nobody else's.
- replace-one: one person leaves and another comes, so the two distances add up.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor

from sqlglot import exp

from obverse.data.schema import Column, Neighbours, Schema, Type, Unit
from obverse.loss.loss import Sensitivity

BIGINT, DOUBLE, INT128, TEXT = (exp.DataType.build(name) for name in ("BIGINT", "DOUBLE", "INT128", "TEXT"))
FINEST = 30
COARSEST = 4094  # steps between the bounds of a histogram, and one more at either end
DIGITS = 52  # of a DOUBLE, behind the first
SCALED = 2**16


@dataclass(frozen=True)
class Rows:
    """Where rows come from, and whose they are: what stands in FROM, and the unit by a column of it."""

    source: exp.Expr
    unit: Unit
    neighbours: Neighbours = Neighbours.ADD_REMOVE


def own(schema: Schema) -> Rows:
    """A table's own rows."""
    return Rows(exp.Table(this=exp.to_identifier(schema.name, quoted=True)), schema.unit, schema.neighbours)


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
    most = Fraction(rows.unit.rows * measure.largest)
    if not measure.distinct or measure.people:
        most *= SCALED
    return Sensitivity.of(most)


def out_grid(rows: Rows, measure: Measure, grouped: bool) -> Fraction:
    """What one step of a total is worth."""
    if (
        rows.unit.column is None
        or (measure.distinct and not measure.people)
        or (measure.people and not grouped)
    ):
        return measure.grid
    return measure.grid / SCALED


def totals(
    rows: Rows,
    where: exp.Expr | None,
    keys: tuple[exp.Expr, ...],
    measures: tuple[Measure, ...],
) -> exp.Select:
    """One row a group: its keys, then the bounded total of each measure.

    Measures that count different values are read apart from the others: `apart` tells which go together.
    """
    if rows.unit.column is None:
        return _by_row(rows, where, keys, measures)
    if measures[0].distinct and not measures[0].people:
        return _distinct_by_person(rows, where, keys, measures[0])
    return _by_person(rows, where, keys, measures)


def apart(rows: Rows, measures: tuple[Measure, ...]) -> list[tuple[int, ...]]:
    """Which measures one SELECT can total together, by their places."""
    if rows.unit.column is None:
        return [tuple(range(len(measures)))]
    alone = [i for i, measure in enumerate(measures) if measure.distinct and not measure.people]
    together = tuple(i for i in range(len(measures)) if i not in alone)
    return [part for part in (together, *((i,) for i in alone)) if part]


def _by_row(
    rows: Rows,
    where: exp.Expr | None,
    keys: tuple[exp.Expr, ...],
    measures: tuple[Measure, ...],
) -> exp.Select:
    return _grouped(_from(rows, where), keys, [_total(measure) for measure in measures])


def _total(measure: Measure) -> exp.Expr:
    if measure.distinct:
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
    person = _person(rows)
    within: exp.Expr = exp.Count(this=exp.Star())
    spread: exp.Expr = exp.Count(this=exp.Star())
    if keys:
        within = exp.Window(this=exp.Sum(this=within), partition_by=[person])
        spread = exp.Window(this=spread, partition_by=[person])
    inner = _from(rows, where).group_by(person, *keys)
    inner = inner.select(*[exp.alias_(key, f"k{i}") for i, key in enumerate(keys)], exp.alias_(within, "n"))
    if any(measure.people for measure in measures):
        inner = inner.select(exp.alias_(spread, "g"))
    inner = inner.select(*[exp.alias_(_total(m), f"m{i}") for i, m in enumerate(measures) if not m.people])
    outer_keys = tuple(exp.column(f"k{i}") for i in range(len(keys)))
    parts = [_part(rows, measure, i, bool(keys)) for i, measure in enumerate(measures)]
    return _grouped(exp.select().from_(inner.subquery("person")), outer_keys, parts)


def _part(rows: Rows, measure: Measure, place: int, grouped: bool) -> exp.Expr:
    if measure.people and not grouped:
        return exp.Count(this=exp.Star())
    limit = exp.Literal.number(str(rows.unit.rows))
    value: exp.Expr = exp.Literal.number(str(SCALED))
    size = exp.column("g")
    if not measure.people:
        value = exp.Mul(this=_wide(exp.column(f"m{place}")), expression=value)
        size = exp.column("n")
    scaled = exp.IntDiv(this=exp.Paren(this=exp.Mul(this=value, expression=limit)), expression=size)
    return exp.Sum(
        this=exp.Case(ifs=[exp.If(this=exp.LTE(this=size, expression=limit), true=value)], default=scaled)
    )


def _distinct_by_person(
    rows: Rows, where: exp.Expr | None, keys: tuple[exp.Expr, ...], measure: Measure
) -> exp.Select:
    """At most so many different values of one person, chosen by a hash of the value, then by its group."""
    assert measure.value is not None
    person = _person(rows)
    named = [exp.alias_(key, f"k{i}") for i, key in enumerate(keys)]
    pairs = (
        _from(rows, where).select(exp.alias_(person, "u"), *named, exp.alias_(measure.value, "v")).distinct()
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
    return _grouped(kept, outer_keys, [exp.Count(this=exp.Distinct(expressions=[exp.column("v")]))])


def histogram(rows: Rows, where: exp.Expr | None, keys: tuple[exp.Expr, ...], measure: Measure) -> exp.Select:
    """How often each group has each value, at most `rows` rows of one person: which, a hash of their content says.

    The order goes on by the content itself, so that rows that tie are equal and it is no matter which is kept: what
    is kept of a person depends on their own rows alone. Who has no more than their rows need not be ordered, which is
    what takes time; rows of nobody are one person's.
    """
    assert measure.value is not None
    if rows.unit.column is None:
        return _grouped(_from(rows, where), (*keys, measure.value), [exp.Count(this=exp.Star())])
    columns = [*(exp.column(f"k{i}") for i in range(len(keys))), exp.column("v")]
    parts = [exp.alias_(sql, c.name) for sql, c in zip((*keys, measure.value), columns, strict=True)]
    read = _from(rows, where).select(exp.alias_(_person(rows), "u"), *parts)
    most = str(rows.unit.rows)
    held = exp.select("*").from_(read.subquery("read")).where("NOT v IS NULL")
    many = exp.select("u").from_('"§held"').where("NOT u IS NULL").group_by("u").having(f"COUNT(*) > {most}")
    few = exp.select(*columns).from_('"§held"').where('NOT u IS NULL AND NOT u IN (SELECT u FROM "§many")')
    ranked = exp.select(*columns, exp.alias_(_by_content("u", columns), "r")).from_('"§held"')
    ranked = ranked.where('u IS NULL OR u IN (SELECT u FROM "§many")')
    some = exp.select(*columns).from_(ranked.subquery("ranked")).where(f"r <= {most}")
    kept = exp.select().from_(exp.union(few, some, distinct=False).subquery("kept"))
    counted = _grouped(kept, tuple(columns), [exp.Count(this=exp.Star())])
    return counted.with_('"§held"', as_=held, copy=False).with_('"§many"', as_=many, copy=False)


def _by_content(person: str, columns: list[exp.Column]) -> exp.Expr:
    """The place of a row among its person's, by a hash of what is in it, and then by what is in it."""
    whole = [exp.column(person), *columns]
    texts = [exp.func("COALESCE", exp.Cast(this=c, to=TEXT), exp.Literal.string("")) for c in whole]
    hashed = exp.MD5(
        this=exp.func("CONCAT", *[part for text in texts for part in (text, exp.Literal.string("|"))])
    )
    order = exp.Order(expressions=[exp.Ordered(this=each) for each in (hashed, *columns)])
    return exp.Window(this=exp.RowNumber(), partition_by=[exp.column(person)], order=order)


def histogram_sensitivity(rows: Rows) -> Sensitivity:
    """How many of the values that are counted may be another's."""
    most = 1 if rows.unit.column is None else rows.unit.rows
    return Sensitivity.of(2 * most if rows.neighbours is Neighbours.REPLACE else most)


def people(rows: Rows, where: exp.Expr | None, keys: tuple[exp.Expr, ...]) -> exp.Select:
    """How many units each group has, a unit in at most `most_groups` of them: which, a hash of unit and group says."""
    if rows.unit.column is None:
        return _grouped(_from(rows, where), keys, [exp.Count(this=exp.Star())])
    named = [exp.alias_(key, f"k{i}") for i, key in enumerate(keys)]
    pairs = _from(rows, where).select(exp.alias_(_person(rows), "u"), *named).distinct()
    columns = [exp.column(f"k{i}") for i in range(len(keys))]
    ranked = exp.select(*columns, exp.alias_(_by_content("u", columns), "r")).from_(pairs.subquery("pairs"))
    most = exp.Literal.number(str(most_groups(rows)))
    kept = exp.select().from_(ranked.subquery("ranked")).where(exp.LTE(this=exp.column("r"), expression=most))
    return _grouped(kept, tuple(columns), [exp.Count(this=exp.Star())])


def most_groups(rows: Rows) -> int:
    """In how many groups one unit counts, at most."""
    if rows.unit.column is None:
        return 1
    return min(rows.unit.rows, rows.unit.groups or rows.unit.rows)


def naming_sensitivity(rows: Rows) -> Sensitivity:
    """How far the numbers of units move: each by one at most, in so many groups."""
    twice = 2 if rows.neighbours is Neighbours.REPLACE else 1
    return Sensitivity.of(1, numbers=twice * most_groups(rows))


def _from(rows: Rows, where: exp.Expr | None) -> exp.Select:
    select = exp.Select(from_=exp.From(this=rows.source))
    return select if where is None else select.where(where, copy=False)


def _grouped(select: exp.Select, keys: tuple[exp.Expr, ...], parts: list[exp.Expr]) -> exp.Select:
    select = select.select(*keys, *parts, copy=False)
    places = [exp.Literal.number(str(i + 1)) for i in range(len(keys))]
    return select.group_by(*places, copy=False) if keys else select


def _person(rows: Rows) -> exp.Expr:
    assert rows.unit.column is not None
    return exp.column(exp.to_identifier(rows.unit.column, quoted=True))


def _wide(sql: exp.Expr) -> exp.Expr:
    return exp.Cast(this=sql, to=INT128)


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
