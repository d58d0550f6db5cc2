"""What is known of an expression as text, and the small facts that engines share."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from math import inf
from sys import float_info

from sqlglot import exp

from obverse.data.schema import Type
from obverse.errors import Withheld

LARGEST = float_info.max
SMALL_BESIDE_LARGEST = 2.0**960
SPACES = "".join(map(chr, (0x20, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000)))


@dataclass(frozen=True)
class Said:
    """An expression as text. `real` is DOUBLE; |x| ≤ `size`, or x is not finite where `size` is infinite;
    `coarse` is 0 or |x| ≥ 1.
    """

    sql: str
    real: bool = False
    size: float = inf
    coarse: bool = False


CLAUSES = {"with_", "expressions", "from_", "joins", "where", "group", "having", "order", "distinct"}
OPERATORS: dict[type[exp.Expr], str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.And: "AND",
    exp.Or: "OR",
}
WHOLES: dict[type[exp.Expr], str] = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*"}

KINDS = {
    Type.INTEGER: Said("", False, 2.0**63, coarse=True),
    Type.REAL: Said("", True, LARGEST),
}


def unwritten() -> Withheld:
    return Withheld("this engine does not answer this; put the table into a file to have it answered")


def either(sql: str, values: list[Said]) -> Said:
    real = any(value.real for value in values)
    return Said(sql, real, max(value.size for value in values), all(value.coarse for value in values))


def number(node: exp.Expr) -> float | None:
    """The value of a constant, if it is one."""
    match node:
        case exp.Paren() | exp.Cast():
            return number(node.this)
        case exp.Neg():
            value = number(node.this)
            return None if value is None else -value
        case exp.Literal() if not node.is_string:
            return float(node.name)
    return None


def utc(text: str) -> str:
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is not None:
        moment = moment.astimezone(UTC).replace(tzinfo=None)
    return moment.isoformat(" ") if len(text) > 10 else text


@cache
def letters(change: str) -> tuple[str, str]:
    """The letters beyond ASCII that DuckDB changes one by one, and what it makes of them."""
    import duckdb

    with duckdb.connect(":memory:") as connection:
        connection.execute(
            "CREATE TABLE l AS SELECT chr(i::INT) c FROM range(128, 131072) r(i) "
            "WHERE i NOT BETWEEN 55296 AND 57343"
        )
        pairs = connection.execute(
            f"SELECT c, {change}(c) FROM l WHERE {change}(c) <> c ORDER BY c"
        ).fetchall()
    return "".join(pair[0] for pair in pairs), "".join(pair[1] for pair in pairs)


def lowered(text: str) -> str:
    ascii_only = "".join(c.lower() if c.isascii() else c for c in text)
    return ascii_only.translate(str.maketrans(*letters("lower")))
