"""Ask: a question in SQL, taken through the passes in order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from obverse.data.schema import Schema
from obverse.query.bound import bound
from obverse.query.choose import choose
from obverse.query.parse import parse
from obverse.query.plan import AskPlan
from obverse.query.resolve import resolve
from obverse.release import Terms


@dataclass(frozen=True)
class Ask:
    """A question in SQL: `DP-SELECT 0.5 COUNT(*) FROM people`, or a plain SELECT at the account's default ε."""

    sql: str

    def __str__(self) -> str:
        return self.sql

    def plan(self, schemas: Mapping[str, Schema], terms: Terms) -> AskPlan:
        parsed = parse(self.sql)
        question = resolve(parsed.select, schemas)
        hidden = terms.smallest_group if question.keys else None
        bounded = bound(question, count_rows=hidden is not None)
        options = parsed.options
        noisy = choose(
            question.relation.rows,
            bounded.measures,
            bool(question.keys),
            terms.epsilon if options.epsilon is None else options.epsilon,
            terms.delta if options.delta is None else options.delta,
        )
        confidence = Fraction(terms.confidence) if options.confidence is None else options.confidence
        return AskPlan(parsed.text, question, noisy, bounded.recipes, confidence, hidden, options.nonnegative)
