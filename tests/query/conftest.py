"""A small table that every pass of `query` is tried on, and the pairs of what goes in and what comes out."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from obverse.data.schema import Column, Neighbours, Schema, Type, Unit

FIXTURES = Path(__file__).parent.parent / "fixtures"

COLUMNS = (
    Column("id", Type.INTEGER),
    Column("age", Type.INTEGER, low=Fraction(0), high=Fraction(120)),
    Column("sex", Type.TEXT, categories=("Female", "Male")),
    Column("income", Type.REAL),
    Column("pay", Type.REAL, low=Fraction(-10), high=Fraction(1000)),
    Column("born", Type.DATE),
    Column("smokes", Type.BOOLEAN, categories=(False, True)),
    Column("zip code", Type.TEXT),
)
ROWS = Schema("people", "people.csv", COLUMNS)
PERSONS = Schema("visits", "visits.parquet", COLUMNS, Unit("id", rows=4))
RANKED = Schema("stays", "stays.csv", COLUMNS, Unit("id", rows=4))
REPLACED = Schema("swaps", "swaps.csv", COLUMNS, neighbours=Neighbours.REPLACE)


@pytest.fixture
def schemas() -> dict[str, Schema]:
    return {schema.name: schema for schema in (ROWS, PERSONS, RANKED, REPLACED)}


def pairs(name: str) -> list[tuple[str, str]]:
    """What goes in and what comes out: `-- in`, lines, `-- out`, lines."""
    text = (FIXTURES / name).read_text()
    blocks = [block.partition("-- out\n") for block in text.split("-- in\n")[1:]]
    return [(question.strip(), outcome.strip()) for question, _, outcome in blocks]
