"""Whether a ledger is what was written: every row against the journal, the journal against its seals and its anchor.

What is noticed: a change to any byte that a reader can come to see; a tail that was cut; an older copy of the file,
as long as the anchor or one seal from a receipt is newer than it. A ledger that was closed in good order is also
compared as a whole file with the digest in its anchor, so that not one byte of it can change unnoticed.

What is not: an older copy of ledger and anchor together, unless a seal was kept elsewhere. Whoever may write both can
write a whole new history; only what they cannot write (a receipt in somebody else's hands) tells.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from itertools import islice
from pathlib import Path

import apsw

from obverse.errors import BadParameter, Broken
from obverse.ledger.anchor import Anchor, Head
from obverse.ledger.answers import Answers
from obverse.ledger.journal import GENESIS, Adopted, Kept, Line, read, seal, write
from obverse.ledger.store import (
    ALL,
    BUSY,
    Total,
    Whose,
    connect,
    cost_text,
    file_digest,
    fits,
    head,
    immediate,
    logged,
    reaches,
)

MOST_SHOWN = 20


@dataclass(frozen=True)
class Verdict:
    """What was found: `damage` is empty where the ledger is whole.

    `whole_file` says whether every byte of the file was compared, and not only those that a reader can see;
    `adopted` are the lines at which the curator went on from an older copy.
    """

    head: Head
    damage: tuple[str, ...]
    whole_file: bool
    adopted: tuple[int, ...] = ()

    def __bool__(self) -> bool:
        return not self.damage


def verify(path: Path, heads: Iterable[Head] = ()) -> Verdict:
    """Read the whole ledger, while others may write; `heads` are seals from receipts or earlier verdicts."""
    if not path.exists():
        raise BadParameter(f"there is no ledger at {path}")
    check = _Check(path)
    damage = tuple(islice(check.damage(tuple(heads)), MOST_SHOWN))
    return Verdict(check.head, damage, check.whole_file, tuple(check.adopted))


def adopt(path: Path, time: str) -> Head:
    """Go on from a copy that lacks lines, or whose anchor is lost: said in the journal, for good.

    What the missing lines had charged is not known any more and may be spent again. A copy that is damaged in itself is
    Broken all the same.
    """
    check, anchor = _Check(path), Anchor(path.with_name(path.name + ".anchor"))
    for damage in check.rows([]):
        raise Broken(f"{path} cannot be adopted: {damage}")
    try:
        said = str(anchor.read())
    except Broken as error:
        said = str(error)
    connection = connect(path)
    try:
        with immediate(connection):
            before = head(connection)
            text = write(Adopted(time, said))
            after = Head(before.number + 1, seal(before.seal, text))
            connection.execute("INSERT INTO journal VALUES (?, ?, ?)", (after.number, text, after.seal))
        anchor.create(after)
    finally:
        connection.close()
        anchor.close()
    return after


class _Check:
    """One pass over a ledger: what the journal says is made again, and compared with what is there."""

    def __init__(self, path: Path) -> None:
        self.head = Head(0, GENESIS)
        self.whole_file = False
        self.adopted: list[int] = []
        self._path = path
        self._answers = Answers(path.with_name(path.name + ".kept"))
        self._questions: dict[str, tuple[int, Kept | None, int | None]] = {}
        self._charged: dict[tuple[str, str], int] = {}
        self._totals: dict[Whose, Total] = {}

    def damage(self, heads: tuple[Head, ...]) -> Iterator[str]:
        anchor = Anchor(self._path.with_name(self._path.name + ".anchor"))
        try:
            known = anchor.read()
            if known is None:
                yield f"{anchor.path} is missing: nobody can tell whether lines were cut"
        except Broken as error:
            known = None
            yield str(error)
        found = file_digest(self._path) if known and known.file else b""
        try:
            yield from self.rows([*heads, *([known] if known else [])])
        except (apsw.Error, UnicodeDecodeError) as error:
            yield f"the file cannot be read: {error}"
        if known and found and self.head.number <= known.number and anchor.read() == known:
            self.whole_file = True
            if found != known.file:
                yield "the file changed after it was closed"

    def rows(self, heads: list[Head]) -> Iterator[str]:
        """What is wrong inside the file."""
        left_open = logged(self._path)
        connection = apsw.Connection(str(self._path), flags=apsw.SQLITE_OPEN_READWRITE)
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, int(left_open))
        connection.set_busy_timeout(BUSY)
        try:
            connection.execute("BEGIN")
            if not fits(connection):
                yield "it is not a ledger of this version of Obverse"
                return
            messages = [message for (message,) in connection.execute("PRAGMA integrity_check")]
            if messages != ["ok"]:
                yield f"the database is damaged: {messages[0]}"
                return
            yield from self._journal(connection)
            yield from self._derived(connection)
            for head in heads:
                if not reaches(connection, head):
                    yield f"line {head.number} with its seal is gone: the tail was cut, or an old copy put back"
        finally:
            connection.close(True)

    def _journal(self, connection: apsw.Connection) -> Iterator[str]:
        """Every line against its seal; what they add up to is remembered."""
        lines = connection.execute("SELECT number, CAST(line AS BLOB), seal FROM journal ORDER BY number")
        for number, line, sealed in lines:
            expected = self.head.number + 1
            if number != expected:
                yield f"line {expected} is missing"
                return
            if sha256(self.head.seal + line).digest() != sealed:
                yield f"line {number} is not what was sealed"
                return
            self.head = Head(number, sealed)
            try:
                self._enter(number, read(line.decode()))
            except (KeyError, TypeError, ValueError):
                yield f"line {number} has its seal and makes no sense: it was not written by Obverse"
                return

    def _enter(self, number: int, line: Line) -> None:
        if isinstance(line, Kept):
            charged, _, _ = self._questions[line.key]
            self._questions[line.key] = charged, line, number
            return
        if isinstance(line, Adopted):
            self.adopted.append(number)
            return
        tables = dict.fromkeys(line.tables)
        whose = [(line.account, ALL), *((line.account, table) for table in tables)]
        if line.key not in self._questions:
            self._questions[line.key] = number, None, None
            whose += [(ALL, table) for table in tables]
        self._charged[line.key, line.account] = number
        for each in whose:
            self._totals[each] = self._totals.get(each, Total()).plus(line.cost)

    def _derived(self, connection: apsw.Connection) -> Iterator[str]:
        """The tables that follow from the journal, and the answers."""
        charged = connection.execute("SELECT key, account, number FROM charged")
        if {(key.hex(), account): number for key, account, number in charged} != self._charged:
            yield "who was charged for which question is not what the journal says"
        totals = connection.execute("SELECT account, source, questions, cost FROM totals")
        found = {(account, source): (questions, cost) for account, source, questions, cost in totals}
        if found != {whose: (total.questions, cost_text(total)) for whose, total in self._totals.items()}:
            yield "the totals are not what the journal adds up to"
        answers = {first: (line, at) for first, line, at in self._questions.values() if line is not None}
        for first, kept, digest, packed in connection.execute("SELECT * FROM answers"):
            line, at = answers.pop(first, (None, 0))
            if line is None or (kept, digest) != (at, line.digest):
                yield f"the answer to the question charged in line {first} is not the one that was kept"
                continue
            try:
                self._answers.read(line.key, digest, packed)
            except Broken as error:
                yield str(error)
        if answers:
            yield f"{len(answers)} answers that were kept are missing"
