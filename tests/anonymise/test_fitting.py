"""A recoding gives the rows it came from their very labels, applied or as SQL; and none of them to anybody else."""

from __future__ import annotations

import datetime
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from tests.anonymise.test_anonymise import release

from obverse.anonymise import fitting, recode
from obverse.anonymise.anonymise import Anonymise
from obverse.anonymise.files import write
from obverse.anonymise.measure import measure
from obverse.anonymise.recode import Recoding
from obverse.cli.main import main
from obverse.curator.curator import open_settings
from obverse.data.hierarchy import from_rows
from obverse.errors import BadParameter

ODD = ("a, b", "a", "b", 'say "hi"', "it's", "a\\b", "*", "[1, 2]", None, "{c}", '"*"', "∅")


def odd(n: int = 120) -> pa.Table:
    """A table of odd values in columns of odd names, one of them called as a region is in the SELECT."""
    x = [(i * 7919) % 1009 for i in range(n)]
    day = datetime.date(2020, 1, 1)
    return pa.table(
        {
            'na"me': pa.array([ODD[v % len(ODD)] for v in x], pa.string()),
            "region": pa.array([v % 23 - 11 for v in x], pa.int64()),
            "größe": pa.array([None if v % 17 == 0 else (v % 13) / 7 for v in x], pa.float64()),
            "day": pa.array([day + datetime.timedelta(v % 40) for v in x], pa.date32()),
            "row": pa.array(range(n), pa.int64()),
        }
    )


NAMES = ('na"me', "region", "größe", "day")
WAYS = [("mondrian", None), ("mondrian", "range"), ("mondrian", "hierarchy"), ("members", None)]
WAYS += [("members", "hierarchy"), ("local", None), ("lattice", None)]


@pytest.mark.parametrize(("how", "labels"), WAYS)
def test_the_same_rows_get_the_same_labels(how, labels):
    """Row by row, for values of every kind; a release whose regions overlap is no exception."""
    table = odd()
    made = release(table, NAMES, k=3, how=how, labels=labels)
    expected = {row["row"]: tuple(_told(row[name]) for name in NAMES) for row in made.table.to_pylist()}
    again = Recoding.from_json(made.recoding.to_json())
    assert again == made.recoding
    applied = {row["row"]: tuple(_told(row[n]) for n in NAMES) for row in again.apply(table).to_pylist()}
    assert applied == expected and len(expected) == len(table)
    connection = duckdb.connect()
    connection.register("people", table)
    rows = connection.execute(again.sql("people", ("row",))).fetchall()
    assert {number: tuple(map(_told, cells)) for *cells, number in rows} == expected


def _told(value: object) -> str | None:
    """A cell as a label: a column that loses nothing keeps its numbers and dates."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return None if value is None else str(value)


def test_overlapping_regions_need_exceptions_and_only_the_curator_has_them():
    """Without them a row would fall into another class, and its own would be too small."""
    made = release(odd(400), NAMES, k=5, how="members")
    assert made.recoding.exceptions and not made.public().recoding.exceptions and not made.public().page
    assert "exceptions" not in repr(made.recoding)
    assert measure(made.recoding.apply(odd(400)), NAMES).k >= 5
    assert measure(made.public().recoding.apply(odd(400)), NAMES).k < 5


def test_what_takes_too_much_memory_is_not_written_as_sql(monkeypatch):
    """A recoding that may give its rows other labels says so, saved and read back too."""
    monkeypatch.setattr(fitting, "MOST_CELLS", 10)
    made = Recoding.from_json(release(odd(), NAMES, k=3).recoding.to_json())
    assert made.exceptions is None and len(made.apply(odd())) == 120
    with pytest.raises(BadParameter, match="cannot be labelled by a SELECT"):
        made.sql("people")


def test_what_only_looks_like_a_recoding_is_refused():
    """Regions beyond the labels, columns without labels, labels that are no text."""
    test = '{"label": "x", "low": 0, "high": 99, "among": [], "any": false}'
    assert Recoding.from_json(f'{{"columns": ["age"], "tests": [[{test}]], "regions": []}}')
    for columns, tests, regions in (
        ('["age"]', f"[[{test}]]", "[[99]]"),
        ('["age", "town"]', f"[[{test}]]", "[]"),
        ('["age"]', "[[]]", "[]"),
        ("[]", "[]", "[]"),
        ('["age"]', f"[[{test.replace('0,', '[0],')}]]", "[]"),
        ('["age"]', f"[[{test}]]", '[[0]], "exceptions": [[[25], 7]]'),
    ):
        with pytest.raises(BadParameter, match="no saved recoding"):
            Recoding.from_json(f'{{"columns": {columns}, "tests": {tests}, "regions": {regions}}}')


def test_a_ladder_that_jumps_lists_its_numbers():
    """Odd and even: no range from the least to the largest would be true."""
    ladder = from_rows("n", [(str(n), "even" if n % 2 == 0 else "odd", "*") for n in range(6)])
    table = pa.table({"n": pa.array([0, 1, 2, 3, 4, 5], pa.int64()), "row": list(range(6))})
    made = release(table, ("n",), k=3, how="lattice", ladders=(ladder,))
    assert made.recoding.tests[0] == (
        recode.Test("even", among=(0, 2, 4)),
        recode.Test("odd", among=(1, 3, 5)),
    )
    assert [row["n"] for row in made.recoding.apply(table).to_pylist()] == ["even", "odd"] * 3


def test_a_recoding_of_numbers_holds_no_text():
    """A column of another type than the recoding's is in no label; nothing fails."""
    ages = Recoding(("age",), ((recode.Test("20-29", 20, 29), recode.Test("?", among=("x",))),), ((0,), (1,)))
    assert len(ages.apply(pa.table({"age": ["25", "x"]}))) == 1
    assert len(ages.apply(pa.table({"age": pa.array([25, 31], pa.int64())}))) == 1


SETTINGS = """
[tables.people]
source = "people.csv"
[tables.people.columns]
age = { type = "integer", role = "quasi-identifier" }
[policy]
epsilon = 1
[accounts.research]
epsilon = 1
kinds = ["table"]
"""


def test_the_page_and_the_exceptions_leave_for_the_curator_alone(tmp_path: Path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("people.csv").write_text("age\n" + "\n".join(str(20 + i * i % 37) for i in range(60)) + "\n")
    Path("people.toml").write_text(SETTINGS)
    with open_settings(Path("people.toml")) as curator:
        assert curator.release(Anonymise("people")).value.page
        value = curator.release(Anonymise("people"), "research").value
        assert len(value.table) == 60 and not value.page and not value.recoding.exceptions
    words = ("anonymise", "people.toml", "--account", "research", "-o", "x.csv")
    assert main((*words, "--page", "page.md")) == 2 and "curator's eyes" in capsys.readouterr().err
    assert not Path("x.csv").exists() and main(words) == 0


def test_nothing_of_a_suppressed_row_stays(tmp_path: Path):
    """Neither in the list of values that Arrow and Parquet keep beside the codes, nor in the recoding."""
    table = pa.table(
        {
            "q": ["a", "b"] * 20 + ["SECRET-Q"],
            "s": ["x", "x", "y", "y"] * 10 + ["SECRET-S"],
            "free": [f"f{i % 3}" for i in range(40)] + ["SECRET-F"],
            "row": list(range(41)),
        }
    )
    made = release(table, ("q",), ("s",), k=5, l=2, how="lattice", suppress=0.1)
    assert dict(made.facts)["suppressed rows"] == "1" and "SECRET" not in made.recoding.to_json()
    for name in ("q", "s", "free"):
        for part in made.table[name].chunks:
            assert "SECRET" not in str(part.dictionary.to_pylist())
    for file in ("public.parquet", "public.arrow", "public.csv"):
        write(made.table, tmp_path / file)
        assert b"SECRET" not in (tmp_path / file).read_bytes()
    applied = made.recoding.apply(table)
    assert sorted(applied["row"].to_pylist()) == sorted(made.table["row"].to_pylist())
