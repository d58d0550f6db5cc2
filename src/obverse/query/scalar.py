"""A row's expressions by kind: each has a rule that makes it total, or is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

from sqlglot import exp

from obverse.data.schema import Type
from obverse.errors import BadQuestion
from obverse.query.arithmetic import ARITHMETIC, combined, constant
from obverse.query.casts import cast
from obverse.query.dates import DATES, days_between, moved, part
from obverse.query.functions import FUNCTIONS
from obverse.query.predicates import PREDICATES
from obverse.query.texts import TEXTS
from obverse.query.typed import (
    NUMBERS,
    Read,
    Typed,
    a_number,
    as_double,
    condition,
    kept_finite,
    shown,
    whole_domain,
)

ANSWERED = (
    "+ - * / // %, comparisons, AND OR NOT, BETWEEN, IN, IS, LIKE, CASE, COALESCE, NULLIF, GREATEST LEAST, FLOOR CEIL "
    "ROUND TRUNC ABS SIGN SQRT POWER EXP LN LOG10 LOG2 WIDTH_BUCKET, LOWER UPPER TRIM LENGTH SUBSTRING LEFT RIGHT "
    "REPLACE POSITION STARTS_WITH ENDS_WITH CONTAINS CONCAT, CAST, DATE_TRUNC DATE_DIFF and parts of a date"
)


@dataclass(frozen=True)
class Reader:
    """Reads expressions over the columns that `lookup` finds."""

    lookup: Callable[[exp.Column], Typed]

    def __call__(self, node: exp.Expr) -> Typed:
        if isinstance(node, exp.Column):
            return self.lookup(node)
        if (rule := _RULES.get(type(node))) is None:
            raise BadQuestion(f"{shown(node)} is not answered; {_instead(node)}")
        return rule(node, self)


_BY_DAY = "what it comes to depends on when it is asked: write the day, as DATE '2024-12-31'"
_BY_TABLE = (
    "what other rows hold is not looked up for each row: JOIN the table ON a column, or ask for the number before "
    "and write it here"
)
_INSTEAD: dict[type[exp.Expr], str] = {
    **dict.fromkeys((exp.CurrentDate, exp.CurrentTimestamp, exp.CurrentTime, exp.CurrentDatetime), _BY_DAY),
    **dict.fromkeys((exp.Exists, exp.Subquery, exp.Select), _BY_TABLE),
    **dict.fromkeys((exp.Any, exp.All), "compare with each: x IN (1, 2), or x > 1 AND x > 2"),
    exp.Tuple: "compare one by one: a = 1 AND b = 2",
    exp.Rand: "rows are not drawn by chance, since noise would come on top: ask of all rows",
    exp.Window: "OVER looks from row to row: GROUP BY instead",
}


def _instead(node: exp.Expr) -> str:
    """What would work in place of an expression."""
    named = node.name.upper() if isinstance(node, exp.Anonymous) else ""
    if named in ("NOW", "GETDATE", "SYSDATE", "CURRENT_TIMESTAMP"):
        return _BY_DAY
    return _INSTEAD.get(type(node), f"of a row there are {ANSWERED}")


def _literal(node: exp.Literal, read: Read) -> Typed:
    if node.is_string:
        return Typed(node, Type.TEXT, None, (node.name,), size=len(node.name), literal=True)
    return constant(Fraction(node.name))


def _case(node: exp.Case, read: Read) -> Typed:
    branches: list[exp.If] = node.args["ifs"]
    values = [read(branch.args["true"]) for branch in branches]
    if (otherwise := node.args.get("default")) is not None:
        values.append(read(otherwise))
    subject = node.args.get("this")
    tests = [exp.EQ(this=subject, expression=each.this) if subject else each.this for each in branches]
    shared, parts = _unified(values, node)
    ifs = [exp.If(this=condition(test, read), true=part) for test, part in zip(tests, parts, strict=False)]
    default = parts[-1] if len(parts) > len(ifs) else None
    return Typed(
        exp.Case(ifs=ifs, default=default), shared.type, shared.interval, shared.domain, size=shared.size
    )


def _if(node: exp.If, read: Read) -> Typed:
    return _case(
        exp.Case(ifs=[exp.If(this=node.this, true=node.args["true"])], default=node.args.get("false")), read
    )


def _coalesce(node: exp.Coalesce, read: Read) -> Typed:
    values = [read(value) for value in (node.this, *node.expressions)]
    shared, parts = _unified(values, node)
    sql = exp.Coalesce(this=parts[0], expressions=parts[1:])
    return Typed(sql, shared.type, shared.interval, shared.domain, size=shared.size)


def _unified(values: list[Typed], node: exp.Expr) -> tuple[Typed, list[exp.Expr]]:
    """What several alternatives have in common: one type, the interval around theirs, all their values."""
    types = {value.type for value in values if value.type is not None}
    if types == set(NUMBERS):
        values = [Typed(as_double(v), Type.REAL, v.interval, v.domain, size=v.size) for v in values]
        types = {Type.REAL}
    if len(types) > 1:
        raise BadQuestion(
            f"{shown(node)} gives {' or '.join(sorted(t.value for t in types))}: one type is wanted"
        )
    known = [value for value in values if value.type is not None]
    intervals = [value.interval for value in known if value.interval is not None]
    interval = None
    if intervals and len(intervals) == len(known):
        interval = min(low for low, _ in intervals), max(high for _, high in intervals)
    domains = [value.domain for value in known if value.domain is not None]
    domain = None
    if domains and len(domains) == len(known):
        domain = tuple(dict.fromkeys(member for each in domains for member in each))
    size = max((value.size for value in known), default=0.0)
    return Typed(values[0].sql, next(iter(types), None), interval, domain, size=size), [v.sql for v in values]


def _sum(node: exp.Add | exp.Sub, read: Read) -> Typed:
    """Of numbers; and dates some days or months away, or the days between two."""
    sign = 1 if isinstance(node, exp.Add) else -1
    if isinstance(node.expression, exp.Interval):
        return moved(read(node.this), node.expression, sign, node)
    left, right = read(node.this), read(node.expression)
    if left.type is right.type is Type.DATE and sign < 0:
        return days_between(left, right, "DAY")
    if left.type is Type.DATE and isinstance(right.sql, exp.Literal) and not right.sql.is_string:
        by = exp.Interval(this=exp.Literal.string(right.sql.name), unit=exp.var("DAY"))
        return moved(left, by, sign, node)
    return combined(node, a_number(left, node.this), a_number(right, node.expression))


def _nullif(node: exp.Nullif, read: Read) -> Typed:
    """x, but NULL where it equals y."""
    value, same = read(node.this), condition(exp.EQ(this=node.this, expression=node.expression), read)
    sql = exp.Case(ifs=[exp.If(this=same, true=exp.Null())], default=value.sql)
    return replace(value, sql=sql, column=None, literal=False)


def _extreme(node: exp.Greatest | exp.Least, read: Read) -> Typed:
    """The largest or smallest of those that are not NULL; a constant among them bounds it on one side.

    So LEAST(GREATEST(x, 0), 9) is between 0 and 9 whatever x is.
    """
    values = [kept_finite(read(each)) for each in (node.this, *node.expressions)]
    shared, parts = _unified(values, node)
    if shared.type is None:
        raise BadQuestion(f"{shown(node)} is of NULL alone")
    low, high = _ends(values, least=isinstance(node, exp.Least))
    interval = None if low is None or high is None else (low, high)
    domain = shared.domain
    if shared.type is Type.INTEGER and interval is not None:
        domain = whole_domain(interval)
    sql = type(node)(this=parts[0], expressions=parts[1:], ignore_nulls=True)
    return Typed(sql, shared.type, interval, domain, size=shared.size, half=(low, high))


def _ends(values: list[Typed], *, least: bool) -> tuple[Fraction | None, Fraction | None]:
    """Around all of them, and on one side no further than the constants."""
    known = [value.interval or value.half for value in values if value.type is not None]
    lows = [low for low, _ in known if low is not None]
    highs = [high for _, high in known if high is not None]
    low = min(lows) if len(lows) == len(known) else None
    high = max(highs) if len(highs) == len(known) else None
    fixed = [value.interval[0] for value in values if value.literal and value.interval is not None]
    if fixed and least:
        high = min(fixed) if high is None else min(high, *fixed)
    elif fixed:
        low = max(fixed) if low is None else max(low, *fixed)
    return low, high


def _named(node: exp.Anonymous, read: Read) -> Typed:
    """Functions that the parser knows no better."""
    name, arguments = node.name.upper(), node.expressions
    if name in ("DOW", "WEEKDAY") and len(arguments) == 1:
        return part("DOW", read(arguments[0]), node)
    if name == "DATE_PART" and len(arguments) == 2 and isinstance(arguments[0], exp.Literal):
        return part(arguments[0].name.upper(), read(arguments[1]), node)
    if name in ("PREFIX", "SUFFIX") and len(arguments) == 2:
        kind = exp.StartsWith if name == "PREFIX" else exp.EndsWith
        return read(kind(this=arguments[0], expression=arguments[1]))
    raise BadQuestion(f"{shown(node)} is not answered; {_instead(node)}")


_RULES: dict[type[exp.Expr], Callable[..., Typed]] = {
    **ARITHMETIC,
    **PREDICATES,
    exp.Literal: _literal,
    exp.Boolean: lambda node, _: Typed(node, Type.BOOLEAN, domain=(bool(node.this),), literal=True),
    exp.Null: lambda node, _: Typed(exp.Null(), None, literal=True),
    exp.Paren: lambda node, read: read(node.this),
    exp.Case: _case,
    exp.If: _if,
    exp.Coalesce: _coalesce,
    exp.Cast: cast,
    exp.TryCast: cast,
    **FUNCTIONS,
    **DATES,
    **TEXTS,
    exp.Add: _sum,
    exp.Sub: _sum,
    exp.Nullif: _nullif,
    exp.Greatest: _extreme,
    exp.Least: _extreme,
    exp.Anonymous: _named,
}
