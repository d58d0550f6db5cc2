"""The disk fails, fills up, or forgets; the process is killed between any two statements."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import datetime
from fractions import Fraction
from pathlib import Path

import apsw
import pytest

from obverse.errors import Broken
from obverse.ledger.ledger import Ledger
from obverse.ledger.policy import Policy
from obverse.ledger.verify import verify
from obverse.release import Charge

Ask = Callable[..., Charge]
Clock = Callable[[], datetime]
Replay = Callable[..., dict[str, Fraction]]
WORKER = Path(__file__).parent / "worker.py"


class Disk(apsw.VFS):
    """The real disk, until told to fail: `broken` names the call and the error."""

    def __init__(self) -> None:
        self.broken: dict[str, type[apsw.Error]] = {}
        super().__init__("failing", "")

    def xOpen(self, name: apsw.URIFilename | str | None, flags: list[int]) -> apsw.VFSFile:
        return DiskFile(self, name, flags)


class DiskFile(apsw.VFSFile):
    def __init__(self, disk: Disk, name: apsw.URIFilename | str | None, flags: list[int]) -> None:
        self.disk = disk
        self.log = str(name and (name if isinstance(name, str) else name.filename())).endswith("-wal")
        super().__init__("", name, flags)

    def _fail(self, call: str) -> None:
        if call in self.disk.broken:
            raise self.disk.broken[call]("as told")

    def xWrite(self, data: bytes, offset: int) -> None:
        self._fail("write log" if self.log else "write file")
        super().xWrite(data, offset)

    def xSync(self, flags: int) -> None:
        self._fail("sync log" if self.log else "sync file")
        super().xSync(flags)


@pytest.fixture
def disk() -> Iterator[Disk]:
    made = Disk()
    yield made
    made.unregister()


@pytest.fixture
def opened(tmp_path: Path, policy: Policy, noon: Clock, disk: Disk) -> Ledger:
    return Ledger(tmp_path / "x.ledger", policy, noon, vfs="failing")


def test_a_failed_fsync_stops_the_ledger_for_good(
    opened: Ledger, disk: Disk, policy: Policy, noon: Clock, ask: Ask, replay: Replay
) -> None:
    """Nothing is acknowledged after it, even where the disk would say yes again; another process reads what is there."""
    opened.charge(ask("before"))
    disk.broken = {"sync log": apsw.IOError}
    pending = opened.submit(ask("during"))
    with pytest.raises(Broken, match="stop, and look at the disk"):
        pending.receipt()
    disk.broken = {}
    for attempt in (opened.charge, opened.submit):
        with pytest.raises(Broken, match="stop, and look at the disk"):
            attempt(ask("after"))
    with pytest.raises(Broken, match="stop, and look at the disk"):
        opened.close()
    assert verify(opened.path)
    with Ledger(opened.path, policy, noon) as ledger:
        assert ledger.charge(ask("before")).again
        ledger.charge(ask("during"))
        assert ledger.spent(table="people").questions == 2
    replay(opened.path)


def test_a_failed_checkpoint_stops_the_ledger_too(
    opened: Ledger, disk: Disk, ask: Ask, monkeypatch: pytest.MonkeyPatch, replay: Replay
) -> None:
    """Its charges are durable in the log, which stays."""
    monkeypatch.setattr("obverse.ledger.writer.LONGEST_LOG", 1)
    disk.broken = {"sync file": apsw.IOError}
    receipt = opened.charge(ask("first"))
    with pytest.raises(Broken, match="stop, and look at the disk"):
        opened.charge(ask("second"))
    with pytest.raises(Broken):
        opened.close()
    assert receipt.number == 1
    assert verify(opened.path)
    assert replay(opened.path) == {"people": Fraction(1, 10)}


@pytest.mark.parametrize("call", ["write log", "sync log"])
def test_a_full_disk_charges_nothing_and_passes(
    opened: Ledger, disk: Disk, ask: Ask, replay: Replay, call: str
) -> None:
    opened.charge(ask("before"))
    disk.broken = {call: apsw.FullError}
    with pytest.raises(Broken, match="the disk is full; nothing was charged"):
        opened.charge(ask("during"))
    disk.broken = {}
    assert opened.spent(table="people").questions == 1
    assert opened.charge(ask("after")).number == 2
    assert opened.verify()
    opened.close()
    assert replay(opened.path) == {"people": Fraction(2, 10)}


def test_a_full_disk_at_the_anchor_stops_the_ledger(
    opened: Ledger, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("obverse.ledger.anchor.os.pwrite", full)
    with pytest.raises(Broken, match="No space left"):
        opened.charge(ask("first"))
    monkeypatch.undo()
    assert verify(opened.path)


def test_a_large_answer_that_cannot_be_written_does_not_leave(
    tmp_path: Path, opened: Ledger, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is charged; asked again it is free, and then it may be kept."""

    def failing(*_: object) -> None:
        raise OSError(5, "Input/output error")

    large = bytes(2 << 20)
    pending = opened.submit(ask("table"))
    with monkeypatch.context() as patched:
        patched.setattr("obverse.ledger.answers.os.fsync", failing)
        with pytest.raises(Broken, match="nothing leaves"):
            opened.keep(pending, large)
        assert opened.kept(pending.receipt()) is None
    assert list((tmp_path / "x.ledger.kept").iterdir()) == []
    again = opened.submit(ask("table"))
    assert opened.keep(again, large) == large
    assert again.receipt().again and opened.verify()
    opened.close()


@pytest.mark.slow
def test_killed_between_any_two_statements(tmp_path: Path, replay: Replay) -> None:
    """A process is killed before its n-th statement, for every n until it finishes; the next one goes on from there.

    Every receipt that was given is in the journal, no question is charged twice, and no answer is kept unpaid.
    """
    done = subprocess.run(
        [sys.executable, WORKER, "statements", tmp_path / "x.ledger"],
        capture_output=True,
        text=True,
        check=True,
    )
    deaths, lost = map(int, done.stdout.split())
    assert deaths >= 30
    assert lost == 0
    assert replay(tmp_path / "x.ledger", "1000")
    assert verify(tmp_path / "x.ledger")
