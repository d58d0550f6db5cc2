"""Rules for functions of one number: rounding, powers, roots, logarithms and equal parts.

Each is NULL where it has no value, and no argument reaches an engine where its function would fail.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from math import ceil, floor, inf, log, log2, log10, trunc
from math import exp as e_to_the

from sqlglot import exp

from obverse.data.schema import Type
from obverse.errors import BadQuestion
from obverse.query.arithmetic import integer, real
from obverse.query.typed import (
    LARGEST,
    LARGEST_DOMAIN,
    Interval,
    Read,
    Typed,
    as_double,
    derived,
    double,
    function,
    kept_finite,
    number,
    shown,
    whole_domain,
    written,
)

MOST_DIGITS, MOST_POWER = 15, 700


def _rounded(node: exp.Func, read: Read) -> Typed:
    """FLOOR, CEIL, ROUND and TRUNC to whole numbers, or to so many digits; halves go away from zero."""
    inner, name = number(node.this, read), type(node).__name__.upper()
    digits = node.args.get("decimals")
    return to_digits(inner, 0 if digits is None else _digits(digits, node), name)


def _digits(node: exp.Expr, whole: exp.Expr) -> int:
    sign, plain = (-1, node.this) if isinstance(node, exp.Neg) else (1, node)
    if isinstance(plain, exp.Literal) and plain.name.isdigit() and int(plain.name) <= MOST_DIGITS:
        return sign * int(plain.name)
    raise BadQuestion(f"{shown(whole)}: digits are a constant from −{MOST_DIGITS} to {MOST_DIGITS}")


def to_digits(value: Typed, digits: int, name: str = "ROUND") -> Typed:
    """Rounded at so many digits behind the point, by whole numbers of the last one."""
    if not digits:
        return _to_whole(name, value)
    scale = Fraction(10 ** abs(digits))
    there, back = (exp.Mul, exp.Div) if digits > 0 else (exp.Div, exp.Mul)
    times = scale if digits > 0 else 1 / scale
    interval = None if value.interval is None else (value.interval[0] * times, value.interval[1] * times)
    size = value.size * float(times)
    size = size if size < LARGEST[Type.REAL] else inf
    whole = _to_whole(name, Typed(_scaled(there, as_double(value), scale), Type.REAL, interval, size=size))
    interval = None if whole.interval is None else (whole.interval[0] / times, whole.interval[1] / times)
    size = value.size + float(1 / times) if max(size, value.size) < LARGEST[Type.REAL] else inf
    made = Typed(_scaled(back, whole.sql, scale), Type.REAL, interval, size=size)
    return (
        made if digits > 0 else derived(made, lambda x: x * int(scale), whole)
    )  # tens, hundreds, … are whole


def _scaled(kind: type[exp.Binary], sql: exp.Expr, scale: Fraction) -> exp.Expr:
    made = kind(this=sql, expression=written(scale))
    if kind is exp.Div:
        made.set("typed", False)
        made.set("safe", False)
    return exp.Paren(this=made)


def _to_whole(name: str, inner: Typed) -> Typed:
    interval = None
    if inner.interval is not None:
        low, high = inner.interval
        ends = {
            "FLOOR": (floor(low), floor(high)),
            "CEIL": (ceil(low), ceil(high)),
            "TRUNC": (trunc(low), trunc(high)),
        }
        down, up = ends.get(name, (floor(low), ceil(high)))
        interval = Fraction(down), Fraction(up)
    domain = whole_domain(interval) if interval is not None else None
    made = Typed(function(name, as_double(inner)), Type.REAL, interval, domain, size=inner.size)
    return derived(made, lambda x: x, inner) if _whole_numbers(inner) else made


def _whole_numbers(value: Typed) -> bool:
    return value.domain is not None and all(type(each) is int for each in value.domain)


def _absolute(node: exp.Abs, read: Read) -> Typed:
    inner = number(node.this, read)
    interval = None
    if inner.interval is not None:
        low, high = inner.interval
        interval = max(low, -high, Fraction(0)), max(-low, high)
    made = real(function("ABS", as_double(inner)), interval, inner.size, inner)
    return derived(made, abs, inner) if _whole_numbers(inner) else made


def _sign(node: exp.Sign, read: Read) -> Typed:
    """−1, 0 or 1."""
    x, zero = as_double(kept_finite(number(node.this, read))), written(Fraction(0))
    tests = ((exp.GT, 1), (exp.LT, -1), (exp.EQ, 0))
    ifs = [exp.If(this=kind(this=x.copy(), expression=zero.copy()), true=integer(to)) for kind, to in tests]
    return Typed(exp.Case(ifs=ifs), Type.INTEGER, (Fraction(-1), Fraction(1)), (-1, 0, 1), size=1)


def _square_root(node: exp.Sqrt, read: Read) -> Typed:
    return _root(number(node.this, read))


def _root(inner: Typed) -> Typed:
    """√x, NULL below 0."""
    sql = function("SQRT", _guarded(as_double(inner), exp.GTE))
    interval = None
    if inner.interval is not None:
        interval = Fraction(0), max(Fraction(1), inner.interval[1])
    return Typed(sql, Type.REAL, interval, size=max(1.0, inner.size))


def _power(node: exp.Pow, read: Read) -> Typed:
    """x to a small whole number, multiplied out so that every engine comes to the same; x to ½ is √x."""
    power = node.expression
    if isinstance(power, exp.Literal) and power.name in ("0.5", ".5"):
        return _root(number(node.this, read))
    if not isinstance(power, exp.Literal) or power.name not in [str(n) for n in range(1, 9)]:
        raise BadQuestion(
            f"{shown(node)}: POWER to a constant from 1 to 8, or to 0.5; EXP(y * LN(x)) is any other"
        )
    inner, n = number(node.this, read), int(power.name)
    sql = as_double(inner)
    for _ in range(n - 1):
        sql = exp.Paren(this=exp.Mul(this=sql, expression=as_double(inner).copy()))
    interval = None
    if inner.interval is not None:
        ends = sorted(end**n for end in inner.interval)
        spans = n % 2 == 0 and inner.interval[0] <= 0 <= inner.interval[1]
        interval = (Fraction(0) if spans else ends[0]), ends[1]
    size = inner.size**n if inner.size < 2.0 ** (1000 / n) else inf
    return real(sql, interval, size, inner)


def _natural(node: exp.Ln, read: Read) -> Typed:
    return _logarithm(number(node.this, read), "LN", log)


def _log(node: exp.Log, read: Read) -> Typed:
    """LOG10(x), which LOG(x) is too, and LOG2(x)."""
    base, x = (None, node.this) if node.args.get("expression") is None else (node.this, node.expression)
    if base is not None and not (isinstance(base, exp.Literal) and base.name in ("2", "10")):
        raise BadQuestion(f"{shown(node)}: there are LN, LOG10 and LOG2; LN(x) / LN(b) is any other")
    inner = number(x, read)
    if base is None or base.name == "10":
        return _logarithm(inner, "LOG10", log10)
    two = _logarithm(inner, "LN", log2)
    return replace(two, sql=_scaled(exp.Div, two.sql, Fraction(log(2))))


def _logarithm(inner: Typed, name: str, value: Callable[[float], float]) -> Typed:
    """A logarithm, NULL at 0 and below."""
    sql = function(name, _guarded(as_double(inner), exp.GT))
    interval = None
    if inner.interval is not None and inner.interval[0] > 0:
        interval = _outward(*(value(float(end)) for end in inner.interval))
    return Typed(sql, Type.REAL, interval, size=max(1100.0, inner.size) if inner.size < inf else inf)


def _exponential(node: exp.Exp, read: Read) -> Typed:
    """e^x; NULL where that is beyond all numbers, and 0 where it is next to it."""
    inner = number(node.this, read)
    x, ends = as_double(inner), [written(Fraction(sign * MOST_POWER)) for sign in (-1, 1)]
    inside = exp.and_(exp.GTE(this=x, expression=ends[0]), exp.LTE(this=x.copy(), expression=ends[1]))
    below = exp.LT(this=x.copy(), expression=ends[0].copy())
    ifs = [
        exp.If(this=inside, true=exp.Exp(this=x.copy())),
        exp.If(this=below, true=written(Fraction(0))),
    ]
    interval = None
    if inner.interval is not None and inner.interval[1] <= MOST_POWER:
        low, high = (e_to_the(max(float(end), -MOST_POWER)) for end in inner.interval)
        interval = max(_outward(low, low)[0], Fraction(0)), _outward(high, high)[1]
    return Typed(exp.Case(ifs=ifs), Type.REAL, interval, size=e_to_the(MOST_POWER))


def _outward(low: float, high: float) -> Interval:
    """A little wider than floats can have been wrong by."""
    wide = Fraction(max(abs(low), abs(high), 1.0)) / 2**40
    return Fraction(low) - wide, Fraction(high) + wide


def _guarded(sql: exp.Expr, test: type[exp.Binary]) -> exp.Expr:
    zero = double(exp.Literal.number("0"))
    return exp.Case(ifs=[exp.If(this=test(this=sql.copy(), expression=zero), true=sql)])


def _bucket(node: exp.WidthBucket, read: Read) -> Typed:
    """Which of n equal parts of low … high x lies in, from 1; 0 below and n + 1 from high on."""
    x = kept_finite(number(node.this, read))
    given = [node.args.get(name) or exp.Null() for name in ("min_value", "max_value", "num_buckets")]
    low, high, parts = (number(each, read) for each in given)
    literal = low.literal and high.literal and parts.literal and parts.type is Type.INTEGER
    if not literal or low.interval is None or high.interval is None or parts.interval is None:
        raise BadQuestion(f"{shown(node)}: as in WIDTH_BUCKET(age, 0, 100, 10), with constants")
    bottom, top, n = low.interval[0], high.interval[0], int(parts.interval[0])
    if not (bottom < top and 1 <= n < LARGEST_DOMAIN - 2):
        raise BadQuestion(
            f"{shown(node)}: low is below high, and there are 1 to {LARGEST_DOMAIN - 3:,} parts"
        )
    tests = (
        (exp.LT, bottom, written(Fraction(0))),
        (exp.GTE, top, written(Fraction(n + 1))),
        (exp.GTE, bottom, _inside(as_double(x), bottom, top, n)),
    )
    ifs = [
        exp.If(this=kind(this=as_double(x).copy(), expression=written(end)), true=to)
        for kind, end, to in tests
    ]
    interval = Fraction(0), Fraction(n + 1)
    if x.interval is not None:
        interval = _placed(x.interval[0], bottom, top, n), _placed(x.interval[1], bottom, top, n)
    return Typed(exp.Case(ifs=ifs), Type.REAL, interval, whole_domain(interval), size=n + 1)


def _inside(x: exp.Expr, low: Fraction, high: Fraction, n: int) -> exp.Expr:
    """⌊(x − low)/(high − low)·n⌋ + 1, and no more than n where rounding has gone up."""
    above = exp.Paren(this=exp.Sub(this=x.copy(), expression=written(low)))
    places = exp.Mul(this=_scaled(exp.Div, above, high - low), expression=written(Fraction(n)))
    place = exp.Add(this=function("FLOOR", exp.Paren(this=places)), expression=written(Fraction(1)))
    return exp.Least(this=exp.Paren(this=place), expressions=[written(Fraction(n))], ignore_nulls=True)


def _placed(x: Fraction, low: Fraction, high: Fraction, n: int) -> Fraction:
    """The same of an end of x's interval, by the same floats: they are monotone, so no x in it goes beyond."""
    if x < low:
        return Fraction(0)
    share = (float(x) - float(low)) / float(high - low)
    return Fraction(n + 1 if x >= high else min(floor(share * n) + 1, n))


FUNCTIONS: dict[type[exp.Expr], Callable[..., Typed]] = {
    **dict.fromkeys((exp.Floor, exp.Ceil, exp.Round, exp.Trunc), _rounded),
    exp.Abs: _absolute,
    exp.Sign: _sign,
    exp.Sqrt: _square_root,
    exp.Pow: _power,
    exp.Ln: _natural,
    exp.Log: _log,
    exp.Exp: _exponential,
    exp.WidthBucket: _bucket,
}
