"""A question that says its δ is charged at that δ: groups are named on a ledger whose policy has no default."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from obverse.curator.curator import open_settings
from obverse.errors import OverBudget

SETTINGS = """
[tables.people]
source = "people.csv"
[tables.people.columns]
town = { type = "text" }
[policy]
epsilon = 2
delta = 1e-5
filter = "pure"
"""
QUESTION = "DP-SELECT 1 town, COUNT(*) AS n FROM people GROUP BY town WITH (delta = 4e-6)"


@pytest.mark.parametrize("notion", ["pure", "zcdp", "renyi"])
def test_groups_are_named_at_the_delta_of_the_question(tmp_path: Path, notion: str) -> None:
    written = SETTINGS.replace('"pure"', f'"{notion}"').replace("epsilon = 2", "epsilon = 12")
    (tmp_path / "people.toml").write_text(written if notion != "pure" else SETTINGS)
    (tmp_path / "people.csv").write_text("town\n" + "york\n" * 500 + "bath\n" * 400 + "ely\n")
    question = QUESTION if notion == "pure" else QUESTION.replace("4e-6", "4e-7")
    with open_settings(tmp_path / "people.toml", clock=lambda: datetime(2026, 1, 2, tzinfo=UTC)) as curator:
        assert [row[0] for row in curator.ask(question)] == ["bath", "york"]
        if notion == "pure":
            curator.ask(QUESTION.replace("4e-6", "5e-6"))
            with pytest.raises(OverBudget):
                curator.ask(QUESTION.replace("4e-6", "2e-6"))
