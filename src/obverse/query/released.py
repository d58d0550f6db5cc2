"""Expressions over what was released: evaluated on the numbers, and on the intervals they lie in.

Post-processing costs nothing [DR14, Proposition 2.1], and cannot fail: what has no value is NULL.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import floor, inf, isfinite

from sqlglot import exp

from obverse.data.schema import Category
from obverse.query.computed import (
    FURTHER,
    OPERATIONS,
    RANGED,
    Operation,
    around_logarithm,
    hull,
    logarithm,
    of_logarithm,
    raised,
    rounding,
)
from obverse.query.ranges import Range, Scalar, Single

ANSWERED = frozenset(
    {
        *OPERATIONS,
        *(exp.Literal, exp.Null, exp.Boolean, exp.And, exp.Or, exp.Coalesce, exp.Case, exp.If, exp.Is),
        *(exp.Round, exp.In, exp.Between),
    }
)
RELEASED = ANSWERED | {*FURTHER, exp.Log, exp.Trunc, exp.Greatest, exp.Least, exp.Cast, exp.TryCast}
NUMBERS = (
    "+ − × / // %, ABS SIGN SQRT POWER EXP LN LOG, FLOOR CEIL ROUND TRUNC, GREATEST LEAST, CAST to numbers"
)


@dataclass(frozen=True)
class Row:
    """One group's released values by place: its key and its aggregates.

    A total is over all values of the keys that are `rolled` up, and the sum of so many `parts`. `ends` are those of the
    intervals that are asked for about its numbers.
    """

    key: tuple[Category | None, ...]
    aggregates: Sequence[Scalar]
    rolled: frozenset[int] = frozenset()
    parts: int = 1
    ends: Sequence[Scalar] = ()


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
    if isinstance(tree, exp.If):
        chosen = tree.args["true"] if value(tree.this, row) is True else tree.args.get("false")
        return None if chosen is None else value(chosen, row)
    if isinstance(tree, exp.Is):
        wanted = None if isinstance(tree.expression, exp.Null) else bool(tree.expression.this)
        return value(tree.this, row) is wanted
    if isinstance(tree, exp.In):
        return _among(value(tree.this, row), [value(member, row) for member in tree.expressions])
    if isinstance(tree, exp.Between):
        found, low, high = (value(part, row) for part in (tree.this, tree.args["low"], tree.args["high"]))
        return _applied(lambda x, lo, hi: lo <= x <= hi, found, low, high)
    return _function(tree, row)


def _function(tree: exp.Expr, row: Row) -> Scalar:
    """Of one number or several."""
    if isinstance(tree, exp.Round | exp.Trunc):
        digits = tree.args.get("decimals")
        away = isinstance(tree, exp.Round)
        return _rounded(value(tree.this, row), value(digits, row) if digits else 0, away=away)
    if isinstance(tree, exp.Cast):
        return _cast(tree, value(tree.this, row))
    if isinstance(tree, exp.Greatest | exp.Least):
        every = (value(each, row) for each in (tree.this, *tree.expressions))
        known = [each for each in every if each is not None]
        most = max if isinstance(tree, exp.Greatest) else min
        return _applied(lambda *held: most(held), *known) if known else None
    if isinstance(tree, exp.Log):
        function = logarithm(tree)
        inner = value(of_logarithm(tree), row)
        return None if function is None else _applied(lambda x: Fraction(function(float(x))), inner)
    operands = [value(part, row) for part in (tree.this, tree.expression) if isinstance(part, exp.Expr)]
    return _applied(OPERATIONS.get(type(tree)) or FURTHER[type(tree)], *operands)


def castable(tree: exp.Cast) -> bool:
    """Whether a released number can be cast so: to a number of some kind."""
    named, given = str(tree.to.this.value), [each.name for each in tree.to.expressions]
    return named in (*_WHOLE, *_BROKEN) and all(each.isdigit() and len(each) < 3 for each in given)


_WHOLE = ("TINYINT", "SMALLINT", "INT", "BIGINT", "INT128")
_BROKEN = ("FLOAT", "DOUBLE", "DECIMAL")


def _cast(tree: exp.Cast, number: Scalar) -> Scalar:
    """A number as a whole one, halves to the even one; as a decimal to its digits; as a float as it is."""
    if not isinstance(number, int | Fraction):
        return None
    named, given = str(tree.to.this.value), tree.to.expressions
    if named in _WHOLE:
        return round(Fraction(number))
    if named == "DECIMAL":
        return _rounded(number, int(given[1].name) if len(given) > 1 else 0 if given else 3)
    return _applied(lambda x: Fraction(float(x)), number)


def _among(found: Scalar, members: list[Scalar]) -> Scalar:
    """Three-valued IN."""
    if found is None:
        return None
    return True if found in members else None if None in members else False


def _placed(tree: exp.Column, row: Row) -> Scalar:
    place = int(tree.name)
    if tree.table == "§grouping":
        return Fraction(place in row.rolled)
    if tree.table == "§end":
        return row.ends[place]
    return row.key[place] if tree.table == "§key" else row.aggregates[place]


def _applied(operation: Operation, *operands: Scalar) -> Scalar:
    if any(operand is None for operand in operands):
        return None
    try:
        found = operation(*operands)
        if isinstance(found, int | Fraction):
            float(found)  # what no double holds is no number
        return found
    except (TypeError, ValueError, ZeroDivisionError, OverflowError):
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


def _rounded(number: Scalar, digits: Scalar, *, away: bool = True) -> Scalar:
    """Halves away from zero, as in SQL; or all that is beyond the digits cut off."""
    if not isinstance(number, int | Fraction) or not isinstance(digits, int | Fraction):
        return None
    exact, places = Fraction(number), int(digits)
    if not -30 <= places <= 30:
        return None
    scale = Fraction(10 ** (30 + places), 10**30)
    whole = Fraction(floor(abs(exact) * scale + (Fraction(1, 2) if away else 0))) / scale
    return whole if exact >= 0 else -whole


def reach(tree: exp.Expr, row: Row, ranges: Sequence[Range]) -> Range | None:
    """The range an expression lies in when its aggregates lie in theirs, where that can be told."""
    if isinstance(tree, exp.Column):
        if tree.table == "§aggregate":
            return ranges[int(tree.name)]
        if tree.table == "§end":
            return None  # it is known, and what is made of it has no ±
        key = _placed(tree, row)
        return None if isinstance(key, tuple) else _point(key)
    if isinstance(tree, exp.Literal):
        return None if tree.is_string else _point(Fraction(tree.name))
    if isinstance(tree, exp.Case | exp.If | exp.Coalesce | exp.Greatest | exp.Least):
        return _one_of(tree, row, ranges)
    if isinstance(tree, exp.Round | exp.Trunc | exp.Cast | exp.Pow | exp.Log):
        inner = reach(of_logarithm(tree) if isinstance(tree, exp.Log) else tree.this, row, ranges)
        return None if inner is None else _moved(tree, inner)
    operation = RANGED.get(type(tree))
    if operation is None:
        return None
    operands = [
        reach(part, row, ranges) for part in (tree.this, tree.expression) if isinstance(part, exp.Expr)
    ]
    return None if None in operands else operation(*operands)


def _one_of(tree: exp.Expr, row: Row, ranges: Sequence[Range]) -> Range | None:
    """Around all that it may come to: before the noise another branch may have been taken."""
    if isinstance(tree, exp.Case):
        parts = [branch.args["true"] for branch in tree.args["ifs"]] + [tree.args.get("default")]
    elif isinstance(tree, exp.If):
        parts = [tree.args["true"], tree.args.get("false")]
    else:
        parts = [tree.this, *tree.expressions]
    found = [reach(part, row, ranges) for part in parts if isinstance(part, exp.Expr)]
    known = [each for each in found if each is not None]
    return hull(known) if known and len(known) == len(parts) else None


def _moved(tree: exp.Expr, inner: Range) -> Range | None:
    """A function that moves a number by no more than is known, or never falls."""
    if isinstance(tree, exp.Log):
        return around_logarithm(tree, inner)
    if isinstance(tree, exp.Pow):
        return raised(inner, tree.expression)
    if isinstance(tree, exp.Cast):
        named, given = str(tree.to.this.value), tree.to.expressions
        if named not in _WHOLE and named != "DECIMAL":
            return inner
        places = 0 if named in _WHOLE else int(given[1].name) if len(given) > 1 else 0 if given else 3
        return inner.rounded(Fraction(1, 2) / 10**places)
    places_or_none = rounding(tree)  # type: ignore[arg-type]
    if places_or_none is None:
        return None
    half = Fraction(1, 2) if isinstance(tree, exp.Round) else Fraction(1)
    return inner.rounded(half / Fraction(10) ** places_or_none)


def _point(number: Single) -> Range | None:
    if number is None or isinstance(number, str):
        return None
    return Range(Fraction(number), Fraction(number))


def margin(number: Scalar, around: Range | None) -> float | None:
    """How far the ends of a range are from a number, at most."""
    if around is None or not isinstance(number, int | Fraction):
        return None
    try:
        wide = max(float(around.high) - float(number), float(number) - float(around.low), 0.0)
    except OverflowError:
        return inf
    return wide if isfinite(wide) else inf
