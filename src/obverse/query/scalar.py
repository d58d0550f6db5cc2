"""A row's expressions by kind: each has a rule that makes it total, or is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from fractions import Fraction

from sqlglot import exp

from obverse.data.schema import Type
from obverse.errors import BadQuestion
from obverse.query.arithmetic import ARITHMETIC, constant
from obverse.query.predicates import MOMENTS, PREDICATES, moment
from obverse.query.typed import NUMBERS, Interval, Read, Typed, as_double, condition, shown, whole_domain

ANSWERED = (
    "+ - * / // %, comparisons, AND OR NOT, BETWEEN, IN, IS, LIKE, CASE, COALESCE, FLOOR CEIL ROUND ABS SQRT LN, "
    "LOWER UPPER TRIM LENGTH, and YEAR QUARTER MONTH DAY HOUR MINUTE of a date"
)


@dataclass(frozen=True)
class Reader:
    """Reads expressions over the columns that `lookup` finds."""

    lookup: Callable[[exp.Column], Typed]

    def __call__(self, node: exp.Expr) -> Typed:
        if isinstance(node, exp.Column):
            return self.lookup(node)
        if (rule := _RULES.get(type(node))) is None:
            raise BadQuestion(f"{shown(node)} is not answered; of a row there are {ANSWERED}")
        return rule(node, self)


def _literal(node: exp.Literal, read: Read) -> Typed:
    if node.is_string:
        return Typed(node, Type.TEXT, None, (node.name,), literal=True)
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


def _cast(node: exp.Cast, read: Read) -> Typed:
    """CAST and TRY_CAST of a value as one of the types a column can have; NULL where it cannot be."""
    target = node.to.this
    inner = read(node.this)
    if inner.literal and (wanted := {"DATE": Type.DATE, "TIMESTAMP": Type.TIMESTAMP}.get(str(target.value))):
        return moment(inner, wanted)
    if str(target.value) in ("DOUBLE", "FLOAT", "DECIMAL") and inner.type in NUMBERS:
        return Typed(as_double(inner), Type.REAL, inner.interval, size=inner.size)
    raise BadQuestion(f"{shown(node)} is not answered: declare the column with the type you need")


def _part(node: exp.Func, read: Read) -> Typed:
    """YEAR, MONTH and their like, also as EXTRACT(MONTH FROM d)."""
    name = node.name.upper() if isinstance(node, exp.Extract) else type(node).__name__.upper()
    when = read(node.expression if isinstance(node, exp.Extract) else node.this)
    if when.type not in MOMENTS or name not in _PARTS:
        raise BadQuestion(f"{shown(node)}: one of {', '.join(_PARTS)} of a date or timestamp column")
    if isinstance(when.sql, exp.Cast):
        raise BadQuestion(f"{shown(node)}: take a part of a column, not of a constant")
    interval = _PARTS[name]
    if name == "YEAR" and when.column is not None and when.column.bounded:
        low, high = when.column.low, when.column.high
        if isinstance(low, date) and isinstance(high, date):
            interval = Fraction(low.year), Fraction(high.year)
    sql = exp.Extract(this=exp.var(name), expression=when.sql)
    return Typed(sql, Type.INTEGER, interval, whole_domain(interval) if interval else None, size=1e6)


_PARTS: dict[str, Interval | None] = {
    "YEAR": None,
    "QUARTER": (Fraction(1), Fraction(4)),
    "MONTH": (Fraction(1), Fraction(12)),
    "DAY": (Fraction(1), Fraction(31)),
    "HOUR": (Fraction(0), Fraction(23)),
    "MINUTE": (Fraction(0), Fraction(59)),
}


def _text(node: exp.Func, read: Read) -> Typed:
    """LOWER, UPPER and TRIM."""
    inner = read(node.this)
    if inner.type is not Type.TEXT or node.args.get("expression"):
        raise BadQuestion(f"{shown(node)}: {type(node).__name__.upper()} takes a text")
    return Typed(type(node)(this=inner.sql), Type.TEXT)


def _length(node: exp.Length, read: Read) -> Typed:
    inner = read(node.this)
    if inner.type is not Type.TEXT:
        raise BadQuestion(f"{shown(node)}: LENGTH takes a text")
    return Typed(exp.Length(this=inner.sql), Type.INTEGER, size=2.0**63)


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
    exp.Cast: _cast,
    exp.TryCast: _cast,
    exp.Extract: _part,
    **dict.fromkeys((exp.Year, exp.Quarter, exp.Month, exp.Day), _part),
    exp.Lower: _text,
    exp.Upper: _text,
    exp.Trim: _text,
    exp.Length: _length,
}
