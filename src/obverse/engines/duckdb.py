"""Tables in files, read by an embedded DuckDB that can reach nothing else."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
from sqlglot import exp

from obverse.data.bounding import column_on_grid
from obverse.data.files import Form, declare, literal, locate, quote
from obverse.data.schema import Schema
from obverse.data.table import Row
from obverse.errors import BadSource, Withheld

if TYPE_CHECKING:
    import pyarrow

BATCH = 1 << 16
PREPARED = "\u00a7"
TEMPORARY = "32GiB"


class DuckDB:
    """Declared tables as views, or as copies that are ready to be asked.

    CSV and Arrow are copied into memory; other files are read where they are, unless `prepare` asks for a copy.
    A copy carries each bounded number also as whole steps of its grid, so that no question clamps it again.
    """

    dialect = "duckdb"

    def __init__(self, schemas: Iterable[Schema], *, prepare: bool = False, memory: str = "") -> None:
        self._schemas = {schema.name: schema for schema in schemas}
        self._connection = duckdb.connect(":memory:")
        self._prepare = prepare
        self._prepared: dict[str, str] = {}
        self._versions: dict[str, str] = {}
        for schema in self._schemas.values():
            self._declare(schema)
        self._lock(memory)

    def __repr__(self) -> str:
        return f"DuckDB({', '.join(self._schemas)})"

    def run(self, select: exp.Query) -> list[Row]:
        return self._execute(select).fetchall()

    def batches(self, select: exp.Query) -> Iterator[pyarrow.RecordBatch]:
        reader = self._execute(select).to_arrow_reader(BATCH)
        assert reader is not None
        yield from reader

    def version(self, table: str) -> str:
        """The file's place, size and time of change, in a digest; a changed file is declared anew."""
        schema = self._schemas[table]
        if (now := _version(schema)) != self._versions[table]:
            self._declare(schema)
        return now

    def close(self) -> None:
        self._connection.close()

    def _execute(self, select: exp.Query) -> duckdb.DuckDBPyConnection:
        sql = select.sql(dialect="duckdb")
        for clamped, name in self._prepared.items():
            sql = sql.replace(clamped, name)
        try:
            return self._connection.cursor().execute(sql)
        except duckdb.Error:
            raise Withheld("the engine could not finish; what was charged stays charged") from None

    def _declare(self, schema: Schema) -> None:
        self._versions[schema.name] = _version(schema)
        declare(self._connection, schema)
        if self._prepare or locate(schema.source).form in (Form.CSV, Form.ARROW):
            self._copy(schema)

    def _copy(self, schema: Schema) -> None:
        """The declared table once more, with a column for each bounded number in whole steps."""
        made = []
        for column in schema.columns:
            if (found := column_on_grid(column)) is not None:
                name, clamped = quote(PREPARED + column.name), found[0].sql(dialect="duckdb")
                self._prepared[clamped] = name
                made.append(f", {clamped} AS {name}")
        table, copied = quote(schema.name), quote(f"copy of {schema.name}")
        kind = self._connection.execute(
            "SELECT table_type FROM information_schema.tables WHERE table_name = ?", [schema.name]
        ).fetchone()
        self._connection.execute(f"CREATE OR REPLACE TABLE {copied} AS SELECT *{''.join(made)} FROM {table}")
        self._connection.execute(f"DROP {'VIEW' if kind and kind[0] == 'VIEW' else 'TABLE'} {table}")
        self._connection.execute(f"ALTER TABLE {copied} RENAME TO {table}")

    def _lock(self, memory: str) -> None:
        """From here on nothing but the declared files can be read, and nothing set."""
        places = {locate(schema.source).place for schema in self._schemas.values()}
        if memory:
            self._connection.execute(f"SET memory_limit = {literal(memory)}")
        self._connection.execute(f"SET max_temp_directory_size = '{TEMPORARY}'")
        self._connection.execute(f"SET allowed_paths = [{', '.join(literal(place) for place in sorted(places))}]")
        self._connection.execute("SET enable_external_access = false")
        self._connection.execute("SET lock_configuration = true")


def open_tables(schemas: Iterable[Schema]) -> DuckDB:
    """The tables of these schemas, ready to be asked."""
    return DuckDB(schemas)


def _version(schema: Schema) -> str:
    place = Path(locate(schema.source).place)
    try:
        facts = place.stat()
    except OSError:
        raise BadSource(f"{place}: there is no such file") from None
    text = f"{schema.source}\0{facts.st_size}\0{facts.st_mtime_ns}\0{facts.st_ino}"
    return hashlib.sha256(text.encode()).hexdigest()
