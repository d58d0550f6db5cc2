"""What the ledger promises whoever charges it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

import pytest

from obverse.errors import Forbidden, OverBudget
from obverse.ledger.ledger import Ledger
from obverse.ledger.policy import Account, Policy, limits
from obverse.loss.loss import Loss, Sensitivity
from obverse.mechanisms import Laplace
from obverse.release import Charge

POLICY = Policy(limits("1"), accounts=(Account("research"), Account("press", limits("0.25"), questions=2)))


def noon() -> datetime:
    return datetime(2026, 1, 1, 12, tzinfo=UTC)


def cost(epsilon: str) -> Loss:
    return Laplace(1 / Fraction(epsilon)).loss(Sensitivity.of(1))


def ask(question: str, epsilon: str = "0.1", account: str = "research", table: str = "people") -> Charge:
    return Charge(account, (table,), "answer", question, cost(epsilon), about=question)


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger(tmp_path / "x.ledger", POLICY, noon) as opened:
        yield opened


def test_the_same_question_is_charged_once_and_answered_as_before(ledger: Ledger) -> None:
    first = ledger.submit(ask("how many?"))
    assert ledger.kept(first) is None
    assert ledger.keep(first, b"17") == b"17"
    again = ledger.submit(ask("how many?"))
    assert ledger.kept(again) == b"17"
    assert again.receipt().again
    assert again.receipt().seal == first.receipt().seal
    assert ledger.keep(again, b"18") == b"17"
    assert ledger.spent("research").questions == 1


def test_a_limit_is_reached_exactly_and_never_passed(ledger: Ledger) -> None:
    for n in range(10):
        ledger.charge(ask(f"{n}"))
    with pytest.raises(OverBudget, match=r"table people has ε = 0 left of 1, and this costs 0\.1"):
        ledger.submit(ask("one more"))
    ledger.charge(ask("one more", table="visits"))


def test_who_is_not_allowed_is_told_so_and_charged_nothing(ledger: Ledger) -> None:
    with pytest.raises(Forbidden, match="no account is called guest"):
        ledger.submit(ask("how many?", account="guest"))
    with pytest.raises(Forbidden, match="kind model"):
        ledger.submit(Charge("press", ("people",), "model", "m", cost("0.1")))
    assert list(ledger.log()) == []


def test_an_answer_that_somebody_paid_for_costs_the_table_nothing_more(ledger: Ledger) -> None:
    """A second account pays from its own budget for the same answer, and two that pool it have learnt nothing new."""
    ledger.keep(ledger.submit(ask("how many?")), b"17")
    assert ledger.kept(ledger.submit(ask("how many?", account="press"))) == b"17"
    assert ledger.spent(table="people").questions == 1
    assert ledger.spent("press").questions == ledger.spent("press", "people").questions == 1
