"""The ways a table is kept, and what follows for its rows: whether they are copied, and which column is their rank."""

from __future__ import annotations

from enum import Enum

from obverse.data.schema import Schema, Type

RANK = "§§rank"  # what every engine calls the column of ranks


class Form(Enum):
    """The ways a table is kept."""

    CSV = "csv"
    PARQUET = "parquet"
    ARROW = "arrow"
    DUCKDB = "duckdb"
    URL = "url"


ENDINGS = {
    ".csv": Form.CSV,
    ".tsv": Form.CSV,
    ".csv.gz": Form.CSV,
    ".parquet": Form.PARQUET,
    ".pq": Form.PARQUET,
    ".arrow": Form.ARROW,
    ".feather": Form.ARROW,
    ".ipc": Form.ARROW,
    ".duckdb": Form.DUCKDB,
    ".db": Form.DUCKDB,
}


def form_of(name: str) -> Form | None:
    lower = name.lower()
    return next((form for ending, form in ENDINGS.items() if lower.endswith(ending)), None)


def rank_column(schema: Schema) -> list[tuple[str, str, Type]]:
    """The column of ranks, if one was written: its name in the source, what questions call it, and its type."""
    return [] if schema.unit.rank is None else [(schema.unit.rank, RANK, Type.INTEGER)]


def copied(schema: Schema) -> bool:
    """Whether its rows are copied into memory when it is opened."""
    return "://" not in schema.source and (
        form_of(schema.source) in (Form.CSV, Form.ARROW) or schema.prepared
    )
