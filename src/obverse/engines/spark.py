"""Tables that Spark reads, where they outgrow one machine: in this process, or on a cluster by Spark Connect."""

from __future__ import annotations

import hashlib
import re
import string
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from itertools import count
from socket import create_connection
from typing import TYPE_CHECKING, cast
from urllib.parse import urlsplit

from sqlglot import exp

from obverse.data.files import Source, locate
from obverse.data.forms import rank_column
from obverse.data.schema import Column, Schema, Type, hint
from obverse.data.table import USUAL, Limits, Row
from obverse.engines._limits import Watch
from obverse.engines._ranks import repeated, unfit
from obverse.engines._said import SPACES, Said, letters
from obverse.engines._write import Writer
from obverse.errors import BadSource, Missing, Withheld
from obverse.noise.entropy import Secret

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import DataFrame, SparkSession

CONNECT = "spark+sc://"
PORT, PATIENCE = 15002, 10.0
FAILED = "the engine could not finish; what was charged stays charged"
SETTINGS = {
    "spark.sql.ansi.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.groupByOrdinal": "true",
    "spark.sql.parser.escapedStringLiterals": "false",
}
LOCAL = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.showConsoleProgress": "false",
    "spark.ui.retainedJobs": "8",  # a server that is asked for days keeps no history of it
    "spark.ui.retainedStages": "8",
    "spark.sql.ui.retainedExecutions": "8",
}
HEAP = "4g"  # where the settings do not say
ASKED = count()  # questions of this process, each stopped by its own tag
WHOLE = ("tinyint", "smallint", "int", "bigint")
HELD = {
    Type.INTEGER: (*WHOLE, "decimal"),
    Type.REAL: ("float", "double", *WHOLE, "decimal"),
    Type.TEXT: ("string", "varchar", "char"),
    Type.BOOLEAN: ("boolean",),
    Type.DATE: ("date",),
    Type.TIMESTAMP: ("timestamp", "timestamp_ntz"),
}


class Spark:
    """Declared tables of one Spark."""

    dialect = "spark"

    def __init__(self, schemas: Iterable[Schema], limits: Limits = USUAL) -> None:
        self._limits, self._watch = limits, Watch()
        self._schemas = {schema.name: schema for schema in schemas}
        self._sources = {name: locate(schema.source) for name, schema in self._schemas.items()}
        if len({source.place for source in self._sources.values()}) != 1:
            raise BadSource("tables of two Sparks cannot be read together: one settings file each")
        self._place = next(iter(self._sources.values())).place
        self._session = _session(self._place, self._limits.memory)
        self._tables: dict[str, str] = {}
        self._versions: dict[str, str] = {}
        for table in self._schemas:
            self.version(table)

    def __repr__(self) -> str:
        return f"Spark({', '.join(self._schemas)})"

    def run(self, select: exp.Query) -> list[Row]:
        text = self._sql(select)
        try:
            with self._watch.within(self._limits.seconds, self._stopping()):
                found = self._session.sql(text).collect()
        except _failures():
            raise Withheld(FAILED) from None
        return [tuple(int(cell) if isinstance(cell, Decimal) else cell for cell in row) for row in found]

    def batches(self, select: exp.Query) -> Iterator[pyarrow.RecordBatch]:
        text = self._sql(select)
        try:
            with self._watch.within(self._limits.seconds, self._stopping()):
                found = self._session.sql(text).toArrow()
            yield from found.to_batches()
        except _failures():
            raise Withheld(FAILED) from None

    def version(self, table: str) -> str:
        """The files that hold the table now, their sizes and times of change; they are listed anew each time."""
        source = self._sources[table]
        try:
            held = _held(self._session, source)
            files = (
                held.selectExpr(
                    "_metadata.file_path p", "_metadata.file_size s", "_metadata.file_modification_time m"
                )
                .distinct()
                .collect()
            )
            declared = self._declare(self._schemas[table], held)
        except _failures():
            raise BadSource(f"{source}: there is no such table of files that Spark can read") from None
        text = "\0".join((str(source), *sorted(f"{f.p}\0{f.s}\0{f.m}" for f in files)))
        now = hashlib.sha256(text.encode()).hexdigest()
        self._tables[table] = declared
        schema = self._schemas[table]
        if schema.unit.rank is not None and now != self._versions.get(table):
            if self.run(repeated(schema)) != [(0,)]:
                raise unfit(schema, str(source))
            self._versions[table] = now
        return now

    def close(self) -> None:
        """A session of a cluster is its own; one within this process ends with the process: others may share it."""
        if next(iter(self._sources.values())).place.startswith(CONNECT):
            self._session.stop()

    def _stopping(self) -> Callable[[], object]:
        """What stops the question that this thread asks next, and none of another thread's."""
        name = f"obverse-{next(ASKED)}"
        if self._place.startswith("spark+sc://"):
            self._session.clearTags()
            self._session.addTag(name)
            return lambda: self._session.interruptTag(name)
        context = self._session.sparkContext
        context.setJobGroup(name, "a question", interruptOnCancel=True)
        return lambda: context.cancelJobGroup(name)

    def _sql(self, select: exp.Query) -> str:
        return Words(self._tables, self._schemas).query(select)[0]

    def _declare(self, schema: Schema, held: DataFrame) -> str:
        """The table as a subquery of its declared columns in their declared types."""
        types = {field.name: field.dataType.simpleString().partition("(")[0] for field in held.schema}
        folded = {name.casefold(): name for name in types}
        typed = []
        ranks = [(Column(name, type_), called) for name, called, type_ in rank_column(schema)]
        for column, called in [*((column, column.name) for column in schema.columns), *ranks]:
            name = folded.get(column.name.casefold())
            if name is None:
                raise BadSource(
                    f"{schema.source} has no column {column.name}{hint(column.name, tuple(types))}"
                )
            if types[name] not in HELD[column.type]:
                raise BadSource(f"{schema.source}: {name} is not kept as {column.type.value}")
            typed.append(f"{_typed(_quote(name), column.type)} AS {_quote(called)}")
        view = f"obverse_{list(self._schemas).index(schema.name)}"
        held.createOrReplaceTempView(view)
        return f"(SELECT {', '.join(typed)} FROM {view})"


def open_tables(schemas: Iterable[Schema], secret: Secret = b"", limits: Limits = USUAL) -> Spark:
    """The tables of these schemas, ready to be asked; their ranks were written once, so that no secret is needed."""
    return Spark(schemas, limits)


def _session(place: str, memory: str) -> SparkSession:
    away = BadSource(f"{place.rpartition('@')[2].partition(';')[0]}: Spark cannot be reached")
    try:
        session = _connected(place) if place.startswith(CONNECT) else _within(place, memory)
        for name, value in SETTINGS.items():
            if session.conf.get(name) != value:
                session.conf.set(name, value)
    except ImportError:
        raise Missing("Spark is not installed: pip install obverse[spark]") from None
    except (OSError, ValueError):
        raise away from None
    except _failures():
        raise away from None
    return session


def _connected(place: str) -> SparkSession:
    """A session of a cluster, by the client's own builder: the common one would turn a Spark in this process away."""
    from pyspark.sql.connect.session import SparkSession as Remote

    at = urlsplit(place)
    with create_connection((at.hostname, at.port or PORT), PATIENCE):  # the client would try for ten minutes
        pass
    return cast("SparkSession", Remote.builder.remote(place.removeprefix("spark+")).create())


def _within(place: str, memory: str) -> SparkSession:
    """A session of the Spark in this process, which is started with so much memory if there is none."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName("obverse")
    builder = builder.master("local[*]" if place == "spark://local" else place)
    heap = memory.removesuffix("iB").lower() if memory.endswith("iB") else HEAP
    for name, value in {**LOCAL, "spark.driver.memory": heap}.items():
        builder = builder.config(name, value)
    shared = builder.getOrCreate()
    shared.sparkContext.setLogLevel("OFF")
    return shared.newSession()


def _held(session: SparkSession, source: Source) -> DataFrame:
    """A path is a file or folder of Parquet, another name a table of the catalogue."""
    if "/" in source.table:
        return session.read.parquet(source.table)
    session.catalog.refreshTable(source.table)
    return session.table(source.table)


def _failures() -> tuple[type[Exception], ...]:
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException

    return Py4JError, PySparkException


def _typed(name: str, type_: Type) -> str:
    """A value as its type, or NULL where it is none: no number that is not finite, no date beyond year 9999."""
    match type_:
        case Type.INTEGER:
            inside = f"{name} BETWEEN -9223372036854775808 AND 9223372036854775807"
            return f"CASE WHEN {inside} THEN CAST({name} AS BIGINT) END"
        case Type.REAL:
            return (
                f"CASE WHEN ABS(CAST({name} AS DOUBLE)) < DOUBLE('Infinity') THEN CAST({name} AS DOUBLE) END"
            )
        case Type.TEXT:
            return f"CAST({name} AS STRING)"
        case Type.BOOLEAN:
            return name
    kind = "DATE" if type_ is Type.DATE else "TIMESTAMP"
    value = f"CAST({name} AS {kind})"
    return f"CASE WHEN {value} >= {kind} '0001-01-02' AND {value} < {kind} '9999-12-31' THEN {value} END"


def _quote(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


# ── Spark's words ────────────────────────────────────────────────────────────────────────────────────────

# FLOOR and CEIL give whole numbers of 64 bits in Spark; RINT stays DOUBLE, and rounds halves to even.
FLOOR = "CASE WHEN RINT(a) > a THEN RINT(a) - 1 ELSE RINT(a) END"
CEIL = "CASE WHEN RINT(a) < a THEN RINT(a) + 1 ELSE RINT(a) END"
ROUNDED = {
    "FLOOR": FLOOR,
    "CEIL": CEIL,
    "TRUNC": f"CASE WHEN a < 0 THEN {CEIL} ELSE {FLOOR} END",
    "ROUND": "CASE WHEN ABS(a - RINT(a)) = 0.5D THEN a + SIGN(a) * 0.5D ELSE RINT(a) END",
}
UNUSED = "\x01"
PARTS = {"DOW": "DAYOFWEEK", "ISODOW": "DAYOFWEEK_ISO"}

# DuckDB's way to write a DOUBLE; before Java 19 the digits of some are more than need be.
_POWER = "REPLACE(SUBSTRING_INDEX(CAST(a AS STRING), 'E', -1), '-', '')"
_DIGITS = "CAST(CAST(CAST(a AS STRING) AS DECIMAL(38, 21)) AS STRING)"
TEXT = f"""CASE WHEN ABS(a) = 4.9e-324D THEN IF(a > 0, '5e-324', '-5e-324')
    WHEN ABS(a) >= 1e16D OR (ABS(a) < 1e-4D AND a <> 0) THEN CONCAT(
        REGEXP_REPLACE(SUBSTRING_INDEX(CAST(a AS STRING), 'E', 1), '[.]0$', ''),
        CASE WHEN ABS(a) > 1 THEN 'e+' ELSE 'e-' END, LPAD({_POWER}, GREATEST(2, LENGTH({_POWER})), '0'))
    WHEN ABS(a) >= 1e7D OR (ABS(a) < 1e-3D AND a <> 0)
        THEN REGEXP_REPLACE(REGEXP_REPLACE({_DIGITS}, '0+$', ''), '[.]$', '.0')
    ELSE CAST(a AS STRING) END"""


def _letters(part: str) -> str:
    """What stands between two % of a pattern, in a regular expression: _ is any letter, all else is itself."""
    return "".join(
        "." if c == "_" else c if c.isalnum() or not c.isascii() else f"\\x{ord(c):02x}" for c in part
    )


class Words(Writer):
    """Spark's SQL, of which arithmetic on DOUBLE is that of IEEE."""

    def name(self, name: str) -> str:
        return _quote(name)

    def text(self, value: str) -> str:
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"

    def whole_quotient(self, a: Said, b: Said) -> Said:
        by = f"CAST({b.sql} AS {self.wide})"
        return Said(f"CAST(({a.sql} - {a.sql} % {by}) / {by} AS {self.wide})", coarse=True)

    def rounded(self, name: str, x: Said) -> str:
        return f"TRANSFORM(ARRAY({x.sql}), a -> {ROUNDED[name]})[0]"

    def total(self, x: str) -> str:
        """In the order of the numbers, so that it depends on no other order."""
        ordered = f"AGGREGATE(ARRAY_SORT(COLLECT_LIST({x})), 0D, (s, y) -> s + y)"
        return f"CASE WHEN COUNT({x}) > 0 THEN {ordered} END"

    def whole_total(self, x: str) -> str:
        return f"SUM(CAST({x} AS {self.wide}))"

    def as_text(self, x: Said) -> str:
        if x.real:
            return f"TRANSFORM(ARRAY({x.sql}), a -> {TEXT})[0]"
        return f"CAST({x.sql} AS STRING)"

    def lower(self, x: str) -> str:
        return self._changed(x, string.ascii_uppercase, string.ascii_lowercase, "lower")

    def upper(self, x: str) -> str:
        return self._changed(x, string.ascii_lowercase, string.ascii_uppercase, "upper")

    def trim(self, x: str, side: str) -> str:
        return f"TRIM({side} '{SPACES}' FROM {x})"

    def part(self, name: str, when: str) -> str:
        named = PARTS.get(name, name)
        return f"({super().part(named, when)}{' - 1' if name == 'DOW' else ''})"

    def days(self, later: str, earlier: str) -> str:
        return f"DATEDIFF({later}, {earlier})"

    def place(self, x: str, sought: str) -> str:
        return f"INSTR({x}, {sought})"

    def log10(self, x: str) -> str:
        return f"LOG10({x})"

    def matches(self, x: str, pattern: str) -> str:
        """To the very end, where Java's $ stops before a last line break."""
        return f"({x} RLIKE {self.text(pattern.removesuffix('$') + chr(92) + 'z')})"

    def like(self, x: str, pattern: str) -> str:
        """Java goes back over every % but the last: where there are some, each part is looked for once, and kept."""
        first, *inner, last = re.split("%+", pattern) if "%" in pattern else (pattern, pattern)
        if len(inner) + bool(last) < 2 or "%" not in pattern:
            return f"({x} LIKE {self.text(pattern)} ESCAPE '{UNUSED}')"
        found = "".join(f"(?>.*?{_letters(part)})" for part in inner)
        whole = f"(?s)\\A{_letters(first)}{found}.*{_letters(last)}\\z"
        return f"({x} RLIKE {self.text(whole)})"

    def _changed(self, x: str, before: str, after: str, change: str) -> str:
        """Letter by letter, as DuckDB does it."""
        more, made = letters(change)
        return f"TRANSLATE({x}, {self.text(before + more)}, {self.text(after + made)})"
