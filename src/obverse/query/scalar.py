"""An expression over one row, rewritten so that it cannot fail, with its type and the interval it lies in.

Every expression that is let through has a total form: whatever the row holds, it gives a value or NULL, never an
error and never NaN or an infinity, since whether a question fails would tell of the row it failed on. Numbers are
computed as DOUBLE, where nothing overflows into an error; arguments outside a function's domain become NULL
before they reach it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date, datetime
from fractions import Fraction
from math import ceil, floor, inf
from sys import float_info

from sqlglot import exp

from obverse.data.schema import Category, Column, Schema, Type
from obverse.errors import BadQuestion

DOUBLE = exp.DataType.build("DOUBLE")
Interval = tuple[Fraction, Fraction]
LARGEST_DOMAIN = 10_000
LARGEST = {Type.INTEGER: 2.0**63, Type.REAL: float_info.max}
NUMBERS = (Type.INTEGER, Type.REAL)


@dataclass(frozen=True)
class Typed:
    """A total expression, its type, the interval its numbers lie in, and all the values it can take if they are few.

    `interval` is where the declared bounds of its columns put it; `size` is what it cannot exceed whatever the rows
    hold, and no NaN comes of finite sizes. `column` is set where the expression is a bare column.
    """

    sql: exp.Expr
    type: Type | None
    interval: Interval | None = None
    domain: tuple[Category, ...] | None = None
    column: Column | None = None
    size: float = inf
    literal: bool = False

    @property
    def finite(self) -> bool:
        """Whether it can be neither infinite nor NaN."""
        return self.size < inf or self.type not in NUMBERS


ANSWERED = (
    "+ - * / // %, comparisons, AND OR NOT, BETWEEN, IN, IS, LIKE, CASE, COALESCE, FLOOR CEIL ROUND ABS SQRT LN, "
    "LOWER UPPER TRIM LENGTH, and YEAR QUARTER MONTH DAY HOUR MINUTE of a date"
)


def typed(node: exp.Expr, schema: Schema) -> Typed:
    """The total form of an expression over a row of `schema`; or a refusal that says what it may hold."""
    rule = _RULES.get(type(node))
    if rule is None:
        raise BadQuestion(
            f"{shown(node)} is not answered: {type(node).__name__.upper()} has no total form here"
        )
    return rule(node, schema)


def condition(node: exp.Expr, schema: Schema) -> exp.Expr:
    """A total predicate."""
    found = typed(node, schema)
    if found.type not in (Type.BOOLEAN, None):
        raise BadQuestion(f"{shown(node)} is {_named(found)}, where a condition is wanted")
    return found.sql


def number(node: exp.Expr, schema: Schema) -> Typed:
    """A total number."""
    found = typed(node, schema)
    if found.type not in (*NUMBERS, None):
        raise BadQuestion(f"{shown(node)} is {_named(found)}, where a number is wanted")
    return found


def _column(node: exp.Column, schema: Schema) -> Typed:
    if node.args.get("db") or node.args.get("catalog"):
        raise BadQuestion(f"{shown(node)}: name a column, or table.column")
    column = schema.column(node.name)
    sql = exp.column(exp.to_identifier(column.name, quoted=True))
    interval = _bounds(column)
    domain = column.categories
    if domain is None and column.type is Type.INTEGER and interval is not None:
        domain = _whole_domain(interval)
    return Typed(sql, column.type, interval, domain, column, LARGEST.get(column.type, inf))


def _bounds(column: Column) -> Interval | None:
    if isinstance(column.low, Fraction) and isinstance(column.high, Fraction):
        return column.low, column.high
    return None


def _whole_domain(interval: Interval) -> tuple[Category, ...] | None:
    low, high = ceil(interval[0]), floor(interval[1])
    return tuple(range(low, high + 1)) if high - low < LARGEST_DOMAIN else None


def _literal(node: exp.Literal, schema: Schema) -> Typed:
    if node.is_string:
        return Typed(node, Type.TEXT, None, (node.name,), literal=True)
    return _constant(Fraction(node.name))


def _constant(value: Fraction) -> Typed:
    if value.denominator == 1:
        if abs(value) >= 2**63:
            raise BadQuestion("a whole number in a question stays below 2^63")
        whole = value.numerator
        return Typed(_whole(whole), Type.INTEGER, (value, value), (whole,), size=abs(whole), literal=True)
    if not 2**-200 < abs(value) < 2**200:
        raise BadQuestion("a number in a question lies between 2^-200 and 2^200")
    number = float(value)
    sql = _double(exp.Literal.number(repr(number)))
    return Typed(sql, Type.REAL, (value, value), size=abs(number), literal=True)


def _whole(value: int) -> exp.Expr:
    literal = exp.Literal.number(str(abs(value)))
    return exp.Neg(this=literal) if value < 0 else literal


def _negative(node: exp.Neg, schema: Schema) -> Typed:
    inner = number(node.this, schema)
    if inner.literal and inner.interval:
        return _constant(-inner.interval[0])
    interval = None if inner.interval is None else (-inner.interval[1], -inner.interval[0])
    return _real(exp.Neg(this=_as_double(inner)), interval, inner.size, inner)


def _double(sql: exp.Expr) -> exp.Expr:
    return exp.Cast(this=sql, to=DOUBLE)


def _as_double(value: Typed) -> exp.Expr:
    return value.sql if value.type is Type.REAL else _double(value.sql)


def _real(sql: exp.Expr, interval: Interval | None, size: float, *inputs: Typed) -> Typed:
    """A computed number, whole if all that went in was."""
    whole = all(each.type is Type.INTEGER for each in inputs)
    domain = _whole_domain(interval) if whole and interval is not None else None
    return Typed(exp.Paren(this=sql), Type.REAL, interval, domain, size=size)


def _arithmetic(node: exp.Binary, schema: Schema) -> Typed:
    left, right = number(node.this, schema), number(node.expression, schema)
    interval = None
    if left.interval is not None and right.interval is not None:
        interval = _INTERVALS[type(node)](left.interval, right.interval)
    size = left.size * right.size if isinstance(node, exp.Mul) else left.size + right.size
    return _real(type(node)(this=_as_double(left), expression=_as_double(right)), interval, size, left, right)


def _products(a: Interval, b: Interval) -> Interval:
    corners = [x * y for x in a for y in b]
    return min(corners), max(corners)


_INTERVALS: dict[type[exp.Expr], Callable[[Interval, Interval], Interval]] = {
    exp.Add: lambda a, b: (a[0] + b[0], a[1] + b[1]),
    exp.Sub: lambda a, b: (a[0] - b[1], a[1] - b[0]),
    exp.Mul: _products,
}


def _quotient(node: exp.Binary, schema: Schema) -> Typed:
    """x / y, NULL where y is 0; bounded where y's interval leaves 0 out."""
    left, right = number(node.this, schema), number(node.expression, schema)
    interval = None
    if left.interval and right.interval and not right.interval[0] <= 0 <= right.interval[1]:
        interval = _products(left.interval, (1 / right.interval[1], 1 / right.interval[0]))
    zero = exp.Literal.number("0")
    sql: exp.Expr = exp.Div(
        this=_as_double(left),
        expression=exp.Nullif(this=_as_double(right), expression=_double(zero)),
        typed=False,
        safe=False,
    )
    if not isinstance(node, exp.IntDiv):
        return Typed(exp.Paren(this=sql), Type.REAL, interval)
    if interval is not None:
        interval = Fraction(floor(interval[0])), Fraction(ceil(interval[1]))
    domain = _whole_domain(interval) if interval else None
    return Typed(_function("TRUNC", sql), Type.REAL, interval, domain)


def _remainder(node: exp.Mod, schema: Schema) -> Typed:
    """x % y, NULL where y is 0; between −|y| and |y|, and not negative where x is not."""
    left, right = number(node.this, schema), number(node.expression, schema)
    interval = None
    if right.interval is not None:
        size = max(abs(right.interval[0]), abs(right.interval[1]))
        low = Fraction(0) if left.interval is not None and left.interval[0] >= 0 else -size
        interval = low, size
    zero = _double(exp.Literal.number("0"))
    sql = exp.Mod(this=_as_double(left), expression=exp.Nullif(this=_as_double(right), expression=zero))
    whole = left.type is Type.INTEGER and right.type is Type.INTEGER
    domain = _whole_domain(interval) if whole and interval is not None else None
    return Typed(exp.Paren(this=sql), Type.REAL, interval, domain)


def _function(name: str, *arguments: exp.Expr) -> exp.Expr:
    return exp.func(name, *arguments, dialect="duckdb")


def _rounded(node: exp.Func, schema: Schema) -> Typed:
    """FLOOR, CEIL and ROUND to whole numbers."""
    inner = number(node.this, schema)
    digits = node.args.get("decimals")
    if digits is not None and not (isinstance(digits, exp.Literal) and digits.name == "0"):
        raise BadQuestion("ROUND inside a question rounds to whole numbers; round what is answered instead")
    interval = None
    if inner.interval is not None:
        interval = Fraction(floor(inner.interval[0])), Fraction(ceil(inner.interval[1]))
        if isinstance(node, exp.Floor):
            interval = interval[0], Fraction(floor(inner.interval[1]))
        elif isinstance(node, exp.Ceil):
            interval = Fraction(ceil(inner.interval[0])), interval[1]
    name = {exp.Floor: "FLOOR", exp.Ceil: "CEIL", exp.Round: "ROUND"}[type(node)]
    domain = _whole_domain(interval) if interval is not None else None
    return Typed(_function(name, _as_double(inner)), Type.REAL, interval, domain, size=inner.size)


def _absolute(node: exp.Abs, schema: Schema) -> Typed:
    inner = number(node.this, schema)
    interval = None
    if inner.interval is not None:
        low, high = inner.interval
        interval = max(low, -high, Fraction(0)), max(-low, high)
    return _real(_function("ABS", _as_double(inner)), interval, inner.size, inner)


def _root(node: exp.Sqrt, schema: Schema) -> Typed:
    """√x, NULL below 0."""
    inner = number(node.this, schema)
    sql = _function("SQRT", _guarded(_as_double(inner), exp.GTE))
    interval = None
    if inner.interval is not None:
        interval = Fraction(0), max(Fraction(1), inner.interval[1])
    return Typed(sql, Type.REAL, interval, size=max(1.0, inner.size))


def _logarithm(node: exp.Ln, schema: Schema) -> Typed:
    """ln x, NULL at 0 and below."""
    inner = number(node.this, schema)
    return Typed(_function("LN", _guarded(_as_double(inner), exp.GT)), Type.REAL, size=inner.size)


def _guarded(sql: exp.Expr, test: type[exp.Binary]) -> exp.Expr:
    zero = _double(exp.Literal.number("0"))
    return exp.Case(ifs=[exp.If(this=test(this=sql.copy(), expression=zero), true=sql)])


def _comparison(node: exp.Binary, schema: Schema) -> Typed:
    left, right = _alike(typed(node.this, schema), typed(node.expression, schema), node)
    return _truth(type(node)(this=left, expression=right))


def _truth(sql: exp.Expr) -> Typed:
    return Typed(exp.Paren(this=sql), Type.BOOLEAN, domain=(False, True))


def _alike(left: Typed, right: Typed, node: exp.Expr) -> tuple[exp.Expr, exp.Expr]:
    """Both sides as one type, converted here and not by the engine, whose conversions can fail on a row."""
    if left.type in NUMBERS and right.type in NUMBERS:
        if left.type is right.type is Type.INTEGER:
            return left.sql, right.sql
        return _as_double(_kept_finite(left)), _as_double(_kept_finite(right))
    if left.literal and right.type in _MOMENTS:
        left = _moment(left, right.type)
    if right.literal and left.type in _MOMENTS:
        right = _moment(right, left.type)
    if None not in (left.type, right.type) and left.type is not right.type:
        raise BadQuestion(f"{shown(node)} compares {_named(left)} with {_named(right)}")
    return left.sql, right.sql


def finite_sql(value: Typed) -> exp.Expr:
    """The value, NULL where a computation left the finite numbers."""
    sql = value.sql
    if value.finite:
        return sql
    return exp.Case(ifs=[exp.If(this=exp.Anonymous(this="isfinite", expressions=[sql.copy()]), true=sql)])


def _kept_finite(value: Typed) -> Typed:
    return replace(value, sql=finite_sql(value))


_MOMENTS: dict[Type | None, tuple[type[date], str]] = {
    Type.DATE: (date, "DATE"),
    Type.TIMESTAMP: (datetime, "TIMESTAMP"),
}


def _moment(value: Typed, type_: Type | None) -> Typed:
    """A text written in the question, as the date or time it is compared with."""
    kind, name = _MOMENTS[type_]
    try:
        moment = kind.fromisoformat(value.sql.name)
    except ValueError:
        raise BadQuestion(f"'{value.sql.name}' is no {name.lower()}: write it as 2024-12-31") from None
    literal = exp.Literal.string(
        moment.isoformat(" ") if isinstance(moment, datetime) else moment.isoformat()
    )
    return Typed(exp.Cast(this=literal, to=exp.DataType.build(name)), type_, literal=True)


def _cast(node: exp.Cast, schema: Schema) -> Typed:
    """CAST and TRY_CAST of a value as one of the types a column can have; NULL where it cannot be."""
    target = node.to.this
    inner = typed(node.this, schema)
    if inner.literal and (moment := {"DATE": Type.DATE, "TIMESTAMP": Type.TIMESTAMP}.get(str(target.value))):
        return _moment(inner, moment)
    if str(target.value) in ("DOUBLE", "FLOAT", "DECIMAL") and inner.type in NUMBERS:
        return Typed(_as_double(inner), Type.REAL, inner.interval, size=inner.size)
    raise BadQuestion(f"{shown(node)} is not answered: declare the column with the type you need")


def _both(node: exp.Connector, schema: Schema) -> Typed:
    return _truth(
        type(node)(this=condition(node.this, schema), expression=condition(node.expression, schema))
    )


def _not(node: exp.Not, schema: Schema) -> Typed:
    return _truth(exp.Not(this=condition(node.this, schema)))


def _between(node: exp.Between, schema: Schema) -> Typed:
    value = node.this
    return _truth(
        exp.And(
            this=typed(exp.GTE(this=value, expression=node.args["low"]), schema).sql,
            expression=typed(exp.LTE(this=value, expression=node.args["high"]), schema).sql,
        )
    )


def _among(node: exp.In, schema: Schema) -> Typed:
    if node.args.get("query") or node.args.get("unnest") or not node.expressions:
        raise BadQuestion(f"{shown(node)}: IN is followed by a list of constants")
    value = typed(node.this, schema)
    members = [typed(member, schema) for member in node.expressions]
    if not all(member.literal for member in members):
        raise BadQuestion(f"{shown(node)}: IN is followed by a list of constants")
    pairs = [_alike(value, member, node) for member in members]
    return _truth(exp.In(this=pairs[0][0], expressions=[member for _, member in pairs]))


def _is(node: exp.Is, schema: Schema) -> Typed:
    test = node.expression
    if isinstance(test, exp.Null):
        found = typed(node.this, schema)
        return _truth(exp.Is(this=finite_sql(found), expression=exp.Null()))
    if isinstance(test, exp.Boolean):
        return _truth(exp.Is(this=condition(node.this, schema), expression=test))
    raise BadQuestion(f"{shown(node)}: IS is followed by NULL, TRUE or FALSE")


def _like(node: exp.Binary, schema: Schema) -> Typed:
    value, pattern = typed(node.this, schema), typed(node.expression, schema)
    if value.type is not Type.TEXT or not pattern.literal or pattern.type is not Type.TEXT:
        raise BadQuestion(f"{shown(node)}: LIKE compares a text column with a constant pattern")
    return _truth(type(node)(this=value.sql, expression=pattern.sql))


def _case(node: exp.Case, schema: Schema) -> Typed:
    branches: list[exp.If] = node.args["ifs"]
    values = [typed(branch.args["true"], schema) for branch in branches]
    if (otherwise := node.args.get("default")) is not None:
        values.append(typed(otherwise, schema))
    subject = node.args.get("this")
    tests = [exp.EQ(this=subject, expression=each.this) if subject else each.this for each in branches]
    shared, parts = _unified(values, node)
    ifs = [exp.If(this=condition(test, schema), true=part) for test, part in zip(tests, parts, strict=False)]
    default = parts[-1] if len(parts) > len(ifs) else None
    return Typed(
        exp.Case(ifs=ifs, default=default), shared.type, shared.interval, shared.domain, size=shared.size
    )


def _if(node: exp.If, schema: Schema) -> Typed:
    return _case(
        exp.Case(ifs=[exp.If(this=node.this, true=node.args["true"])], default=node.args.get("false")), schema
    )


def _coalesce(node: exp.Coalesce, schema: Schema) -> Typed:
    values = [typed(value, schema) for value in (node.this, *node.expressions)]
    shared, parts = _unified(values, node)
    sql = exp.Coalesce(this=parts[0], expressions=parts[1:])
    return Typed(sql, shared.type, shared.interval, shared.domain, size=shared.size)


def _unified(values: list[Typed], node: exp.Expr) -> tuple[Typed, list[exp.Expr]]:
    """What several alternatives have in common: one type, the interval around theirs, all their values."""
    types = {value.type for value in values if value.type is not None}
    if types == set(NUMBERS):
        values = [Typed(_as_double(v), Type.REAL, v.interval, v.domain, size=v.size) for v in values]
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


def _part(node: exp.Func, schema: Schema) -> Typed:
    """YEAR, MONTH and their like, also as EXTRACT(MONTH FROM d)."""
    name = node.name.upper() if isinstance(node, exp.Extract) else type(node).__name__.upper()
    moment = typed(node.expression if isinstance(node, exp.Extract) else node.this, schema)
    if moment.type not in _MOMENTS or name not in _PARTS:
        raise BadQuestion(f"{shown(node)}: one of {', '.join(_PARTS)} of a date or timestamp column")
    if isinstance(moment.sql, exp.Cast):
        raise BadQuestion(f"{shown(node)}: take a part of a column, not of a constant")
    interval = _PARTS[name]
    if name == "YEAR" and moment.column is not None and moment.column.bounded:
        low, high = moment.column.low, moment.column.high
        if isinstance(low, date) and isinstance(high, date):
            interval = Fraction(low.year), Fraction(high.year)
    sql = exp.Extract(this=exp.var(name), expression=moment.sql)
    return Typed(sql, Type.INTEGER, interval, _whole_domain(interval) if interval else None, size=1e6)


_PARTS: dict[str, Interval | None] = {
    "YEAR": None,
    "QUARTER": (Fraction(1), Fraction(4)),
    "MONTH": (Fraction(1), Fraction(12)),
    "DAY": (Fraction(1), Fraction(31)),
    "HOUR": (Fraction(0), Fraction(23)),
    "MINUTE": (Fraction(0), Fraction(59)),
}


def _text(node: exp.Func, schema: Schema) -> Typed:
    """LOWER, UPPER and TRIM."""
    inner = typed(node.this, schema)
    if inner.type is not Type.TEXT or node.args.get("expression"):
        raise BadQuestion(f"{shown(node)}: {type(node).__name__.upper()} takes a text")
    return Typed(type(node)(this=inner.sql), Type.TEXT)


def _length(node: exp.Length, schema: Schema) -> Typed:
    inner = typed(node.this, schema)
    if inner.type is not Type.TEXT:
        raise BadQuestion(f"{shown(node)}: LENGTH takes a text")
    return Typed(exp.Length(this=inner.sql), Type.INTEGER, size=2.0**63)


def shown(node: exp.Expr) -> str:
    text = node.sql(dialect="duckdb")
    return text if len(text) <= 80 else text[:79] + "…"


def _named(value: Typed) -> str:
    return {None: "NULL", Type.INTEGER: "a whole number"}.get(
        value.type, f"a {value.type.value if value.type else ''}"
    )


Rule = Callable[..., Typed]
_RULES: dict[type[exp.Expr], Rule] = {
    exp.Column: _column,
    exp.Literal: _literal,
    exp.Boolean: lambda node, _: Typed(node, Type.BOOLEAN, domain=(bool(node.this),), literal=True),
    exp.Null: lambda node, _: Typed(exp.Null(), None, literal=True),
    exp.Paren: lambda node, schema: typed(node.this, schema),
    exp.Neg: _negative,
    exp.Add: _arithmetic,
    exp.Sub: _arithmetic,
    exp.Mul: _arithmetic,
    exp.Div: _quotient,
    exp.IntDiv: _quotient,
    exp.Mod: _remainder,
    exp.Floor: _rounded,
    exp.Ceil: _rounded,
    exp.Round: _rounded,
    exp.Abs: _absolute,
    exp.Sqrt: _root,
    exp.Ln: _logarithm,
    **dict.fromkeys((exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE), _comparison),
    exp.And: _both,
    exp.Or: _both,
    exp.Not: _not,
    exp.Between: _between,
    exp.In: _among,
    exp.Is: _is,
    exp.Like: _like,
    exp.ILike: _like,
    exp.Case: _case,
    exp.If: _if,
    exp.Coalesce: _coalesce,
    exp.Cast: _cast,
    exp.TryCast: _cast,
    exp.Extract: _part,
    **dict.fromkeys((exp.Year, exp.Quarter, exp.Month, exp.Day), _part),
    exp.Lower: _text,
    exp.Upper: _text,
    exp.Trim: _text,
    exp.Length: _length,
}
