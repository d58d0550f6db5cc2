"""Whatever a table looks like, from the file to the file: a true release, or a clear error and no file at all."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from obverse.anonymise.files import read
from obverse.anonymise.labels import contains
from obverse.anonymise.verify import verify
from obverse.cli.main import main

NAMES = ("a-b", "a b", 'a"b', "a.b", "größe", "select", "a'b", "a;--", "drop table x", "ab,c", "1", "ROWID")


def settings(folder: Path, columns: dict[str, str], rows) -> None:
    """A CSV of these columns, and the settings a curator writes for it."""
    with (folder / "people.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, quoting=csv.QUOTE_NONNUMERIC).writerows([list(columns), *rows])
    lines = "".join(f"{json.dumps(name, ensure_ascii=False)} = {value}\n" for name, value in columns.items())
    (folder / "people.toml").write_text(
        f'[tables.people]\nsource = "people.csv"\n[tables.people.columns]\n{lines}[policy]\nepsilon = 1\n',
        encoding="utf-8",
    )


QUASI = '{ type = "text", role = "quasi-identifier" }'
NUMBER = '{ type = "real", role = "quasi-identifier" }'
PLAIN = '{ type = "integer" }'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("how", ["mondrian", "lattice", "local", "members"])
def test_columns_of_any_name_from_file_to_file(how, folder):
    """All at once: dash, space, quotes, dot, umlaut, comma, semicolon and words of SQL."""
    rows = [[f"v{(i * 7 + j) % 3}, {j}" for j in range(len(NAMES))] for i in range(40)]
    settings(folder, dict.fromkeys(NAMES, QUASI), rows)
    assert main(["anonymise", "people.toml", "-k", "4", "--how", how, "-o", "public.csv"]) == 0
    made = read(folder / "public.csv")
    assert tuple(made.column_names) == NAMES and len(made) == 40 and verify(made, NAMES, k=4).k >= 4


TABLES = {
    "one row": ([["x", 1]], 1),
    "all equal": ([["x", 1]] * 9, 3),
    "all missing": ([["", 1]] * 9, 3),
    "ten thousand categories": ([[f"c{i}", i] for i in range(10_000)], 7),
    "mixed types": ([["1", 1], ["x", 2], ["2.5", 3], ["", 4], ["**", 5], ["*", 6], ["∅", 7]] * 2, 2),
    "commas and braces inside": (
        [["a, b", 1], ["a", 2], ["{b", 3], ['"', 4], ["b}", 5], ["[a, b]", 6]] * 2,
        2,
    ),
    "commas and quotes in sets": (
        [
            [v, i]
            for i, v in enumerate(["a, b", "a", "b", 'say "hi"', "*", "[1, 2]", "", '"*"', "{c}", "∅"] * 3)
        ],
        7,
    ),
    "numbers as texts": ([[v, i] for i, v in enumerate(["1", "2", "10", "9", "100", "+3"] * 2)], 4),
    "line breaks inside": ([["a\nb", 1], ["a\nb", 2], ["ü\t", 3], ["ü\t", 4]], 2),
}


@pytest.mark.parametrize("labels", ["set", "range", "hierarchy"])
@pytest.mark.parametrize("case", TABLES)
def test_odd_tables_from_file_to_file(case, labels, folder):
    """Every label that leaves contains the value it stands for, row by row."""
    rows, k = TABLES[case]
    settings(folder, {"q": QUASI, "row": PLAIN}, [[value, place] for place, (value, _) in enumerate(rows)])
    command = ["anonymise", "people.toml", "-k", str(k), "--labels", labels, "-o", "public.parquet"]
    assert main(command) == 0
    made = read(folder / "public.parquet")
    assert len(made) == len(rows) and verify(made, ["q"], k=k).k >= k
    for row in made.to_pylist():
        value = rows[row["row"]][0] or None
        assert contains(row["q"], value), (row["q"], value)


def test_infinite_numbers_are_missing(folder):
    """What is no number in the file is missing in the table, and missing is a category of its own."""
    values = ["1", "2", "inf", "-Infinity", "NaN", "1e999", "x"]
    settings(folder, {"q": NUMBER, "n": PLAIN}, [[value, i] for i, value in enumerate(values * 2)])
    assert main(["anonymise", "people.toml", "-k", "2", "-o", "public.csv"]) == 0
    found = read(folder / "public.csv")["q"].to_pylist()
    assert found.count(None) == 10 and len(found) == 14


HOPELESS = {
    "no rows": ([], 2),
    "fewer rows than k": ([["x"]] * 3, 4),
    "one row": ([["x"]], 2),
}


@pytest.mark.parametrize("how", ["mondrian", "lattice", "local", "members"])
@pytest.mark.parametrize("case", HOPELESS)
def test_what_cannot_be_reached_leaves_no_file(case, how, folder, capsys):
    """Exit code 8, no file, and the curator reads how far it got."""
    rows, k = HOPELESS[case]
    settings(folder, {"q": QUASI}, rows)
    assert main(["anonymise", "people.toml", "-k", str(k), "--how", how, "-o", "public.csv"]) == 8
    error = capsys.readouterr().err
    assert not (folder / "public.csv").exists() and "why nothing leaves" in error
    assert "the table has no rows" in error or f"{len(rows)} reached, {k} asked" in error


def test_a_hierarchy_that_is_none_is_refused_with_its_fault(folder, capsys):
    settings(folder, {"q": QUASI}, [["a"], ["b"], ["c"], ["c"]])
    (folder / "trees").mkdir()
    command = [
        "anonymise",
        "people.toml",
        "-k",
        "2",
        "--how",
        "lattice",
        "--hierarchies",
        "trees",
        "-o",
        "p.csv",
    ]
    for text, said in (
        ("a,x,1,*\nb,x,2,*\nc,y,2,*\n", "no ladder"),
        ("a,x,*\nb,x,*\n", "may miss a value"),
        ("a,x,*\nb,*\nc,*\n", "lines of different lengths"),
        ("a,x\nb,x\nc,y\n", "must end in *"),
        ("a,*\na,*\nc,*\n", "same value on two lines"),
        ("", "no values"),
    ):
        (folder / "trees" / "q.csv").write_text(text)
        assert main(command) > 0, text
        assert said in capsys.readouterr().err and not (folder / "p.csv").exists()


SCRIPT = """
import sys, hashlib
from obverse.anonymise.anonymise import Anonymise
from obverse.anonymise.rules import Rule
from obverse.data.schema import Column, Role, Schema, Type
from obverse.engines.duckdb import DuckDB
from obverse.noise.entropy import Keyed
from obverse.release import Terms

quasi = [Column(n, t, Role.QUASI) for n, t in (("age", Type.INTEGER), ("town", Type.TEXT), ("job", Type.TEXT))]
schema = Schema("people", sys.argv[1], (*quasi, Column("ill", Type.TEXT, Role.SENSITIVE)))
for how in ("mondrian", "lattice", "local", "members"):
    rules = (Rule("distinct", "ill", 2),)
    plan = Anonymise("people", k=4, how=how, rules=rules).plan({"people": schema}, Terms())
    print(hashlib.sha256(plan.pack(plan.run(DuckDB([schema]), Keyed("seed")))).hexdigest())
"""


@pytest.mark.slow
def test_the_same_bytes_under_any_hash_seed_and_row_order(tmp_path):
    """Table, facts, recoding and page; nothing is suppressed, so that no page names a row by its place."""
    rows = [[20 + i * 7919 % 50, f"t{i * 31 % 9}", f"j{i * 17 % 23}", f"s{i * 13 % 4}"] for i in range(400)]
    seen = set()
    for seed, order in (("1", rows), ("2", rows[::-1])):
        file = tmp_path / f"people{seed}" / "people.csv"
        file.parent.mkdir()
        with file.open("w", newline="") as out:
            csv.writer(out).writerows([["age", "town", "job", "ill"], *order])
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        run = subprocess.run(
            [sys.executable, "-c", SCRIPT, str(file)],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        seen.add(run.stdout)
    assert len(seen) == 1 and len(seen.pop().split()) == 4
