"""Rules for conditions: comparisons whose two sides are of one type before the engine sees them."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime

from sqlglot import exp

from obverse.data.schema import Type
from obverse.errors import BadQuestion
from obverse.query.typed import (
    NUMBERS,
    Days,
    Read,
    Typed,
    as_double,
    condition,
    finite_sql,
    kept_finite,
    named,
    shown,
)


def _comparison(node: exp.Binary, read: Read) -> Typed:
    left, right = _alike(read(node.this), read(node.expression), node)
    return _truth(type(node)(this=left, expression=right))


def _truth(sql: exp.Expr) -> Typed:
    return Typed(exp.Paren(this=sql), Type.BOOLEAN, domain=(False, True))


def _alike(left: Typed, right: Typed, node: exp.Expr) -> tuple[exp.Expr, exp.Expr]:
    """Both sides as one type, converted here and not by the engine, whose conversions can fail on a row."""
    if left.type in NUMBERS and right.type in NUMBERS:
        if left.type is right.type is Type.INTEGER:
            return left.sql, right.sql
        return as_double(kept_finite(left)), as_double(kept_finite(right))
    if left.literal and right.type in MOMENTS:
        left = moment(left, right.type)
    if right.literal and left.type in MOMENTS:
        right = moment(right, left.type)
    if None not in (left.type, right.type) and left.type is not right.type:
        raise BadQuestion(f"{shown(node)} compares {named(left)} with {named(right)}")
    return left.sql, right.sql


MOMENTS: dict[Type | None, tuple[type[date], str]] = {
    Type.DATE: (date, "DATE"),
    Type.TIMESTAMP: (datetime, "TIMESTAMP"),
}
# As every engine reads them alike: no zone, no week numbers, nothing left out.
_WRITTEN = {
    Type.DATE: (re.compile(r"\d{4}-\d\d-\d\d", re.ASCII), "2024-12-31"),
    Type.TIMESTAMP: (
        re.compile(r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d(\.\d{1,6})?)?)?", re.ASCII),
        "2024-12-31 23:59:59",
    ),
}


def moment(value: Typed, type_: Type | None) -> Typed:
    """A text written in the question, as the date or time it is compared with."""
    if value.type is not Type.TEXT:
        return value
    kind, name = MOMENTS[type_]
    form, example = _WRITTEN[type_ or Type.DATE]
    try:
        moment = kind.fromisoformat(value.sql.name) if form.fullmatch(value.sql.name) else None
    except ValueError:
        moment = None
    if moment is None:
        raise BadQuestion(f"'{value.sql.name}' is no {name.lower()}: write it as {example}")
    literal = exp.Literal.string(
        moment.isoformat(" ") if isinstance(moment, datetime) else moment.isoformat()
    )
    day = date(moment.year, moment.month, moment.day)
    sql = exp.Cast(this=literal, to=exp.DataType.build(name))
    return Typed(sql, type_, literal=True, days=Days(day, day))


def _distinct(node: exp.Binary, read: Read) -> Typed:
    """IS [NOT] DISTINCT FROM: whether two values differ, where NULL is a value like others."""
    left, right = _alike(read(node.this), read(node.expression), node)
    nothing = exp.and_(*[exp.Is(this=side.copy(), expression=exp.Null()) for side in (left, right)])
    same = exp.Coalesce(this=exp.EQ(this=left, expression=right), expressions=[nothing])
    return _truth(same if isinstance(node, exp.NullSafeEQ) else exp.Not(this=same))


def _both(node: exp.Connector, read: Read) -> Typed:
    return _truth(type(node)(this=condition(node.this, read), expression=condition(node.expression, read)))


def _not(node: exp.Not, read: Read) -> Typed:
    return _truth(exp.Not(this=condition(node.this, read)))


def _between(node: exp.Between, read: Read) -> Typed:
    value = node.this
    return _truth(
        exp.And(
            this=read(exp.GTE(this=value, expression=node.args["low"])).sql,
            expression=read(exp.LTE(this=value, expression=node.args["high"])).sql,
        )
    )


def _among(node: exp.In, read: Read) -> Typed:
    if node.args.get("query"):
        raise BadQuestion(
            f"{shown(node)}: IN is followed by a list of constants; instead of a SELECT, JOIN its table ON the column"
        )
    if node.args.get("unnest") or not node.expressions:
        raise BadQuestion(f"{shown(node)}: IN is followed by a list of constants")
    value = read(node.this)
    members = [read(member) for member in node.expressions]
    if not all(member.literal for member in members):
        raise BadQuestion(f"{shown(node)}: IN is followed by a list of constants")
    pairs = [_alike(value, member, node) for member in members]
    return _truth(exp.In(this=pairs[0][0], expressions=[member for _, member in pairs]))


def _is(node: exp.Is, read: Read) -> Typed:
    test = node.expression
    if isinstance(test, exp.Null):
        found = read(node.this)
        return _truth(exp.Is(this=finite_sql(found), expression=exp.Null()))
    if isinstance(test, exp.Boolean):
        return _truth(exp.Is(this=condition(node.this, read), expression=test))
    raise BadQuestion(f"{shown(node)}: IS is followed by NULL, TRUE or FALSE")


def _like(node: exp.Binary, read: Read) -> Typed:
    value, pattern = read(node.this), read(node.expression)
    if value.type is not Type.TEXT or not pattern.literal or pattern.type is not Type.TEXT:
        raise BadQuestion(f"{shown(node)}: LIKE compares a text column with a constant pattern")
    found = _truth(type(node)(this=value.sql, expression=pattern.sql))
    return _truth(exp.Not(this=found.sql)) if node.args.get("negate") else found


PREDICATES: dict[type[exp.Expr], Callable[..., Typed]] = {
    **dict.fromkeys((exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE), _comparison),
    exp.NullSafeEQ: _distinct,
    exp.NullSafeNEQ: _distinct,
    exp.And: _both,
    exp.Or: _both,
    exp.Not: _not,
    exp.Between: _between,
    exp.In: _among,
    exp.Is: _is,
    exp.Like: _like,
    exp.ILike: _like,
}
