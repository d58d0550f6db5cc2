"""What the ledger promises whoever charges it."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path

import pytest

from obverse.errors import BadParameter, Broken, Forbidden, OverBudget
from obverse.ledger import answers
from obverse.ledger import ledger as module
from obverse.ledger.book import Book
from obverse.ledger.ledger import Ledger
from obverse.ledger.policy import Account, Policy, limits
from obverse.loss.loss import FREE, Sensitivity
from obverse.mechanisms import Gaussian
from obverse.release import Charge, Syntactic

Ask = Callable[..., Charge]
Clock = Callable[[], datetime]


def test_the_same_question_is_charged_once_and_answered_as_before(ledger: Ledger, ask: Ask) -> None:
    first = ledger.submit(ask("how many?"))
    assert ledger.kept(first) is None
    assert ledger.keep(first, b"17") == b"17"
    again = ledger.submit(ask("how many?"))
    assert ledger.kept(again) == ledger.kept(again.receipt()) == b"17"
    assert (again.receipt().again, first.receipt().again) == (True, False)
    assert (again.receipt().number, again.receipt().seal) == (first.receipt().number, first.receipt().seal)
    assert ledger.keep(again, b"18") == b"17"
    assert ledger.spent("research").questions == 1


def test_a_question_whose_run_crashed_may_be_asked_again_free(ledger: Ledger, ask: Ask) -> None:
    ledger.charge(ask("how many?"))
    again = ledger.submit(ask("how many?"))
    assert ledger.kept(again) is None
    assert ledger.keep(again.receipt(), b"17") == b"17"
    assert ledger.spent(table="people").questions == 1


def test_a_limit_is_reached_exactly_and_never_passed(ledger: Ledger, ask: Ask) -> None:
    for n in range(10):
        ledger.charge(ask(f"{n}"))
    with pytest.raises(OverBudget, match=r"table people has ε = 0 left of 1, and this costs 0\.1"):
        ledger.submit(ask("one more"))
    ledger.charge(ask("one more", table="visits"))


def test_a_refusal_charges_nothing_anywhere(ledger: Ledger, ask: Ask) -> None:
    ledger.charge(ask("first", "0.95"))
    both = Charge("research", ("visits", "people"), "answer", "join", ask("", "0.1").guarantee)
    with pytest.raises(OverBudget, match="table people"):
        ledger.charge(both)
    assert ledger.spent(table="visits").questions == 0
    assert ledger.spent("research").questions == 1


def test_who_is_not_allowed_is_told_so_and_charged_nothing(ledger: Ledger, ask: Ask) -> None:
    with pytest.raises(Forbidden, match="no account is called guest"):
        ledger.submit(ask("how many?", account="guest"))
    with pytest.raises(Forbidden, match="kind model"):
        ledger.submit(Charge("press", ("people",), "model", "m", ask("").guarantee))
    assert list(ledger.log()) == []


def test_an_account_has_its_own_limits(ledger: Ledger, ask: Ask) -> None:
    with pytest.raises(OverBudget, match=r"account press has ε = 0\.25 left of 0\.25, and this costs 0\.3"):
        ledger.submit(ask("too much", "0.3", account="press"))
    ledger.submit(ask("one", account="press"))
    ledger.submit(ask("two", account="press", table="visits"))
    with pytest.raises(OverBudget, match="account press has asked all of its 2 questions"):
        ledger.submit(ask("three", "0.001", account="press"))
    assert ledger.submit(ask("two", account="press", table="visits")).receipt().again


def test_an_answer_that_somebody_paid_for_costs_the_table_nothing_more(ledger: Ledger, ask: Ask) -> None:
    """A second account pays from its own budget for the same answer; two that pool it have learnt nothing new."""
    ledger.keep(ledger.submit(ask("how many?")), b"17")
    assert ledger.kept(ledger.submit(ask("how many?", account="press"))) == b"17"
    assert ledger.spent(table="people").questions == 1
    assert ledger.spent("press").questions == ledger.spent("press", "people").questions == 1


def test_the_same_key_with_another_guarantee_is_refused(ledger: Ledger, ask: Ask) -> None:
    ledger.charge(ask("how many?", "0.1"))
    for account in ("research", "press"):
        with pytest.raises(BadParameter, match="another guarantee"):
            ledger.charge(ask("how many?", "0.05", account=account))


def test_colluding_accounts_stay_within_the_table(tmp_path: Path, noon: Clock, ask: Ask) -> None:
    policy = Policy(limits("1"), accounts=tuple(Account(f"a{n}", limits("0.3")) for n in range(5)))
    with Ledger(tmp_path / "x.ledger", policy, noon) as ledger:
        for n in range(3):
            ledger.charge(ask(f"{n}", "0.3", account=f"a{n}"))
        with pytest.raises(OverBudget, match="table people"):
            ledger.charge(ask("3", "0.3", account="a3"))


def test_a_promise_of_form_costs_no_epsilon_and_is_counted(tmp_path: Path, noon: Clock) -> None:
    masked = Charge("curator", ("people",), "table", "k", Syntactic((("k", "5"),)))
    policy = Policy(limits("1"), accounts=(Account("curator", kinds=("table",), questions=1),))
    with Ledger(tmp_path / "x.ledger", policy, noon) as ledger:
        ledger.charge(masked)
        assert ledger.spent(table="people").questions == 1
        assert ledger.budget("curator").tables[0].all.left == 1
        assert ledger.loss(table="people") == FREE
        with pytest.raises(OverBudget):
            ledger.charge(Charge("curator", ("people",), "table", "k2", Syntactic((("k", "5"),))))


@pytest.mark.parametrize("notion", ["zcdp", "renyi"])
def test_a_gaussian_needs_a_filter_that_counts_it(tmp_path: Path, noon: Clock, notion: str) -> None:
    asked = Charge("a", ("people",), "answer", "q", Gaussian(Fraction(200)).loss(Sensitivity.of(1)))
    pure = Policy(limits("1"), accounts=(Account("a"),))
    with (
        Ledger(tmp_path / "pure.ledger", pure, noon) as ledger,
        pytest.raises(OverBudget, match="Laplace noise has"),
    ):
        ledger.charge(asked)
    fitting = Policy(limits("1", "1e-6", notion), accounts=(Account("a"),))  # type: ignore[arg-type]
    with Ledger(tmp_path / "fits.ledger", fitting, noon) as ledger:
        ledger.charge(asked)
        assert ledger.budget("a").tables[0].all.spent is None


def test_large_answers_lie_in_files_and_come_back(tmp_path: Path, ledger: Ledger, ask: Ask) -> None:
    large = bytes(range(256)) * 8192
    pending = ledger.submit(ask("table"))
    assert ledger.keep(pending, large) == large
    assert ledger.keep(pending, large[::-1]) == large
    (file,) = (tmp_path / "x.ledger.kept").iterdir()
    assert ledger.kept(pending.receipt()) == large
    file.write_bytes(large[1:])
    with pytest.raises(Broken, match="is damaged"):
        ledger.kept(pending.receipt())
    file.unlink()
    with pytest.raises(Broken, match="cannot be read"):
        ledger.kept(pending.receipt())
    assert len(large) > answers.LARGEST_ROW


def test_everything_is_there_after_closing_and_opening(
    tmp_path: Path, policy: Policy, noon: Clock, ask: Ask
) -> None:
    with Ledger(tmp_path / "x.ledger", policy, noon) as ledger:
        receipt = ledger.charge(ask("how many?"))
        ledger.keep(receipt, b"17")
        before = ledger.budget("research")
    with Ledger(tmp_path / "x.ledger", policy, noon) as ledger:
        assert ledger.budget("research") == before
        assert ledger.kept(ledger.submit(ask("how many?"))) == b"17"
        (entry,) = ledger.log("research")
        assert (entry.number, entry.seal, entry.guarantee) == (
            receipt.number,
            receipt.seal,
            ask("").guarantee,
        )
        assert entry.charged.about == "how many?"
        assert list(ledger.log("press")) == []
    assert sorted(file.name for file in tmp_path.iterdir()) == ["x.ledger", "x.ledger.anchor"]


def test_the_clock_may_go_backwards(tmp_path: Path, policy: Policy, ask: Ask) -> None:
    """It dates the lines; nothing depends on it."""
    times = iter(datetime(2026, 1, 1, tzinfo=UTC) - timedelta(days=n) for n in range(100))
    with Ledger(tmp_path / "x.ledger", policy, lambda: next(times)) as ledger:
        receipts = [ledger.charge(ask(f"{n}")) for n in range(10)]
        assert [receipt.number for receipt in receipts] == list(range(1, 11))
        assert ledger.charge(ask("0")).again
        with pytest.raises(OverBudget):
            ledger.charge(ask("more"))
        assert [entry.number for entry in ledger.log(limit=3)] == [10, 9, 8]
        assert ledger.verify()


def test_a_closed_ledger_and_a_forked_one_say_so(
    ledger: Ledger, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module.os, "getpid", lambda: -1)
    with pytest.raises(Broken, match="fork"):
        ledger.charge(ask("how many?"))
    monkeypatch.undo()
    ledger.close()
    with pytest.raises(Broken, match="closed"):
        ledger.charge(ask("how many?"))
    ledger.close()


def test_an_answer_needs_a_charge(
    tmp_path: Path, ledger: Ledger, policy: Policy, noon: Clock, ask: Ask
) -> None:
    with Ledger(tmp_path / "other.ledger", policy, noon) as other:
        elsewhere = other.charge(ask("how many?"))
    with pytest.raises(BadParameter, match="only for what was charged"):
        ledger.keep(elsewhere, b"17")


def test_whatever_is_asked_about_can_be_written(ledger: Ledger, ask: Ask) -> None:
    """Lone surrogates, control characters, a megabyte, what looks like the line's own marks; in text and key."""
    questions = ("\ud800", "a\x00b\n\u2028", "x" * 10**6, '","tables":["visits"]')
    for question in questions:
        ledger.charge(ask(question, "0.01"))
        assert ledger.charge(ask(question, "0.01")).again
    assert ledger.verify()
    assert len(list(ledger.log())) == len(questions)


def test_a_loss_of_all_is_the_sum_of_its_questions(ledger: Ledger, ask: Ask) -> None:
    for n in range(3):
        ledger.charge(ask(f"{n}"))
    ledger.charge(ask("0", account="press"))
    assert ledger.loss(table="people") == ledger.loss("research") == 3 * ask("").guarantee  # type: ignore[operator]
    assert ledger.loss("press").pure == Fraction(1, 10)
    assert str(ledger.budget("press")).splitlines() == [
        "account press: ε = 0.15 left of 0.25; 1 question of at most 2",
        "table people, all accounts: ε = 0.7 left of 1; 3 questions",
    ]


def test_a_charge_and_its_answer_share_a_commit_when_they_come_close_together(
    ledger: Ledger, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a disk whose commits take a second, an answer that comes within it costs no commit of its own."""
    commits: list[int] = []
    commit = Book.commit
    monkeypatch.setattr(Book, "commit", lambda book: (commits.append(book.head.number), commit(book)))
    monkeypatch.setattr("obverse.ledger.writer.LONGEST_WAIT", 1.0)
    ledger._writer._took = 1.0
    pending = ledger.submit(ask("how many?"))
    ledger.keep(pending, b"17")
    assert pending.receipt().number == 1
    assert commits == [2]


def test_one_call_is_few_frames_and_one_commit(ledger: Ledger, ask: Ask) -> None:
    """The house's budget for a whole question is 1,500 frames; the ledger's share is at most 100."""
    import sys

    frames = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal frames
        frames += event == "call"

    charge = ask("second")
    ledger.keep(ledger.submit(ask("first")), b"1")
    sys.setprofile(count)
    pending = ledger.submit(charge)
    ledger.kept(pending)
    ledger.keep(pending, b"2")
    pending.receipt()
    sys.setprofile(None)
    assert frames <= 100
    assert os.path.exists(ledger.path)
