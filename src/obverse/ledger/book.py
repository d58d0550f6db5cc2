"""The ledger inside one transaction: decides charges, writes lines, and knows the totals.

Totals are remembered from one transaction to the next for as long as nobody else has written.
"""

from __future__ import annotations

from dataclasses import dataclass

import apsw

from obverse.errors import BadParameter, Broken, OverBudget
from obverse.ledger.anchor import Head
from obverse.ledger.journal import Charged, Kept, seal, terms, write
from obverse.ledger.policy import Policy, over
from obverse.ledger.store import ALL, Answer, Total, Whose, head, question, reaches, read_total, write_total
from obverse.ledger.store import line as journal_line
from obverse.loss.filters import Filter


@dataclass(frozen=True)
class Entry:
    """Where the journal holds a charge; and the answer that was kept for it: its digest, and its bytes if small."""

    head: Head
    again: bool
    answer: Answer | None


class Book:
    """One connection's view. `charge` and `keep` are called between `begin` and `commit` or `abandon`."""

    def __init__(self, connection: apsw.Connection, policy: Policy) -> None:
        self.head = head(connection)
        self.grown = False
        self._connection = connection
        self._policy = policy
        self._totals: dict[Whose, Total] = {}
        self._changed: set[Whose] = set()

    def begin(self) -> None:
        """Take the write lock, and look whether somebody else has written."""
        self._connection.execute("BEGIN IMMEDIATE")
        now = head(self._connection)
        if now != self.head:
            if not reaches(self._connection, self.head):
                raise Broken("the journal lost lines that it had: an older copy was put back")
            self._totals.clear()
            self.head = now

    def charge(self, line: Charged, text: str) -> Entry:
        """Write the charge down as `text`, or find it; OverBudget where a limit would be passed.

        Who asked before gets the same line, free. Another account's question is charged to this account, not again
        to the tables: it will get the same answer, which tells the two of them no more than it told the first.
        """
        run, found = self._connection.execute, question(self._connection, line.key)
        if found is not None:
            if terms(journal_line(self._connection, found.first)[0]) != terms(text):
                raise BadParameter(
                    "the same key was charged before for other tables or with another guarantee"
                )
            if (before := found.charged.get(line.account)) is not None:
                return Entry(Head(before, journal_line(self._connection, before)[1]), True, found.answer)
        tables = dict.fromkeys(line.tables)
        whose = [(line.account, ALL), *((line.account, table) for table in tables)]
        if found is None:
            whose += [(ALL, table) for table in tables]
        new = {each: self._total(each).plus(line.cost) for each in whose}
        for each, total in new.items():
            self._admit(each, total, line.cost[0])
        number = self._write(text)
        run("INSERT INTO charged VALUES (?, ?, ?)", (bytes.fromhex(line.key), line.account, number))
        self._totals.update(new)
        self._changed.update(new)
        return Entry(self.head, False, None if found is None else found.answer)

    def keep(self, line: Kept, packed: bytes | None) -> Answer:
        """Keep an answer, whose bytes are given unless they lie in a file; gives back the one that was kept first."""
        found = question(self._connection, line.key)
        if found is None:
            raise BadParameter("an answer can be kept only for what was charged")
        if found.answer is not None:
            return found.answer
        row = (found.first, self._write(write(line)), line.digest, packed)
        self._connection.execute("INSERT INTO answers VALUES (?, ?, ?, ?)", row)
        return line.digest, packed

    def commit(self) -> None:
        """Make all of it durable, or raise."""
        for each in self._changed:
            write_total(self._connection, each, self._totals[each])
        self._connection.execute("COMMIT")
        self._changed.clear()
        self.grown = False

    def abandon(self) -> None:
        """Forget what was not committed."""
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")
        self._totals.clear()
        self._changed.clear()
        self.grown = False
        self.head = head(self._connection)

    def _admit(self, whose: Whose, total: Total, cost: int | None) -> None:
        """Pass, or OverBudget: an account has a limit on all tables, a table on all accounts."""
        name, table = whose
        limit: Filter | None = None
        if name == ALL:
            who, limit = f"table {table}", self._policy.table(table)
        elif table == ALL:
            account = self._policy.account(name)
            who, limit = f"account {name}", account.limits
            if account.questions is not None and total.questions > account.questions:
                raise OverBudget(f"{who} has asked all of its {account.questions} questions")
        if limit is not None and not limit.holds(total.amounts):
            raise OverBudget(f"{who} {over(limit, self._totals[whose].amounts, cost)}")

    def _write(self, text: str) -> int:
        number, sealed = self.head.number + 1, seal(self.head.seal, text)
        self._connection.execute("INSERT INTO journal VALUES (?, ?, ?)", (number, text, sealed))
        self.head = Head(number, sealed)
        self.grown = True
        return number

    def _total(self, whose: Whose) -> Total:
        if whose not in self._totals:
            self._totals[whose] = read_total(self._connection, whose)
        return self._totals[whose]
