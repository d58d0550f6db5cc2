"""Ten thousand power cuts: after each of them all that was acknowledged is there, and nothing is there twice.

A run of the ledger is recorded write by write, sync by sync, at the level of SQLite's VFS. A cut at any moment leaves,
of every file, all that was synced, and of each later write nothing, everything, or the sectors of a random subset.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from fractions import Fraction
from pathlib import Path

import apsw
import pytest

from obverse.ledger.anchor import Anchor, sync_folder
from obverse.ledger.answers import Answers
from obverse.ledger.ledger import Ledger
from obverse.ledger.policy import Account, Policy, limits
from obverse.ledger.store import connect
from obverse.ledger.verify import verify
from obverse.noise.entropy import Keyed
from obverse.release import Charge

Ask = Callable[..., Charge]
Clock = Callable[[], datetime]
Replay = Callable[..., dict[str, Fraction]]
CUTS = 10_000
SECTOR = 512
LIMIT = "3"


@dataclass(frozen=True)
class Event:
    """Something the disk saw: a write, a truncation (`place` is the size), a deletion, a sync of a file or of the
    folder, which makes deletions last; or a receipt that was given."""

    what: str
    file: str = ""
    place: int = 0
    data: bytes = b""


class Recorder(apsw.VFS):
    """The real disk, and a list of all that happened to it."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        super().__init__("recorder", "")

    def xOpen(self, name: apsw.URIFilename | str | None, flags: list[int]) -> apsw.VFSFile:
        return Recorded(self, name, flags)

    def xDelete(self, name: str, sync: bool) -> None:
        super().xDelete(name, sync)
        self.events.append(Event("delete", Path(name).name))
        if sync:
            self.events.append(Event("folder"))


class Recorded(apsw.VFSFile):
    def __init__(self, disk: Recorder, name: apsw.URIFilename | str | None, flags: list[int]) -> None:
        assert name is not None
        self.events = disk.events
        self.name = Path(name if isinstance(name, str) else name.filename()).name
        super().__init__("", name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:
        super().xWrite(data, offset)
        self.events.append(Event("write", self.name, offset, bytes(data)))

    def xTruncate(self, size: int) -> None:
        super().xTruncate(size)
        self.events.append(Event("truncate", self.name, size))

    def xSync(self, flags: int) -> None:
        super().xSync(flags)
        self.events.append(Event("sync", self.name))


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[Recorder]:
    """Records the anchor and the answers in files too, which are not written through SQLite."""
    made = Recorder()

    def note(anchor: Anchor, what: str) -> None:
        made.events.append(Event(what, anchor.path.name, 0, anchor.path.read_bytes()))

    def keep(answers: Answers, key: str, digest: str, packed: bytes) -> None:
        file = answers.file(key, digest).name
        made.events.append(Event("write", file, 0, packed))
        written(answers, key, digest, packed)
        made.events.append(Event("sync", file))

    def settle(folder: Path) -> None:
        sync_folder(folder)
        made.events.append(Event("folder"))

    write, sync, written = Anchor.write, Anchor.sync, Answers.write
    monkeypatch.setattr("obverse.ledger.anchor.sync_folder", settle)
    monkeypatch.setattr(Anchor, "write", lambda anchor, head: (write(anchor, head), note(anchor, "write")))
    monkeypatch.setattr(Anchor, "sync", lambda anchor: (sync(anchor), note(anchor, "sync")))
    monkeypatch.setattr(Answers, "write", keep)
    monkeypatch.setattr("obverse.ledger.ledger.LARGEST_ROW", 2000)
    monkeypatch.setattr("obverse.ledger.writer.LONGEST_LOG", 60)
    yield made
    made.unregister()


@dataclass
class State:
    """A file: what is certainly on the disk, and what was done to it since."""

    certain: bytes = b""
    since: list[Event] = field(default_factory=list)

    def sync(self) -> None:
        self.certain = apply(self.certain, self.since)
        self.since = []

    def settle(self) -> None:
        """Deletions last from now on, and so nothing from before them does."""
        if any(event.what == "delete" for event in self.since):
            last = max(n for n, event in enumerate(self.since) if event.what == "delete")
            self.certain, self.since = b"", self.since[last + 1 :]


def apply(content: bytes, events: list[Event]) -> bytes:
    whole = bytearray(content)
    for event in events:
        if event.what == "write":
            whole.extend(bytes(max(0, event.place + len(event.data) - len(whole))))
            whole[event.place : event.place + len(event.data)] = event.data
        elif event.what == "truncate":
            del whole[event.place :]
        else:
            whole.clear()
    return bytes(whole)


def torn(events: list[Event], draws: Keyed) -> list[Event]:
    """What a cut may leave of events that were not synced: each whole, not at all, or some of its sectors."""
    left: list[Event] = []
    for event in events:
        fate = draws.bits(2)
        if fate == 0 or (fate == 1 and event.what == "write"):
            left.append(event)
        elif fate == 2 and event.what == "write":
            for start in range(0, len(event.data), SECTOR):
                if draws.bits(1):
                    left.append(
                        Event("write", event.file, event.place + start, event.data[start : start + SECTOR])
                    )
    return left


def record(path: Path, events: list[Event], noon: Clock, ask: Ask) -> None:
    """Two sessions of charges, some waited for one by one, some together; answers small and large; refusals."""
    policy = Policy(limits(LIMIT), accounts=(Account("research"),))
    for session in range(2):
        with Ledger(path, policy, noon, vfs="recorder") as ledger:
            for n in range(20):
                pending = [ledger.submit(ask(f"{session} {n} {k}", "0.025")) for k in range(n % 4 + 1)]
                if n % 3:
                    ledger.keep(pending[0], b"%d" % n * (1500 if n % 5 == 0 else 50))
                for each in pending:
                    receipt = each.receipt()
                    events.append(Event("receipt", "", receipt.number, bytes.fromhex(receipt.seal)))


def images(events: list[Event], cuts: int) -> Iterator[tuple[dict[str, bytes], set[tuple[int, bytes]]]]:
    """What is on the disk after a cut at a random moment, and which receipts had been given by then."""
    draws = Keyed("power cuts")
    moments = sorted(draws.bits(32) % len(events) for _ in range(cuts))
    files: dict[str, State] = defaultdict(State)
    given: set[tuple[int, bytes]] = set()
    done = 0
    for moment in moments:
        for event in events[done:moment]:
            if event.what == "receipt":
                given.add((event.place, event.data))
            elif event.what == "sync":
                files[event.file].sync()
            elif event.what == "folder":
                for file in files.values():
                    file.settle()
            else:
                files[event.file].since.append(event)
        done = max(done, moment)
        yield {name: apply(file.certain, torn(file.since, draws)) for name, file in files.items()}, given


def put(image: dict[str, bytes], folder: Path) -> Path:
    """The files of an image in a fresh folder; the path of the ledger."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "x.ledger.kept").mkdir(parents=True)
    for name, content in image.items():
        place = folder if name.startswith("x.ledger") else folder / "x.ledger.kept"
        if content:
            (place / name).write_bytes(content)
    return folder / "x.ledger"


@pytest.mark.slow
def test_ten_thousand_power_cuts_lose_and_double_nothing(
    tmp_path: Path, disk: Recorder, noon: Clock, ask: Ask, replay_from: Replay
) -> None:
    """After each: every receipt that was given is in the journal, the anchor is not ahead, no limit was passed."""
    record(tmp_path / "x.ledger", disk.events, noon, ask)
    seen, lost = cut(disk.events, CUTS, replay_from)
    assert lost == 0
    assert seen > CUTS // 4


def test_a_ledger_that_does_not_sync_is_caught(
    tmp_path: Path,
    disk: Recorder,
    noon: Clock,
    ask: Ask,
    replay_from: Replay,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A planted bug: with synchronous = NORMAL commits are not synced, and a few hundred cuts lose receipts."""

    def careless(path: Path, vfs: str = "") -> apsw.Connection:
        connection = connect(path, vfs)
        connection.execute("PRAGMA synchronous = NORMAL")
        return connection

    monkeypatch.setattr("obverse.ledger.ledger.connect", careless)
    record(tmp_path / "x.ledger", disk.events, noon, ask)
    _, lost = cut(disk.events, 300, replay_from)
    assert lost > 30


def cut(events: list[Event], cuts: int, replay: Replay) -> tuple[int, int]:
    """How many different states so many cuts left, and how many of the cuts lost a receipt."""
    memory = Path("/dev/shm") if os.access("/dev/shm", os.W_OK) else Path(tempfile.gettempdir())
    seen: dict[int, set[tuple[int, bytes]]] = {}
    lost = 0
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        for image, given in images(events, cuts):
            state = hash(tuple(sorted(image.items())))
            if state not in seen:
                seen[state] = survivors(put(image, Path(folder) / "cut"), replay, thorough=len(seen) % 8 == 0)
            lost += not given <= seen[state]
    return len(seen), lost


def survivors(path: Path, replay: Replay, *, thorough: bool) -> set[tuple[int, bytes]]:
    """The lines of a ledger after a cut, once it has been found whole; `thorough` reads it as `verify` does too."""
    if not path.exists():
        return set()
    connection = apsw.Connection(str(path))
    try:
        if not connection.table_exists("main", "journal"):
            return set()
        lines = set(connection.execute("SELECT number, seal FROM journal"))
        replay(connection, LIMIT)
        known = Anchor(path.with_name("x.ledger.anchor")).read()
        if known is None or (known.number and (known.number, known.seal) not in lines):
            return set()
    finally:
        connection.close()
    if thorough and lines:
        assert verify(path).damage == ()
    return lines
