"""Tables over DuckDB in memory, until an engine is at hand."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pyarrow
import pytest
from sqlglot import exp

from obverse.data.table import Row


class Memory:
    """The narrow way to the rows of some Arrow tables."""

    dialect = "duckdb"

    def __init__(self, **tables: pyarrow.Table) -> None:
        self.connection = duckdb.connect()
        for name, table in tables.items():
            self.connection.register(name, table)

    def run(self, select: exp.Query) -> list[Row]:
        return self.connection.sql(select.sql("duckdb")).fetchall()

    def batches(self, select: exp.Query) -> Iterator[pyarrow.RecordBatch]:
        yield from self.connection.sql(select.sql("duckdb")).fetch_arrow_table().to_batches()

    def version(self, table: str) -> str:
        return "1"


@pytest.fixture
def memory() -> type[Memory]:
    return Memory
