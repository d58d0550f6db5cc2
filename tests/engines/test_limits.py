"""A question that takes too long, or too much memory, is withheld and stays charged; the next one is answered."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter, sleep

import duckdb
import psycopg
import pytest
from sqlglot import parse_one

import obverse
from obverse.data.schema import Column, Schema, Type, Unit
from obverse.data.settings import load
from obverse.data.table import Limits
from obverse.engines import postgresql
from obverse.engines._limits import Watch
from obverse.engines.duckdb import DuckDB
from obverse.errors import BadSchema, Withheld

SETTINGS = """
[tables.t]
source = "t.parquet"
unit = { column = "id", rows = 100 }
[tables.t.columns]
id = { type = "integer" }
i = { type = "integer" }
[policy]
epsilon = 3
[limits]
"""
PAIRS = "DP-SELECT 1 COUNT(*) FROM t AS a JOIN t AS b ON a.id = b.id AND a.i * b.i % 7 > 3"

MANY = (
    "SELECT COUNT(*) FROM (SELECT {i} AS x FROM {t}) AS a JOIN (SELECT {i} AS y FROM {t}) AS b ON x * y > 7"
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """60,000 rows of one person, of which 3.6·10⁹ are made when they are joined with themselves."""
    duckdb.execute(f"COPY (SELECT 7 AS id, i FROM range(60000) r(i)) TO '{tmp_path}/t.parquet'")
    return tmp_path


def test_a_question_is_stopped_in_time_and_stays_charged(folder: Path) -> None:
    (folder / "t.toml").write_text(SETTINGS + "seconds = 1\n")
    with obverse.open(folder / "t.toml") as curator:
        curator.check()
        start = perf_counter()
        with pytest.raises(Withheld, match="what was charged stays charged"):
            curator.ask(PAIRS)
        assert 1 <= perf_counter() - start < 15
        assert curator.ledger.loss(table="t").epsilon() == 1
        assert curator.ask("DP-SELECT 1 COUNT(DISTINCT id) FROM t").rows
        assert curator.ledger.loss(table="t").epsilon() == 2


def test_rows_in_batches_are_stopped_in_time_too(folder: Path) -> None:
    known = Schema("t", str(folder / "t.parquet"), (Column("i", Type.INTEGER),))
    tables, start = DuckDB([known], limits=Limits(1)), perf_counter()
    with pytest.raises(Withheld, match="could not finish"):
        list(tables.batches(parse_one(MANY.format(i="i", t="t"), dialect="duckdb")))
    assert 1 <= perf_counter() - start < 15
    rows = tables.batches(parse_one("SELECT i FROM t", dialect="duckdb"))
    first = next(rows)
    sleep(2)
    assert first.num_rows + sum(batch.num_rows for batch in rows) == 60_000


def test_of_two_that_run_the_one_that_is_late_is_stopped_and_what_follows_is_not() -> None:
    watch, stopped = Watch(), []
    with (
        watch.within(0.3, lambda: stopped.append("first")),
        watch.within(60, lambda: stopped.append("second")),
    ):
        for _ in range(200):
            sleep(0 if stopped else 0.1)
    assert stopped == ["first"]
    for _ in range(5):
        with watch.within(9, lambda: stopped.append("short")):
            sleep(0.15)
    assert stopped == ["first"]


def test_memory_and_temporary_space_end(folder: Path) -> None:
    known = Schema("t", str(folder / "many.parquet"), (Column("i", Type.INTEGER),))
    duckdb.execute(f"COPY (SELECT i * 7919 AS i FROM range(3000000) r(i)) TO '{known.source}'")
    select = parse_one("SELECT COUNT(*) FROM (SELECT DISTINCT i FROM t) AS s", dialect="duckdb")
    tight = DuckDB([known], limits=Limits(memory="32MiB", temporary="1MiB"))
    with pytest.raises(Withheld, match="could not finish"):
        tight.run(select)
    assert tight.run(parse_one("SELECT COUNT(*) FROM t")) == [(3_000_000,)]
    assert DuckDB([known]).run(select) == [(3_000_000,)]


def test_postgresql_stops_in_time_and_bounds_its_temporary_files(
    server: str, owner: psycopg.Connection[tuple[object, ...]]
) -> None:
    owner.execute("CREATE TABLE pairs AS SELECT i FROM generate_series(1, 100000) i")
    known = Schema("t", f"{server}#pairs", (Column("i", Type.INTEGER),), Unit())
    tables = postgresql.open_tables([known], limits=Limits(1, temporary="3GiB"))
    held = tables._connection.execute("SHOW temp_file_limit").fetchone()
    assert held == ("3GB",)
    start = perf_counter()
    with pytest.raises(Withheld):
        tables.run(parse_one(MANY.format(i="i", t="t")))
    assert 1 <= perf_counter() - start < 15, "it was the time that ended it"
    assert tables.run(parse_one("SELECT COUNT(*) FROM t")) == [(100_000,)]
    tables.close()
    owner.execute("CREATE ROLE reader LOGIN; GRANT SELECT ON pairs TO reader")
    guest = Schema("t", f"{server.replace('obverse:hush', 'reader')}#pairs", known.columns)
    guests = postgresql.open_tables([guest])  # who may not set it reads all the same
    assert guests.run(parse_one("SELECT COUNT(*) FROM t")) == [(100_000,)]
    guests.close()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("seconds = 0", "seconds"),
        ('memory = "8 gigabytes"', "memory is a size such as 8GiB"),
        ('temporary = "0MiB"', "temporary is a size"),
        ("rows = 3", "rows"),
    ],
)
def test_a_limit_that_is_none_is_refused_at_its_line(folder: Path, line: str, said: str) -> None:
    (folder / "t.toml").write_text(SETTINGS + line + "\n")
    with pytest.raises(BadSchema, match=said) as refused:
        load(folder / "t.toml")
    assert ":10" in str(refused.value) or ":11" in str(refused.value)


def test_limits_are_as_they_are_written(folder: Path) -> None:
    (folder / "t.toml").write_text(SETTINGS + 'seconds = 5\nmemory = "2GiB"\ntemporary = "500MiB"\n')
    assert load(folder / "t.toml").limits == Limits(5, "2GiB", "500MiB")
