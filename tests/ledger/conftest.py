"""What the proofs about the ledger share: a policy, questions, and a checker that trusts none of the ledger's code."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from fractions import Fraction
from hashlib import sha256
from pathlib import Path

import apsw
import pytest

from obverse.ledger.ledger import Ledger
from obverse.ledger.policy import Account, Policy, limits
from obverse.loss.loss import Sensitivity
from obverse.mechanisms import Laplace
from obverse.release import Charge

Ask = Callable[..., Charge]
Replay = Callable[..., dict[str, Fraction]]


@pytest.fixture
def policy() -> Policy:
    """Tables have ε = 1; `press` has ε = 1/4 and two questions of its own."""
    return Policy(limits("1"), accounts=(Account("research"), Account("press", limits("0.25"), questions=2)))


@pytest.fixture
def noon() -> Callable[[], datetime]:
    return lambda: datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.fixture
def ask() -> Ask:
    def make(question: str, epsilon: str = "0.1", account: str = "research", table: str = "people") -> Charge:
        loss = Laplace(1 / Fraction(epsilon)).loss(Sensitivity.of(1))
        return Charge(account, (table,), "answer", question, loss, about=question)

    return make


@pytest.fixture
def ledger(tmp_path: Path, policy: Policy, noon: Callable[[], datetime]) -> Iterator[Ledger]:
    with Ledger(tmp_path / "x.ledger", policy, noon) as opened:
        yield opened


@pytest.fixture
def replay() -> Replay:
    def opened(path: Path, limit: str = "1") -> dict[str, Fraction]:
        connection = apsw.Connection(str(path))
        try:
            return replayed(connection, limit)
        finally:
            connection.close()

    return opened


@pytest.fixture
def replay_from() -> Replay:
    return replayed


def replayed(connection: apsw.Connection, limit: str = "1") -> dict[str, Fraction]:
    """Every line's seal and number by number, as text; ε by table, each question once and never above the limit."""
    seal = sha256(b"obverse journal 1").digest()
    spent: dict[str, Fraction] = {}
    charged: set[tuple[str, str]] = set()
    asked: set[str] = set()
    answered: dict[str, str] = {}
    rows = list(connection.execute("SELECT number, line, seal FROM journal ORDER BY number"))
    packed = dict(connection.execute("SELECT digest, packed FROM answers"))
    for expected, (number, text, sealed) in enumerate(rows, 1):
        seal = sha256(seal + text.encode()).digest()
        assert (number, seal) == (expected, sealed)
        ((name, line),) = json.loads(text).items()
        key = line["key"]
        if name == "Kept":
            assert key not in answered, "one question, one answer"
            assert key in asked, "no answer that was not paid for"
            answered[key] = line["digest"]
            continue
        assert (line["account"], key) not in charged, "charged twice"
        fields = line["guarantee"]["Spend"]
        epsilon = Fraction(fields["sensitivity"]["Sensitivity"]["l1"]["/"]) / Fraction(
            fields["mechanism"]["Laplace"]["scale"]["/"]
        )
        if key not in asked:
            for table in line["tables"]:
                spent[table] = spent.get(table, Fraction(0)) + epsilon
                assert spent[table] <= Fraction(limit), "overdraft"
        charged.add((line["account"], key))
        asked.add(key)
    assert sorted(packed) == sorted(set(answered.values()))
    for digest, content in packed.items():
        assert content is None or sha256(content).hexdigest() == digest
    return spent
