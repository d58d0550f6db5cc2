"""Any printable name works for tables and columns, from the settings file to the answer, in every form of file."""

from pathlib import Path

import duckdb
import pytest

import obverse
from obverse.data.files import literal, quote

NAMES = [
    "salary-class",
    "mean age",
    'the "real" one',
    "a.b",
    "größe",
    "select",
    "ORDER",
    "it's",
    "#",
    "数",
    "%s {x} $1 ?",
    "§age",
]


@pytest.mark.parametrize("form", ["csv", "parquet", "duckdb"])
def test_every_name_can_be_asked_about(tmp_path: Path, form: str) -> None:
    table = 'group "x"'
    with duckdb.connect(str(tmp_path / "people.duckdb")) as connection:
        held = ", ".join(f"i % 7 AS {quote(name)}" for name in NAMES)
        connection.execute(f"CREATE TABLE people AS SELECT {held} FROM range(1000) t(i)")
        if form != "duckdb":
            connection.execute(f"COPY people TO {literal(str(tmp_path / f'people.{form}'))}")
    source = "people.duckdb#people" if form == "duckdb" else f"people.{form}"
    columns = "\n".join(
        f"{key(name)} = {{ type = 'integer', low = 0, high = 10, categories = [0, 1] }}" for name in NAMES
    )
    (tmp_path / "p.toml").write_text(
        f"[tables.{key(table)}]\nsource = '{source}'\n[tables.{key(table)}.columns]\n{columns}\n[policy]\nepsilon = 100_000\n",
        encoding="utf-8",
    )
    with obverse.open(tmp_path / "p.toml") as opened:
        for name in NAMES:
            sql = f"DP-SELECT 1000 SUM({quote(name)}) AS {quote(name)}, AVG({quote(name)}) FROM {quote(table)} WHERE {quote(name)} >= 0"
            answer = opened.ask(sql)
            assert answer.columns[0] == name
            assert answer.rows[0][0] == pytest.approx(sum(i % 7 for i in range(1000)), abs=1)
            grouped = opened.ask(
                f"DP-SELECT 1000 {quote(name)}, COUNT(*) FROM {quote(table)} GROUP BY {quote(name)}"
            )
            assert grouped.rows == ((0, 143), (1, 143))


def key(name: str) -> str:
    return '"' + name.replace('"', '\\"') + '"'
