"""Ranks are written once, into a new file or by SQL that is printed, and the settings say so then."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

import obverse
from obverse.cli.main import main

SETTINGS = """
[tables.visits]
source = "{source}"
unit = {{ column = "id", rows = 4{rank} }}
[tables.visits.columns]
id = {{ type = "integer" }}
cost = {{ type = "integer", low = 0, high = 100 }}
[policy]
epsilon = 3
"""


@pytest.fixture
def clinic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """5,000 visits of 700 people in a Parquet file and in a DuckDB file; some rows are nobody's."""
    monkeypatch.chdir(tmp_path)
    made = "SELECT CASE WHEN i % 50 > 0 THEN i * i % 1400 // 2 END AS id, i % 100 AS cost, i FROM range(5000) r(i)"
    duckdb.execute(f"COPY ({made}) TO 'visits.parquet'")
    with duckdb.connect("clinic.duckdb") as database:
        database.execute(f"CREATE TABLE stays AS {made}")
    return tmp_path


def settings(source: str, rank: str = "") -> None:
    Path("clinic.toml").write_text(SETTINGS.format(source=source, rank=rank))


@pytest.mark.parametrize(
    ("source", "made"),
    [("visits.parquet", "visits.ranked.parquet"), ("clinic.duckdb#stays", "stays.ranked.parquet")],
)
def test_a_file_gets_ranks_beside_it_and_is_asked_by_them(
    clinic: Path, capsys: pytest.CaptureFixture[str], source: str, made: str
) -> None:
    settings(source)
    assert main(["rank", "visits", "--column", "nr"]) == 0
    assert capsys.readouterr().out == f'source = "{made}"\n'
    rows = duckdb.execute(f"SELECT i, id, nr FROM '{made}'").fetchall()
    assert [row[0] for row in rows] == list(range(5000)), "rows keep their order"
    assert all((who is None) == (rank is None) for _, who, rank in rows)
    theirs = sorted((who, rank) for _, who, rank in rows if who is not None)
    assert len(theirs) == len(set(theirs)) and all(
        rank == 0 or (who, rank - 1) in set(theirs) for who, rank in theirs
    )
    settings(made, ', rank = "nr"')
    with obverse.open("clinic.toml") as curator:
        found = curator.ask("DP-SELECT 1 COUNT(*), COUNT(DISTINCT id) FROM visits")
    assert found.plan.question.relation.rows.bounded
    assert found.rows[0][0] == pytest.approx(sum(rank < 4 for _, rank in theirs), abs=100)


def test_nothing_is_written_over(clinic: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings("visits.parquet")
    assert main(["rank", "visits"]) == 0
    before = Path("visits.ranked.parquet").read_bytes()
    assert main(["rank", "visits"]) != 0
    assert "is there already" in capsys.readouterr().err
    assert Path("visits.ranked.parquet").read_bytes() == before


@pytest.mark.parametrize(
    ("source", "words", "said"),
    [
        ("visits.parquet", ("rank", "stays"), "there is no table stays"),
        ("visits.parquet", ("rank", "visits", "--column", "COST"), "has a column COST already"),
        ("visits.csv", ("rank", "visits"), "gets ranks by itself"),
    ],
)
def test_what_needs_no_ranks_or_has_a_column_of_that_name_is_refused(
    clinic: Path, capsys: pytest.CaptureFixture[str], source: str, words: tuple[str, ...], said: str
) -> None:
    settings(source)
    assert main(words) != 0
    assert said in capsys.readouterr().err


def test_of_spark_the_sql_is_printed(clinic: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings("spark://local#/data/visits.parquet")
    assert main(["rank", "visits"]) == 0
    said = capsys.readouterr()
    assert said.out == (
        "INSERT OVERWRITE DIRECTORY '/data/visits.parquet.ranked' USING parquet SELECT *, row_number() OVER "
        "(PARTITION BY `id` ORDER BY uuid()) - 1 AS `rank` FROM parquet.`/data/visits.parquet`;\n"
    )
    assert 'source = "spark://local#/data/visits.parquet.ranked"' in said.err
