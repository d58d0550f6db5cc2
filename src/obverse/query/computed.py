"""What functions of released numbers come to, and the ranges they lie in: each NULL where it has no value.

`OPERATIONS` are those that cells of a release and drawn rows share with the engines; `FURTHER` are of released numbers
alone. `RANGED` are the functions of which a range follows from the ranges of what goes in.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import ceil, floor, inf, isinf, log, log2, log10, sqrt, trunc
from math import exp as e_to_the

from sqlglot import exp

from obverse.query.ranges import Number, Range, Scalar

Operation = Callable[..., Scalar]
Real = Callable[[float], float]
MOST_POWER, MOST_DIGITS = 64, 4096

OPERATIONS: dict[type[exp.Expr], Operation] = {
    exp.Paren: lambda x: x,
    exp.Neg: lambda x: -x,
    exp.Not: lambda x: not x,
    exp.Add: lambda x, y: x + y,
    exp.Sub: lambda x, y: x - y,
    exp.Mul: lambda x, y: x * y,
    exp.Div: lambda x, y: Fraction(x) / y,
    exp.EQ: lambda x, y: x == y,
    exp.NEQ: lambda x, y: x != y,
    exp.LT: lambda x, y: x < y,
    exp.LTE: lambda x, y: x <= y,
    exp.GT: lambda x, y: x > y,
    exp.GTE: lambda x, y: x >= y,
    exp.Abs: abs,
    exp.Floor: floor,
    exp.Ceil: ceil,
    exp.Nullif: lambda x, y: None if x == y else x,
}


def _real(function: Real) -> Operation:
    return lambda x: Fraction(function(float(x)))


def _power(x: Fraction, y: Fraction) -> Scalar:
    if Fraction(y).denominator == 1 and _digits(x) * abs(y) <= MOST_DIGITS:
        return Fraction(x) ** int(y)
    return Fraction(float(x) ** float(y)) if x >= 0 else None


def _digits(x: Number) -> int:
    """How many binary digits it is written with."""
    exact = Fraction(x)
    return exact.numerator.bit_length() + exact.denominator.bit_length()


_REALS: dict[type[exp.Expr], Real] = {exp.Sqrt: sqrt, exp.Ln: log, exp.Exp: e_to_the}
FURTHER: dict[type[exp.Expr], Operation] = {
    **{kind: _real(function) for kind, function in _REALS.items()},
    exp.Mod: lambda x, y: x - y * trunc(Fraction(x) / y),
    exp.IntDiv: lambda x, y: trunc(Fraction(x) / y),
    exp.Pow: _power,
    exp.Sign: lambda x: (x > 0) - (x < 0),
}
BASES: dict[str, Real] = {"": log10, "10": log10, "2": log2}


def _rising(function: Real) -> Callable[[Range], Range]:
    """The range of a function that nowhere falls; where an end has no value the range has none."""

    def end(x: Number, beyond: float) -> Number:
        try:
            return beyond if isinstance(x, float) and isinf(x) else Fraction(function(float(x)))
        except (ValueError, OverflowError):
            return beyond

    return lambda x: Range(end(x.low, -inf), end(x.high, inf))


RANGED: dict[type[exp.Expr], Callable[..., Range]] = {
    exp.Paren: lambda x: x,
    exp.Neg: lambda x: -x,
    exp.Add: lambda x, y: x + y,
    exp.Sub: lambda x, y: x - y,
    exp.Mul: lambda x, y: x * y,
    exp.Div: lambda x, y: x / y,
    exp.IntDiv: lambda x, y: (x / y).rounded(Fraction(1)),
    exp.Abs: abs,
    exp.Floor: lambda x: x.rounded(Fraction(1)),
    exp.Ceil: lambda x: x.rounded(Fraction(1)),
    exp.Nullif: lambda x, y: x,
    **{kind: _rising(function) for kind, function in _REALS.items()},
}


def logarithm(tree: exp.Log) -> Real | None:
    """LOG10, LOG2, and LOG to the base of ten."""
    return BASES.get("" if tree.expression is None else tree.this.name)


def of_logarithm(tree: exp.Log) -> exp.Expr:
    """What it is of: of LOG10(x) the base stands first."""
    inner: exp.Expr = tree.this if tree.expression is None else tree.expression
    return inner


def raised(x: Range, power: exp.Expr) -> Range | None:
    """xⁿ for a whole n from 0."""
    if not isinstance(power, exp.Literal) or not power.name.isdigit() or int(power.name) > MOST_POWER:
        return None
    n, made = int(power.name), Range(Fraction(1), Fraction(1))
    if any(isinstance(end, float) or _digits(end) * n > MOST_DIGITS for end in (x.low, x.high)):
        return Range(-inf, inf)
    if n % 2 == 0:
        x = abs(x)
    return Range(Fraction(x.low) ** n, Fraction(x.high) ** n) if n else made


def around_logarithm(tree: exp.Log, x: Range) -> Range | None:
    """The range of a logarithm."""
    function = logarithm(tree)
    return None if function is None else _rising(function)(x)


def hull(ranges: list[Range]) -> Range:
    """Around all of them."""
    return Range(min(each.low for each in ranges), max(each.high for each in ranges))


def rounding(tree: exp.Round | exp.Trunc) -> int | None:
    """To how many digits it rounds, where that is a constant."""
    digits = tree.args.get("decimals")
    sign, plain = (-1, digits.this) if isinstance(digits, exp.Neg) else (1, digits)
    if plain is None:
        return 0
    known = isinstance(plain, exp.Literal) and plain.name.isdigit() and int(plain.name) <= 30
    return sign * int(plain.name) if known else None
