"""From the shell: a question answered as a table, JSON or CSV; a preview that costs nothing; a checked settings file."""

import csv
import io
import json
from pathlib import Path

import pytest

from obverse.cli.demo import unpack
from obverse.cli.main import main

COUNT = "DP-SELECT 0.5 COUNT(age) FROM people WHERE sex = 'Female'"
GROUPS = "DP-SELECT 0.5 sex, COUNT(*) AS n FROM people GROUP BY sex"


@pytest.fixture
def census(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    unpack(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def said(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(words) == 0
    return capsys.readouterr().out


def test_an_answer_is_a_table_and_the_same_again_is_free(
    census: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = said(capsys, "query", COUNT)
    assert "COUNT(age)" in first and "±" in first and "cost ε = 0.5" in first
    again = said(capsys, "query", COUNT)
    assert again.splitlines()[1] == first.splitlines()[1]
    assert "asked before: the same answer, free" in again


def test_json_and_csv_hold_the_same_numbers(census: Path, capsys: pytest.CaptureFixture[str]) -> None:
    facts = json.loads(said(capsys, "query", GROUPS, "--json"))
    rows = list(csv.reader(io.StringIO(said(capsys, "query", GROUPS, "--csv"))))
    assert facts["columns"] == ["sex", "n"] and rows[0] == ["sex", "n", "n ±"]
    assert [[row[0], int(row[1])] for row in rows[1:]] == facts["rows"]
    assert (facts["cost"], facts["again"], facts["confidence"]) == ("ε = 0.5", False, 0.95)
    assert facts["bias"] == []


def test_a_list_is_json_in_json_and_in_csv(census: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = "SELECT APPROX_TOP_K(sex, 2) AS top FROM people"
    facts = json.loads(said(capsys, "query", asked, "--json"))
    rows = list(csv.reader(io.StringIO(said(capsys, "query", asked, "--csv"))))
    assert (
        rows[0] == ["top"] and json.loads(rows[1][0]) == facts["rows"][0][0] and len(facts["rows"][0][0]) == 2
    )


def test_what_was_learnt_is_shown_again_for_nothing(census: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = census / "census.toml"
    settings.write_text(settings.read_text().replace(", low = 0, high = 5_000", ""))
    assert main(["register", "people"]) == 2 and "nothing was learnt of people yet" in capsys.readouterr().err
    assert main(["register", "people", "--epsilon", "much"]) == 2
    capsys.readouterr()
    first = said(capsys, "register", "people", "--epsilon", "0.5", "--columns", "capital-loss")
    assert "capital-loss is expected to lie in 0 …" in first and "cost ε = 0.5, once; receipt" in first
    again = said(capsys, "register", "people", "--epsilon", "0.5", "--columns", "capital-loss")
    assert "asked before: free" in again
    assert said(capsys, "register", "people").splitlines()[:9] == first.splitlines()[:9]
    facts = json.loads(said(capsys, "preview", 'SELECT SUM("capital-loss") FROM people', "--json"))
    assert -0.5 < facts["bias"][0]["share"] <= 0
    (census / "adult.csv").write_bytes((census / "adult.csv").read_bytes() + b"")
    assert "an earlier version of the data" in said(capsys, "register", "people")


def test_a_question_comes_from_standard_input(
    census: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(COUNT))
    assert "COUNT(age)" in said(capsys, "query", "-")


def test_a_preview_reads_and_charges_nothing(census: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (census / "adult.csv").unlink()
    assert "would cost ε = 0.5" in said(capsys, "preview", COUNT)
    facts = json.loads(said(capsys, "preview", COUNT, "--json"))
    assert facts["cost"] == "ε = 0.5" and facts["accuracy"][0]["margin"] > 0


def test_what_is_told_for_nothing_reads_and_charges_nothing(
    census: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (census / "adult.csv").unlink()
    explained = said(capsys, "query", f"EXPLAIN {COUNT}")
    assert "Laplace noise of scale 2" in explained and "nothing was read, nothing charged" in explained
    assert said(capsys, "preview", "--explain", COUNT) == explained
    assert said(capsys, "preview", "--explain", f"EXPLAIN {COUNT}") == explained
    assert said(capsys, "query", "DESCRIBE people").startswith("people: protects one row")
    assert "ε = 2 left of 2; 0 questions" in said(capsys, "query", "SHOW BUDGET", "--account", "research")
    assert main(["query", "SHOW BUDGET", "--json"]) == 2


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("SELECT DISTINCT * FROM people", 4),
        ("DP-SELECT 2.5 COUNT(*) FROM people", 6),
        ("SELECT COUNT(*) FROM nobody", 4),
    ],
)
def test_a_refusal_has_its_exit_code(
    census: Path, sql: str, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["query", sql, "--account", "research"]) == code
    assert capsys.readouterr().err.startswith("obverse: ")


def test_an_unknown_account_is_refused(census: Path) -> None:
    assert main(["query", COUNT, "--account", "press"]) == 5


def test_a_file_is_checked_and_what_is_left_to_do_is_said(
    census: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert said(capsys, "check").endswith("census.toml can be used\n")
    text = (census / "census.toml").read_text()
    (census / "census.toml").write_text(
        text.replace("high = 90 }", "high = 90 }  # read from data: high").replace(
            ", low = 0, high = 5_000", ""
        )
    )
    shown = said(capsys, "check")
    assert "still marked as read from data, and so not public: line 10" in shown
    assert "no SUM and no GROUP BY: capital-loss" in shown


@pytest.mark.parametrize(
    ("change", "code", "message"),
    [
        (("age = {", "agee = {"), 7, "has no column agee: did you mean age?"),
        (('source = "adult.csv"', 'source = "adlut.csv"'), 7, "there is no such file"),
        (('type = "integer"', 'type = "int"'), 3, "census.toml:10: type is one of"),
        (("[tables.people]", "draft = true\n[tables.people]"), 3, "is still a draft"),
        (("questions = 500", "questoins = 500"), 3, "did you mean questions?"),
    ],
)
def test_what_is_wrong_is_said(
    census: Path, change: tuple[str, str], code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (census / "census.toml").read_text()
    assert change[0] in text
    (census / "census.toml").write_text(text.replace(*change, 1))
    assert main(["check"]) == code
    assert message in capsys.readouterr().err


def test_which_settings_are_meant(
    census: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (census / "pyproject.toml").write_text("[project]\n")
    assert "census.toml can be used" in said(capsys, "check")
    (census / "other.toml").write_text((census / "census.toml").read_text())
    assert main(["check"]) == 2
    assert "census.toml, other.toml" in capsys.readouterr().err
    assert "other.toml can be used" in said(capsys, "check", "--settings", "other.toml")
    monkeypatch.setenv("OBVERSE_SETTINGS", "census.toml")
    assert "census.toml can be used" in said(capsys, "check")
    monkeypatch.chdir("/")
    monkeypatch.delenv("OBVERSE_SETTINGS")
    assert main(["check"]) == 2
    assert "no settings file here" in capsys.readouterr().err
