"""Spark Connect, with a server of its own: files and tables of a catalogue are read, and neighbours differ as charged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest
from sqlglot import parse_one

from obverse.audit.replay import Record, replayed
from obverse.data.schema import Column, Schema, Type
from obverse.engines.duckdb import DuckDB
from obverse.engines.spark import Spark, open_tables
from obverse.errors import BadSource
from obverse.query.ask import Ask
from obverse.query.plan import AskPlan
from obverse.release import Terms
from tests.contracts.test_questions import TYPES
from tests.engines.connect import connecting
from tests.engines.questions import Questions, inputs, schemas, written

AGE = (Column("age", Type.INTEGER),)
QUESTIONS = (
    "SELECT COUNT(*), SUM(pay) FROM t WHERE age / (age - 30) > 1",
    "SELECT sex, COUNT(*), AVG(pay), COUNT(DISTINCT id), MEDIAN(age) FROM t GROUP BY sex",
)


@pytest.fixture(scope="module")
def connected() -> Iterator[str]:
    with connecting() as address:
        yield address


@pytest.mark.slow
def test_files_come_to_the_same_whole_numbers(connected: str, tmp_path: Path) -> None:
    written(tmp_path / "traps.parquet")
    known = schemas(str(tmp_path / "traps.parquet"))  # of which no engine makes ranks of its own
    there = open_tables(schemas(f"{connected}#{tmp_path}/traps.parquet").values())
    here = DuckDB(known.values())
    for plan in Questions("connect").planned(known, 5):
        assert inputs(plan, there) == inputs(plan, here), plan.text
    there.close()


@pytest.mark.slow
def test_a_table_of_the_catalogue_is_read_and_its_writes_are_seen(connected: str) -> None:
    from pyspark.sql.connect.session import SparkSession

    owner = SparkSession.builder.remote(connected.removeprefix("spark+")).create()
    owner.sql("CREATE TABLE people USING parquet AS SELECT id % 90 AS age FROM range(900)").collect()
    tables = open_tables([Schema("people", f"{connected}#default.people", AGE)])
    asked = parse_one("SELECT COUNT(*), SUM(age) FROM people")
    before = tables.version("people")
    assert tables.run(asked) == [(900, 10 * 89 * 45)] and tables.version("people") == before
    owner.sql("INSERT INTO people VALUES (7L)").collect()
    assert tables.version("people") != before and tables.run(asked) == [(901, 10 * 89 * 45 + 7)]
    assert sum(batch.num_rows for batch in tables.batches(parse_one("SELECT age FROM people"))) == 901
    tables.close()
    owner.stop()


@pytest.mark.slow
def test_neighbours_differ_by_no_more_than_is_charged(connected: str, tmp_path: Path) -> None:
    made: dict[str, Spark] = {}

    def engine(records: Sequence[Record], known: Schema) -> Spark:
        path = tmp_path / f"{len(made)}.parquet"
        pyarrow.parquet.write_table(pa.Table.from_pylist(list(records), TYPES), path)
        made[str(path)] = open_tables([replace(known, source=f"{connected}#{path}")])
        return made[str(path)]

    def ask(sql: str, known: dict[str, Schema]) -> AskPlan:
        there = {name: replace(each, source=f"{connected}#/its.parquet") for name, each in known.items()}
        return Ask(sql).plan(there, Terms())

    for finding in replayed(QUESTIONS, engine=engine, ask=ask):
        assert not finding.lies, finding.note
    for each in made.values():
        each.close()


def test_a_cluster_that_is_not_there_is_told_at_once() -> None:
    with pytest.raises(BadSource, match="cannot be reached"):
        open_tables([Schema("people", "spark+sc://127.0.0.1:9#default.people", AGE)])
