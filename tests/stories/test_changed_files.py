"""A file that was replaced while it was open is read anew, in every form: no answer comes from yesterday's rows."""

from pathlib import Path

import duckdb
import pytest
from pyarrow import feather

import obverse

TABLES = ("people", "visits")


def put(folder: Path, form: str, rows: int) -> None:
    """Two tables, the second twice as long, in place of what was there."""
    new = folder / "new.duckdb"
    with duckdb.connect(str(new)) as connection:
        for times, table in enumerate(TABLES, 1):
            connection.execute(f"CREATE TABLE {table} AS SELECT range AS age FROM range({rows * times})")
            if form == "arrow":
                feather.write_feather(
                    connection.sql(f"FROM {table}").to_arrow_table(), f"{folder}/{table}.arrow"
                )
            elif form != "duckdb":
                connection.execute(f"COPY {table} TO '{folder}/{table}.{form}'")
    new.replace(folder / "clinic.duckdb")


@pytest.mark.parametrize("form", ["csv", "parquet", "arrow", "duckdb"])
def test_answers_follow_the_file(tmp_path: Path, form: str) -> None:
    sources = {table: f"clinic.duckdb#{table}" if form == "duckdb" else f"{table}.{form}" for table in TABLES}
    declared = [
        f"[tables.{table}]\nsource = '{source}'\n[tables.{table}.columns]\nage = {{ type = 'integer' }}\n"
        for table, source in sources.items()
    ]
    (tmp_path / "clinic.toml").write_text("".join(declared) + "[policy]\nepsilon = 10_000\n")
    put(tmp_path, form, 1000)
    with obverse.open(tmp_path / "clinic.toml") as clinic:
        for rows in (1000, 500):
            put(tmp_path, form, rows)
            for times, table in enumerate(TABLES, 1):
                answer = clinic.ask(f"DP-SELECT 1000 COUNT(*) FROM {table}")
                assert answer.rows == ((rows * times,),)


def test_an_answer_is_kept_for_the_public_table_that_it_was_made_with(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("city\n" + "Graz\nWien\nWien\n" * 10)
    (tmp_path / "clinic.toml").write_text("""
[tables.people]
source = "people.csv"
[tables.people.columns]
city = { type = "text", references = "cities.city" }
[tables.cities]
source = "cities.csv"
public = true
[tables.cities.columns]
city = { type = "text" }
side = { type = "text" }
[policy]
epsilon = 100_000
""")
    asked = "DP-SELECT 1000 side, COUNT(*) FROM people JOIN cities ON people.city = cities.city GROUP BY side"
    for sides in (("south", "north"), ("north", "south")):
        (tmp_path / "cities.csv").write_text("city,side\nGraz,{}\nWien,{}\n".format(*sides))
        for again in (False, True):
            with obverse.open(tmp_path / "clinic.toml") as clinic:
                answer = clinic.ask(asked)
                assert dict(answer.rows) == {sides[0]: 10, sides[1]: 20}
                assert answer.receipt.again is again
