"""A curator's day from the shell: draft, correct, check, let somebody ask, look at the budget, verify the ledger."""

import csv
import io
import json
from pathlib import Path

import pytest

from obverse.cli.demo import unpack
from obverse.cli.main import main


def test_from_a_table_to_a_verified_ledger(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def obverse(*words: str, code: int = 0) -> str:
        assert main(words) == code
        said = capsys.readouterr()
        return said.out + said.err

    unpack(tmp_path)
    (tmp_path / "census.toml").unlink()
    monkeypatch.chdir(tmp_path)

    drafted = obverse("draft", "adult.csv")
    Path("people.toml").write_text(drafted, encoding="utf-8")
    assert "people.toml:4: is still a draft" in obverse("check", code=3)

    corrected = drafted.replace("draft = true\n", "").replace("[tables.adult", "[tables.people")
    Path("people.toml").write_text(corrected, encoding="utf-8")
    assert "still marked as read from data, and so not public: line" in obverse("check")

    sql = "DP-SELECT 0.5 COUNT(age) FROM people WHERE sex = 'Female'"
    assert "would cost ε = 0.5" in obverse("preview", sql, "--account", "research")
    answer = json.loads(obverse("query", sql, "--account", "research", "--json"))
    assert abs(answer["rows"][0][0] - 10771) < 60  # e^-30: further off once in 10^13 runs
    means = obverse("query", "SELECT sex, AVG(age) AS age FROM people GROUP BY sex", "--csv")
    assert next(csv.reader(io.StringIO(means))) == ["sex", "age", "age ±"]

    assert "has ε = 0.5 left of 1" in obverse(
        "query", "DP-SELECT 0.6 COUNT(*) FROM people", "--account", "research", code=6
    )
    assert "ε = 0.5 left of 1" in obverse("budget", "--account", "research")
    logged = obverse("log")
    assert "DP-SELECT 0.5 COUNT(age)" in logged and "0.6" not in logged
    assert main(["audit-log", "verify"]) == 0
