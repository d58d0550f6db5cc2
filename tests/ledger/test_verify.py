"""Whatever is changed in a ledger, `verify` says so; a whole one passes."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from pathlib import Path

import apsw
import pytest

from obverse.errors import BadParameter, Broken
from obverse.ledger import answers
from obverse.ledger.anchor import Head
from obverse.ledger.ledger import Ledger
from obverse.ledger.policy import Policy
from obverse.ledger.verify import adopt, verify
from obverse.noise.entropy import Keyed
from obverse.release import Charge

Ask = Callable[..., Charge]
Clock = Callable[[], datetime]
ANSWER = b"the answer that was kept " * 20


@pytest.fixture
def filled(tmp_path: Path, policy: Policy, noon: Clock, ask: Ask, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A closed ledger of five charges, three answers, one of them in a file."""
    monkeypatch.setattr("obverse.ledger.ledger.LARGEST_ROW", 1000)
    path = tmp_path / "x.ledger"
    with Ledger(path, policy, noon) as ledger:
        for n, answer in enumerate([ANSWER, 3 * ANSWER, b"17"]):
            ledger.keep(ledger.submit(ask(f"{n}")), answer)
        ledger.charge(ask("0", account="press"))
        ledger.charge(ask("no answer yet"))
    return path


def copy(path: Path, folder: Path) -> Path:
    """The ledger with all that stands beside it."""
    shutil.copytree(path.parent, folder)
    return folder / path.name


def test_a_whole_ledger_passes_closed_and_open(filled: Path, policy: Policy, noon: Clock, ask: Ask) -> None:
    verdict = verify(filled)
    assert verdict and verdict.whole_file and verdict.head.number == 8
    with Ledger(filled, policy, noon) as ledger:
        assert ledger.verify()
        receipt = ledger.charge(ask("another"))
        verdict = ledger.verify([Head(receipt.number, bytes.fromhex(receipt.seal))])
        assert verdict and not verdict.whole_file and verdict.head.number == 9
    assert sorted(file.name for file in filled.parent.iterdir()) == [
        "x.ledger",
        "x.ledger.anchor",
        "x.ledger.kept",
    ]


def test_any_flipped_byte_of_a_closed_ledger_is_noticed(filled: Path) -> None:
    """600 bytes of the file, one in each sixty; every byte of the anchor and of the answer in its file."""
    draws = Keyed("bytes to flip")
    (answer,) = (filled.parent / "x.ledger.kept").iterdir()
    anchor = filled.with_name("x.ledger.anchor")
    for file, step in ((filled, filled.stat().st_size // 600), (anchor, 1), (answer, 20)):
        whole = file.read_bytes()
        for start in range(0, len(whole), step):
            place, bit = min(start + draws.bits(16) % step, len(whole) - 1), 1 << draws.bits(3)
            file.write_bytes(whole[:place] + bytes([whole[place] ^ bit]) + whole[place + 1 :])
            assert not verify(filled), f"byte {place} of {file.name}"
        file.write_bytes(whole)
    assert verify(filled)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE journal SET line = replace(line, '\"research\"', '\"press\"') WHERE number = 1",
        "UPDATE journal SET seal = zeroblob(32) WHERE number = 3",
        "UPDATE journal SET number = 100 WHERE number = 2",
        "DELETE FROM journal WHERE number = 8",
        "DELETE FROM journal WHERE number = 4",
        "DELETE FROM journal",
        "INSERT INTO journal VALUES (10, '{}', zeroblob(32))",
        "UPDATE answers SET packed = zeroblob(2) WHERE packed = X'3137'",
        "UPDATE answers SET packed = X'3137' WHERE packed IS NULL",
        "UPDATE answers SET charged = 7 WHERE kept = 2",
        "DELETE FROM answers WHERE kept = 2",
        "INSERT INTO answers VALUES (8, 8, 'digest', X'3137')",
        "UPDATE charged SET account = 'other' WHERE number = 1",
        "DELETE FROM charged WHERE account = 'press'",
        "UPDATE totals SET questions = questions - 1 WHERE account = 'research'",
        "UPDATE totals SET cost = replace(cost, '400000000000', '300000000000') WHERE source = 'people'",
        "DELETE FROM totals WHERE account = ''",
        "DROP TABLE totals",
        "CREATE TABLE another(a)",
        "CREATE VIEW another AS SELECT 1",
        "CREATE TRIGGER another AFTER INSERT ON journal BEGIN DELETE FROM totals; END",
        "PRAGMA user_version = 2",
        "PRAGMA application_id = 2",
    ],
)
def test_any_changed_row_is_noticed_in_an_open_ledger_too(
    filled: Path, policy: Policy, noon: Clock, ask: Ask, change: str
) -> None:
    ledger = Ledger(filled, policy, noon)
    ledger.charge(ask("makes the file's digest void", table="visits"))
    forger = apsw.Connection(str(filled))
    forger.execute(change)
    assert forger.total_changes() or change.startswith(("DROP", "CREATE", "PRAGMA"))
    forger.close()
    verdict = ledger.verify()
    assert not verdict and not verdict.whole_file
    with suppress(Broken):
        ledger.close()
    assert not verify(filled)


def test_an_old_copy_is_noticed_and_not_opened(filled: Path, policy: Policy, noon: Clock, ask: Ask) -> None:
    old = filled.read_bytes()
    with Ledger(filled, policy, noon) as ledger:
        ledger.charge(ask("later"))
    filled.write_bytes(old)
    assert "the file changed after it was closed" in verify(filled).damage
    with pytest.raises(Broken, match="it is an old copy"):
        Ledger(filled, policy, noon)


def test_an_old_copy_is_noticed_while_the_ledger_is_open(
    filled: Path, policy: Policy, noon: Clock, ask: Ask
) -> None:
    ledger = Ledger(filled, policy, noon)
    ledger.charge(ask("later"))
    forger = apsw.Connection(str(filled))
    forger.execute("DELETE FROM journal WHERE number = 9")
    forger.close()
    with pytest.raises(Broken, match="older copy"):
        ledger.charge(ask("later still"))
    with pytest.raises(Broken, match="older copy"):
        ledger.close()


def test_only_a_seal_kept_elsewhere_tells_an_old_copy_of_everything(
    filled: Path, policy: Policy, noon: Clock, ask: Ask, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """What `verify` cannot see by itself, said in docs/ledger.md; a receipt is such a seal."""
    old = copy(filled, tmp_path_factory.mktemp("old") / "all")
    with Ledger(filled, policy, noon) as ledger:
        receipt = ledger.charge(ask("later"))
    assert verify(old)
    verdict = verify(old, [Head(receipt.number, bytes.fromhex(receipt.seal))])
    assert verdict.damage == ("line 9 with its seal is gone: the tail was cut, or an old copy put back",)


def test_a_ledger_without_its_anchor_is_not_opened(filled: Path, policy: Policy, noon: Clock) -> None:
    anchor = filled.with_name("x.ledger.anchor")
    anchor.unlink()
    assert any("is missing" in damage for damage in verify(filled).damage)
    with pytest.raises(Broken, match="is missing"):
        Ledger(filled, policy, noon)


def test_an_old_copy_may_be_adopted_and_that_stays_in_the_journal(
    filled: Path, policy: Policy, noon: Clock, ask: Ask
) -> None:
    old = filled.read_bytes()
    with Ledger(filled, policy, noon) as ledger:
        ledger.charge(ask("later"))
    filled.write_bytes(old)
    assert adopt(filled, "2026-01-02").number == 9
    with Ledger(filled, policy, noon) as ledger:
        assert ledger.charge(ask("later")).number == 10
    verdict = verify(filled)
    assert verdict and verdict.adopted == (9,)
    filled.write_bytes(old[:5000] + bytes(200) + old[5200:])
    with pytest.raises(Broken, match="cannot be adopted"):
        adopt(filled, "2026-01-02")


def test_what_is_no_ledger_is_refused(
    tmp_path: Path, policy: Policy, noon: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(BadParameter, match="there is no ledger"):
        verify(tmp_path / "x.ledger")
    (tmp_path / "text.ledger").write_text("not a database " * 100)
    assert not verify(tmp_path / "text.ledger")
    with pytest.raises(Broken):
        Ledger(tmp_path / "text.ledger", policy, noon)
    monkeypatch.setattr("obverse.ledger.store.GRAINS", 1)
    Ledger(tmp_path / "counts-otherwise.ledger", policy, noon).close()
    monkeypatch.undo()
    with pytest.raises(Broken, match="not a ledger of this version"):
        Ledger(tmp_path / "counts-otherwise.ledger", policy, noon)
    other = apsw.Connection(str(tmp_path / "other.ledger"))
    other.execute("CREATE TABLE people(name TEXT)")
    other.close()
    with pytest.raises(Broken, match="not a ledger"):
        Ledger(tmp_path / "other.ledger", policy, noon)
    assert answers.LARGEST_ROW == 1 << 20
