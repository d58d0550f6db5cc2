"""Rules for dates: parts of them, days between them, the month they lie in, and dates some days or months away.

Dates are computed with between the years 200 and 9800 and are NULL outside, so that no step of a constant interval
leaves the years that every engine knows. Weeks begin on Monday, as in ISO 8601.
"""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Callable
from dataclasses import replace
from datetime import date, timedelta
from fractions import Fraction

from sqlglot import exp

from obverse.data.schema import Type
from obverse.errors import BadQuestion
from obverse.query.predicates import MOMENTS
from obverse.query.typed import DATE, Days, Interval, Read, Typed, shown, whole_domain

MOST_MONTHS, MOST_DAYS = 1200, 36_525
FIRST, LAST = "0200-01-01", "9800-01-01"
UNITS = ("DAY", "WEEK", "MONTH", "QUARTER", "YEAR")
_PARTS: dict[str, Interval | None] = {
    "YEAR": None,
    "QUARTER": (Fraction(1), Fraction(4)),
    "MONTH": (Fraction(1), Fraction(12)),
    "WEEK": (Fraction(1), Fraction(53)),
    "DAY": (Fraction(1), Fraction(31)),
    "DOY": (Fraction(1), Fraction(366)),
    "DOW": (Fraction(0), Fraction(6)),
    "ISODOW": (Fraction(1), Fraction(7)),
    "HOUR": (Fraction(0), Fraction(23)),
    "MINUTE": (Fraction(0), Fraction(59)),
    "SECOND": (Fraction(0), Fraction(59)),
}
_SPELT = {
    "DAYOFWEEK": "DOW",
    "WEEKDAY": "DOW",
    "DAYOFWEEKISO": "ISODOW",
    "DAYOFYEAR": "DOY",
    "WEEKOFYEAR": "WEEK",
    "DAYOFMONTH": "DAY",
}


def _part(node: exp.Func, read: Read) -> Typed:
    """YEAR, MONTH and their like, also as EXTRACT(MONTH FROM d)."""
    extracted = isinstance(node, exp.Extract)
    name = node.name.upper() if extracted else type(node).__name__.upper()
    return part(_SPELT.get(name, name), read(node.expression if extracted else node.this), node)


def part(name: str, when: Typed, node: exp.Expr) -> Typed:
    """One part of a date or time."""
    if when.type not in MOMENTS or name not in _PARTS:
        raise BadQuestion(f"{shown(node)}: one of {', '.join(_PARTS)} of a date or timestamp column")
    if when.literal:
        raise BadQuestion(f"{shown(node)}: take a part of a column, not of a constant")
    interval = _PARTS[name]
    if name == "YEAR" and when.days is not None:
        interval = Fraction(when.days.low.year), Fraction(when.days.high.year)
    days = (
        _inside(when) if name == "WEEK" else when.sql
    )  # of the first days that it holds DuckDB finds no week
    sql = exp.Extract(this=exp.var(name), expression=days)
    return Typed(sql, Type.INTEGER, interval, whole_domain(interval) if interval else None, size=1e6)


def _truncated(node: exp.TimestampTrunc, read: Read) -> Typed:
    """The first day of the week, month, quarter or year."""
    when, unit = read(node.this), node.text("unit").upper()
    if when.type not in MOMENTS or when.literal or unit not in UNITS:
        raise BadQuestion(f"{shown(node)}: DATE_TRUNC to {', '.join(UNITS)} of a date or timestamp column")
    inside = _inside(when)
    sql = exp.Cast(this=exp.TimestampTrunc(this=inside, unit=exp.var(unit)), to=DATE)
    days = when.days
    if days is not None:
        days = Days(days.first(unit, days.low), days.first(unit, days.high), unit)
    return Typed(sql, Type.DATE, days=days)


def _inside(when: Typed) -> exp.Expr:
    """The date, NULL where it is too far away to compute with."""
    low, high = (exp.Cast(this=exp.Literal.string(end), to=DATE) for end in (FIRST, LAST))
    known = exp.and_(exp.GTE(this=when.sql, expression=low), exp.LT(this=when.sql, expression=high))
    return exp.Case(ifs=[exp.If(this=known, true=when.sql)])


def _between(node: exp.DateDiff, read: Read) -> Typed:
    """How many days, months or years lie between: boundaries that are crossed, as everywhere in SQL."""
    unit = node.text("unit").upper() or "DAY"
    later, earlier = read(node.this), read(node.expression)
    if later.type not in MOMENTS or earlier.type not in MOMENTS or unit not in ("DAY", "MONTH", "YEAR"):
        raise BadQuestion(f"{shown(node)}: DATE_DIFF of 'day', 'month' or 'year' between two dates")
    return days_between(later, earlier, unit)


def days_between(later: Typed, earlier: Typed, unit: str) -> Typed:
    """The distance of two dates, with its bounds where both have some."""
    interval = None
    if later.days is not None and earlier.days is not None:
        least = _count(later.days.low, unit) - _count(earlier.days.high, unit)
        most = _count(later.days.high, unit) - _count(earlier.days.low, unit)
        interval = Fraction(least), Fraction(most)
    sides = [exp.Cast(this=_inside(when), to=DATE) for when in (later, earlier)]
    sql: exp.Expr
    if unit == "DAY":
        sql = exp.DateDiff(this=sides[0], expression=sides[1], unit=exp.var("DAY"))
    else:
        sql = exp.Paren(this=exp.Sub(this=_counted(sides[0], unit), expression=_counted(sides[1], unit)))
    return Typed(sql, Type.INTEGER, interval, whole_domain(interval) if interval else None, size=1e7)


def _count(day: date, unit: str) -> int:
    return {"DAY": day.toordinal(), "MONTH": 12 * day.year + day.month, "YEAR": day.year}[unit]


def _counted(when: exp.Expr, unit: str) -> exp.Expr:
    year = exp.Extract(this=exp.var("YEAR"), expression=when)
    if unit == "YEAR":
        return year
    months = exp.Mul(this=year, expression=exp.Literal.number("12"))
    return exp.Paren(
        this=exp.Add(this=months, expression=exp.Extract(this=exp.var("MONTH"), expression=when.copy()))
    )


def moved(when: Typed, interval: exp.Interval, sign: int, node: exp.Expr) -> Typed:
    """A date so many days, weeks, months or years away; a month ends where it ends."""
    unit, text = interval.text("unit").upper().removesuffix("S"), interval.name
    factor = {"DAY": 1, "WEEK": 7, "MONTH": 1, "QUARTER": 3, "YEAR": 12}.get(unit)
    if when.type is not Type.DATE or factor is None or not text.isdigit():
        raise BadQuestion(
            f"{shown(node)}: a date ± INTERVAL of whole days, weeks, months or years; of a time, CAST(x AS DATE) first"
        )
    steps, step = sign * factor * int(text), "DAY" if unit in ("DAY", "WEEK") else "MONTH"
    if abs(steps) > (MOST_DAYS if step == "DAY" else MOST_MONTHS):
        raise BadQuestion(f"{shown(node)}: at most 100 years")
    if when.literal:
        day = _step(date.fromisoformat(when.sql.this.name), steps, step)
        return replace(
            when, sql=exp.Cast(this=exp.Literal.string(day.isoformat()), to=DATE), days=Days(day, day)
        )
    by = exp.Interval(this=exp.Literal.string(str(abs(steps))), unit=exp.var(step))
    kind = exp.DateAdd if steps >= 0 else exp.DateSub
    sql = exp.Cast(this=kind(this=_inside(when), expression=by), to=DATE)
    days = when.days
    if days is not None:
        days = Days(_step(days.low, steps, step), _step(days.high, steps, step))
    return Typed(sql, Type.DATE, days=days)


def _step(day: date, steps: int, unit: str) -> date:
    """The day so many days or months later; a shorter month ends sooner."""
    try:
        if unit == "DAY":
            return day + timedelta(days=steps)
        months = 12 * day.year + day.month - 1 + steps
        year, month = months // 12, months % 12 + 1
        return date(year, month, min(day.day, monthrange(year, month)[1]))
    except (ValueError, OverflowError):
        raise BadQuestion(
            f"{day} and {steps} {unit.lower()}s: a date lies between the years 1 and 9999"
        ) from None


def _date_add(node: exp.DateAdd | exp.DateSub, read: Read) -> Typed:
    """DATE_ADD(d, INTERVAL 3 DAY)."""
    if not isinstance(node.expression, exp.Interval):
        raise BadQuestion(f"{shown(node)}: as in d + INTERVAL 3 DAY")
    return moved(read(node.this), node.expression, 1 if isinstance(node, exp.DateAdd) else -1, node)


PARTS_OF_DATES = (
    *(exp.Extract, exp.Year, exp.Quarter, exp.Month, exp.Week, exp.WeekOfYear, exp.Day, exp.DayOfMonth),
    *(exp.DayOfYear, exp.DayOfWeek, exp.DayOfWeekIso, exp.Hour, exp.Minute, exp.Second),
)
DATES: dict[type[exp.Expr], Callable[..., Typed]] = {
    **dict.fromkeys(PARTS_OF_DATES, _part),
    exp.TimestampTrunc: _truncated,
    exp.DateTrunc: _truncated,
    exp.DateDiff: _between,
    exp.DateAdd: _date_add,
    exp.DateSub: _date_add,
}
