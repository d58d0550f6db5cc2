"""Ranks: a person's rows numbered 0, 1, 2, … in a secret random order, written once, so that bounding is a filter.

A rank follows from the secret, from whose the row is, and from the how many-eth of that person's rows it is. Where
their rows stand among those of others does not matter, and neither does what is in them: who comes or goes changes
nobody else's ranks. The hash is quick rather than a cipher: that nobody has more rows than count holds of any order,
known or not; what the secret gives is that nobody can arrange which of their rows are the ones that count.
"""

from __future__ import annotations

import hmac
from contextlib import suppress
from pathlib import Path

from sqlglot import exp

from obverse.data.files import columns, expose, literal, locate, quote, run
from obverse.data.forms import RANK
from obverse.data.schema import Schema
from obverse.errors import BadParameter, BadSource
from obverse.noise.entropy import Secret


def by_rank(rows: str, person: str, secret: Secret) -> str:
    """DuckDB's words for all rows, in their order, and the rank of each; a row of nobody has none."""
    whose, rank, key = quote(person), quote(RANK), literal(secret.hex())
    placed = f"SELECT {whose} AS who, row_number() OVER () AS place FROM {rows}"
    own = f"SELECT who, place, row_number() OVER (PARTITION BY who ORDER BY place) AS nth FROM ({placed})"
    number = f"row_number() OVER (PARTITION BY who ORDER BY hash(who, nth, {key}), nth) - 1"
    ranked = f"SELECT place, CASE WHEN who IS NOT NULL THEN {number} END AS {rank} FROM ({own})"
    return f"(SELECT * FROM {rows} POSITIONAL JOIN (SELECT {rank} FROM ({ranked}) ORDER BY place))"


def repeated(schema: Schema) -> exp.Select:
    """How many ranks some person has twice: with any, more than their share of rows would count."""
    whose, rank = (exp.column(name, quoted=True) for name in (schema.unit.column or "", RANK))
    pairs = exp.select(whose, rank).from_(exp.to_table(quote(schema.name), dialect="duckdb"))
    pairs = pairs.where(exp.Not(this=exp.Is(this=whose, expression=exp.Null())))
    pairs = pairs.where(exp.Not(this=exp.Is(this=rank, expression=exp.Null())))
    pairs = pairs.group_by(whose, rank).having("COUNT(*) > 1")
    return exp.select(exp.Count(this=exp.Star())).from_(pairs.subquery("repeated"))


def proof(schema: Schema, version: str, secret: Secret) -> str:
    """What only the curator can write beside a file whose ranks were looked through, as it is now."""
    column = schema.column(schema.unit.column or "")
    said = "\0".join((version, column.name, column.type.value, schema.unit.rank or ""))
    return hmac.new(secret, said.encode(), "sha256").hexdigest()


def proven(place: Path, wanted: str) -> bool:
    """Whether that stands beside the file: to look through 100M rows takes longer than to ask about them."""
    try:
        return hmac.compare_digest(place.with_name(f"{place.name}.ranks").read_text(encoding="utf-8"), wanted)
    except (OSError, ValueError, TypeError):
        return False


def prove(place: Path, found: str) -> None:
    """Write it there; where nothing may be written, the next process looks through the ranks again."""
    with suppress(OSError):
        place.with_name(f"{place.name}.ranks").write_text(found, encoding="utf-8")


def unfit(schema: Schema, source: str, fault: str = "numbers rows of one person alike") -> BadSource:
    """The refusal of ranks that bound nobody's rows."""
    return BadSource(
        f"{source}: {schema.unit.rank} {fault}; let `obverse rank {schema.name}` write it, or leave rank out of unit"
    )


def write(schema: Schema, secret: Secret, column: str) -> Path:
    """A new Parquet file beside a table's own, with a column of ranks more; nothing is written over."""
    import duckdb

    source = locate(schema.source)
    old = Path(source.place)
    new = old.with_name(f"{source.table.rpartition('.')[2] or old.stem}.ranked.parquet")
    if new.exists():
        raise BadParameter(f"{new} is there already: move it away, or name it in the settings")
    with duckdb.connect() as connection:
        expose(connection, source, "held")
        held = columns(connection, "held")
        if column.casefold() in {name.casefold() for name in held}:
            raise BadParameter(
                f"{source} has a column {column} already: name another with --column, or it in unit"
            )
        ranked = by_rank("held", schema.unit.column or "", secret)
        kept = f"SELECT * RENAME ({quote(RANK)} AS {quote(column)}) FROM {ranked}"
        part = new.with_name(f"{new.name}.part")
        run(connection, source, f"COPY ({kept}) TO {literal(str(part))} (FORMAT parquet)")
    part.replace(new)
    return new


def statements(schema: Schema, column: str) -> str:
    """SQL for a role that may write: ranks by the engine's own random numbers, written once and kept apart.

    Run again it numbers rows that came later behind those that were there, whose ranks stay.
    """
    source = locate(schema.source)
    if source.scheme == "spark":
        return _in_spark(source.table, schema.unit.column or "", column)
    inside, _, name = source.table.rpartition(".")
    table, whose, rank = (
        f"{quote(inside or 'public')}.{quote(name)}",
        quote(schema.unit.column or ""),
        quote(column),
    )
    had = f"SELECT {whose}, MAX({rank}) AS last FROM {table} GROUP BY {whose}"
    number = f"row_number() OVER (PARTITION BY t.{whose} ORDER BY gen_random_uuid())"
    fresh = (
        f"SELECT t.ctid AS at, COALESCE(last, -1) + {number} AS number FROM {table} AS t JOIN ({had}) AS had"
    )
    return f"""BEGIN;
ALTER TABLE {table} ADD COLUMN IF NOT EXISTS {rank} integer;
UPDATE {table} AS t SET {rank} = number
FROM ({fresh} USING ({whose}) WHERE {rank} IS NULL) AS fresh WHERE t.ctid = at;
CREATE UNIQUE INDEX IF NOT EXISTS {quote(f"{name}_{column}")} ON {table} ({whose}, {rank});
COMMIT;"""


def _in_spark(table: str, person: str, column: str) -> str:
    whose, rank = (f"`{name.replace('`', '``')}`" for name in (person, column))
    select = f"SELECT *, row_number() OVER (PARTITION BY {whose} ORDER BY uuid()) - 1 AS {rank} FROM"
    if "/" in table:
        return f"INSERT OVERWRITE DIRECTORY '{table}.ranked' USING parquet {select} parquet.`{table}`;"
    return f"CREATE TABLE {table}_ranked AS {select} {table};"
