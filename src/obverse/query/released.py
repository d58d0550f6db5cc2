"""Expressions over what was released: evaluated on the numbers, and on the intervals they lie in.

Post-processing costs nothing [DR14, Proposition 2.1], and cannot fail: what has no value is NULL.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, inf, isfinite, isinf

from sqlglot import exp

from obverse.data.schema import Category

Number = Fraction | float
Single = Category | Fraction | float | None
Scalar = Single | tuple[Single, ...]


@dataclass(frozen=True)
class Range:
    """All the numbers between two ends, as a number that can be computed with."""

    low: Number
    high: Number

    def __add__(self, other: Range) -> Range:
        return Range(self.low + other.low, self.high + other.high)

    def __sub__(self, other: Range) -> Range:
        return Range(self.low - other.high, self.high - other.low)

    def __neg__(self) -> Range:
        return Range(-self.high, -self.low)

    def __mul__(self, other: Range) -> Range:
        corners = [_product(x, y) for x in (self.low, self.high) for y in (other.low, other.high)]
        return Range(min(corners), max(corners))

    def __truediv__(self, other: Range) -> Range:
        if other.low <= 0 <= other.high:
            return Range(-inf, inf)
        return self * Range(_inverse(other.high), _inverse(other.low))

    def __abs__(self) -> Range:
        return Range(max(self.low, -self.high, Fraction(0)), max(-self.low, self.high))

    def squared(self) -> Range:
        """x², which is not x·y: it is nowhere below 0."""
        size = abs(self)
        return Range(_product(size.low, size.low), _product(size.high, size.high))

    def within(self, low: Fraction, high: Fraction) -> Range:
        """Cut to low … high."""
        return Range(min(max(self.low, low), high), max(min(self.high, high), low))

    def rounded(self, half: Fraction) -> Range:
        """Wide enough for what rounding may move."""
        return Range(self.low - half, self.high + half)


def _product(x: Number, y: Number) -> Number:
    return Fraction(0) if x == 0 or y == 0 else x * y


def _inverse(x: Number) -> Number:
    return Fraction(0) if isinstance(x, float) and isinf(x) else 1 / Fraction(x)


@dataclass(frozen=True)
class Row:
    """One group's released values by place: its key and its aggregates.

    A total is over all values of the keys that are `rolled` up, and the sum of so many `parts`.
    """

    key: tuple[Category | None, ...]
    aggregates: Sequence[Scalar]
    rolled: frozenset[int] = frozenset()
    parts: int = 1


def value(tree: exp.Expr, row: Row) -> Scalar:
    """What an expression comes to in one group; NULL where it has no value."""
    if isinstance(tree, exp.Column):
        return _placed(tree, row)
    if isinstance(tree, exp.Literal):
        return tree.name if tree.is_string else Fraction(tree.name)
    if isinstance(tree, exp.Null):
        return None
    if isinstance(tree, exp.Boolean):
        return bool(tree.this)
    if isinstance(tree, (exp.And, exp.Or)):
        return _logic(tree, row)
    if isinstance(tree, exp.Coalesce):
        return next((v for e in (tree.this, *tree.expressions) if (v := value(e, row)) is not None), None)
    if isinstance(tree, exp.Case):
        return _case(tree, row)
    if isinstance(tree, exp.Is):
        wanted = None if isinstance(tree.expression, exp.Null) else bool(tree.expression.this)
        return value(tree.this, row) is wanted
    if isinstance(tree, exp.Round):
        return _rounded(
            value(tree.this, row), value(tree.args["decimals"], row) if tree.args.get("decimals") else 0
        )
    if isinstance(tree, exp.In):
        found = value(tree.this, row)
        return None if found is None else any(found == value(member, row) for member in tree.expressions)
    if isinstance(tree, exp.Between):
        found, low, high = (value(part, row) for part in (tree.this, tree.args["low"], tree.args["high"]))
        return _applied(lambda x, lo, hi: lo <= x <= hi, found, low, high)
    operands = [value(part, row) for part in (tree.this, tree.expression) if isinstance(part, exp.Expr)]
    return _applied(_OPERATIONS[type(tree)], *operands)


def _placed(tree: exp.Column, row: Row) -> Scalar:
    place = int(tree.name)
    if tree.table == "§grouping":
        return Fraction(place in row.rolled)
    return row.key[place] if tree.table == "§key" else row.aggregates[place]


def _applied(operation: Callable[..., Scalar], *operands: Scalar) -> Scalar:
    if any(operand is None for operand in operands):
        return None
    try:
        return operation(*operands)
    except (TypeError, ZeroDivisionError, OverflowError):
        return None


def _logic(tree: exp.Connector, row: Row) -> Scalar:
    """Three-valued AND and OR."""
    found = [value(tree.this, row), value(tree.expression, row)]
    decisive = isinstance(tree, exp.Or)
    if decisive in found:
        return decisive
    return None if None in found else not decisive


def _case(tree: exp.Case, row: Row) -> Scalar:
    subject = value(tree.this, row) if tree.args.get("this") is not None else True
    for branch in tree.args["ifs"]:
        if subject is not None and value(branch.this, row) == subject:
            return value(branch.args["true"], row)
    default = tree.args.get("default")
    return None if default is None else value(default, row)


def _rounded(number: Scalar, digits: Scalar) -> Scalar:
    """Halves away from zero, as in SQL."""
    if not isinstance(number, int | Fraction) or not isinstance(digits, int | Fraction):
        return None
    exact, places = Fraction(number), int(digits)
    if not -30 <= places <= 30:
        return None
    scale = Fraction(10 ** (30 + places), 10**30)
    whole = Fraction(floor(abs(exact) * scale + Fraction(1, 2))) / scale
    return whole if exact >= 0 else -whole


_OPERATIONS: dict[type[exp.Expr], Callable[..., Scalar]] = {
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
ANSWERED = frozenset(
    {
        *_OPERATIONS,
        *(exp.Literal, exp.Null, exp.Boolean, exp.And, exp.Or, exp.Coalesce, exp.Case, exp.If, exp.Is),
        *(exp.Round, exp.In, exp.Between),
    }
)


def reach(tree: exp.Expr, row: Row, ranges: Sequence[Range]) -> Range | None:
    """The range an expression lies in when its aggregates lie in theirs, where that can be told."""
    if isinstance(tree, exp.Column):
        if tree.table == "§aggregate":
            return ranges[int(tree.name)]
        key = _placed(tree, row)
        return None if isinstance(key, tuple) else _point(key)
    if isinstance(tree, exp.Literal):
        return None if tree.is_string else _point(Fraction(tree.name))
    if isinstance(tree, exp.Round):
        inner, digits = reach(tree.this, row, ranges), tree.args.get("decimals")
        places = int(digits.name) if isinstance(digits, exp.Literal) and digits.name.isdigit() else 0
        return None if inner is None or places > 30 else inner.rounded(Fraction(1, 2) / 10**places)
    operation = _RANGED.get(type(tree))
    if operation is None:
        return None
    operands = [
        reach(part, row, ranges) for part in (tree.this, tree.expression) if isinstance(part, exp.Expr)
    ]
    return None if None in operands else operation(*operands)


def _point(number: Single) -> Range | None:
    if number is None or isinstance(number, str):
        return None
    return Range(Fraction(number), Fraction(number))


_RANGED: dict[type[exp.Expr], Callable[..., Range]] = {
    exp.Paren: lambda x: x,
    exp.Neg: lambda x: -x,
    exp.Add: lambda x, y: x + y,
    exp.Sub: lambda x, y: x - y,
    exp.Mul: lambda x, y: x * y,
    exp.Div: lambda x, y: x / y,
    exp.Abs: abs,
    exp.Floor: lambda x: x.rounded(Fraction(1)),
    exp.Ceil: lambda x: x.rounded(Fraction(1)),
}


def margin(number: Scalar, around: Range | None) -> float | None:
    """How far the ends of a range are from a number, at most."""
    if around is None or not isinstance(number, int | Fraction):
        return None
    wide = max(float(around.high) - float(number), float(number) - float(around.low), 0.0)
    return wide if isfinite(wide) else inf
