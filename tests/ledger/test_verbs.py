"""`obverse budget`, `log` and `audit-log`, from the outside."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import obverse
from obverse.cli.main import main

SETTINGS = """
[tables.people]
source = "people.csv"
[tables.people.columns]
age = { type = "integer", low = 0, high = 120 }
[policy]
epsilon = 1
[accounts.research]
epsilon = 0.5
questions = 10
"""
Said = Callable[..., tuple[int, list[str]]]


@pytest.fixture
def said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Said:
    """A clinic of which research has asked one question; runs a command there and gives back what it said."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "clinic.toml").write_text(SETTINGS)
    (tmp_path / "people.csv").write_text("age\n" + "\n".join(str(20 + n % 50) for n in range(300)) + "\n")
    with obverse.open("clinic.toml") as clinic:
        clinic.account("research").ask("DP-SELECT 0.1 COUNT(*) FROM people")

    def run(*words: str) -> tuple[int, list[str]]:
        code = main(words)
        said = capsys.readouterr()
        return code, (said.out + said.err).splitlines()

    return run


def test_budget_says_what_is_left(said: Said) -> None:
    code, lines = said("budget", "--account", "research")
    assert code == 0
    assert lines[0] == "account research: ε = 0.4 left of 0.5; 1 question of at most 10"
    assert lines[1] == "table people, all accounts: ε = 0.9 left of 1; 1 question"
    _, (line,) = said("budget", "--account", "research", "--json")
    facts = json.loads(line)
    assert (facts["left"], facts["questions_left"]) == ("2/5", 9)
    assert facts["tables"]["people"]["spent"] == "1/10"
    assert said("budget", "--account", "nobody")[0] == 5


def test_budget_explains_itself(said: Said) -> None:
    _, lines = said("budget", "--explain")
    assert any(line.split()[:4] == ["basic", "ε", "=", "0.1"] for line in lines)
    _, (line,) = said("budget", "--explain", "--json")
    assert json.loads(line)["tables"]["people"]["explained"]["basic"] == pytest.approx(0.1)


def test_log_says_who_asked_what(said: Said) -> None:
    code, lines = said("log")
    assert code == 0
    assert lines[0].endswith("research  people  ε = 0.1, for one row of people added or removed")
    assert lines[1] == "    DP-SELECT 0.1 COUNT(*) FROM people"
    _, (line,) = said("log", "--json", "--account", "research", "--limit", "0")
    assert json.loads(line)["cost"] == "ε = 0.1"
    assert said("log", "--account", "curator") == (0, [])


def test_audit_log_says_whether_it_is_whole(said: Said, tmp_path: Path) -> None:
    code, (whole, head) = said("audit-log", "verify")
    assert code == 0 and "every byte of the file" in whole
    code, (line,) = said("audit-log", "verify", "--json", "--head", head.removeprefix("head "))
    assert code == 0 and json.loads(line)["whole"]
    code, lines = said("audit-log", "verify", "--head", f"9:{'0' * 64}")
    assert code == 9 and "line 9 with its seal is gone" in lines[0]
    ledger = tmp_path / "clinic.ledger"
    ledger.write_bytes(ledger.read_bytes()[:-1] + b"!")
    code, lines = said("audit-log", "verify")
    assert code == 9 and lines[-1] == "! the file changed after it was closed"


def test_audit_log_adopts_a_copy_whose_anchor_is_lost(said: Said, tmp_path: Path) -> None:
    (tmp_path / "clinic.ledger.anchor").unlink()
    code, (line,) = said("budget")
    assert code == 9 and "obverse audit-log adopt" in line
    assert said("audit-log", "adopt")[0] == 0
    assert said("budget")[0] == 0
    _, lines = said("audit-log", "verify")
    assert lines[-1] == "line 3: from here on the curator went on from an older copy"
