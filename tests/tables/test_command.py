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


def test_percentages_and_means_that_left_are_counted_in(folder, capsys):
    """With the share of judges in Bonn, the 30 people of Bonn would tell that 2 are: so their number is hidden too."""
    shares = pa.table({"town": ["Bonn", "Bonn"], "job title": ["cook", "judge"], "value": [93.3, 6.7]})
    pc.write_csv(shares, folder / "shares.csv")
    command = ["tabulate", "people.toml", "--by", "town,job title", "--digits", "1"]
    assert main([*command, "--percentages", "shares.csv", "job title"]) == 0
    assert capsys.readouterr().out.splitlines()[1].split() == ["Bonn", "c", "c", "c"]
    assert main([*command, "--means", "shares.csv"]) == 2
    (folder / "odd.csv").write_text("town,n\nBonn,3\n")
    assert main([*command, "--published", "odd.csv"]) == 2
    assert "no column value" in capsys.readouterr().err


def test_contributors_are_counted_by_several_units(folder, capsys):
    """[HDFG+12, chapter 4] Thirty people of two households are few enough to be hidden."""
    rows = [("Bonn", "cook", f"p{i}", f"h{i % 2}") for i in range(30)]
    rows += [("Jena", "cook", f"q{i}", f"g{i}") for i in range(30)]
    names = ["town", "job title", "person", "household"]
    pc.write_csv(pa.table(dict(zip(names, zip(*rows, strict=True), strict=True))), folder / "people.csv")
    more = 'person = { type = "text" }\nhousehold = { type = "text" }\n'
    (folder / "people.toml").write_text(SETTINGS.replace("[policy]", more + "[policy]"))
    assert main(["tabulate", "people.toml", "--by", "town", "--unit", "person"]) == 0
    assert capsys.readouterr().out.splitlines()[1].split() == ["Bonn", "30"]
    assert main(["tabulate", "people.toml", "--by", "town", "--unit", "person", "--unit", "household"]) > 0


def test_a_private_table_with_gaussian_noise(folder, capsys):
    (folder / "people.toml").write_text(SETTINGS + 'delta = 0.001\nfilter = "zcdp"\n')
    command = ["tabulate", "people.toml", "--by", "job title", "--protect", "private", "--epsilon", "0.5"]
    assert main([*command, "--delta", "0.0001"]) == 0
    assert "receipt" in capsys.readouterr().out


def test_what_left_before_is_counted_in_without_being_named(folder, capsys):
    assert main(["tabulate", "people.toml", "--by", "town"]) == 0
    assert "earlier" not in capsys.readouterr().out
    assert main(["tabulate", "people.toml", "--by", "town,job title"]) == 0
    assert "protected together with 1 earlier table" in capsys.readouterr().out


@pytest.mark.parametrize(
    "wrong",
    [
        ["--by", "nothing"],
        ["--by", "town", "--dominance", "most"],
        ["--by", "town", "--protect", "private"],
        ["--by", "town", "--ladder", "towns.csv"],
    ],
)
def test_a_wrong_request_is_refused_with_a_reason(folder, capsys, wrong):
    assert main(["tabulate", "people.toml", *wrong]) > 0
    assert capsys.readouterr().err.startswith("obverse: ")


@pytest.mark.parametrize("option", ["-p", "--epsilon", "--variance"])
def test_a_share_by_nothing_is_no_number(folder, capsys, option):
    with pytest.raises(SystemExit) as stopped:
        main(["tabulate", "people.toml", "--by", "town", option, "1/0"])
    assert stopped.value.code == 2 and "1/0 is no number" in capsys.readouterr().err
