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
from obverse.data.schema import Category, Type
from obverse.errors import BadQuestion
from obverse.query.aggregates import MODE, Aggregate
from obverse.query.normal import told
from obverse.query.pairs import FORMULAS, OfPairs
from obverse.query.ranked import RANKED
from obverse.query.recipes import Chosen, Mean, Recipe, Total, Value, Variance
from obverse.query.resolve import Question
from obverse.query.typed import LARGEST, Interval, Typed, as_double, finite_sql, written

SMALLEST = Fraction(1, 2**400)  # squares and grids of numbers between it and its inverse are within a double


@dataclass(frozen=True)
class Ranked:
    """Values to be found by their ranks, the shares of values below them: 0 for MIN, 1 for MAX."""

    measure: Measure
    ranks: tuple[Fraction, ...]

    @property
    def width(self) -> int:
        return len(self.ranks)


@dataclass(frozen=True)
class Commonest:
    """The values that most rows have, among those known in public."""

    measure: Measure
    domain: tuple[Category, ...]
    width: int


Wanted = Measure | Ranked | Commonest
Place = Callable[[Wanted], int]


@dataclass(frozen=True)
class Bounded:
    """The measures to total and the values to find, each once, and a recipe for each aggregate."""

    measures: tuple[Wanted, ...]
    recipes: tuple[Recipe, ...]


def bound(question: Question, count_rows: bool) -> Bounded:
    """Measures and recipes for every aggregate; with `count_rows` also the rows of each group."""
    wanted: dict[Wanted, int] = {}
    meant: dict[str, int] = {}
    numbers = 0

    def place(each: Wanted) -> int:
        """The place of its first number among all that are released."""
        nonlocal numbers
        if each in wanted:
            return wanted[each]
        if wanted:  # one alone is like no other
            meant.update({} if meant else {told(known): at for known, at in wanted.items()})
            at = meant.setdefault(told(each), numbers)
            if at < numbers:
                return at
        wanted[each] = numbers
        numbers += width(each)
        return wanted[each]

    if count_rows:
        place(Measure(None, 1, 1))
    recipes = tuple(_recipe(question, aggregate, place) for aggregate in question.aggregates)
    return Bounded(tuple(wanted), recipes)


def width(wanted: Wanted) -> int:
    """How many numbers each group is given."""
    return 1 if isinstance(wanted, Measure) else wanted.width


def _recipe(question: Question, aggregate: Aggregate, place: Place) -> Recipe:
    function = aggregate.function
    if question.rolled and (aggregate.distinct or function in (*RANKED, MODE)):
        raise BadQuestion(
            f"{aggregate.text} of all is not made of those of its parts, as totals by ROLLUP and CUBE are: "
            "ask for it in a question of its own"
        )
    if function == "COUNT":
        return Total(place(_count(question, aggregate)))
    if function == "SUM":
        return Total(place(_sum(question, aggregate)[0]))
    if function == "AVG":
        return _average(question, aggregate, place)
    if function in RANKED:
        return _ranked(question, aggregate, place)
    if function == MODE:
        return _commonest(aggregate, place)
    if function in FORMULAS:
        return _pairs(question, aggregate, place)
    return _variance(question, aggregate, place)


def _count(question: Question, aggregate: Aggregate) -> Measure:
    value = aggregate.value
    if value is not None and value.literal and aggregate.distinct:
        raise BadQuestion(f"{aggregate.text}: a constant has one value; say of which column")
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
        raise BadQuestion(f"{aggregate.text}: {aggregate.function} takes a number{_numbers(value)}")
    if value.interval is None:
        raise BadQuestion(f"{aggregate.text} needs bounds: {_where_to_add(question, value)}")
    size = max(map(abs, value.interval))
    if size and not SMALLEST < size < 1 / SMALLEST:
        raise BadQuestion(f"{aggregate.text}: its bounds reach to 2^{ceil_log2(size)}, beyond 2^±400")
    return value, value.interval


def _numbers(value: Typed | None) -> str:
    """What makes a number of a value, or is asked of it instead."""
    match None if value is None else value.type:
        case Type.BOOLEAN:
            return ": ask for COUNT_IF(x), or make one with CAST(x AS INTEGER)"
        case Type.DATE | Type.TIMESTAMP:
            return (
                ": take a part, as YEAR(x), or days, as DATE_DIFF('day', DATE '2000-01-01', CAST(x AS DATE))"
            )
        case Type.TEXT:
            return ": of a text ask for MODE(x), LENGTH(x), or COUNT(*) by group"
    return ""


def _ranked(question: Question, aggregate: Aggregate, place: Place) -> Value:
    value, (low, high) = _number(question, aggregate)
    grid = coarse(low, high, whole=value.type is Type.INTEGER)
    if value.type is Type.INTEGER and grid == 1:
        steps, bottom, top = _steps(value, low, high, grid, 0), ceil(low), floor(high)
    else:
        number = as_double(replace(value, sql=finite_sql(value)))
        steps, bottom, top = on_grid(number, low, high, grid), floor(low / grid), ceil(high / grid)
    measure = Measure(steps, bottom, max(top, bottom + 1), grid)
    ranks = tuple(sorted(set(aggregate.ranks)))
    first = place(Ranked(measure, ranks))
    places = tuple(first + ranks.index(rank) for rank in aggregate.ranks)
    return Value(places, low, high, aggregate.listed)


def _commonest(aggregate: Aggregate, place: Place) -> Chosen:
    value, most = aggregate.value, aggregate.most
    if value is None or value.domain is None:
        raise BadQuestion(
            f"{aggregate.text} chooses among values that are known in public: add categories to the schema, "
            "or GROUP BY it and take the largest COUNT(*)"
        )
    if most > len(value.domain):
        raise BadQuestion(f"{aggregate.text}: there are only {len(value.domain)} values to choose from")
    first = place(Commonest(Measure(finite_sql(value), 1, 1), value.domain, most))
    return Chosen(tuple(range(first, first + most)), value.domain, aggregate.listed)


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
    numbers = [field for field in used if field.typed.type in (Type.INTEGER, Type.REAL) and field.origin]
    unbounded = [field for field in numbers if field.typed.interval is None]
    if not unbounded:
        return "no interval follows from this expression; clamp it, as in LEAST(GREATEST(x, 0), 100)"
    table, name = unbounded[0].origin.partition(".")[0], f"{unbounded[0].qualifier}.{unbounded[0].name}"
    if table not in {schema.name for schema in question.relation.private}:
        return f"add low and high for {name}, or clamp it, as in LEAST(GREATEST({unbounded[0].name}, 0), 100)"
    return f"add low and high for {name}, or learn them once with obverse register {table} --epsilon 0.1"


def _average(question: Question, aggregate: Aggregate, place: Place) -> Mean:
    measure, centre = _sum(question, aggregate, centred=True)
    assert aggregate.value is not None and aggregate.value.interval is not None
    counted = place(Measure(finite_sql(aggregate.value), 1, 1))
    return Mean(place(measure), counted, centre * measure.grid, *aggregate.value.interval)


def _variance(question: Question, aggregate: Aggregate, place: Place) -> Variance:
    """Of z = x − m with m the middle of the bounds: sums of z and z², and a count."""
    value = aggregate.value
    _sum(question, aggregate)  # refuses what has no bounds
    assert value is not None and value.interval is not None
    low, high = value.interval
    half = (high - low) / 2
    z = _centred(value, value.interval)
    zz = _product(z, z)
    places = [place(_sum(question, replace(aggregate, value=part))[0]) for part in (z, zz)]
    counted = place(Measure(finite_sql(value), 1, 1))
    sample, root = not aggregate.function.endswith("_POP"), aggregate.function.startswith("STDDEV")
    return Variance(places[0], places[1], counted, half * half, sample, root)


def _centred(value: Typed, interval: Interval, present: exp.Expr | None = None) -> Typed:
    """x less the middle of its bounds; with `present` only where that holds."""
    half = (interval[1] - interval[0]) / 2
    number = as_double(replace(value, sql=finite_sql(value)))
    sql: exp.Expr = exp.Paren(this=exp.Sub(this=number, expression=written(interval[0] + half)))
    if present is not None:
        sql = exp.Case(ifs=[exp.If(this=present, true=sql)])
    size = LARGEST[Type.REAL]  # bounds are below 2^400, so that no double is moved beyond the largest
    return Typed(sql, Type.REAL, (-half, half), size=size)


def _product(one: Typed, other: Typed) -> Typed:
    """Of two centred numbers."""
    assert one.interval is not None and other.interval is not None
    most = one.interval[1] * other.interval[1]
    sql = exp.Paren(this=exp.Mul(this=one.sql, expression=other.sql))
    return Typed(sql, Type.REAL, (Fraction(0) if one == other else -most, most))


def _pairs(question: Question, aggregate: Aggregate, place: Place) -> OfPairs:
    """Centred sums of the pairs of which neither side is missing: y is the first argument, x the second."""
    y, x = aggregate.value, aggregate.other
    sides = [_number(question, replace(aggregate, value=side)) for side in (x, y)]
    ordered = sorted(
        (finite_sql(side) for side, _ in sides), key=str
    )  # CORR(a, b) and CORR(b, a) share their sums
    present = exp.and_(*[exp.Not(this=exp.Is(this=sql, expression=exp.Null())) for sql in ordered])
    z = {name: _centred(*side, present) for name, side in zip("xy", sides, strict=True)}
    needed = FORMULAS[aggregate.function][0]
    sums = {}
    for name in needed:
        factors = sorted((z[side] for side in name), key=lambda side: str(side.sql))
        summed = factors[0] if len(name) == 1 else _product(*factors)
        sums[name] = place(_sum(question, replace(aggregate, value=summed))[0])
    counted = place(Measure(exp.Case(ifs=[exp.If(this=present, true=exp.Literal.number("1"))]), 1, 1))
    (_, (low, high)), (_, (bottom, top)) = sides
    return OfPairs(aggregate.function, counted, tuple(sums.items()), ((low + high) / 2, (bottom + top) / 2))
