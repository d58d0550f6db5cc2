"""Who has spent what, and got what: charges before anything is read, answers before anything leaves.

    pending = ledger.submit(charge)             decided: OverBudget or Forbidden, or on its way to the disk
    if (kept := ledger.kept(pending)) is None:
        kept = ledger.keep(pending, run())      durable when it returns, and so is the charge
    receipt = pending.receipt()                 durable when it returns

A question is charged once to an account and once to its tables, however often it is asked and whatever crashes in
between; everybody who asks it gets the answer that was kept first.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from fractions import Fraction
from functools import lru_cache, reduce
from hashlib import sha256
from operator import add
from pathlib import Path
from threading import Lock
from types import TracebackType

import apsw

from obverse.data.schema import Neighbours
from obverse.errors import BadParameter, BadSource, Broken
from obverse.ledger.anchor import Anchor, Head
from obverse.ledger.answers import LARGEST_ROW, Answers
from obverse.ledger.book import Book, Entry
from obverse.ledger.budget import Balance, Budget, Share
from obverse.ledger.codec import decode, encode
from obverse.ledger.journal import Charged, Cost, Kept, Logged, digest, write
from obverse.ledger.policy import Policy
from obverse.ledger.store import (
    ALL,
    NO_COST,
    Answer,
    Total,
    connect,
    cost,
    entries,
    head,
    immediate,
    named,
    prepare,
    question,
    reaches,
    read_total,
    sources,
)
from obverse.ledger.verify import Verdict, verify
from obverse.ledger.writer import Job, Writer
from obverse.loss.filters import Amounts
from obverse.loss.loss import FREE, Loss
from obverse.release import Charge, Guarantee, Kind, Receipt

LONGEST_ABOUT = 4096
ADOPT = "put the newest back, or take this one over with obverse audit-log adopt"
Clock = Callable[[], datetime]


class Pending(Job):
    """A charge that was decided, and is durable or on its way there."""

    def __init__(self, charge: Charge, line: Charged, writer: Writer) -> None:
        super().__init__(urgent=False)
        self.charge = charge
        self.entry: Entry | None = None
        self._line = line
        self._text = write(line)
        self._writer = writer

    def enter(self, book: Book) -> None:
        self.entry = book.charge(self._line, self._text)

    def receipt(self) -> Receipt:
        """Wait until it is durable."""
        if not (self.settled or self.urgent):
            self._writer.hurry()
        self.wait(durable=True)
        assert self.entry is not None
        return Receipt(self.entry.head.number, self.charge, self.entry.head.seal.hex(), self.entry.again)


class Keeping(Job):
    """An answer on its way to the disk."""

    def __init__(self, line: Kept, packed: bytes | None) -> None:
        super().__init__(urgent=True)
        self.answer: Answer = "", None
        self._line = line
        self._packed = packed

    def enter(self, book: Book) -> None:
        self.answer = book.keep(self._line, self._packed)


class Ledger:
    """One file, shared by any number of threads and processes. The clock only dates the lines.

    >>> from datetime import datetime, UTC
    >>> from tempfile import TemporaryDirectory
    >>> from obverse.ledger.policy import Account, Policy, limits
    >>> from obverse.mechanisms import Laplace
    >>> from obverse.loss.loss import Sensitivity
    >>> from fractions import Fraction
    >>> tenth = Laplace(Fraction(10)).loss(Sensitivity.of(1))
    >>> policy = Policy(limits("0.15"), accounts=(Account("research"),))
    >>> folder = TemporaryDirectory()
    >>> ledger = Ledger(folder.name + "/x.ledger", policy, clock=lambda: datetime(2026, 1, 1, tzinfo=UTC))
    >>> ledger.charge(Charge("research", ("people",), "answer", "how many?", tenth)).number
    1
    >>> ledger.charge(Charge("research", ("people",), "answer", "how old?", tenth))
    Traceback (most recent call last):
    obverse.errors.OverBudget: table people has ε = 0.05 left of 0.15, and this costs 0.1
    >>> ledger.close()
    """

    def __init__(self, path: str | Path, policy: Policy, clock: Clock, *, vfs: str = "") -> None:
        self.path = Path(path).absolute()
        self.policy = policy
        self._clock = clock
        self._process = os.getpid()
        self._answers = Answers(self.path.with_name(self.path.name + ".kept"))
        anchor = Anchor(self.path.with_name(self.path.name + ".anchor"))
        self._reading = Lock()
        with _honest(self.path):
            connection = connect(self.path, vfs)
            with immediate(connection):
                prepare(connection, self.path)
                _compare(connection, anchor)
            self._reader = connect(self.path, vfs)
            self._reader.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            self._writer = Writer(connection, Book(connection, policy), anchor, self.path)

    def submit(self, charge: Charge) -> Pending:
        """Decide, and set out to write it down; OverBudget or Forbidden where nothing is charged."""
        pending = self._pending(charge)
        self._writer.put(pending)
        pending.wait(durable=False)
        return pending

    def charge(self, charge: Charge) -> Receipt:
        """The same, and wait until it is durable."""
        pending = self._pending(charge)
        pending.urgent = True
        self._writer.put(pending)
        return pending.receipt()

    def kept(self, charged: Pending | Receipt) -> bytes | None:
        """The answer that was kept for this question, or None where none was."""
        key = digest(charged.charge.key)
        if isinstance(charged, Receipt):
            with self._read() as reader:
                found = question(reader, key)
                answer = None if found is None else found.answer
        else:
            charged.wait(durable=False)
            assert charged.entry is not None
            answer = charged.entry.answer
            if answer is not None:
                charged.receipt()
        return None if answer is None else self._answers.read(key, *answer)

    def keep(self, charged: Pending | Receipt, packed: bytes) -> bytes:
        """Keep an answer, durably; gives back the answer to hand over, which is the one that was kept first."""
        if isinstance(charged, Pending):
            charged.wait(durable=False)
        key, mine = digest(charged.charge.key), sha256(packed).hexdigest()
        large = len(packed) > LARGEST_ROW
        if large:
            self._answers.write(key, mine, packed)
        job = Keeping(Kept(key, mine, len(packed)), None if large else packed)
        self._writer.put(job)
        job.wait(durable=True)
        if large:
            self._answers.clear(key, job.answer[0])
        return packed if job.answer[0] == mine else self._answers.read(key, *job.answer)

    def answers(self, tables: tuple[str, ...], kind: Kind) -> Iterator[bytes]:
        """Every answer of a kind about these tables that was kept, whoever asked, the oldest first."""
        found = [
            entry for entry in self.log() if entry.charged.tables == tables and entry.charged.kind == kind
        ]
        for key in dict.fromkeys(entry.charged.key for entry in reversed(found) if entry.kept is not None):
            with self._read() as reader:
                asked = question(reader, key)
            assert asked is not None and asked.answer is not None
            yield self._answers.read(key, *asked.answer)

    def left(self, number: int) -> tuple[Logged, bytes]:
        """The charge of this number, as the log shows it, and what was kept and left."""
        entry = next((entry for entry in self.log() if entry.number == number), None)
        if entry is None:
            raise BadParameter(f"the ledger has no charge number {number}: obverse log shows those it has")
        if entry.kept is None:
            raise BadParameter(f"number {number} was charged, and nothing was kept of it: nothing left")
        with self._read() as reader:
            asked = question(reader, entry.charged.key)
        assert asked is not None and asked.answer is not None
        return entry, self._answers.read(entry.charged.key, *asked.answer)

    def told(self, about: str) -> Iterator[bytes]:
        """Every kept answer to what was asked in words that begin so, the oldest first."""
        with self._read() as reader:
            found = entries(reader, ALL, -1, about)
        for entry in reversed(found):
            if entry.kept is not None and entry.charged.about.startswith(about):
                with self._read() as reader:
                    asked = question(reader, entry.charged.key)
                assert asked is not None and asked.answer is not None
                yield self._answers.read(entry.charged.key, *asked.answer)

    def named(self, about: str, after: int = 0) -> tuple[int, list[Logged]]:
        """The charges behind a line that call themselves so, oldest first; and the line up to which all are told."""
        with self._read() as reader:
            upto = head(reader).number  # first: a line that comes between the two is told again, not left out
            found = named(reader, about, after)
        return upto, found

    def kept_under(self, key: str) -> bytes | None:
        """What was kept under a key, whoever asked; None where nothing was."""
        return self._under(digest(key))

    def kept_for(self, entry: Logged) -> bytes | None:
        """What was kept for a charge that the journal has; None where nothing was, or not yet."""
        return self._under(entry.charged.key)

    def _under(self, key: str) -> bytes | None:
        with self._read() as reader:
            found = question(reader, key)
        return None if found is None or found.answer is None else self._answers.read(key, *found.answer)

    def spent(self, account: str = ALL, table: str = ALL) -> Total:
        """What an account was charged on a table; of all accounts or on all tables where none is named."""
        if account == ALL and table == ALL:
            raise BadParameter("name an account, a table, or both: budgets are not added up over tables")
        with self._read() as reader:
            return read_total(reader, (account, table))

    def budget(self, account: str) -> Budget:
        """What an account has spent and has left, on every table it knows of."""
        allowed, policy = self.policy.account(account), self.policy
        with self._read() as reader, reader:
            own = Balance(allowed.limits, read_total(reader, (account, ALL)), allowed.questions)
            shares = tuple(
                Share(
                    table,
                    Balance(policy.table(table), read_total(reader, (ALL, table))),
                    read_total(reader, (account, table)),
                    policy.neighbours.get(table, Neighbours.ADD_REMOVE),
                )
                for table in sorted({*policy.neighbours, *policy.tables, *sources(reader)})
            )
        return Budget(account, own, shares)

    def loss(self, account: str = ALL, table: str = ALL) -> Loss:
        """All that an account lost, or a table to everybody, as one value; for showing, not for deciding."""
        seen: dict[str, str] = {}
        for entry in self.log(account):
            if table in (ALL, *entry.charged.tables):
                seen[entry.charged.key] = entry.charged.guarantee
        counted = [(decode(text), times) for text, times in Counter(seen.values()).items()]
        return reduce(add, (times * loss for loss, times in counted if isinstance(loss, Loss)), FREE)

    def log(self, account: str = ALL, limit: int = -1) -> Iterator[Logged]:
        """What was charged, newest first; `limit` many at most, where it is given."""
        with self._read() as reader:
            found = entries(reader, account, limit)
        yield from found

    def verify(self, heads: Iterable[Head] = ()) -> Verdict:
        """Whether all of it is as it was written; `heads` may come from receipts."""
        return verify(self.path, heads)

    def close(self) -> None:
        """Finish, and leave the files in good order; afterwards nothing can be charged."""
        with self._reading:
            self._reader.close(True)
        self._writer.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @contextmanager
    def _read(self) -> Iterator[apsw.Connection]:
        """The connection for reading, for one thread at a time."""
        with self._reading, _honest(self.path):
            yield self._reader

    def _pending(self, charge: Charge) -> Pending:
        if os.getpid() != self._process:
            raise Broken("a ledger does not go through a fork: open it again in this process")
        self.policy.allow(charge)
        guarantee, grains = _price(charge.guarantee, charge.delta or self.policy.default_delta)
        time, key = self._clock().isoformat(timespec="seconds"), digest(charge.key)
        about = charge.about[:LONGEST_ABOUT].encode(errors="replace").decode()
        kind, whom = charge.kind, charge.protects
        line = Charged(time, charge.account, about, grains, charge.tables, kind, key, guarantee, whom)
        return Pending(charge, line, self._writer)


@lru_cache(maxsize=1024)
def _price(guarantee: Guarantee, delta: Fraction) -> tuple[str, Cost]:
    """A guarantee as its line of JSON, and what it takes from budgets: nothing where it promises no ε."""
    grains = cost(Amounts.of(guarantee, delta)) if isinstance(guarantee, Loss) else NO_COST
    return encode(guarantee), grains


@contextmanager
def _honest(path: Path) -> Iterator[None]:
    """Say which file it is that cannot be used."""
    try:
        yield
    except OSError as error:
        raise BadSource(f"{path} cannot be opened: {error.strerror}") from None
    except apsw.Error as error:
        raise Broken(f"{path} cannot be used as a ledger: {error}") from None


def _compare(connection: apsw.Connection, anchor: Anchor) -> None:
    """Refuse a journal that ends before its anchor. Called with the write lock, so that neither moves meanwhile."""
    known, now = anchor.read(), head(connection)
    if known is None and now.number == 0:
        anchor.create(now)
    elif known is None:
        raise Broken(f"{anchor.path} is missing, so this may be an old copy: {ADOPT}")
    elif not reaches(connection, known):
        raise Broken(
            f"the ledger has no line {known.number} with the seal in {anchor.path}; it is an old copy: {ADOPT}"
        )
