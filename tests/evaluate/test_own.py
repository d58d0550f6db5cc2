"""What left through the door is attacked by its number, with the ε that the ledger charged for it."""

import json

import pyarrow as pa
import pyarrow.csv
import pytest

from obverse.cli.main import main

from .conftest import world

SETTINGS = """
[policy]
epsilon = 30

[tables.people]
source = "people.csv"

[tables.people.columns]
age = { type = "integer", role = "quasi-identifier", low = 18, high = 89 }
town = { type = "text", role = "quasi-identifier", categories = ["town 0", "town 1", "town 2", "town 3", "town 4", "town 5"] }
ill = { type = "text", role = "sensitive", categories = ["ill 0", "ill 1", "ill 2", "ill 3"] }
"""


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    """A ledger with an answer, an anonymised table, a table of counts and synthetic rows; and others as controls."""
    folder = tmp_path_factory.mktemp("own")
    for seed, name in ((0, "people"), (1, "others")):
        pa.csv.write_csv(world(seed).select(["age", "town", "ill"]), folder / f"{name}.csv")
    settings = folder / "people.toml"
    settings.write_text(SETTINGS)
    assert main(["query", "DP-SELECT 0.25 COUNT(*) FROM people", "-s", str(settings)]) == 0
    assert main(["anonymise", str(settings), "-k", "20", "-o", str(folder / "public.csv")]) == 0
    assert main(["query", "DP-SELECT 2 town, ill FROM people", "-s", str(settings)]) == 0
    return folder


def attack(folder, number, *more):
    out = folder / f"{number}.json"
    given = ["attack", str(number), "--against", str(folder / "people.toml"), "--json", str(out)]
    code = main([*given, "--html", str(folder / f"{number}.html"), *more])
    return code, json.loads(out.read_text()) if out.exists() else None


def numbers(folder, capsys):
    capsys.readouterr()
    assert main(["log", "-s", str(folder / "people.toml"), "--json"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    return {line["kind"]: line["number"] for line in lines}


def test_synthetic_rows_stand_beside_the_epsilon_they_were_charged(released, capsys):
    number = numbers(released, capsys)["synthetic"]
    code, figures = attack(released, number, "--control", str(released / "others.csv"))
    assert code == 0 and figures["about"]["charged"] == 2 and figures["about"]["to"] == "curator"
    assert figures["about"]["date"] != "not said" and len(figures["about"]["sha256"]) == 64
    (membership,) = [each for each in figures["tried"] if each["harm"] == "membership"]
    assert membership["ledger"] == 2 and membership["certified"] <= 2
    assert "so coarse that wrong pairs look like rows" in str(figures["not_tested"])
    assert "the ledger says 2" in (released / f"{number}.html").read_text()


def test_an_anonymised_table_is_the_one_that_left_and_was_promised_no_epsilon(released, capsys):
    code, figures = attack(released, numbers(released, capsys)["table"])
    assert code == 0 and figures["about"]["charged"] is None and figures["about"]["columns"] == 3
    (matching,) = [each for each in figures["tried"] if each["attack"] == "Matching"]
    assert matching["claims"] == 0  # twenty hide in every class


def test_what_is_no_table_of_records_is_refused_with_what_would_do(released, capsys):
    said = {}
    for number, more in ((numbers(released, capsys)["answer"], ()), (99, ()), (1, ("--epsilon", "3"))):
        assert attack(released, number, *more)[0] == 2
        said[number, more] = capsys.readouterr().err
    first, none, given = said.values()
    assert "is an answer, and this report attacks tables of records" in first
    assert "no charge number 99: obverse log shows those it has" in none
    assert "--epsilon is read from the ledger for a release of our own" in given
    assert main(["attack", "1", "--against", str(released / "people.csv")]) == 2
    assert "release 1 is looked for in a ledger: say --against SETTINGS.toml" in capsys.readouterr().err


def test_a_table_of_counts_is_no_table_of_records(released, capsys):
    settings = str(released / "people.toml")
    assert main(["tabulate", settings, "--by", "town,ill"]) == 0
    capsys.readouterr()
    assert main(["log", "-s", settings, "--json", "--limit", "1"]) == 0
    number = json.loads(capsys.readouterr().out)["number"]
    assert attack(released, number)[0] == 2
    assert "is a table of counts or amounts" in capsys.readouterr().err
