"""A first settings file for the curator to correct: types, roles, bounds and categories guessed from rows.

It is for the curator's eyes only. What is guessed from rows is not public: each such line says so, and the
file begins with a line that keeps it from being used until the curator has replaced the guesses and deleted it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from obverse.data.files import Source, columns, expose, literal, locate, quote, run
from obverse.data.forms import Form
from obverse.data.schema import Role, Type

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

Run = Callable[[str], list[tuple[Any, ...]]]
MARK = "# read from data"
MISSING = ("?", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "None", "-", ".")
MOST_CATEGORIES = 64
GLANCE = 10_000

HEAD = f"""\
# A draft, for the curator's eyes only: a line marked "{MARK[2:]}" may give somebody away.
# Replace what it says by what is known without looking at the rows (a law, a questionnaire, a code list)
# and take its mark off. Then delete the next line: it keeps this file from being used.
draft = true

ledger = {{ledger}}
"""
TAIL = """
[policy]
epsilon = 3            # what all accounts together may spend on each table, for ever

[accounts.research]
epsilon = 1            # what this account may spend
"""

_NAMES = {
    Role.IDENTIFIER: r"(^|_)id$|name$|e?mail|phone|ssn|passport|address|insurance|iban|account",
    Role.QUASI: r"^age|sex|gender|birth|^dob$|zip|post.?code|race|ethnic|nation|country|county|city|region"
    r"|education|marital|occupation|work|relationship|^job|household",
    Role.SENSITIVE: r"income|salary|wage|gain|loss|diagnos|disease|hiv|drug|religion|party|orientation|debt"
    r"|wealth|offence|crime|grade|score",
}


@dataclass(frozen=True)
class _Seen:
    """What the rows of one column look like."""

    name: str
    type: Type
    values: int
    distinct: int
    low: object
    high: object
    examples: tuple[object, ...]


def draft(sources: Sequence[str]) -> str:
    """The text of a settings file for these sources, each guess marked as read from data."""
    import duckdb

    tables: dict[str, str] = {}
    with duckdb.connect() as connection:
        for source in sources:
            name = _name(locate(source), tables)
            tables[name] = _table(connection, source, name)
    stem = Path(locate(sources[0]).place).stem
    return HEAD.format(ledger=_text(f"{stem}.ledger")) + "".join(tables.values()) + TAIL


def _name(source: Source, taken: Collection[str]) -> str:
    """A name that SQL need not quote, and that no other table has."""
    plain = source.table or Path(source.place).stem.partition(".")[0]
    name = re.sub(r"\W+", "_", plain).strip("_") or "people"
    return next(each for n in count(1) if (each := name if n == 1 else f"{name}_{n}") not in taken)


def _table(connection: DuckDBPyConnection, written: str, name: str) -> str:
    source = locate(written)
    ask = partial(run, connection, source)
    _hold(connection, source, name)
    missing = _missing(ask, name, columns(connection, name)) if source.form is Form.CSV else ()
    if missing:
        _hold(connection, source, name, missing)
    seen = [_look(ask, name, column, kind) for column, kind in columns(connection, name).items()]
    lines = [
        f"\n[tables.{_key(name)}]",
        f"source = {_text(written)}",
        _unit(ask, name, seen),
        *([f"missing = {_list(missing)}  {MARK}: texts that stand for a missing value"] if missing else []),
        f"\n[tables.{_key(name)}.columns]",
        *(_line(column) for column in seen),
    ]
    return "\n".join(lines) + "\n"


def _hold(connection: DuckDBPyConnection, source: Source, name: str, missing: tuple[str, ...] = ()) -> None:
    """The source under a name; a CSV is read once and held, since every column is looked at more than once."""
    if source.form is not Form.CSV:
        expose(connection, source, name)
        return
    expose(connection, source, f"raw {name}", missing)
    run(connection, source, f"CREATE OR REPLACE TABLE {quote(name)} AS FROM {quote(f'raw {name}')}")


def _missing(ask: Run, table: str, names: Iterable[str]) -> tuple[str, ...]:
    """The usual marks of a missing value that a CSV uses."""
    marks = ", ".join(literal(mark) for mark in MISSING)
    each = " UNION ".join(
        f"SELECT {quote(name)} AS v FROM {quote(table)} WHERE v IN ({marks})" for name in names
    )
    found = {row[0] for row in ask(each)}
    return tuple(mark for mark in MISSING if mark in found)


def _look(ask: Run, table: str, name: str, kind: str) -> _Seen:
    type_ = _type(ask, table, name) if kind == "VARCHAR" else _declared(kind)
    value = quote(name) if type_ is Type.TEXT else f"TRY_CAST(trim({quote(name)}::VARCHAR) AS {_SQL[type_]})"
    values, distinct, low, high = ask(
        f"SELECT COUNT(v), COUNT(DISTINCT v), MIN(v), MAX(v) FROM (SELECT {value} AS v FROM {quote(table)})"
        + (" WHERE isfinite(v)" if type_ is Type.REAL else "")
    )[0]
    examples: tuple[object, ...] = ()
    if type_ is Type.TEXT and distinct <= MOST_CATEGORIES and distinct * 4 <= values:
        listed = f"SELECT DISTINCT {quote(name)} AS v FROM {quote(table)} WHERE v IS NOT NULL ORDER BY v"
        examples = tuple(row[0] for row in ask(listed))
    return _Seen(name, type_, values, distinct, low, high, examples)


def _type(ask: Run, table: str, name: str) -> Type:
    """The first type that every text of a column can be read as."""
    value = f"trim({quote(name)})"
    tests = {
        Type.BOOLEAN: f"lower({value}) IN ('true', 'false')",
        Type.INTEGER: f"regexp_full_match({value}, '[+-]?[0-9]{{1,18}}')",
        Type.REAL: f"TRY_CAST({value} AS DOUBLE) IS NOT NULL",
        Type.DATE: f"length({value}) = 10 AND TRY_CAST({value} AS DATE) IS NOT NULL",
        Type.TIMESTAMP: f"TRY_CAST({value} AS TIMESTAMP) IS NOT NULL",
    }
    first = f"(SELECT {quote(name)} FROM {quote(table)} WHERE {quote(name)} IS NOT NULL LIMIT {GLANCE})"
    likely = _holding(ask, tests, first)
    return next(iter(_holding(ask, likely, quote(table)) if likely else ()), Type.TEXT)


def _holding(ask: Run, tests: Mapping[Type, str], rows: str) -> dict[Type, str]:
    """The tests that every row passes."""
    holds = ", ".join(f"COALESCE(bool_and({test}), false)" for test in tests.values())
    row = ask(f"SELECT {holds} FROM {rows}")[0]
    return {type_: test for (type_, test), held in zip(tests.items(), row, strict=True) if held}


def _declared(kind: str) -> Type:
    known = {"BOOLEAN": Type.BOOLEAN, "DATE": Type.DATE, "DOUBLE": Type.REAL, "FLOAT": Type.REAL}
    if kind in known:
        return known[kind]
    if kind.endswith("INT") or kind == "INTEGER" or kind.endswith("INTEGER"):
        return Type.INTEGER
    if kind.startswith("DECIMAL"):
        return Type.REAL
    return Type.TIMESTAMP if kind.startswith("TIMESTAMP") else Type.TEXT


def _role(seen: _Seen) -> Role:
    name = seen.name.lower()
    for role, pattern in _NAMES.items():
        if re.search(pattern, name):
            return role
    alone = seen.type is Type.TEXT and seen.values > 20 and seen.distinct * 10 > seen.values * 9
    return Role.IDENTIFIER if alone else Role.PLAIN


def _unit(ask: Run, table: str, seen: Sequence[_Seen]) -> str:
    """Somebody's rows, where a column named as an identifier repeats; else a row."""
    for column in seen:
        repeats = column.name.lower().endswith("id") and 0 < column.distinct < column.values
        if repeats and _role(column) is Role.IDENTIFIER:
            who = quote(column.name)
            each = f"SELECT COUNT(*) AS n FROM {quote(table)} WHERE {who} IS NOT NULL GROUP BY {who}"
            rows = ask(f"SELECT quantile_disc(n, 0.95) FROM ({each})")[0][0]
            return f"unit = {{ column = {_text(column.name)}, rows = {rows} }}  {MARK}: most rows of one that count"
    return (
        'unit = "row"           # or { column = "patient_id", rows = 8 }, where one person has several rows'
    )


def _line(seen: _Seen) -> str:
    role = _role(seen)
    parts, marks = [f"type = {_text(seen.type.value)}"], ["type"]
    if role is not Role.PLAIN:
        parts.append(f"role = {_text(role.value)}")
    bounds = _bounds(seen)
    if bounds and role is not Role.IDENTIFIER:
        parts += [f"low = {bounds[0]}", f"high = {bounds[1]}"]
        marks += ["low", "high"]
    if seen.examples and role is not Role.IDENTIFIER:
        parts.append(f"categories = {_list(seen.examples)}")
        marks.append("categories")
    return f"{_key(seen.name)} = {{ {', '.join(parts)} }}  {MARK}: {', '.join(marks)}"


def _bounds(seen: _Seen) -> tuple[str, str] | None:
    """Round numbers around what was seen; still read from data, and marked so."""
    low, high = seen.low, seen.high
    if isinstance(low, datetime) and isinstance(high, datetime):
        return f"{low.year:04}-01-01T00:00:00", f"{high.year:04}-12-31T23:59:59"
    if isinstance(low, date) and isinstance(high, date):
        return f"{low.year:04}-01-01", f"{high.year:04}-12-31"
    if isinstance(low, bool) or not isinstance(low, int | float) or not isinstance(high, int | float):
        return None
    bottom = Decimal(0) if low >= 0 else -_above(Decimal(str(-low)))
    top = _above(Decimal(str(high))) if high > 0 else Decimal(0 if bottom < 0 else 1)
    return f"{bottom:f}", f"{top:f}"


def _above(number: Decimal) -> Decimal:
    """The least 1, 2, 5 (times a power of ten) that is at least this."""
    power = Decimal(1).scaleb(number.adjusted())
    return next(step * power for step in (1, 2, 5, 10) if step * power >= number)


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _text(name)


def _text(value: object) -> str:
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")


def _list(values: Sequence[object]) -> str:
    return f"[{', '.join(_text(value) for value in values)}]"


_SQL = {
    Type.INTEGER: "BIGINT",
    Type.REAL: "DOUBLE",
    Type.BOOLEAN: "BOOLEAN",
    Type.DATE: "DATE",
    Type.TIMESTAMP: "TIMESTAMP",
}
