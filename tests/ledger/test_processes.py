"""Several processes on one ledger, some of them killed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from fractions import Fraction
from pathlib import Path

import pytest

from obverse.errors import OverBudget
from obverse.ledger.ledger import Ledger
from obverse.ledger.policy import Policy
from obverse.ledger.verify import verify
from obverse.release import Charge

Ask = Callable[..., Charge]
Clock = Callable[[], datetime]
Replay = Callable[..., dict[str, Fraction]]
WORKER = Path(__file__).parent / "worker.py"


def run(*arguments: object) -> list[int]:
    command = [sys.executable, WORKER, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    return [int(figure) for figure in done.stdout.split()]


@pytest.mark.parametrize(
    "processes, questions, limit, granted",
    [(2, 1, "0.1", 1), (2, 1, "0.2", 2), (8, 20, "10", 100)],
    ids=["two at the last 0.1", "two at the last 0.2", "eight until it is spent"],
)
def test_processes_together_stay_within_the_limit(
    tmp_path: Path, replay: Replay, processes: int, questions: int, limit: str, granted: int
) -> None:
    """Exactly as many are granted as there is budget for, each its own line, none lost, none doubled."""
    path = tmp_path / "x.ledger"
    assert run("compete", path, processes, questions, limit) == [granted, granted, 0, 1]
    assert replay(path, limit) == {"people": Fraction(limit)}


def test_verify_raises_no_false_alarm_while_others_write(tmp_path: Path, policy: Policy, noon: Clock) -> None:
    """Four processes charge, open and close; every verdict meanwhile is that the ledger is whole."""
    path = tmp_path / "x.ledger"
    Ledger(path, policy, noon).close()
    command = [sys.executable, WORKER, "compete", path, "4", "60", "1000"]
    lines = []
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as writing:
        while writing.poll() is None:
            verdict = verify(path)
            assert verdict.damage == ()
            lines.append(verdict.head.number)
    assert writing.returncode == 0
    assert lines == sorted(lines) and len(lines) > 5
    assert verify(path).head.number == 240


@pytest.mark.slow
def test_two_hundred_kills_at_random_moments_lose_and_double_nothing(tmp_path: Path, replay: Replay) -> None:
    """Four threads charge and keep; every receipt that was given before the kill is in the journal after it."""
    path = tmp_path / "x.ledger"
    deaths, lost, acknowledged, whole = run("moments", path, 200)
    assert (deaths, lost, whole) == (200, 0, 1)
    assert acknowledged >= 100
    assert replay(path, "100000")["people"] * 10 >= acknowledged


def test_threads_together_stay_within_the_limit(ledger: Ledger, ask: Ask) -> None:
    def charge(n: int) -> int:
        try:
            return ledger.charge(ask(f"{n}")).number
        except OverBudget:
            return 0

    with ThreadPoolExecutor(16) as threads:
        numbers = [number for number in threads.map(charge, range(64)) if number]
    assert sorted(numbers) == list(range(1, 11))


def test_threads_share_commits_and_all_are_answered(
    tmp_path: Path, policy: Policy, noon: Clock, ask: Ask
) -> None:
    """The same question from many threads at once is one charge, one answer, and as many receipts."""
    with Ledger(tmp_path / "x.ledger", policy, noon) as ledger:

        def answer(n: int) -> tuple[bytes, int]:
            pending = ledger.submit(ask("the same"))
            kept = ledger.kept(pending)
            return (ledger.keep(pending, b"%d" % n) if kept is None else kept), pending.receipt().number

        with ThreadPoolExecutor(16) as threads:
            results = set(threads.map(answer, range(64)))
        assert len(results) == 1
        assert ledger.spent(table="people").questions == 1
