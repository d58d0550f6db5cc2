"""Tables in files, read by an embedded DuckDB that can reach nothing else."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
from sqlglot import exp

from obverse.data.bounding import column_on_grid, ranked
from obverse.data.files import declare, literal, locate, quote, run
from obverse.data.forms import Form, copied
from obverse.data.schema import Schema
from obverse.data.table import USUAL, Limits, Row
from obverse.engines._limits import Watch
from obverse.engines._ranks import by_rank, proof, prove, proven, repeated, unfit
from obverse.errors import BadSource, Withheld
from obverse.noise.entropy import Secret

if TYPE_CHECKING:
    import pyarrow

BATCH = 1 << 16
PREPARED = "\u00a7"
LONG = 50  # members of a list
FAILED = "the engine could not finish; what was charged stays charged"


class DuckDB:
    """Declared tables as views, or as copies that are ready to be asked.

    CSV and Arrow are copied into memory; other files are read where they are, unless they are to be prepared.
    A copy carries each bounded number also as whole steps of its grid, so that no question clamps it again; and of
    each row its rank among its person's, in an order that follows from the secret and their own rows alone.
    """

    dialect = "duckdb"

    def __init__(self, schemas: Iterable[Schema], *, secret: Secret = b"", limits: Limits = USUAL) -> None:
        self._schemas = {schema.name: schema for schema in schemas}
        self._secret, self._limits, self._watch = secret, limits, Watch()
        self._connection = duckdb.connect(":memory:")
        self._connection.execute("SET enable_progress_bar = false")  # which a prompt or notebook would show
        self._prepared: dict[str, str] = {}
        self._plain = {
            clamped
            for schema in self._schemas.values()
            if not copied(schema)
            for clamped, _ in _steps(schema)
        }
        self._versions: dict[str, str] = {}
        for table in self._schemas:
            self.version(table)
        self._lock()

    def __repr__(self) -> str:
        return f"DuckDB({', '.join(self._schemas)})"

    def run(self, select: exp.Query) -> list[Row]:
        cursor = self._connection.cursor()
        try:
            with self._watch.within(self._limits.seconds, cursor.interrupt):
                return cursor.execute(self._sql(select)).fetchall()
        except duckdb.Error:
            raise Withheld(FAILED) from None

    def batches(self, select: exp.Query) -> Iterator[pyarrow.RecordBatch]:
        from pyarrow import ArrowException

        cursor, ended = self._connection.cursor(), object()
        try:
            with self._watch.within(self._limits.seconds, cursor.interrupt):
                reader = cursor.sql(self._sql(select)).to_arrow_reader(BATCH)
            while True:  # who reads may take their time between two batches
                with self._watch.within(self._limits.seconds, cursor.interrupt):
                    batch = next(reader, ended)
                if batch is ended:
                    return
                yield batch
        except (duckdb.Error, ArrowException, OSError):
            raise Withheld(FAILED) from None

    def version(self, table: str) -> str:
        """The file's place, size and time of change, in a digest; a changed file is declared anew."""
        schema = self._schemas[table]
        if (now := _version(schema)) != self._versions.get(table):
            self._declare(schema)
            self._versions[table] = now  # only now: a table that could not be declared is tried again
        return now

    def close(self) -> None:
        self._connection.close()

    def _sql(self, select: exp.Query) -> str:
        sql = _hashed(select).sql(dialect="duckdb")
        for clamped, name in self._prepared.items():
            sql = sql.replace(clamped, name)
        return sql

    def _declare(self, schema: Schema) -> None:
        if not copied(schema):
            declare(self._connection, schema)
        else:
            self._copy(schema, ranks=ranked(schema) and schema.unit.rank is None)
        if schema.unit.rank is not None:
            self._look_through(schema)

    def _look_through(self, schema: Schema) -> None:
        """Refuse ranks that somebody has twice; what was looked through once is not again, until the file changes."""
        place, found = Path(locate(schema.source).place), proof(schema, _version(schema), self._secret)
        if self._secret and proven(place, found):
            return
        if self.run(repeated(schema)) != [(0,)]:
            raise unfit(schema, schema.source)
        if self._secret and found == proof(schema, _version(schema), self._secret):
            prove(place, found)

    def _copy(self, schema: Schema, *, ranks: bool) -> None:
        """The declared rows in memory, with what they carry; a file is read once, unless ranks need its rows twice."""
        declared, source = replace(schema, name=f"declared {schema.name}"), locate(schema.source)
        declare(self._connection, declared, view=not ranks)
        rows = quote(declared.name)
        if ranks:
            rows = by_rank(rows, schema.unit.column or "", self._secret)
        copy = f"SELECT *{self._grids(schema)} FROM {rows}"
        run(self._connection, source, f"CREATE OR REPLACE TABLE {quote(schema.name)} AS {copy}")
        kept = "TABLE" if ranks and source.form in (Form.CSV, Form.ARROW) else "VIEW"
        self._connection.execute(f"DROP {kept} {quote(declared.name)}")

    def _grids(self, schema: Schema) -> str:
        """A column for each bounded number in whole steps, unless a table that is not copied has its like."""
        made = []
        for clamped, name in _steps(schema):
            if clamped not in self._plain:
                self._prepared[clamped] = name
                made.append(f", {clamped} AS {name}")
        return "".join(made)

    def _lock(self) -> None:
        """From here on nothing but the declared files can be read, and nothing set."""
        places = {locate(schema.source).place for schema in self._schemas.values()}
        self._connection.execute(f"SET memory_limit = {literal(self._limits.memory)}")
        self._connection.execute(f"SET max_temp_directory_size = {literal(self._limits.temporary)}")
        self._connection.execute(
            f"SET allowed_paths = [{', '.join(literal(place) for place in sorted(places))}]"
        )
        self._connection.execute("SET python_enable_replacements = false")
        self._connection.execute("SET enable_external_access = false")
        self._connection.execute("SET lock_configuration = true")


def _steps(schema: Schema) -> Iterator[tuple[str, str]]:
    """Each bounded number in whole steps, as SQL writes it, and what a column of them is called."""
    for column in schema.columns:
        if (found := column_on_grid(column)) is not None:
            yield found[0].sql(dialect="duckdb"), quote(PREPARED + column.name)


def open_tables(schemas: Iterable[Schema], secret: Secret = b"", limits: Limits = USUAL) -> DuckDB:
    """The tables of these schemas, ready to be asked."""
    return DuckDB(schemas, secret=secret, limits=limits)


def _hashed(select: exp.Query) -> exp.Query:
    """The same, with each long list behind IN as a table: DuckDB looks up tables by hash, and lists one by one."""
    if not any(len(node.expressions) > LONG for node in select.find_all(exp.In)):
        return select
    changed = select.copy()
    for node in list(changed.find_all(exp.In)):
        if len(node.expressions) > LONG:
            listed = exp.Values(expressions=[exp.Tuple(expressions=[each]) for each in node.expressions])
            listed.set("alias", exp.TableAlias(this=exp.to_identifier("listed")))
            node.replace(exp.In(this=node.this, query=exp.Subquery(this=exp.select("*").from_(listed))))
    return changed


def _version(schema: Schema) -> str:
    place = Path(locate(schema.source).place)
    try:
        facts = place.stat()
    except OSError:
        raise BadSource(f"{place}: there is no such file") from None
    text = f"{schema.source}\0{facts.st_size}\0{facts.st_mtime_ns}\0{facts.st_ino}"
    return hashlib.sha256(text.encode()).hexdigest()
