"""An analyst's side of the door: ask, preview, what is left."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from obverse.curator.preview import Preview
from obverse.query.answer import Answered
from obverse.query.create import request

if TYPE_CHECKING:
    from obverse.curator.curator import Curator
    from obverse.ledger.budget import Budget


@dataclass(frozen=True)
class Account:
    """One analyst, through whose budget every question goes."""

    curator: Curator
    name: str

    def ask(self, sql: str) -> Answered:
        """The private answer to a question in SQL."""
        return self.curator.ask(sql, self.name)

    def preview(self, sql: str) -> Preview:
        """What a question would cost and its ±; reads nothing and charges nothing."""
        return self.curator.preview(request(sql), self.name)

    def explain(self, sql: str) -> str:
        """What a question would read, its noise, cost and ±; reads nothing and charges nothing."""
        return self.curator.explain(sql, self.name)

    def tell(self, sql: str) -> str | None:
        """What EXPLAIN, DESCRIBE or SHOW tells, for nothing; None of a question."""
        return self.curator.tell(sql, self.name)

    def budget(self) -> Budget:
        """What was spent, and what is left."""
        return self.curator.budget(self.name)
