"""The one door: nothing leaves unpaid, the same again is free, and a refusal costs nothing."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest

import obverse
from obverse.curator.curator import Curator, open_settings
from obverse.data.schema import Schema
from obverse.data.table import Tables
from obverse.errors import BadQuestion, BadSource, Broken, Forbidden, OverBudget, Withheld
from obverse.noise.entropy import System
from obverse.query.answer import Answering
from obverse.query.ask import Ask
from obverse.release import Terms

SETTINGS = """
[tables.people]
source = "people.csv"
[tables.people.columns]
age = { type = "integer", low = 0, high = 120 }
sex = { type = "text", categories = ["f", "m"] }
[policy]
epsilon = 1
[accounts.research]
epsilon = 0.5
questions = 4
[accounts.press]
smallest_group = 5
"""
ROWS = ["age,sex", "31,f", "44,m", "58,f", "90,m"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "people.toml").write_text(SETTINGS)
    (tmp_path / "people.csv").write_text("\n".join(ROWS) + "\n")
    return tmp_path


@pytest.fixture
def clinic(folder: Path) -> Curator:
    return open_settings(folder / "people.toml", clock=lambda: datetime(2026, 1, 2, tzinfo=UTC))


def spent(curator: Curator) -> float:
    return float(curator.ledger.loss(table="people").epsilon())


def test_the_same_question_again_is_free_and_says_the_same(clinic: Curator) -> None:
    research = clinic.account("research")
    first = research.ask("DP-SELECT 0.25 COUNT(*) FROM people")
    again = research.ask("dp-select 0.25   count(*) from people -- once more")
    assert (again.rows, again.receipt.number) == (first.rows, first.receipt.number)
    assert (first.receipt.again, again.receipt.again) == (False, True)
    assert spent(clinic) == 0.25


def test_another_data_version_is_another_answer(clinic: Curator, folder: Path) -> None:
    """Noise reused on changed data would give the change away exactly."""
    question = "DP-SELECT 0.25 COUNT(*) FROM people"
    first = clinic.ask(question)
    (folder / "people.csv").write_text("\n".join([*ROWS, "20,f"]) + "\n")
    assert not clinic.ask(question).receipt.again
    assert first.receipt.charge.key != clinic.ask(question).receipt.charge.key
    assert spent(clinic) == 0.5


def test_answers_outlive_the_process(clinic: Curator, folder: Path) -> None:
    first = clinic.ask("DP-SELECT 0.25 AVG(age) FROM people")
    clinic.close()
    with obverse.open(folder / "people.toml") as reopened:
        assert reopened.ask("DP-SELECT 0.25 AVG(age) FROM people").rows == first.rows
        assert spent(reopened) == 0.25


def test_what_a_table_has_left_is_shared_by_all_accounts(clinic: Curator) -> None:
    clinic.account("research").ask("DP-SELECT 0.5 COUNT(*) FROM people")
    clinic.account("press").ask("DP-SELECT 0.5 SUM(age) FROM people")
    with pytest.raises(OverBudget):
        clinic.account("press").ask("DP-SELECT 0.001 SUM(age) FROM people")
    assert spent(clinic) == 1


def test_an_account_cannot_go_over_its_own_limit(clinic: Curator) -> None:
    with pytest.raises(OverBudget):
        clinic.account("research").ask("DP-SELECT 0.51 COUNT(*) FROM people")
    for place in range(4):
        clinic.account("research").ask(f"DP-SELECT 0.01 COUNT(*) FROM people WHERE age > {place}")
    with pytest.raises(OverBudget, match="questions"):
        clinic.account("research").ask("DP-SELECT 0.01 COUNT(*) FROM people WHERE age > 4")


def test_who_is_not_known_gets_nothing(clinic: Curator) -> None:
    with pytest.raises(Forbidden, match="no account is called nobody"):
        clinic.account("nobody")
    with pytest.raises(Forbidden):
        clinic.ask("SELECT COUNT(*) FROM people", to="nobody")


@pytest.mark.parametrize(
    "question", ["SELECT SUM(age FROM people", "SELECT nosuch FROM people", "DROP TABLE people"]
)
def test_a_refusal_is_free(clinic: Curator, question: str) -> None:
    with pytest.raises(BadQuestion):
        clinic.ask(question)
    assert spent(clinic) == 0


def test_a_preview_reads_nothing_and_charges_nothing(clinic: Curator, folder: Path) -> None:
    os.remove(folder / "people.csv")
    preview = clinic.account("research").preview("DP-SELECT 0.25 COUNT(*) FROM people")
    assert "ε = 0.25" in str(preview) and "± 12" in str(preview)
    assert spent(clinic) == 0


def test_a_missing_file_is_refused_before_the_charge(clinic: Curator, folder: Path) -> None:
    os.remove(folder / "people.csv")
    with pytest.raises(BadSource):
        clinic.ask("SELECT COUNT(*) FROM people")
    assert spent(clinic) == 0


def test_small_groups_are_hidden_by_their_noisy_count(clinic: Curator) -> None:
    answer = clinic.account("press").ask(
        "DP-SELECT 1 sex, AVG(age) FROM people GROUP BY sex WITH (confidence = 0.9)"
    )
    assert all(totals[0] >= 5 for totals in answer.value.totals) == (len(answer) == 2)


class Failing:
    """An engine whose every question fails after it was read."""

    dialect = "duckdb"

    def __init__(self, inner: Tables) -> None:
        self.inner, self.failing = inner, True

    def run(self, select: object) -> list[tuple[object, ...]]:
        if self.failing:
            raise Withheld("the engine could not finish; what was charged stays charged")
        return self.inner.run(select)  # type: ignore[arg-type,return-value]

    def version(self, table: str) -> str:
        return self.inner.version(table)


def test_a_failed_run_stays_charged_and_is_free_to_retry(clinic: Curator) -> None:
    failing = Failing(clinic._open(("people",)))
    door = Curator(clinic.schemas.values(), clinic.ledger, System(), {"duckdb": failing})  # type: ignore[dict-item]
    with pytest.raises(Withheld):
        door.ask("DP-SELECT 0.25 COUNT(*) FROM people")
    assert spent(clinic) == 0.25
    failing.failing = False
    door.ask("DP-SELECT 0.25 COUNT(*) FROM people")
    assert spent(clinic) == 0.25


def test_no_row_and_no_key_shows_in_a_repr(clinic: Curator) -> None:
    clinic.ask("SELECT COUNT(*) FROM people")
    assert not {"31", "44", "58"} & set(repr(clinic._open(("people",))).split())


def test_an_answer_converts_and_knows_its_interval(clinic: Curator) -> None:
    answer = clinic.ask("DP-SELECT 0.5 sex, COUNT(*) AS n FROM people GROUP BY sex ORDER BY sex")
    assert answer.to_arrow().column_names == ["sex", "n", "n ±"]
    assert answer.to_pandas().shape == answer.to_polars().shape == (2, 3)
    (_, interval), _ = answer.interval(0.95)
    low, high = interval or (0, 0)
    assert high - low == 2 * answer.margins[0][1] == 12
    assert "<table>" in answer._repr_html_() and "±" in str(answer)


def test_a_ledger_put_back_is_noticed(clinic: Curator, folder: Path) -> None:
    clinic.close()
    old = (folder / "people.ledger").read_bytes()
    with obverse.open(folder / "people.toml") as later:
        later.ask("SELECT COUNT(*) FROM people")
    (folder / "people.ledger").write_bytes(old)
    with pytest.raises(Broken, match="old copy"):
        obverse.open(folder / "people.toml")


def test_a_plan_is_made_once_for_each_account_until_something_is_learnt(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A preview with other terms is another plan; what a registration tells changes all plans."""
    (folder / "people.toml").write_text(
        SETTINGS.replace("columns]", "columns]\nid = { type = 'integer' }")
        .replace('source = "people.csv"', 'source = "people.csv"\nunit = { column = "id", rows = 1 }')
        .replace("epsilon = 1\n", "epsilon = 9\n", 1)
    )
    (folder / "people.csv").write_text("id,age,sex\n1,31,f\n2,44,m\n")
    made: list[str] = []
    plan = Ask.plan

    def counted(ask: Ask, schemas: Mapping[str, Schema], terms: Terms) -> Answering:
        made.append(ask.sql)
        return plan(ask, schemas, terms)

    monkeypatch.setattr(Ask, "plan", counted)
    question = "SELECT COUNT(*) FROM people"
    with open_settings(folder / "people.toml") as curator:
        for _ in range(3):
            curator.preview(Ask(question))
            curator.ask(question)
        assert made == [question]
        curator.preview(Ask(question), "press")
        assert len(made) == 2
        curator.register("people", 1)
        curator.ask(question)
        assert len(made) == 3
