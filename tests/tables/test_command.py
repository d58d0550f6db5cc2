"""`obverse tabulate` shows or writes a protected table, says what it promises, and fails clearly."""

import pyarrow as pa
import pyarrow.csv as pc
import pytest

from obverse.cli.main import main

SETTINGS = """
ledger = "people.ledger"

[tables.people]
source = "people.csv"
unit = "row"

[tables.people.columns]
town = { type = "text" }
"job title" = { type = "text", categories = ["cook", "judge"] }

[policy]
epsilon = 1
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    towns = ["Bonn"] * 30 + ["Jena"] * 10
    jobs = ["cook"] * 28 + ["judge"] * 2 + ["cook"] * 5 + ["judge"] * 5
    pc.write_csv(pa.table({"town": towns, "job title": jobs}), tmp_path / "people.csv")
    (tmp_path / "people.toml").write_text(SETTINGS)
    return tmp_path


def test_small_cells_are_hidden_and_the_promise_is_said(folder, capsys):
    assert main(["tabulate", "people.toml", "--by", "town,job title"]) == 0
    told = capsys.readouterr().out
    assert "threshold = 3" in told and "not about ε" in told and "receipt: " in told
    assert told.splitlines()[1].split() == ["Bonn", "c", "c", "30"]


@pytest.mark.parametrize("file", ["table.csv", "table.parquet", "table.html"])
@pytest.mark.parametrize("way", ["collapse", "round", "cellkey", "private", "suppress"])
def test_every_way_writes_every_file(folder, file, way):
    command = ["tabulate", "people.toml", "--by", "job title", "--protect", way, "-o", file]
    assert main([*command, "--epsilon", "0.1"]) == 0
    assert (folder / file).stat().st_size > 50


def test_what_was_written_can_be_named_as_published(folder, capsys):
    assert main(["tabulate", "people.toml", "--by", "town", "-o", "towns.csv"]) == 0
    assert main(["tabulate", "people.toml", "--by", "job title", "--published", "towns.csv"]) == 0


def test_what_left_before_is_counted_in_without_being_named(folder, capsys):
    assert main(["tabulate", "people.toml", "--by", "town"]) == 0
    assert "earlier" not in capsys.readouterr().out
    assert main(["tabulate", "people.toml", "--by", "town,job title"]) == 0
    assert "protected together with 1 earlier tables" in capsys.readouterr().out


@pytest.mark.parametrize(
    "wrong",
    [["--by", "nothing"], ["--by", "town", "--dominance", "most"], ["--by", "town", "--protect", "private"]],
)
def test_a_wrong_request_is_refused_with_a_reason(folder, capsys, wrong):
    assert main(["tabulate", "people.toml", *wrong]) > 0
    assert capsys.readouterr().err.startswith("obverse: ")
