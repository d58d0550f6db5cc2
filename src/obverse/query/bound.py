"""Each aggregate → bounded measures, and how the answer is made of their totals.

COUNT and SUM are totals; AVG, VAR and STDDEV are made of centred totals and a count; MIN, MAX and quantiles are chosen
among the steps of a coarse grid, each by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, floor

from sqlglot import exp

from obverse.data.bounding import Measure, ceil_log2, clamped, coarse, column_on_grid, on_grid, step
from obverse.data.schema import Type
from obverse.errors import BadQuestion
from obverse.query.ranked import GREATEST, LEAST, QUANTILE
from obverse.query.recipes import Mean, Recipe, Total, Value, Variance
from obverse.query.resolve import Aggregate, Question
from obverse.query.typed import Interval, Typed, as_double, finite_sql, written

SMALLEST = Fraction(1, 2**400)  # squares and grids of numbers between it and its inverse are within a double


@dataclass(frozen=True)
class Ranked:
    """A value to be found by its rank: MIN, MAX, or the QUANTILE with this share of values below it."""

    measure: Measure
    function: str
    rank: Fraction


@dataclass(frozen=True)
class Bounded:
    """The measures to total and the values to find, each once, and a recipe for each aggregate."""

    measures: tuple[Measure | Ranked, ...]
    recipes: tuple[Recipe, ...]


def bound(question: Question, count_rows: bool) -> Bounded:
    """Measures and recipes for every aggregate; with `count_rows` also the rows of each group."""
    measures: list[Measure | Ranked] = []

    def place(measure: Measure | Ranked) -> int:
        if measure not in measures:
            measures.append(measure)
        return measures.index(measure)

    recipes: list[Recipe] = []
    if count_rows:
        place(Measure(None, 1, 1))
    for aggregate in question.aggregates:
        if aggregate.function == "COUNT":
            recipes.append(Total(place(_count(question, aggregate))))
        elif aggregate.function == "SUM":
            recipes.append(Total(place(_sum(question, aggregate)[0])))
        elif aggregate.function == "AVG":
            recipes.append(_average(question, aggregate, place))
        elif aggregate.function in (LEAST, GREATEST, QUANTILE):
            recipes.append(_ranked(question, aggregate, place))
        else:
            recipes.append(_variance(question, aggregate, place))
    return Bounded(tuple(measures), tuple(recipes))


def _count(question: Question, aggregate: Aggregate) -> Measure:
    value = aggregate.value
    if value is None or (value.literal and value.type is not None):
        return Measure(None, 1, 1)
    sql = finite_sql(value)
    if not aggregate.distinct:
        return Measure(sql, 1, 1)
    if value.type is Type.REAL:
        sql = exp.Add(this=sql, expression=written(Fraction(0)))  # −0 and 0 are one value, and read alike
    people = any(field.owner and field.typed.sql == value.sql for field in question.relation.fields)
    return Measure(sql, 1, 1, distinct=True, people=people)


def _sum(question: Question, aggregate: Aggregate, *, centred: bool = False) -> tuple[Measure, int]:
    """The measure of a number, and its centre in steps of its grid."""
    value, (low, high) = _number(question, aggregate)
    if value.type is Type.INTEGER:
        grid, bottom, top = Fraction(1), ceil(low), floor(high)
    else:
        grid = step(low, high)
        bottom, top = floor(low / grid), ceil(high / grid)
    centre = (bottom + top) // 2 if centred else 0
    return Measure(_steps(value, low, high, grid, centre), bottom - centre, top - centre, grid), centre


def _number(question: Question, aggregate: Aggregate) -> tuple[Typed, Interval]:
    """The number that is aggregated, and its bounds."""
    value = aggregate.value
    if value is None or value.type not in (Type.INTEGER, Type.REAL):
        raise BadQuestion(f"{aggregate.text}: {aggregate.function} takes a number")
    if value.interval is None:
        raise BadQuestion(f"{aggregate.text} needs bounds: {_where_to_add(question, value)}")
    size = max(map(abs, value.interval))
    if size and not SMALLEST < size < 1 / SMALLEST:
        raise BadQuestion(f"{aggregate.text}: its bounds reach to 2^{ceil_log2(size)}, beyond 2^±400")
    return value, value.interval


def _ranked(question: Question, aggregate: Aggregate, place: Callable[[Measure | Ranked], int]) -> Value:
    value, (low, high) = _number(question, aggregate)
    assert aggregate.rank is not None
    grid = coarse(low, high, whole=value.type is Type.INTEGER)
    if value.type is Type.INTEGER and grid == 1:
        steps, bottom, top = _steps(value, low, high, grid, 0), ceil(low), floor(high)
    else:
        number = as_double(replace(value, sql=finite_sql(value)))
        steps, bottom, top = on_grid(number, low, high, grid), floor(low / grid), ceil(high / grid)
    measure = Measure(steps, bottom, max(top, bottom + 1), grid)
    return Value(place(Ranked(measure, aggregate.function, aggregate.rank)), low, high)


def _steps(value: Typed, low: Fraction, high: Fraction, grid: Fraction, centre: int) -> exp.Expr:
    """The value in whole steps; of a bare column, the very expression that an engine may have prepared."""
    prepared = None if value.column is None else column_on_grid(value.column)
    if prepared is not None:
        return prepared[0] if centre == 0 else exp.Sub(this=prepared[0], expression=exp.convert(centre))
    if value.type is Type.INTEGER:
        return clamped(value.sql, ceil(low), floor(high), centre)
    return on_grid(finite_sql(value), low, high, grid, centre)


def _where_to_add(question: Question, value: Typed) -> str:
    used = [
        field
        for field in question.relation.fields
        for sql in value.sql.find_all(exp.Column)
        if field.typed.sql == sql
    ]
    unbounded = [field for field in used if field.typed.interval is None]
    if not unbounded:
        return "no interval follows from this expression; use + − × / FLOOR ABS and CASE of bounded columns"
    return f"add low and high for {unbounded[0].qualifier}.{unbounded[0].name}"


def _average(question: Question, aggregate: Aggregate, place: Callable[[Measure | Ranked], int]) -> Mean:
    measure, centre = _sum(question, aggregate, centred=True)
    assert aggregate.value is not None and aggregate.value.interval is not None
    counted = place(Measure(finite_sql(aggregate.value), 1, 1))
    return Mean(place(measure), counted, centre * measure.grid, *aggregate.value.interval)


def _variance(question: Question, aggregate: Aggregate, place: Callable[[Measure | Ranked], int]) -> Variance:
    """Of z = x − m with m the middle of the bounds: sums of z and z², and a count."""
    value = aggregate.value
    _sum(question, aggregate)  # refuses what has no bounds
    assert value is not None and value.interval is not None
    low, high = value.interval
    half = (high - low) / 2
    centred = exp.Paren(
        this=exp.Sub(this=as_double(replace(value, sql=finite_sql(value))), expression=written(low + half))
    )
    z = Typed(centred, Type.REAL, (-half, half))
    zz = Typed(
        exp.Paren(this=exp.Mul(this=centred, expression=centred)), Type.REAL, (Fraction(0), half * half)
    )
    places = [place(_sum(question, replace(aggregate, value=part))[0]) for part in (z, zz)]
    counted = place(Measure(finite_sql(value), 1, 1))
    sample, root = not aggregate.function.endswith("_POP"), aggregate.function.startswith("STDDEV")
    return Variance(places[0], places[1], counted, half * half, sample, root)
