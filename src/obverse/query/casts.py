"""CAST: a value as another type, NULL where it is none; of a text only what every engine reads alike.

A whole number is a sign and digits, a number may have a point and an exponent, a date is 2024-12-31 and on the
calendar. A number becomes whole by rounding, halves to the even one.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import ceil, floor

from sqlglot import exp

from obverse.data.schema import Type
from obverse.errors import BadQuestion
from obverse.query.functions import to_digits
from obverse.query.predicates import MOMENTS, moment
from obverse.query.typed import (
    DATE,
    LARGEST,
    NUMBERS,
    Read,
    Typed,
    as_double,
    function,
    kept_finite,
    shown,
    whole_domain,
    written,
)

BIGINT, DOUBLE, TEXT = (exp.DataType.build(name) for name in ("BIGINT", "DOUBLE", "TEXT"))
TARGETS = {
    **dict.fromkeys(("INT", "BIGINT"), Type.INTEGER),
    **dict.fromkeys(("DOUBLE", "FLOAT", "DECIMAL"), Type.REAL),
    **dict.fromkeys(("TEXT", "VARCHAR"), Type.TEXT),
    "DATE": Type.DATE,
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMPNTZ"), Type.TIMESTAMP),
}
WHOLE = "^-?[0-9]{1,18}$"
REAL = "^-?[0-9]{1,15}([.][0-9]{1,15})?([eE][+-]?[0-9]{1,2})?$"
DAY = "^[0-9]{4}-[01][0-9]-[0-3][0-9]$"


def cast(node: exp.Cast, read: Read) -> Typed:
    """CAST and TRY_CAST."""
    inner, named = read(node.this), str(node.to.this.value)
    target = TARGETS.get(named)
    if inner.literal and target in MOMENTS and inner.type is Type.TEXT:
        return moment(inner, target)
    found = None if target is None else _CASTS.get((inner.type, target))
    if found is None:
        raise BadQuestion(f"{shown(node)} is not answered: declare the column with the type you need")
    made = found(inner)
    if named == "DECIMAL":
        scale = node.to.expressions[1:]
        digits = scale[0].name if scale else "0" if node.to.expressions else "3"
        if not (digits.isascii() and digits.isdigit() and len(digits) < 3 and int(digits) <= 18):
            raise BadQuestion(f"{shown(node)}: as in DECIMAL(18, 3), with at most 18 digits behind the point")
        made = to_digits(made, int(digits))
    return made


def _same(inner: Typed) -> Typed:
    return inner


def _as_double(inner: Typed) -> Typed:
    return Typed(as_double(inner), Type.REAL, inner.interval, size=inner.size)


def _whole(inner: Typed) -> Typed:
    """The nearest whole number, a half to the even one: ROUND alone takes halves away from zero."""
    x = as_double(kept_finite(inner))
    cut = exp.Abs(this=exp.Paren(this=exp.Sub(this=x, expression=function("TRUNC", x.copy()))))
    half = exp.Mul(this=x.copy(), expression=written(Fraction(1, 2)))
    even = exp.Mul(this=function("ROUND", half), expression=written(Fraction(2)))
    halves = exp.If(this=exp.EQ(this=cut, expression=written(Fraction(1, 2))), true=even)
    near = exp.Case(ifs=[halves], default=function("ROUND", x.copy()))
    held = exp.LT(this=function("ABS", x.copy()), expression=written(Fraction(2**63)))
    interval = None
    if inner.interval is not None:
        interval = Fraction(floor(inner.interval[0])), Fraction(ceil(inner.interval[1]))
    domain = None if interval is None else whole_domain(interval)
    return Typed(exp.Case(ifs=[exp.If(this=held, true=near)]), Type.REAL, interval, domain, size=2.0**63)


def _read(pattern: str, to: exp.DataType, type_: Type) -> Callable[[Typed], Typed]:
    def made(inner: Typed) -> Typed:
        like = exp.RegexpLike(this=inner.sql, expression=exp.Literal.string(pattern))
        sql = exp.Case(ifs=[exp.If(this=like, true=exp.TryCast(this=inner.sql.copy(), to=to))])
        return Typed(sql, type_, size=LARGEST[type_])

    return made


def _day(inner: Typed) -> Typed:
    """A text as a date, if there was such a day: no engine is given the 30th of February."""

    def part(start: int, size: int) -> exp.Expr:
        piece = exp.Substring(this=inner.sql.copy(), start=_literal(start), length=_literal(size))
        return exp.TryCast(this=piece, to=BIGINT)

    def modulo(n: int) -> exp.Expr:
        return exp.EQ(this=exp.Mod(this=part(1, 4), expression=_literal(n)), expression=_literal(0))

    leap = exp.or_(exp.and_(modulo(4), exp.Not(this=exp.Paren(this=modulo(100)))), modulo(400))
    february = exp.Case(ifs=[exp.If(this=leap, true=_literal(29))], default=_literal(28))
    short = exp.In(this=part(6, 2), expressions=[_literal(month) for month in (4, 6, 9, 11)])
    ifs = [
        exp.If(this=exp.EQ(this=part(6, 2), expression=_literal(2)), true=february),
        exp.If(this=short, true=_literal(30)),
    ]
    days = exp.Case(ifs=ifs, default=_literal(31))
    known = exp.and_(
        exp.GTE(this=part(1, 4), expression=_literal(1)),
        exp.Between(this=part(6, 2), low=_literal(1), high=_literal(12)),
        exp.GTE(this=part(9, 2), expression=_literal(1)),
        exp.LTE(this=part(9, 2), expression=days),
    )
    inside = exp.Case(ifs=[exp.If(this=known, true=exp.TryCast(this=inner.sql.copy(), to=DATE))])
    like = exp.RegexpLike(this=inner.sql.copy(), expression=exp.Literal.string(DAY))
    return Typed(exp.Case(ifs=[exp.If(this=like, true=inside)]), Type.DATE)


def _literal(value: int) -> exp.Expr:
    return exp.Literal.number(str(value))


def _counted(inner: Typed) -> Typed:
    """True as 1, false as 0."""
    ifs = [
        exp.If(this=inner.sql, true=_literal(1)),
        exp.If(this=exp.Not(this=inner.sql.copy()), true=_literal(0)),
    ]
    return Typed(exp.Case(ifs=ifs), Type.INTEGER, (Fraction(0), Fraction(1)), (0, 1), size=1)


def _spelt(inner: Typed) -> Typed:
    domain = None if inner.domain is None else tuple(str(each) for each in inner.domain)
    return Typed(exp.Cast(this=inner.sql, to=TEXT), Type.TEXT, domain=domain, size=20)


def _date(inner: Typed) -> Typed:
    return Typed(exp.Cast(this=inner.sql, to=DATE), Type.DATE, days=inner.days)


_CASTS: dict[tuple[Type | None, Type], Callable[[Typed], Typed]] = {
    **{(type_, type_): _same for type_ in (Type.INTEGER, Type.TEXT, Type.DATE, Type.TIMESTAMP)},
    **{(type_, Type.REAL): _as_double for type_ in NUMBERS},
    (Type.REAL, Type.INTEGER): _whole,
    (Type.TEXT, Type.INTEGER): _read(WHOLE, BIGINT, Type.INTEGER),
    (Type.TEXT, Type.REAL): _read(REAL, DOUBLE, Type.REAL),
    (Type.TEXT, Type.DATE): _day,
    (Type.INTEGER, Type.TEXT): _spelt,
    (Type.BOOLEAN, Type.INTEGER): _counted,
    (Type.TIMESTAMP, Type.DATE): _date,
}
