"""Processes that charge one ledger and are killed, or compete; run by path from the tests beside it."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from fractions import Fraction
from functools import partial
from itertools import count
from pathlib import Path
from select import select
from threading import Thread
from time import sleep

import apsw

from obverse.errors import OverBudget
from obverse.ledger import ledger as module
from obverse.ledger.ledger import Ledger
from obverse.ledger.policy import Account, Policy, limits
from obverse.ledger.verify import verify
from obverse.loss.loss import Sensitivity
from obverse.mechanisms import Laplace
from obverse.noise.entropy import Keyed
from obverse.release import Charge, Receipt


def opened(path: Path, limit: str) -> Ledger:
    policy = Policy(limits(limit), accounts=(Account("research"),))
    return Ledger(path, policy, lambda: datetime(2026, 1, 1, tzinfo=UTC))


def ask(question: str) -> Charge:
    return Charge("research", ("people",), "answer", question, Laplace(Fraction(10)).loss(Sensitivity.of(1)))


def child(work: Callable[[int], None]) -> tuple[int, int]:
    """A forked process that works and says what was acknowledged into a pipe; its id and where to read."""
    reader, writer = os.pipe()
    if (process := os.fork()) == 0:
        os.close(reader)
        work(writer)
        os._exit(0)
    os.close(writer)
    return process, reader


def acknowledged(process: int, reader: int) -> tuple[list[list[str]], bool]:
    """What the process said, and whether it was killed."""
    with os.fdopen(reader) as pipe:
        said = [line.split() for line in pipe.read().splitlines(keepends=True) if line.endswith("\n")]
    _, status = os.waitpid(process, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0
    return said, os.WIFSIGNALED(status)


def say(writer: int, receipt: Receipt) -> None:
    os.write(writer, f"{receipt.number} {receipt.seal}\n".encode())


def lost(path: Path, said: list[list[str]]) -> int:
    """How many acknowledged lines are not in the journal."""
    if not said:
        return 0
    connection = apsw.Connection(str(path))
    connection.set_busy_timeout(60_000)
    there = {
        f"{number} {seal.hex()}" for number, seal in connection.execute("SELECT number, seal FROM journal")
    }
    connection.close()
    return sum(" ".join(line) not in there for line in said)


def statements(path: Path) -> None:
    """Killed before the n-th statement, for n = 1, 2, … until it gets through."""

    def work(writer: int, *, n: int) -> None:
        left = n

        def trace(*_: object) -> bool:
            nonlocal left
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return True

        def connect(path: Path, vfs: str = "") -> apsw.Connection:
            connection = original(path, vfs)
            connection.exec_trace = trace
            return connection

        original, module.connect = module.connect, connect
        with opened(path, "1000") as ledger:
            for question in (f"new {n}", "the same"):
                pending = ledger.submit(ask(question))
                if ledger.kept(pending) is None:
                    ledger.keep(pending, b"17")
                say(writer, pending.receipt())

    missing = 0
    for n in count(1):
        said, killed = acknowledged(*child(partial(work, n=n)))
        missing += lost(path, said)
        if not killed:
            print(n - 1, missing)
            return


def moments(path: Path, times: int) -> None:
    """Killed at random moments, while four threads charge and keep."""
    draws = Keyed("moments to be killed at")
    deaths, missing, total = 0, 0, 0

    def work(writer: int, *, run: int) -> None:
        ledger = opened(path, "100000")

        def charge(thread: int) -> None:
            for n in range(10**6):
                pending = ledger.submit(ask(f"{run} {thread} {n}"))
                if n % 3 == 0:
                    ledger.keep(pending, b"%d" % n * 50)
                say(writer, pending.receipt())

        for thread in range(4):
            Thread(target=charge, args=(thread,), daemon=True).start()
        sleep(60)

    for run in range(times):
        process, reader = child(partial(work, run=run))
        if run % 2:
            select([reader], [], [])  # dies at work; the others may die while they open the file
        sleep(draws.bits(10) / 1024 * 0.06)
        os.kill(process, signal.SIGKILL)
        said, killed = acknowledged(process, reader)
        deaths += killed
        total += len(said)
        missing += lost(path, said)
    print(deaths, missing, total, int(bool(verify(path))))


def compete(path: Path, processes: int, questions: int, limit: str) -> None:
    """Several processes ask different questions at once, until the budget is gone; how many each was granted."""

    def work(writer: int, *, name: int) -> None:
        with opened(path, limit) as ledger:
            for n in range(questions):
                with suppress(OverBudget):
                    say(writer, ledger.charge(ask(f"{name} {n}")))

    children = [child(partial(work, name=name)) for name in range(processes)]
    said = [line for each in children for line in acknowledged(*each)[0]]
    print(len(said), len({line[0] for line in said}), lost(path, said), int(bool(verify(path))))


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["statements", path]:
            statements(Path(path))
        case ["moments", path, times]:
            moments(Path(path), int(times))
        case ["compete", path, processes, questions, limit]:
            compete(Path(path), int(processes), int(questions), limit)
