"""The door itself: nothing is read before it is charged, nothing is charged twice, nothing is kept for other data."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from sqlglot import exp

from obverse.audit.finding import Finding
from obverse.curator.clock import now
from obverse.curator.curator import CURATOR, Curator
from obverse.data.schema import Column, Schema, Type
from obverse.data.table import Row
from obverse.errors import OverBudget, Withheld
from obverse.ledger.ledger import Ledger, Pending
from obverse.ledger.policy import Account, Policy, limits
from obverse.noise.entropy import System
from obverse.release import Charge

if TYPE_CHECKING:
    import pyarrow

QUESTION = "DP-SELECT 0.1 COUNT(*) FROM t"


class Noting(Ledger):
    """A ledger that counts the charges it has decided."""

    decided = 0

    def submit(self, charge: Charge) -> Pending:
        pending = super().submit(charge)
        self.decided += 1
        return pending


@dataclass
class Watched:
    """An engine that notes whether a charge was decided before a row was read."""

    ledger: Noting
    count: int = 1000
    edition: int = 1
    failing: bool = False
    unpaid: bool = False
    dialect: str = "duckdb"

    def run(self, select: exp.Query) -> list[Row]:
        self.unpaid |= self.ledger.decided == 0
        if self.failing:
            raise Withheld("the engine could not finish; what was charged stays charged")
        return [(self.count,)]

    def batches(self, select: exp.Query) -> Iterator[pyarrow.RecordBatch]:
        return iter(())

    def version(self, table: str) -> str:
        return str(self.edition)

    def close(self) -> None:
        pass


Door = Callable[[Schema, Noting, Watched], Curator]


def honest(schema: Schema, ledger: Noting, engine: Watched) -> Curator:
    return Curator([schema], ledger, System(), {"duckdb": engine})


@contextmanager
def opened(door: Door, epsilon: str = "1") -> Iterator[tuple[Curator, Watched]]:
    """A door on a fresh ledger, and the engine behind it."""
    schema = Schema("t", "/nowhere/t.csv", (Column("a", Type.INTEGER),))
    policy = Policy(limits(epsilon), accounts=(Account(CURATOR), Account("other")))
    with TemporaryDirectory() as folder:
        ledger = Noting(Path(folder) / "x.ledger", policy, now)
        try:
            engine = Watched(ledger)
            yield door(schema, ledger, engine), engine
        finally:
            ledger.close()


def checks(door: Door = honest) -> list[Finding]:
    """Every property of the door."""
    return [
        Finding("door", check.__name__.replace("_", " "), bool(wrong := check(door)), note=wrong)
        for check in (paid_before_read, same_again, other_data, failure_paid, last_tenth, one_charge_each)
    ]


def paid_before_read(door: Door) -> str:
    """The ledger holds the charge whenever the engine is asked."""
    with opened(door) as (curator, engine):
        curator.ask(QUESTION)
        return "a row was read before the charge was decided" if engine.unpaid else ""


def same_again(door: Door) -> str:
    """The same question is the same answer, and free."""
    with opened(door) as (curator, _):
        answers = {curator.ask(QUESTION).rows for _ in range(8)}
        spent = curator.ledger.loss(table="t").epsilon()
        if len(answers) > 1:
            return "the same question was answered differently, so that it can be averaged"
        return "" if spent == 0.1 else f"the same question was charged {spent:g}, not 0.1"


def other_data(door: Door) -> str:
    """Changed data get fresh noise: with the old noise the change itself would show exactly."""
    with opened(door, "100") as (curator, engine):
        seen = []
        for edition in range(1, 13):
            engine.edition, engine.count = edition, 1000 + edition
            answer = curator.ask(QUESTION)
            if answer.receipt.again:
                return "what was kept for one edition of the data was given for another"
            cell = answer.rows[0][0]
            assert isinstance(cell, int)
            seen.append(cell - engine.count)
        return "the noise of one edition of the data was used for another" if len(set(seen)) < 4 else ""


def failure_paid(door: Door) -> str:
    """A question whose run fails stays charged: that it failed is an answer."""
    with opened(door) as (curator, engine):
        engine.failing = True
        try:
            curator.ask(QUESTION)
        except Withheld:
            spent = curator.ledger.loss(table="t").epsilon()
            return "" if spent == 0.1 else "a failed question was given its charge back"
        return "a failed run was answered"


def last_tenth(door: Door) -> str:
    """Of many who reach for the last 0.1 at once, one gets it."""
    with opened(door, "0.1") as (curator, _):

        def one(place: int) -> bool:
            try:
                curator.ask(f"DP-SELECT 0.1 COUNT(*) FROM t WHERE a > {place}", "other")
            except OverBudget:
                return False
            return True

        with ThreadPoolExecutor(8) as pool:
            won = sum(pool.map(one, range(8)))
        return "" if won == 1 else f"{won} questions were paid with the last 0.1"


def one_charge_each(door: Door) -> str:
    """Different questions of different accounts add up on the table."""
    with opened(door) as (curator, _):
        for place, account in enumerate((CURATOR, "other")):
            curator.ask(f"DP-SELECT 0.2 COUNT(*) FROM t WHERE a > {place}", account)
        spent = curator.ledger.loss(table="t").epsilon()
        return "" if spent == 0.4 else f"two accounts spent {spent:g} on one table, not 0.4"
