"""Spark puts into the noise what DuckDB does, fails on no row, and says nothing of its own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from time import perf_counter

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from sqlglot import exp, parse_one

import obverse
from obverse.data.schema import Column, Schema, Type
from obverse.data.table import Limits
from obverse.engines.duckdb import DuckDB
from obverse.engines.spark import Spark, open_tables
from obverse.errors import BadSource, Withheld
from obverse.query.plan import AskPlan
from tests.engines.questions import (
    NAMES,
    Questions,
    cells,
    cut,
    inputs,
    registered,
    schemas,
    weighed,
    written,
)
from tests.engines.test_limits import MANY

SECRET = "Rumpelstiltskin"
QUICK = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where the tables are; Java compiles little, since little is asked."""
    made = tmp_path_factory.mktemp("spark")
    before = os.environ.get("JAVA_TOOL_OPTIONS")
    os.environ["JAVA_TOOL_OPTIONS"] = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    yield made
    del os.environ["JAVA_TOOL_OPTIONS"]
    if before is not None:
        os.environ["JAVA_TOOL_OPTIONS"] = before


@pytest.fixture(scope="module")
def traps(folder: Path) -> Spark:
    written(folder / "traps.parquet")
    tables = open_tables(schemas(f"spark://local#{folder}/traps.parquet").values())
    for name, value in QUICK.items():
        tables._session.conf.set(name, value)
    return tables


def people(folder: Path, rows: list[dict[str, object]]) -> Schema:
    path = folder / "people.parquet"
    pyarrow.parquet.write_table(pa.Table.from_pylist(rows), path)
    columns = Column("age", Type.INTEGER), Column("name", Type.TEXT)
    return Schema("people", f"spark://local#{path}", columns)


def test_people_are_registered_in_the_same_bins(traps: Spark, folder: Path) -> None:
    duckdb = DuckDB(schemas(str(folder / "traps.parquet")).values())
    for name, select in registered(str(folder / "traps.parquet")):
        ours, theirs = (sorted(tuple(map(int, row)) for row in each.run(select)) for each in (duckdb, traps))  # type: ignore[arg-type]
        assert ours and ours == theirs, name


def test_people_are_shared_out_alike_among_groups_that_are_found(traps: Spark, folder: Path) -> None:
    known = schemas(str(folder / "traps.parquet"))
    duckdb = DuckDB(known.values())
    for ours, theirs in zip(weighed(known, duckdb, duckdb), weighed(known, traps, duckdb), strict=True):
        assert ours[1] and ours == theirs, ours[0]


@pytest.mark.slow
def test_cells_are_counted_alike(traps: Spark, folder: Path) -> None:
    """What rows are drawn from, and what releases publish."""
    duckdb = DuckDB(schemas(str(folder / "traps.parquet")).values())
    for text, read in list(cells(str(folder / "traps.parquet")))[::3]:
        ours, theirs = read.held(duckdb), read.held(traps)
        assert np.array_equal(ours.codes, theirs.codes) and np.array_equal(ours.steps, theirs.steps), text


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_2000_questions_come_to_the_same_whole_numbers(traps: Spark, folder: Path, part: int) -> None:
    """A hundred of them as deep as on PostgreSQL: Java takes a second for each, and less for plain ones."""
    known = schemas(str(folder / "traps.parquet"))
    duckdb = DuckDB(known.values())
    deep = [*cut(known), *Questions("spark").planned(known, 100)] if part == 0 else []
    for plan in [*deep, *Questions(f"spark {part}", depth=1).planned(known, 475)]:
        if not by_java(plan):
            assert inputs(plan, traps) == inputs(plan, duckdb), plan.text


def by_java(plan: AskPlan) -> bool:
    """Whether the text of a person's sum, as large as 2⁶², says which of their values count: before Java 19 it is
    written with more digits than it needs, as docs/engines.md says."""
    picked = plan.naming is not None or any(select.find(exp.MD5) for select in plan.reads)
    return picked and "sum ( age ) as age" in plan.text


LIKES = (
    "%a%b%",
    "a%b%c",
    "%_%_%B",
    "%n%_",
    "%.%a%",
    "%\\%_%",
    "_%%_%n",
    "%b%%b",
    "%İ%p%",
    "%\n%",
    "_a_%%",
    "%😀%_%",
    "",
)
SLOW = ("%a%a%a%a%a%b", "%_a%_a%_a%b_", "a%a%a%b%b", "%A%a%B%b%")


@pytest.mark.slow
def test_like_finds_what_duckdb_finds_and_takes_no_longer_for_a_text_that_repeats(
    traps: Spark, folder: Path
) -> None:
    """Java tries every place for every %: 200 letters a took it a minute, and would have told that somebody has them."""
    names = [
        "a" * 5000,
        "a" * 4999 + "b",
        "ab\nb",
        "xa.ba",
        "a\\b_c",
        "İp",
        "",
        "b\n",
        "😀b",
        "aXbYc",
        *NAMES,
    ]
    known = people(folder, [{"age": i, "name": name} for i, name in enumerate(names)])
    tables, duckdb = open_tables([known]), DuckDB([replace(known, source=str(folder / "people.parquet"))])
    tests = [f"name {like} '{p}'" for like in ("LIKE", "ILIKE") for p in (*LIKES, *SLOW)]
    select = parse_one(
        "SELECT age, " + ", ".join(f"CASE WHEN {test} THEN 1 ELSE 0 END" for test in tests) + " FROM people",
        dialect="duckdb",
    )
    begun = perf_counter()
    found = sorted(tables.run(select))
    assert perf_counter() - begun < 60
    assert found == sorted(duckdb.run(select)) and len(found) == len(names)


@pytest.mark.slow
def test_what_fails_or_is_not_declared_says_nothing(traps: Spark, folder: Path) -> None:
    tables = open_tables([people(folder, [{"age": 30, "name": SECRET}, {"age": 40, "name": "x"}])])
    found = [row for batch in tables.batches(exp.select("age").from_("people")) for row in batch.to_pylist()]
    assert sorted(row["age"] for row in found) == [30, 40]
    for sql in (
        "SELECT SUM(age) FROM obverse_0",
        "SELECT raise(name) FROM people",
    ):
        with pytest.raises(Withheld) as withheld:
            tables.run(parse_one(sql, dialect="duckdb"))
        assert SECRET not in str(withheld.value)
    assert repr(tables) == "Spark(people)"


@pytest.mark.slow
def test_a_file_that_changed_is_another_version(traps: Spark, folder: Path) -> None:
    count = parse_one("SELECT COUNT(*) FROM people")
    known = people(folder, [{"age": 30, "name": "a"}])
    tables = open_tables([known])
    first = tables.version("people")
    assert tables.version("people") == first and tables.run(count) == [(1,)]
    people(folder, [{"age": 30, "name": "a"}, {"age": 31, "name": "b"}])
    assert tables.version("people") != first and tables.run(count) == [(2,)]


@pytest.mark.parametrize(
    ("column", "said"),
    [
        (Column("years", Type.INTEGER), "has no column years"),
        (Column("name", Type.REAL), "is not kept as real"),
    ],
)
def test_what_is_not_as_declared_is_refused(traps: Spark, folder: Path, column: Column, said: str) -> None:
    known = people(folder, [{"age": 30, "name": SECRET}])
    with pytest.raises(BadSource, match=said):
        open_tables([Schema("people", known.source, (column,))])
    with pytest.raises(BadSource, match="no such table"):
        open_tables([Schema("people", f"spark://local#{folder}/nowhere.parquet", (column,))])


@pytest.mark.slow
def test_a_curator_answers_from_spark(traps: Spark, folder: Path) -> None:
    known = people(folder, [{"age": i % 90, "name": "x"} for i in range(5000)])
    (folder / "people.toml").write_text(f"""
[tables.people]
source = "{known.source}"
[tables.people.columns]
age = {{ type = "integer", low = 0, high = 120 }}
[policy]
epsilon = 5
""")
    with obverse.open(folder / "people.toml") as curator:
        answer = curator.ask("DP-SELECT 1 COUNT(*) AS n FROM people WHERE age < 45")
        assert answer.rows[0][0] == pytest.approx(2500, abs=100)
        assert curator.ask("DP-SELECT 1 COUNT(*) AS n FROM people WHERE age < 45").rows == answer.rows


@pytest.mark.slow
def test_a_question_is_stopped_in_time_and_the_next_one_is_answered(traps: Spark, folder: Path) -> None:
    known = people(folder, [{"age": i, "name": "x"} for i in range(40_000)])
    tables, start = open_tables([known], limits=Limits(2)), perf_counter()
    with pytest.raises(Withheld):
        tables.run(parse_one(MANY.format(i="age", t="people"), dialect="duckdb"))
    assert 2 <= perf_counter() - start < 60, "it was the time that ended it"
    assert tables.run(parse_one("SELECT COUNT(*) FROM people")) == [(40_000,)]
