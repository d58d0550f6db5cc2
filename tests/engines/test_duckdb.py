"""The embedded engine reads the declared tables and nothing else, and its own words never reach an analyst."""

from fractions import Fraction
from pathlib import Path
from time import process_time

import duckdb
import pytest
from sqlglot import parse_one

from obverse.data.schema import Column, Schema, Type
from obverse.engines.duckdb import DuckDB
from obverse.errors import Withheld
from obverse.query.ask import Ask
from obverse.query.plan import AskPlan
from obverse.release import Terms

SECRET = "Rumpelstiltskin"


@pytest.fixture
def engine(tmp_path: Path) -> DuckDB:
    (tmp_path / "people.csv").write_text(f"age,name,hidden\n30,{SECRET},1\n40,x,2\n")
    (tmp_path / "other.csv").write_text("secret\n1\n")
    columns = Column("age", Type.INTEGER), Column("name", Type.TEXT)
    return DuckDB([Schema("people", str(tmp_path / "people.csv"), columns)])


def test_rows_come_at_once_or_in_batches(engine: DuckDB) -> None:
    select = parse_one("SELECT age, name FROM people ORDER BY age")
    rows = [tuple(row.values()) for batch in engine.batches(select) for row in batch.to_pylist()]
    assert engine.run(select) == rows == [(30, SECRET), (40, "x")]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT hidden FROM people",
        "SELECT CAST(name AS INTEGER) FROM people",
        "SELECT error(name) FROM people",
        "SELECT * FROM read_csv('other.csv')",
        "SELECT * FROM '/etc/passwd'",
        "SELECT * FROM sql",
    ],
)
def test_what_fails_says_nothing(engine: DuckDB, sql: str, tmp_path: Path) -> None:
    """Plans hold nothing that can fail; if one did, no row would stand in the error."""
    select = parse_one(sql.replace("other.csv", f"{tmp_path}/other.csv"), dialect="duckdb")
    for ask in (engine.run, lambda s: list(engine.batches(s))):
        with pytest.raises(Withheld) as withheld:
            ask(select)
        assert str(withheld.value) == "the engine could not finish; what was charged stays charged"
        assert withheld.value.__suppress_context__


def test_a_repr_names_tables_alone(engine: DuckDB) -> None:
    assert repr(engine) == "DuckDB(people)"


def test_a_long_list_is_looked_up_and_says_the_same_of_null_as_a_short_one(tmp_path: Path) -> None:
    """600,000 lookups in a list of 5,000 would take seconds one by one; NULL is neither in it nor out of it."""
    duckdb.execute(
        f"COPY (SELECT NULLIF(i % 6000, 5999) AS x FROM range(600000) r(i)) TO '{tmp_path}/x.parquet'"
    )
    tables = DuckDB([Schema("t", str(tmp_path / "x.parquet"), (Column("x", Type.INTEGER),))])
    for places, known in ((range(5000), 500_000), (range(10), 1000)):
        listed = ", ".join(map(str, places))
        select = parse_one(
            f"SELECT COUNT(*) FILTER (WHERE x IN ({listed})), COUNT(*) FILTER (WHERE NOT x IN ({listed})), "
            f"COUNT(*) FILTER (WHERE COALESCE(x IN ({listed}), TRUE)) FROM t",
            dialect="duckdb",
        )
        begun = process_time()
        assert tables.run(select) == [(known, 599_900 - known, known + 100)]
        assert process_time() - begun < 5


def test_tables_that_are_copied_and_others_have_a_column_alike(tmp_path: Path) -> None:
    """What is prepared of one is not there in the other."""
    duckdb.execute(f"COPY (SELECT i % 7 AS x FROM range(70) r(i)) TO '{tmp_path}/read.parquet'")
    duckdb.execute(f"COPY (SELECT i % 3 AS x FROM range(30) r(i)) TO '{tmp_path}/copied.csv'")
    column = Column("x", Type.INTEGER, low=Fraction(0), high=Fraction(5))
    files = {"copied": "copied.csv", "read": "read.parquet"}
    known = {name: Schema(name, str(tmp_path / file), (column,)) for name, file in files.items()}
    tables = DuckDB(known.values())
    for name, total in (("copied", 30), ("read", 200)):
        plan = Ask(f"SELECT SUM(x) FROM {name}").plan(known, Terms())
        assert isinstance(plan, AskPlan)
        assert tables.run(plan.reads[0]) == [(total,)]
