"""The ledger's rows: the journal, and three tables that follow from it and can be made again from it.

    journal    every line with its seal; the truth
    charged    which line charged an account for a question; the first of a question's lines charged its tables
    answers    which line kept the answer to the question that a line charged first, and the answer
    totals     what an account, a table, or an account on a table has been charged, and how often

A charge adds to the end of one tree and to the middle of one other: pages written are what a commit costs.

Needs SQLite 3.51.3 or later: before it, a reset of the write-ahead log could lose commits.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from operator import add
from pathlib import Path
from typing import cast

import apsw

from obverse.errors import Broken
from obverse.ledger.anchor import Head
from obverse.ledger.codec import to_json
from obverse.ledger.journal import GENESIS, Charged, Cost, Kept, Logged, read
from obverse.loss.filters import DELTA_GRAIN, GRAIN, NOTHING, ORDERS, Amount, Amounts

VERSION = 1
# What the numbers of a cost mean; a ledger that counted otherwise must not be added to.
GRAINS = zlib.crc32(repr((GRAIN, DELTA_GRAIN, ORDERS)).encode()) >> 1
BUSY = 60_000
CHUNK = 1 << 20
TABLES = {
    "journal": "CREATE TABLE journal(number INTEGER PRIMARY KEY, line TEXT NOT NULL, seal BLOB NOT NULL) STRICT",
    "charged": "CREATE TABLE charged(key BLOB, account TEXT, number INTEGER NOT NULL, "
    "PRIMARY KEY(key, account)) STRICT, WITHOUT ROWID",
    "answers": "CREATE TABLE answers(charged INTEGER PRIMARY KEY, kept INTEGER NOT NULL, digest TEXT NOT NULL, "
    "packed BLOB) STRICT",
    "totals": "CREATE TABLE totals(account TEXT, source TEXT, questions INTEGER NOT NULL, cost TEXT NOT NULL, "
    "PRIMARY KEY(account, source)) STRICT, WITHOUT ROWID",
}
ALL = ""
Whose = tuple[str, str]  # account and table; ALL accounts, ALL tables
Answer = tuple[str, bytes | None]  # its digest; its bytes, unless they lie in a file


def cost(amounts: Amounts) -> Cost:
    """Amounts as the journal has them."""
    parts = (amounts.pure, amounts.rho, *amounts.renyi)
    return tuple(grains for part in parts for grains in (part.size, part.delta))


NO_COST = cost(NOTHING)


@dataclass(frozen=True)
class Total:
    """What was charged so far, and how often."""

    questions: int = 0
    cost: Cost = NO_COST

    def plus(self, cost: Cost) -> Total:
        """The total after one more question."""
        try:
            return Total(self.questions + 1, tuple(map(add, self.cost, cost)))
        except TypeError:  # a notion that does not bound one of the two does not bound their sum
            return Total(self.questions + 1, tuple(map(_plus, self.cost, cost)))

    @property
    def amounts(self) -> Amounts:
        """The cost as filters take it."""
        sizes, deltas = self.cost[::2], cast(tuple[int, ...], self.cost[1::2])
        pure, rho, *orders = map(Amount, sizes, deltas)
        return Amounts(pure, rho, tuple(orders))


def _plus(a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else a + b


def connect(path: Path, vfs: str = "") -> apsw.Connection:
    """A connection to the ledger's file, which is made where it is not there yet."""
    if not path.exists():
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    connection = apsw.Connection(str(path), vfs=vfs or None)
    connection.set_busy_timeout(BUSY)
    connection.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA trusted_schema = OFF")
    connection.wal_autocheckpoint(0)
    return connection


@contextmanager
def immediate(connection: apsw.Connection) -> Iterator[None]:
    """A transaction that has the write lock from its first statement on."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def prepare(connection: apsw.Connection, path: Path) -> None:
    """Make the tables in a new file; refuse a file that is something else. Call it inside a transaction."""
    if connection.execute("SELECT 1 FROM sqlite_schema").fetchone() is None:
        for statement in TABLES.values():
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {VERSION}; PRAGMA application_id = {GRAINS}")
    elif not fits(connection):
        raise Broken(f"{path} is not a ledger of this version of Obverse")


def fits(connection: apsw.Connection) -> bool:
    """Whether these are a ledger's tables, as this version of Obverse writes and counts them."""
    tables = dict(connection.execute("SELECT name, sql FROM sqlite_schema WHERE type <> 'index'"))
    version = connection.pragma("user_version"), connection.pragma("application_id")
    return tables == TABLES and version == (VERSION, GRAINS)


def head(connection: apsw.Connection) -> Head:
    """The journal's last line."""
    for number, seal in connection.execute("SELECT number, seal FROM journal ORDER BY number DESC LIMIT 1"):
        return Head(number, seal)
    return Head(0, GENESIS)


def reaches(connection: apsw.Connection, known: Head) -> bool:
    """Whether the journal has the line that `known` speaks of, with the same seal."""
    if known.number == 0:
        return known.seal == GENESIS
    found = connection.execute("SELECT seal FROM journal WHERE number = ?", (known.number,)).fetchone()
    return found is not None and found[0] == known.seal


def read_total(connection: apsw.Connection, whose: Whose) -> Total:
    """What an account, a table, or an account on a table has been charged."""
    query = "SELECT questions, cost FROM totals WHERE account = ? AND source = ?"
    for questions, cost in connection.execute(query, whose):
        return Total(questions, tuple(json.loads(cost)))
    return Total()


def sources(connection: apsw.Connection) -> list[str]:
    """The tables that anybody was charged for."""
    query = "SELECT source FROM totals WHERE account = '' AND source <> ''"
    return [source for (source,) in connection.execute(query)]


def write_total(connection: apsw.Connection, whose: Whose, total: Total) -> None:
    """Write a total down; it goes with the lines of the same transaction."""
    row = (*whose, total.questions, cost_text(total))
    connection.execute("REPLACE INTO totals VALUES (?, ?, ?, ?)", row)


def cost_text(total: Total) -> str:
    """A total's cost as it stands in its row."""
    return to_json(total.cost)


@dataclass(frozen=True)
class Question:
    """Which line charged each account for it, and the answer that was kept."""

    charged: Mapping[str, int]
    answer: Answer | None

    @property
    def first(self) -> int:
        """The line that charged its tables."""
        return min(self.charged.values())


def question(connection: apsw.Connection, key: str) -> Question | None:
    """What is known of a question, or None where nobody was charged for it."""
    query = "SELECT account, number FROM charged WHERE key = ?"
    charged = dict(connection.execute(query, (bytes.fromhex(key),)))
    if not charged:
        return None
    query = "SELECT digest, packed FROM answers WHERE charged = ?"
    return Question(charged, connection.execute(query, (min(charged.values()),)).fetchone())


def line(connection: apsw.Connection, number: int) -> tuple[str, bytes]:
    """A line of the journal, and its seal."""
    found = connection.execute("SELECT line, seal FROM journal WHERE number = ?", (number,)).fetchone()
    return cast(tuple[str, bytes], found)


def entries(connection: apsw.Connection, account: str, limit: int, about: str = "") -> list[Logged]:
    """The charges of an account, or of all, newest first; a negative limit is none. `about` may be in their lines."""
    query = """
        SELECT asked.number, asked.seal, asked.line, answer.line FROM charged
        JOIN journal AS asked ON asked.number = charged.number
        LEFT JOIN answers ON answers.charged = (SELECT min(number) FROM charged AS c WHERE c.key = charged.key)
        LEFT JOIN journal AS answer ON answer.number = kept
        WHERE (?1 = '' OR account = ?1) AND (?3 = '' OR instr(asked.line, ?3))
        ORDER BY asked.number DESC LIMIT ?2
    """
    return [
        Logged(number, seal.hex(), cast(Charged, read(charged)), cast(Kept, read(kept)) if kept else None)
        for number, seal, charged, kept in connection.execute(query, (account, limit, about))
    ]


def named(connection: apsw.Connection, about: str, after: int) -> list[Logged]:
    """The charges behind a line that call themselves so, oldest first; what was kept for them is left out."""
    query = """
        SELECT journal.number, seal, line FROM charged JOIN journal ON journal.number = charged.number
        WHERE journal.number > ?1 AND instr(line, ?2) > 0 ORDER BY journal.number
    """
    found = connection.execute(query, (after, f'"about":"{about}'))
    read_lines = [(number, seal.hex(), cast(Charged, read(text))) for number, seal, text in found]
    return [
        Logged(number, seal, line, None) for number, seal, line in read_lines if line.about.startswith(about)
    ]


def logged(path: Path) -> bool:
    """Whether a write-ahead log stands beside the file, and may hold more than it."""
    log = path.with_name(path.name + "-wal")
    return log.exists() and log.stat().st_size > 0


def file_digest(path: Path) -> bytes:
    """The SHA-256 of the whole file, or nothing where its log may hold more.

    It is opened through SQLite: to open and close it otherwise would drop the locks that this process has on it.
    """
    if logged(path):
        return b""
    file = apsw.VFSFile("", str(path), [apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READONLY, 0])
    try:
        size, digest = file.xFileSize(), sha256()
        for start in range(0, size, CHUNK):
            digest.update(file.xRead(min(CHUNK, size - start), start))
        return digest.digest()
    finally:
        file.xClose()
