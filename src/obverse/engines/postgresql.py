"""Tables in PostgreSQL 15 or later: questions are pushed down whole, and few rows come back.

PostgreSQL ends a statement where a DOUBLE overflows, underflows or has no meaning, which would tell of the row it met.
So each such operation is written with a guard that gives what IEEE arithmetic gives.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from decimal import Decimal
from threading import Lock
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

from sqlglot import exp

from obverse.data.files import Source, literal, locate, quote
from obverse.data.forms import RANK
from obverse.data.schema import Schema, Type, hint
from obverse.data.table import USUAL, Cell, Limits, Row
from obverse.engines._catalogue import COLUMNS, FOUND, UNIQUE
from obverse.engines._ranks import unfit
from obverse.engines._said import SPACES, Said, letters
from obverse.engines._write import Writer
from obverse.errors import BadSource, Missing, Withheld
from obverse.noise.entropy import Secret

if TYPE_CHECKING:
    import psycopg
    import pyarrow

BATCH = 1 << 14
FAILED = "the engine could not finish; what was charged stays charged"
SETTINGS = {
    "default_transaction_read_only": "on",
    "search_path": "pg_catalog",
    "lock_timeout": "10s",
    "row_security": "off",
    "extra_float_digits": "1",
    "TimeZone": "UTC",
    "DateStyle": "ISO, YMD",
    "standard_conforming_strings": "on",
    "transform_null_equals": "off",
    "jit": "off",
    "work_mem": "256MB",
}
TEXTS = ("text", "varchar", "bpchar", "name", "uuid")
WHOLE = ("int2", "int4", "int8")
HELD = {
    Type.INTEGER: (*WHOLE, "numeric"),
    Type.REAL: ("float4", "float8", *WHOLE, "numeric"),
    Type.TEXT: TEXTS,
    Type.BOOLEAN: ("bool",),
    Type.DATE: ("date",),
    Type.TIMESTAMP: ("timestamp", "timestamptz"),
}


class PostgreSQL:
    """Declared tables of one database."""

    dialect = "postgres"

    def __init__(self, schemas: Iterable[Schema], limits: Limits = USUAL) -> None:
        self._schemas = {schema.name: schema for schema in schemas}
        self._sources = {name: locate(schema.source) for name, schema in self._schemas.items()}
        if len({source.place for source in self._sources.values()}) != 1:
            raise BadSource(
                "tables of two PostgreSQL databases cannot be read together: one settings file each"
            )
        self._source = next(iter(self._sources.values()))
        self._lock, self._limits = Lock(), limits
        self._connection = _connect(self._source, self._limits)
        self._tables = {name: self._declare(schema) for name, schema in self._schemas.items()}

    def __repr__(self) -> str:
        return f"PostgreSQL({', '.join(self._schemas)})"

    def run(self, select: exp.Query) -> list[Row]:
        import psycopg

        try:
            with self._lock:
                found = self._connection.execute(self._sql(select).encode()).fetchall()
        except psycopg.Error:
            raise Withheld(FAILED) from None
        return [tuple(_cell(cell) for cell in row) for row in found]

    def batches(self, select: exp.Query) -> Iterator[pyarrow.RecordBatch]:
        import psycopg
        import pyarrow

        types = {16: pyarrow.bool_(), 20: pyarrow.int64(), 23: pyarrow.int64(), 701: pyarrow.float64()}
        types |= {1082: pyarrow.date32(), 1114: pyarrow.timestamp("us")}
        try:
            with (
                _connect(self._source, self._limits) as connection,
                connection.transaction(),
                connection.cursor("rows") as cursor,
            ):
                cursor.execute(self._sql(select).encode())
                schema = pyarrow.schema(
                    [(c.name, types.get(c.type_code, pyarrow.string())) for c in cursor.description or ()]
                )
                while rows := cursor.fetchmany(BATCH):
                    columns = [
                        pyarrow.array(column, field.type)
                        for column, field in zip(zip(*rows, strict=True), schema, strict=True)
                    ]
                    yield pyarrow.record_batch(columns, schema)
        except (psycopg.Error, BadSource):
            raise Withheld(FAILED) from None

    def version(self, table: str) -> str:
        """The snapshot: all rows that a statement can see follow from it.

        It changes when a transaction that writes begins or ends, in any database of the server. Whether other
        tables were written it cannot tell, so that an answer may be charged for anew that had not changed.
        """
        import psycopg

        facts = "SELECT pg_current_snapshot()::text, pg_postmaster_start_time()::text, current_database()"
        try:
            with self._lock:
                if self._connection.closed:
                    self._connection = _connect(self._source, self._limits)
                found = self._connection.execute(facts).fetchone()
        except psycopg.Error:
            raise BadSource(f"{shown(self._source)} does not answer") from None
        text = "\0".join((self._schemas[table].source, *cast(tuple[str, ...], found)))
        return hashlib.sha256(text.encode()).hexdigest()

    def close(self) -> None:
        self._connection.close()

    def _sql(self, select: exp.Query) -> str:
        return Words(self._tables, self._schemas).query(select)[0]

    def _declare(self, schema: Schema) -> str:
        """The table as a subquery of its declared columns in their declared types."""
        import psycopg

        source = self._sources[schema.name]
        inside, _, table = source.table.rpartition(".")
        names = (inside or "public", table)
        try:
            kind = self._connection.execute(FOUND, names).fetchone()
            held = dict(cast("list[tuple[str, str]]", self._connection.execute(COLUMNS, names).fetchall()))
        except psycopg.Error:
            raise BadSource(f"{shown(source)} cannot be looked up") from None
        if kind is None:
            raise BadSource(f"{shown(source)}: there is no such table")
        stored, hidden, foreign = kind
        if not stored or foreign:
            raise BadSource(
                f"{shown(source)} is a view or foreign, and what it computes may fail on a row: "
                "declare a table, or a materialised view"
            )
        if hidden:
            raise BadSource(
                f"{shown(source)} has row security: connect as a role that it does not hide rows from"
            )
        folded = {name.casefold(): name for name in held}
        typed = []
        for column in schema.columns:
            name = folded.get(column.name.casefold())
            if name is None:
                raise BadSource(
                    f"{shown(source)} has no column {column.name}{hint(column.name, tuple(held))}"
                )
            if held[name] not in HELD[column.type]:
                raise BadSource(f"{shown(source)}: {name} is not kept as {column.type.value}")
            typed.append(f"{_typed(quote(name), held[name], column.type)} AS {quote(column.name)}")
        if schema.unit.rank is not None:
            typed.append(self._rank(schema, names, held, folded))
        return f"(SELECT {', '.join(typed)} FROM {quote(names[0])}.{quote(names[1])})"

    def _rank(
        self, schema: Schema, names: tuple[str, str], held: dict[str, str], folded: dict[str, str]
    ) -> str:
        """The column of ranks, of which a unique index keeps that nobody has one twice, now and later."""
        wanted = [folded.get((name or "").casefold(), "") for name in (schema.unit.column, schema.unit.rank)]
        whose, rank = wanted
        if held.get(rank) not in WHOLE or held[whose] == "numeric":
            raise unfit(
                schema, shown(self._sources[schema.name]), "is no whole number, or who is who is none"
            )
        if self._connection.execute(UNIQUE, (*names, *wanted)).fetchone() != (True,):
            index = f"CREATE UNIQUE INDEX ON {quote(names[1])} ({quote(whose)}, {quote(rank)})"
            raise unfit(schema, shown(self._sources[schema.name]), f"is kept apart by nothing: {index}")
        return (
            f"{quote(rank)} AS {quote(RANK)}"  # as it is, so that the planner knows how many rows there are
        )


def open_tables(schemas: Iterable[Schema], secret: Secret = b"", limits: Limits = USUAL) -> PostgreSQL:
    """The tables of these schemas, ready to be asked; their ranks were written once, so that no secret is needed."""
    return PostgreSQL(schemas, limits)


def shown(source: Source) -> str:
    """A source without user, password and options."""
    parts = urlsplit(source.place)
    return f"postgresql://{parts.hostname or ''}{parts.path}#{source.table}"


def _connect(source: Source, limits: Limits) -> psycopg.Connection[tuple[Any, ...]]:
    try:
        import psycopg
    except ImportError:
        raise Missing("PostgreSQL needs a driver: pip install obverse[postgres]") from None
    try:
        connection = psycopg.connect(
            source.place, autocommit=True, prepare_threshold=None, client_encoding="utf8", connect_timeout=10
        )
        wanted = {**SETTINGS, "statement_timeout": f"{limits.seconds}s"}
        settings = ", ".join(f"set_config({literal(k)}, {literal(v)}, false)" for k, v in wanted.items())
        connection.execute(f"SELECT {settings}".encode())
        with suppress(psycopg.errors.InsufficientPrivilege):  # then it is the server's own that holds
            size = limits.temporary.replace("KiB", "kB").replace("iB", "B")
            connection.execute(f"SET temp_file_limit = {literal(size)}".encode())
        encoding = connection.info.parameter_status("server_encoding")
    except psycopg.Error:
        raise BadSource(f"{shown(source)} cannot be reached, or does not let this user in") from None
    if encoding != "UTF8" or connection.info.server_version < 150000:
        connection.close()
        raise BadSource(f"{shown(source)}: PostgreSQL 15 or later is read, with a database in UTF8")
    return connection


def _typed(name: str, held: str, type_: Type) -> str:
    """A value as its type, or NULL where it is none: no number that is not finite, no date beyond year 9999."""
    match type_:
        case Type.INTEGER if held == "numeric":
            return (
                f"CASE WHEN {name} BETWEEN -9223372036854775808 AND 9223372036854775807 THEN {name}::int8 END"
            )
        case Type.INTEGER:
            return f"{name}::int8"
        case Type.REAL if held == "numeric":
            near = f"CASE WHEN ABS({name}) < 1e-300 THEN 0 ELSE {name}::float8 END"
            return f"CASE WHEN ABS({name}) < 1.7976931348623157e308 THEN {near} END"
        case Type.REAL:
            return f"CASE WHEN ABS({name}::float8) < 'Infinity'::float8 THEN {name}::float8 END"
        case Type.TEXT:
            return f'{name}::text COLLATE "C"'
        case Type.BOOLEAN:
            return name
    first = f"{name} AT TIME ZONE 'UTC'" if held == "timestamptz" else name
    kind = "date" if type_ is Type.DATE else "timestamp"
    inside = f"{name} >= '0001-01-02'::{held} AND {name} < '9999-12-31'::{held}"
    return f"CASE WHEN {inside} THEN ({first})::{kind} END"


def _cell(cell: Cell | Decimal) -> Cell:
    return int(cell) if isinstance(cell, Decimal) else cell


# ── PostgreSQL's words ───────────────────────────────────────────────────────────────────────────────────

INFINITY = "'Infinity'::float8"


def _power(exponent: int) -> str:
    return f"'{2.0**exponent!r}'::float8"


# A sum leaves the numbers where its half, which is exact here, reaches 2^1023.
SUM = f"""CASE WHEN ABS(a) < {_power(960)} THEN a + b WHEN ABS(b) < {_power(960)} THEN a + b
    WHEN ABS(a * 0.5 + b * 0.5) >= {_power(1023)} THEN (a * 0.5 + b * 0.5) * {INFINITY} ELSE a + b END"""

# A product leaves them upwards only if neither side is below 1, and downwards only if both are; scaled by powers of
# two, which is exact, it is compared with where rounding would go to infinity (2^1024 less half a step), or to 0.
_MANY, _FEW = f"(a * {_power(-512)}) * (b * {_power(-512)})", f"(a * {_power(511)}) * (b * {_power(511)})"
_LEAST = f"(a * {_power(1000)}) * (b * {_power(1000)})"
PRODUCT = f"""CASE WHEN ABS(a) >= 1 AND ABS(b) >= 1
    THEN CASE WHEN ABS({_MANY}) >= 1 THEN ({_MANY}) * {INFINITY} ELSE a * b END
    WHEN ABS(a) < {_power(-540)} AND ABS(b) < {_power(-540)} THEN {_LEAST} * 0
    WHEN ABS(a) < 1 AND ABS(b) < 1 THEN CASE WHEN ABS({_FEW}) <= {_power(-53)} THEN {_FEW} * 0 ELSE a * b END
    ELSE a * b END"""

# Likewise a / b, whose scaled quotients are a / b times 2^-1000 and 2^1000.
_LARGE = f"(a * {_power(-500)}) / (b * {_power(500)})"
_LITTLE = f"(a * {_power(500)}) / (b * {_power(-500)})"
QUOTIENT = f"""CASE WHEN b = 0 THEN NULL
    WHEN ABS(a) >= {_power(-60)} AND ABS(b) <= 1 THEN CASE
        WHEN ABS(a) >= {_power(600)} AND ABS(b) <= {_power(-600)} THEN SIGN(a) * SIGN(b) * {INFINITY}
        WHEN ABS({_LARGE}) >= {_power(24)} THEN ({_LARGE}) * {INFINITY} ELSE a / b END
    WHEN ABS(a) <= {_power(-40)} AND ABS(b) >= 1 THEN CASE
        WHEN ABS(b) > {INFINITY} THEN b
        WHEN ABS(a) <= {_power(-600)} AND ABS(b) >= {_power(600)} THEN a * SIGN(b) * 0
        WHEN ABS({_LITTLE}) <= {_power(-75)} THEN {_LITTLE} * 0 ELSE a / b END
    ELSE a / b END"""


def _bits(x: str) -> str:
    return f"('x' || ENCODE(FLOAT8SEND(ABS({x})), 'hex'))::bit(64)::int8"


def _exponent(x: str) -> str:
    return f"GREATEST({_bits(x)} >> 52, 1)"


def _mantissa(x: str) -> str:
    least = f"CASE WHEN ABS({x}) < {_power(-1022)} THEN 0 ELSE 4503599627370496 END"
    return f"(({_bits(x)} & 4503599627370495) + {least})::numeric"


# x % y is exact: on whole numbers below 2^53 theirs, else that of the mantissas, at the exponent of the smaller.
_LEFT = (
    f"MOD({_mantissa('a')} * 2::numeric ^ ({_exponent('a')} - {_exponent('b')}), {_mantissa('b')})::float8"
)
REMAINDER = f"""CASE WHEN b = 0 THEN NULL WHEN ABS(a) < ABS(b) AND ABS(b) <= {INFINITY} THEN a
    WHEN ABS(a) >= {INFINITY} THEN 'NaN' WHEN ABS(b) > {INFINITY} THEN 'NaN'
    WHEN ABS(a) < {_power(53)} THEN CASE WHEN a = TRUNC(a) AND b = TRUNC(b)
        THEN SIGN(a) * ABS(a::int8 % b::int8)
        ELSE SIGN(a) * ({_LEFT} * 2::float8 ^ ({_exponent("b")} - 1075)::float8) END
    ELSE SIGN(a) * ({_LEFT} * 2::float8 ^ ({_exponent("b")} - 1075)::float8) END"""

ROUND = "CASE WHEN ABS(a - TRUNC(a)) >= 0.5 THEN TRUNC(a) + SIGN(a) ELSE TRUNC(a) END"

# DuckDB's way to write a DOUBLE: with a point, and without an exponent below 10^16.
TEXT = r"""CASE WHEN a::text ~ '^-?[0-9]+$' THEN a::text || '.0'
    WHEN ABS(a) >= 1e15 AND ABS(a) < 1e16 THEN a::text::numeric::text || '.0' ELSE a::text END"""


class Words(Writer):
    """PostgreSQL's SQL."""

    double = "float8"
    big = "int8"
    wide = "numeric"

    def text(self, value: str) -> str:
        return f'{literal(value)} COLLATE "C"'

    def sum(self, a: Said, b: Said) -> str:
        return _once(SUM, a, b)

    def product(self, a: Said, b: Said) -> str:
        return _once(PRODUCT, a, b)

    def quotient(self, a: Said, b: Said) -> str:
        return _once(QUOTIENT, a, b)

    def remainder(self, a: Said, b: Said) -> str:
        return _once(REMAINDER, a, b)

    def whole_quotient(self, a: Said, b: Said) -> Said:
        return Said(f"DIV({a.sql}, ({b.sql})::numeric)", coarse=True)

    def rounded(self, name: str, x: Said) -> str:
        return _once(ROUND, x) if name == "ROUND" else f"{name}({x.sql})"

    def total(self, x: str) -> str:
        """The sum of the numbers as they are written, exact in any order, as the nearest DOUBLE."""
        exact = f"SUM(({x})::text::numeric)"
        least = f"CASE WHEN ABS({exact}) < 1e-320 THEN 0 ELSE ({exact})::float8 END"
        beyond = f"SIGN({exact})::float8 * {INFINITY}"
        return f"CASE WHEN ABS({exact}) < 1.79769313486231575e308 THEN {least} ELSE {beyond} END"

    def as_text(self, x: Said) -> str:
        if x.real:
            return _once(TEXT, x)
        return f"({x.sql})::text"

    def lower(self, x: str) -> str:
        return _cased("LOWER", x)

    def upper(self, x: str) -> str:
        return _cased("UPPER", x)

    def trim(self, x: str, side: str) -> str:
        function = {"BOTH": "BTRIM", "LEADING": "LTRIM", "TRAILING": "RTRIM"}[side]
        return f"{function}({x}, '{SPACES}')"

    def part(self, name: str, when: str) -> str:
        return f"FLOOR(EXTRACT({name} FROM {when}))"

    def like(self, x: str, pattern: str) -> str:
        return f"({x} LIKE {self.text(pattern)} ESCAPE '')"

    def digest(self, x: str) -> str:
        return f'MD5({x}) COLLATE "C"'


def _cased(function: str, x: str) -> str:
    """Letter by letter, as DuckDB does it, whatever the server's locale."""
    before, after = letters(function.lower())
    return f"TRANSLATE({function}({x} COLLATE \"C\"), '{before}', '{after}')"


def _once(formula: str, a: Said, b: Said | None = None) -> str:
    """A formula over values that are computed once: short ones stand in it, others beside it."""
    named: Mapping[str, Said] = {"a": a} if b is None else {"a": a, "b": b}
    made = ", ".join(f"{said.sql} AS {name}" for name, said in named.items())
    return f"(SELECT {formula} FROM (SELECT {made} OFFSET 0) AS o)"
