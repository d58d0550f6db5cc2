"""The ledger against a model of a dozen lines, over any sequence of questions, crashes, reopenings and clocks."""

from __future__ import annotations

import shutil
import tempfile
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from math import ceil
from pathlib import Path

from hypothesis import settings, strategies
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from obverse.errors import OverBudget
from obverse.ledger.ledger import Ledger
from obverse.ledger.policy import Account, Policy, limits
from obverse.loss.filters import GRAIN
from obverse.loss.loss import Sensitivity
from obverse.mechanisms import Laplace
from obverse.release import Charge

TABLE, OWN, MOST = Fraction(1), Fraction(1, 2), 4
POLICY = Policy(
    limits(TABLE), accounts=(Account("a"), Account("b", limits(OWN)), Account("c", questions=MOST))
)
COSTS = [Fraction(1, 10), Fraction(1, 4), Fraction(1, 3)]
TABLES = strategies.sampled_from([("t",), ("u",), ("t", "u"), ("u", "u")])


def grains(costs: list[Fraction]) -> Fraction:
    """Their sum, each rounded up to a whole grain."""
    return Fraction(sum(ceil(cost * GRAIN) for cost in costs), GRAIN)


class Model(RuleBasedStateMachine):
    """What was paid is kept as plain sets and sums of fractions; the ledger must always agree."""

    @initialize()
    def start(self) -> None:
        self.folder = Path(tempfile.mkdtemp(dir="/dev/shm" if Path("/dev/shm").exists() else None))
        self.copies = 0
        self.now = datetime(2026, 1, 1, tzinfo=UTC)
        self.paid: dict[tuple[str, str], Fraction] = {}
        self.tables: dict[str, tuple[str, ...]] = {}
        self.answers: dict[str, bytes] = {}
        self.ledger = self.open(self.folder / "0" / "x.ledger")

    def open(self, path: Path) -> Ledger:
        path.parent.mkdir(exist_ok=True)
        return Ledger(path, POLICY, lambda: self.now)

    @rule(
        account=strategies.sampled_from("abc"),
        tables=TABLES,
        cost=strategies.sampled_from(COSTS),
        n=strategies.integers(0, 4),
    )
    def ask(self, account: str, tables: tuple[str, ...], cost: Fraction, n: int) -> None:
        key = f"{tables} {cost} {n}"
        loss = Laplace(1 / cost).loss(Sensitivity.of(1))
        charge = Charge(account, tables, "answer", key, loss)
        allowed = (account, key) in self.paid or self.affordable(account, key, tables, cost)
        try:
            pending = self.ledger.submit(charge)
        except OverBudget:
            assert not allowed
            return
        assert allowed
        assert self.ledger.kept(pending) == self.answers.get(key)
        assert pending.receipt().again == ((account, key) in self.paid)
        self.paid[account, key] = cost
        self.tables[key] = tables

    def affordable(self, account: str, key: str, tables: tuple[str, ...], cost: Fraction) -> bool:
        own = [spent for (who, _), spent in self.paid.items() if who == account]
        if account == "b" and grains([*own, cost]) > OWN:
            return False
        if account == "c" and len(own) >= MOST:
            return False
        return key in self.tables or all(grains([*self.spent(table), cost]) <= TABLE for table in tables)

    def spent(self, table: str) -> list[Fraction]:
        costs = {key: cost for (_, key), cost in self.paid.items() if table in self.tables[key]}
        return list(costs.values())

    @rule(answer=strategies.binary(max_size=20), data=strategies.data())
    def keep(self, answer: bytes, data: strategies.DataObject) -> None:
        if self.paid:
            account, key = data.draw(strategies.sampled_from(sorted(self.paid)))
            loss = Laplace(1 / self.paid[account, key]).loss(Sensitivity.of(1))
            receipt = self.ledger.charge(Charge(account, self.tables[key], "answer", key, loss))
            assert receipt.again
            assert self.ledger.keep(receipt, answer) == self.answers.setdefault(key, answer)

    @rule()
    def reopen(self) -> None:
        self.ledger.close()
        self.ledger = self.open(self.ledger.path)

    @rule()
    def crash(self) -> None:
        """The files as they are, without closing: what a killed process leaves."""
        self.copies += 1
        folder = self.folder / f"{self.copies}"
        shutil.copytree(self.ledger.path.parent, folder, ignore=shutil.ignore_patterns("*-shm"))
        self.ledger.close()
        self.ledger = self.open(folder / "x.ledger")

    @rule(days=strategies.integers(-1000, 1000))
    def turn_the_clock(self, days: int) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=days)

    @invariant()
    def agrees(self) -> None:
        for table in "tu":
            exact = self.ledger.spent(table=table)
            assert exact.questions == sum(table in tables for tables in self.tables.values())
            assert self.ledger.loss(table=table).pure == sum(self.spent(table)) <= TABLE
        for account in "abc":
            own = [cost for (who, _), cost in self.paid.items() if who == account]
            assert self.ledger.spent(account).questions == len(own)
            assert self.ledger.loss(account).pure == sum(own)

    def teardown(self) -> None:
        verdict = self.ledger.verify()
        self.ledger.close()
        assert verdict and verdict.head.number == len(self.paid) + len(self.answers)
        shutil.rmtree(self.folder)


TestModel = Model.TestCase
TestModel.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
