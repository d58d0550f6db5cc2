"""Rules for numbers: arithmetic on DOUBLE that cannot fail, with the interval that follows from declared bounds."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import ceil, floor, inf

from sqlglot import exp

from obverse.data.schema import Type
from obverse.errors import BadQuestion
from obverse.query.typed import (
    Interval,
    Read,
    Typed,
    as_double,
    derived,
    double,
    function,
    number,
    whole_domain,
)


def constant(value: Fraction) -> Typed:
    """A number written in a question, exactly."""
    if value.denominator == 1:
        if abs(value) >= 2**63:
            raise BadQuestion("a whole number in a question stays below 2^63")
        whole = value.numerator
        return Typed(integer(whole), Type.INTEGER, (value, value), (whole,), size=abs(whole), literal=True)
    if not 2**-200 < abs(value) < 2**200:
        raise BadQuestion("a number in a question lies between 2^-200 and 2^200")
    number = float(value)
    sql = double(exp.Literal.number(repr(number)))
    return Typed(sql, Type.REAL, (value, value), size=abs(number), literal=True)


def integer(value: int) -> exp.Expr:
    """A whole number as it is written."""
    literal = exp.Literal.number(str(abs(value)))
    return exp.Neg(this=literal) if value < 0 else literal


def _negative(node: exp.Neg, read: Read) -> Typed:
    inner = number(node.this, read)
    if inner.literal and inner.interval:
        return constant(-inner.interval[0])
    interval = None if inner.interval is None else (-inner.interval[1], -inner.interval[0])
    return derived(real(exp.Neg(this=as_double(inner)), interval, inner.size, inner), lambda x: -x, inner)


def real(sql: exp.Expr, interval: Interval | None, size: float, *inputs: Typed) -> Typed:
    """A computed number, whole if all that went in was."""
    whole = all(each.type is Type.INTEGER for each in inputs)
    domain = whole_domain(interval) if whole and interval is not None else None
    return Typed(exp.Paren(this=sql), Type.REAL, interval, domain, size=size)


def _folded(node: exp.Binary, left: Typed, right: Typed) -> Typed | None:
    """What two constants come to, exactly, if it is a number that can be written."""
    if not (left.literal and right.literal and left.interval and right.interval):
        return None
    x, y = left.interval[0], right.interval[0]
    if isinstance(node, exp.Div) and not y:
        return None
    exact = x / y if isinstance(node, exp.Div) else _INTERVALS[type(node)]((x, x), (y, y))[0]
    written = abs(exact) < 2**63 and (exact.denominator == 1 or abs(exact) > 2**-200)
    return constant(exact) if written else None


def _arithmetic(node: exp.Binary, read: Read) -> Typed:
    return combined(node, number(node.this, read), number(node.expression, read))


def combined(node: exp.Binary, left: Typed, right: Typed) -> Typed:
    """Two numbers added, subtracted or multiplied."""
    if (folded := _folded(node, left, right)) is not None:
        return folded
    interval = None
    if left.interval is not None and right.interval is not None:
        interval = _INTERVALS[type(node)](left.interval, right.interval)
    size = left.size * right.size if isinstance(node, exp.Mul) else left.size + right.size
    made = real(type(node)(this=as_double(left), expression=as_double(right)), interval, size, left, right)
    return derived(made, _EXACT[type(node)], left, right)


def _cut(x: int, y: int) -> int | None:
    """x / y without what is behind the point."""
    return None if not y else abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


def _rest(x: int, y: int) -> int | None:
    whole = _cut(x, y)
    return None if whole is None else x - y * whole


_EXACT: dict[type[exp.Expr], Callable[..., int | None]] = {
    exp.Add: lambda x, y: x + y,
    exp.Sub: lambda x, y: x - y,
    exp.Mul: lambda x, y: x * y,
}


def _products(a: Interval, b: Interval) -> Interval:
    corners = [x * y for x in a for y in b]
    return min(corners), max(corners)


_INTERVALS: dict[type[exp.Expr], Callable[[Interval, Interval], Interval]] = {
    exp.Add: lambda a, b: (a[0] + b[0], a[1] + b[1]),
    exp.Sub: lambda a, b: (a[0] - b[1], a[1] - b[0]),
    exp.Mul: _products,
}


def _quotient(node: exp.Binary, read: Read) -> Typed:
    """x / y, NULL where y is 0; bounded where y's interval leaves 0 out."""
    left, right = number(node.this, read), number(node.expression, read)
    if isinstance(node, exp.Div) and (folded := _folded(node, left, right)) is not None:
        return folded
    interval = None
    if left.interval and right.interval and not right.interval[0] <= 0 <= right.interval[1]:
        interval = _products(left.interval, (1 / right.interval[1], 1 / right.interval[0]))
    zero = exp.Literal.number("0")
    sql: exp.Expr = exp.Div(
        this=as_double(left),
        expression=exp.Nullif(this=as_double(right), expression=double(zero)),
        typed=False,
        safe=False,
    )
    size = _shrunk(left, right)
    if not isinstance(node, exp.IntDiv):
        return Typed(exp.Paren(this=sql), Type.REAL, interval, size=size)
    if interval is not None:
        interval = Fraction(floor(interval[0])), Fraction(ceil(interval[1]))
    domain = whole_domain(interval) if interval else None
    made = Typed(function("TRUNC", sql), Type.REAL, interval, domain, size=size)
    return derived(made, _cut, left, right)


def _shrunk(left: Typed, right: Typed) -> float:
    """How large a number divided by a constant can be: rounding is monotone, so that it never passes this."""
    by = abs(float(right.interval[0])) if right.literal and right.interval else 0.0
    return left.size / by if by >= 1 else inf


def _remainder(node: exp.Mod, read: Read) -> Typed:
    """x % y, NULL where y is 0; between −|y| and |y|, and not negative where x is not."""
    left, right = number(node.this, read), number(node.expression, read)
    interval = None
    if right.interval is not None:
        size = max(abs(right.interval[0]), abs(right.interval[1]))
        low = Fraction(0) if left.interval is not None and left.interval[0] >= 0 else -size
        interval = low, size
    zero = double(exp.Literal.number("0"))
    sql = exp.Mod(this=as_double(left), expression=exp.Nullif(this=as_double(right), expression=zero))
    whole = left.type is Type.INTEGER and right.type is Type.INTEGER
    domain = whole_domain(interval) if whole and interval is not None else None
    return derived(Typed(exp.Paren(this=sql), Type.REAL, interval, domain), _rest, left, right)


ARITHMETIC: dict[type[exp.Expr], Callable[..., Typed]] = {
    exp.Neg: _negative,
    exp.Add: _arithmetic,
    exp.Sub: _arithmetic,
    exp.Mul: _arithmetic,
    exp.Div: _quotient,
    exp.IntDiv: _quotient,
    exp.Mod: _remainder,
}
