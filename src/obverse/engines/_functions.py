"""Conditions, and functions of texts and dates, node by node, in words that most engines share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from obverse.engines._said import Said, either, lowered

if TYPE_CHECKING:
    from obverse.engines._write import Writer

NAMES: dict[type[exp.Expr], str] = {
    exp.Substring: "SUBSTRING",
    exp.Right: "RIGHT",
    exp.Replace: "REPLACE",
}
ARGUMENTS = ("this", "start", "length", "expression", "replacement")


def _called(write: Writer, node: exp.Func) -> Said:
    """A function that every engine has, with its arguments in one order."""
    given = [write(node.args[name]).sql for name in ARGUMENTS if name in node.args]
    return Said(f"{NAMES[type(node)]}({', '.join(given)})")


def _greatest(write: Writer, node: exp.Greatest | exp.Least) -> Said:
    values = [write(value) for value in (node.this, *node.expressions)]
    return either(f"{type(node).__name__.upper()}({', '.join(value.sql for value in values)})", values)


def _trimmed(write: Writer, node: exp.Trim) -> Said:
    return Said(write.trim(write(node.this).sql, node.text("position").upper() or "BOTH"))


def _place(write: Writer, node: exp.StrPosition) -> Said:
    place = write.place(write(node.this).sql, write(node.args["substr"]).sql)
    return Said(f"CAST({place} AS {write.big})", size=2.0**31, coarse=True)


def _beside(write: Writer, node: exp.DPipe) -> Said:
    return Said(f"({write(node.this).sql} || {write(node.expression).sql})")


def _between(write: Writer, node: exp.Between) -> Said:
    value, low, high = (write(node.args[name]).sql for name in ("this", "low", "high"))
    return Said(f"({value} BETWEEN {low} AND {high})")


def _matches(write: Writer, node: exp.RegexpLike) -> Said:
    return Said(write.matches(write(node.this).sql, node.expression.name))


def _logarithm(write: Writer, node: exp.Log) -> Said:
    return Said(write.log10(write(node.expression).sql), True, 1100.0)


def _extract(write: Writer, node: exp.Extract) -> Said:
    when = f"CAST({write(node.expression).sql} AS TIMESTAMP)"
    return Said(f"CAST({write.part(node.name, when)} AS {write.big})", size=1e6, coarse=True)


def _truncated(write: Writer, node: exp.TimestampTrunc) -> Said:
    return Said(f"DATE_TRUNC('{node.text('unit')}', CAST({write(node.this).sql} AS TIMESTAMP))")


def _moved(write: Writer, node: exp.DateAdd | exp.DateSub) -> Said:
    by, sign = node.expression, "+" if isinstance(node, exp.DateAdd) else "-"
    return Said(f"({write(node.this).sql} {sign} INTERVAL '{by.name}' {by.text('unit')})")


def _days(write: Writer, node: exp.DateDiff) -> Said:
    days = write.days(write(node.this).sql, write(node.expression).sql)
    return Said(f"CAST({days} AS {write.big})", size=1e7, coarse=True)


def _coalesce(write: Writer, node: exp.Coalesce) -> Said:
    values = [write(value) for value in (node.this, *node.expressions)]
    return either(f"COALESCE({', '.join(value.sql for value in values)})", values)


def _nullif(write: Writer, node: exp.Nullif) -> Said:
    value = write(node.this)
    return replace(value, sql=f"NULLIF({value.sql}, {write(node.expression).sql})")


def _in(write: Writer, node: exp.In) -> Said:
    members = ", ".join(write(member).sql for member in node.expressions)
    if (query := node.args.get("query")) is not None:
        members = write.query(query.this)[0]
    return Said(f"({write(node.this).sql} IN ({members}))")


def _is(write: Writer, node: exp.Is) -> Said:
    return Said(f"({write(node.this).sql} IS {write(node.expression).sql})")


def _like(write: Writer, node: exp.Like | exp.ILike) -> Said:
    value, pattern = write(node.this).sql, node.expression.name
    if isinstance(node, exp.ILike):
        value, pattern = write.lower(value), lowered(pattern)
    return Said(write.like(value, pattern))


def _concat(write: Writer, node: exp.Concat) -> Said:
    return Said(f"CONCAT({', '.join(write(part).sql for part in node.expressions)})")


FUNCTIONS: dict[type[exp.Expr], Callable[..., Said]] = {
    **dict.fromkeys(NAMES, _called),
    **dict.fromkeys((exp.Greatest, exp.Least), _greatest),
    exp.Trim: _trimmed,
    exp.StrPosition: _place,
    exp.DPipe: _beside,
    exp.Between: _between,
    exp.Coalesce: _coalesce,
    exp.Nullif: _nullif,
    exp.In: _in,
    exp.Is: _is,
    exp.Like: _like,
    exp.ILike: _like,
    exp.Concat: _concat,
    exp.RegexpLike: _matches,
    exp.Log: _logarithm,
    exp.Extract: _extract,
    exp.TimestampTrunc: _truncated,
    **dict.fromkeys((exp.DateAdd, exp.DateSub), _moved),
    exp.DateDiff: _days,
}
