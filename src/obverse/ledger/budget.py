"""What was spent and what is left, for people to read; the ledger itself decides by its filters."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from obverse.data.schema import Neighbours
from obverse.ledger.store import Total
from obverse.loss.filters import GRAIN, Filter, Notion

NAMES: dict[Notion, str] = {
    "pure": "pure ε, added up",
    "zcdp": "zero-concentrated (ρ)",
    "renyi": "Rényi at fixed orders",
}


@dataclass(frozen=True)
class Balance:
    """One budget: what it allows, and what was charged to it. `limits` is None where it has none of its own."""

    limits: Filter | None
    charged: Total
    most_questions: int | None = None

    @property
    def left(self) -> Fraction | None:
        """The largest pure ε that one more question may cost."""
        return None if self.limits is None else self.limits.remaining(self.charged.amounts)

    @property
    def spent(self) -> Fraction | None:
        """The pure ε of all that was charged, added up; None where something charged has no pure ε."""
        size = self.charged.amounts.pure.size
        return None if size is None or self.charged.amounts.pure.delta else Fraction(size, GRAIN)

    @property
    def questions_left(self) -> int | None:
        """How many more questions may be asked, whatever they cost."""
        if self.most_questions is None:
            return None
        return max(0, self.most_questions - self.charged.questions)


@dataclass(frozen=True)
class Share:
    """A table's budget: what all accounts spent, what this one did, and between which tables the promise holds."""

    table: str
    all: Balance
    mine: Total
    neighbours: Neighbours


@dataclass(frozen=True)
class Budget:
    """An account's side of the ledger."""

    account: str
    own: Balance
    tables: tuple[Share, ...]

    def __str__(self) -> str:
        lines = [f"account {self.account}: {_balance(self.own)}"]
        lines += [f"table {share.table}, all accounts: {_balance(share.all)}" for share in self.tables]
        return "\n".join(lines)


def _balance(balance: Balance) -> str:
    number = balance.charged.questions
    asked = f"{number} {'question' if number == 1 else 'questions'}"
    if balance.most_questions is not None:
        asked += f" of at most {balance.most_questions}"
    if balance.limits is None or balance.left is None:
        return f"as far as its tables' limits go; {asked}"
    return f"ε = {float(balance.left):.6g} left of {float(balance.limits.epsilon):.6g}; {asked}"
