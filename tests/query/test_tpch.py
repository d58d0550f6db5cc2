"""The 22 questions of TPC-H in their private form are answered, or refused with the reason, and none fails."""

from __future__ import annotations

from datetime import date

import pyarrow as pa
import pyarrow.parquet
import pytest
from bench.tpch import QUESTIONS, TABLES, Asked, settings

import obverse
from obverse.curator.curator import Curator
from obverse.data.schema import Column, Type
from obverse.errors import BadQuestion

PUBLIC = {"minimum cost supplier", "important stock", "parts and suppliers"}


@pytest.fixture(scope="module")
def curator(tmp_path_factory: pytest.TempPathFactory) -> Curator:
    folder = tmp_path_factory.mktemp("tpch")
    (folder / "tpch.toml").write_text(settings({table: f"{folder}/{table}.parquet" for table in TABLES}))
    made = obverse.open(folder / "tpch.toml")
    for schema in made.schemas.values():
        columns = {column.name: [value(column, i) for i in range(60)] for column in schema.columns}
        pyarrow.parquet.write_table(pa.table(columns), folder / f"{schema.name}.parquet")
    return made


def value(column: Column, place: int) -> object:
    """One of the values that are declared, or a small one, or none."""
    if place % 17 == 16 and not column.name.endswith("key"):
        return None
    if column.categories is not None:
        return column.categories[place % len(column.categories)]
    kinds = {Type.INTEGER: place % 20 + 1, Type.REAL: 1.5 * place, Type.DATE: date(1992 + place % 7, 9, 2)}
    return kinds.get(column.type, "green special requests")


def test_there_are_all_22() -> None:
    assert len(QUESTIONS) == 22 and {asked.name for asked in QUESTIONS} > PUBLIC


@pytest.mark.parametrize("asked", QUESTIONS, ids=lambda asked: asked.name)
def test_each_is_answered_but_those_of_public_tables(curator: Curator, asked: Asked) -> None:
    if asked.name in PUBLIC:
        with pytest.raises(BadQuestion, match="every table here is public"):
            curator.ask(asked.private("1"))
    else:
        assert curator.ask(asked.private("1")).rows
