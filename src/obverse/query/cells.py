"""Conditions and values by the cells of one column: what a row's expression comes to where its column has this value.

An expression that was made total is evaluated on a public value, so that what follows for a cell follows for its rows.
What cannot be told in this way is None, and whoever asks does without.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import date, datetime
from fractions import Fraction

from sqlglot import exp

from obverse.data.schema import Type
from obverse.query.ranges import Scalar
from obverse.query.released import ANSWERED, Row, value
from obverse.query.typed import DOUBLE

Evaluate = Callable[..., Scalar]
ROUNDED = (exp.Add, exp.Sub, exp.Mul, exp.Div)  # to a DOUBLE, as engines do
NUMBERS = ("DOUBLE", "BIGINT", "INT128", "INT", "FLOAT", "DECIMAL")


def conjuncts(tree: exp.Expr | None) -> Iterator[exp.Expr]:
    """The conditions that all have to hold."""
    if isinstance(tree, exp.Paren):
        yield from conjuncts(tree.this)
    elif isinstance(tree, exp.And):
        yield from conjuncts(tree.this)
        yield from conjuncts(tree.expression)
    elif tree is not None:
        yield tree


def columns(tree: exp.Expr) -> set[exp.Expr]:
    """The columns an expression is about."""
    return set(tree.find_all(exp.Column))


def evaluate(tree: exp.Expr, *over: exp.Expr) -> Evaluate | None:
    """What an expression of these columns comes to for a value of each; None where that cannot be told."""
    plain = _plain(tree, over)
    if plain is None:
        return None
    return lambda *held: value(plain, Row(held, ()))


def breaks(tree: exp.Expr, type: Type) -> tuple[Fraction, ...]:
    """The constants at which conditions on a bare column change, as numbers or as days and seconds."""
    found = [_constant(literal, type) for literal in tree.find_all(exp.Literal)]
    numbers = {each for each in found if each is not None}
    return tuple(sorted(numbers | {-each for each in numbers}))


def bare(tree: exp.Expr) -> bool:
    """Whether it only compares a column with constants, so that nothing changes but at them."""
    known = (exp.And, exp.Or, exp.Not, exp.Paren, exp.Is, exp.In, exp.Column, exp.Null, exp.Boolean, exp.Cast)
    compared = (exp.EQ, exp.NEQ, exp.Case, exp.If, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Neg, exp.Literal)
    inner = (exp.Identifier, exp.DataType)
    return all(isinstance(node, (*known, *compared, *inner)) for node in tree.walk())


def _constant(literal: exp.Literal, type: Type) -> Fraction | None:
    if not literal.is_string:
        return Fraction(literal.name)
    try:
        if type is Type.DATE:
            return Fraction(date.fromisoformat(literal.name).toordinal())
        if type is Type.TIMESTAMP:
            moment = datetime.fromisoformat(literal.name)
            seconds = moment.hour * 3600 + moment.minute * 60 + moment.second
            return Fraction(moment.toordinal() * 86_400 + seconds)
    except ValueError:
        return None
    return None


def _plain(tree: exp.Expr, over: tuple[exp.Expr, ...]) -> exp.Expr | None:
    """The expression over the value alone, without what only an engine needs: conversions, and guards against NaN."""
    if tree in over:
        return exp.column(str(over.index(tree)), table="§key")
    if isinstance(tree, exp.Cast):
        return _cast(tree, over)
    if isinstance(tree, exp.Anonymous) and tree.name.lower() == "isfinite":
        inner = _plain(tree.expressions[0], over)
        return None if inner is None else exp.Not(this=exp.Is(this=inner, expression=exp.Null()))
    if isinstance(tree, exp.Column) or type(tree) not in ANSWERED:
        return None
    if isinstance(tree, exp.Literal):
        return tree if tree.is_string or tree.name.isdigit() else exp.Cast(this=tree.copy(), to=DOUBLE)
    rebuilt = tree.copy()
    for name, part in tree.args.items():
        inside = _parts(part, over)
        if inside is None:
            return None
        rebuilt.set(
            name, inside[0] if isinstance(part, exp.Expr) else inside if isinstance(part, list) else part
        )
    return exp.Cast(this=rebuilt, to=DOUBLE) if type(tree) in ROUNDED else rebuilt


def _parts(part: object, over: tuple[exp.Expr, ...]) -> list[exp.Expr] | None:
    """The parts of an argument, plain; None where one cannot be."""
    parts: Iterable[object] = part if isinstance(part, list) else [part]
    found = [_plain(each, over) for each in parts if isinstance(each, exp.Expr)]
    plain = [each for each in found if each is not None]
    return plain if len(plain) == len(found) else None


def _cast(tree: exp.Cast, over: tuple[exp.Expr, ...]) -> exp.Expr | None:
    """A number stays the number; a day or a time written in the question is compared as it is shown."""
    named = str(tree.to.this.value)
    if named in NUMBERS or isinstance(tree.this, exp.Literal):
        return _plain(tree.this, over)
    return None
