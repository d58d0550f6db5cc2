"""An expression over one row that cannot fail, with its type and the interval it lies in.

Whatever the row holds, it gives a value or NULL, never an error and never NaN or an infinity, since whether a
question fails would tell of the row it failed on. Numbers are computed as DOUBLE, where nothing overflows into an
error; arguments outside a function's domain become NULL before they reach it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import date, timedelta
from fractions import Fraction
from itertools import product
from math import ceil, floor, inf, prod
from sys import float_info

from sqlglot import ErrorLevel, exp

from obverse.data.schema import Category, Column, Type
from obverse.errors import BadQuestion

DATE, DOUBLE = exp.DataType.build("DATE"), exp.DataType.build("DOUBLE")
Interval = tuple[Fraction, Fraction]
LARGEST_DOMAIN = 10_000
MOST_DERIVED = 2048
LARGEST = {Type.INTEGER: 2.0**63, Type.REAL: float_info.max}
NUMBERS = (Type.INTEGER, Type.REAL)


@dataclass(frozen=True)
class Days:
    """From which day to which a date is, and that it is the first of its week, month, quarter or year, if it is."""

    low: date
    high: date
    unit: str = "DAY"

    @staticmethod
    def first(unit: str, day: date) -> date:
        """The first day of what a day lies in."""
        match unit:
            case "WEEK":
                return day - timedelta(days=min(day.weekday(), day.toordinal() - 1))
            case "MONTH" | "QUARTER":
                return day.replace(month=day.month - (day.month - 1) % (3 if unit == "QUARTER" else 1), day=1)
        return day.replace(month=1, day=1) if unit == "YEAR" else day

    def members(self) -> tuple[str, ...] | None:
        """All of them as 2024-12-31, if they are few."""
        every = {"DAY": 1, "WEEK": 7, "MONTH": 28, "QUARTER": 90, "YEAR": 365}[self.unit]
        if (self.high - self.low).days // every >= LARGEST_DOMAIN:
            return None
        days = (self.low + timedelta(days=n) for n in range((self.high - self.low).days + 1))
        return tuple(day.isoformat() for day in days if self.first(self.unit, day) == day)


@dataclass(frozen=True)
class Typed:
    """A total expression, its type, the interval its numbers lie in, and all the values it can take if they are few.

    `interval` is where the declared bounds of its columns put it; `size` is what it cannot exceed whatever the rows
    hold, and no NaN comes of finite sizes. `column` is set where the expression is a bare column. `days` are what
    declared bounds leave a date or a time, `half` the one end of a number that has but one. `along` is the column that
    it follows from, if its values are few, and what it comes to for each of them.
    """

    sql: exp.Expr
    type: Type | None
    interval: Interval | None = None
    domain: tuple[Category, ...] | None = None
    column: Column | None = None
    size: float = inf
    literal: bool = False
    days: Days | None = None
    half: tuple[Fraction | None, Fraction | None] = (None, None)
    along: tuple[exp.Expr, tuple[Category | None, ...]] | None = None

    @property
    def finite(self) -> bool:
        """Whether it can be neither infinite nor NaN."""
        return self.size < inf or self.type not in NUMBERS


Read = Callable[[exp.Expr], Typed]


def number(node: exp.Expr, read: Read) -> Typed:
    """A total number."""
    return a_number(read(node), node)


def a_number(found: Typed, node: exp.Expr) -> Typed:
    """The same, if it is a number."""
    if found.type not in (*NUMBERS, None):
        raise BadQuestion(f"{shown(node)} is {named(found)}, where a number is wanted")
    return found


def condition(node: exp.Expr, read: Read) -> exp.Expr:
    """A total predicate."""
    found = read(node)
    if found.type not in (Type.BOOLEAN, None):
        raise BadQuestion(f"{shown(node)} is {named(found)}, where a condition is wanted")
    return found.sql


def shown(node: exp.Expr) -> str:
    """An expression as a question may write it."""
    text = node.sql(dialect="duckdb", unsupported_level=ErrorLevel.IGNORE)
    return text if len(text) <= 80 else text[:79] + "…"


def titled(node: exp.Expr) -> str:
    """How a column of an answer is called that has no name: a column's own, without its table and quotation marks."""
    return node.name if isinstance(node, exp.Column) else shown(node)


def named(value: Typed) -> str:
    """A value's type in words."""
    return {None: "NULL", Type.INTEGER: "a whole number"}.get(
        value.type, f"a {value.type.value if value.type else ''}"
    )


def double(sql: exp.Expr) -> exp.Expr:
    """A number as DOUBLE."""
    return exp.Cast(this=sql, to=DOUBLE)


def as_double(value: Typed) -> exp.Expr:
    """A typed number as DOUBLE."""
    return value.sql if value.type is Type.REAL else double(value.sql)


def finite_sql(value: Typed) -> exp.Expr:
    """The value, NULL where a computation left the finite numbers."""
    sql = value.sql
    if value.finite:
        return sql
    return exp.Case(ifs=[exp.If(this=exp.Anonymous(this="isfinite", expressions=[sql.copy()]), true=sql)])


def kept_finite(value: Typed) -> Typed:
    """The same, NULL where it left the finite numbers."""
    return replace(value, sql=finite_sql(value))


def whole_domain(interval: Interval) -> tuple[Category, ...] | None:
    """All whole numbers of an interval, if they are few."""
    low, high = ceil(interval[0]), floor(interval[1])
    return tuple(range(low, high + 1)) if high - low < LARGEST_DOMAIN else None


def derived(made: Typed, exact: Callable[..., Category | None], *parts: Typed) -> Typed:
    """A function of parts with all values it can take, if those of the parts are known, few, and computed alike.

    They are computed alike by every engine if they are whole numbers well within a DOUBLE, or texts in ASCII. Of parts
    that follow from one column each value of it makes one; of others any may meet any.
    """
    bases = {part.along[0]: len(part.along[1]) for part in parts if part.along and not part.literal}
    cases: Iterable[tuple[Category | None, ...]]
    single = len(bases) == 1 and all(part.along or part.literal for part in parts)
    if single:
        size = next(iter(bases.values()))
        columns = [part.along[1] if part.along else (part.domain or (None,)) * size for part in parts]
        cases = zip(*columns, strict=True)
    else:
        domains = [part.domain or () for part in parts]
        size = prod(map(len, domains))
        cases = product(*domains)
    if not 0 < size <= MOST_DERIVED:
        return made
    values: list[Category | None] = []
    for case in cases:
        if not all(each is None or _alike(each) for each in case):
            return made
        values.append(None if None in case else exact(*case))
    known: list[Category] = list(dict.fromkeys(value for value in values if value is not None))
    if not known or not all(map(_alike, known)):
        return made
    domain = tuple(known) if isinstance(known[0], str) else tuple(sorted(known))
    return replace(made, domain=domain, along=(next(iter(bases)), tuple(values)) if single else None)


def _alike(value: Category) -> bool:
    return value.isascii() if isinstance(value, str) else type(value) is int and abs(value) < 2**40


def function(name: str, *arguments: exp.Expr) -> exp.Expr:
    """A call by its DuckDB name."""
    return exp.func(name, *arguments, dialect="duckdb")


def written(value: Fraction) -> exp.Expr:
    """A number as a DOUBLE literal."""
    literal = exp.Literal.number(repr(abs(float(value))))
    return double(exp.Paren(this=exp.Neg(this=literal)) if value < 0 else literal)
