"""An ε from one single run: many records each in or out by its own coin, and how many coins are guessed right.

If the mechanism is (ε, δ)-private, the number of right guesses of r is below a Binomial(r, e^ε/(1 + e^ε)), but for
δ.  [SNJ23, Theorem 5.2]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import exp, lgamma, log, log1p
from typing import Any

from obverse.audit.finding import Finding
from obverse.audit.witness import DOUBT
from obverse.noise.entropy import Entropy


@dataclass(frozen=True)
class Guesses:
    """So many right guesses of so many made, about so many records."""

    right: int
    made: int
    records: int

    def epsilon(self, delta: float = 0.0, doubt: float = DOUBT) -> float:
        """The largest ε under which as many right guesses would be rarer than `doubt`."""
        low, high = 0.0, 20.0
        if self._chance(low, delta) > doubt:
            return 0.0
        for _ in range(50):
            middle = (low + high) / 2
            low, high = (middle, high) if self._chance(middle, delta) <= doubt else (low, middle)
        return low

    def _chance(self, epsilon: float, delta: float) -> float:
        """P(at least so many right), at most: β + 2·m·δ·max_i P(right − i ≤ W < right)/i.  [SNJ23, Theorem 5.2]"""
        odds = exp(epsilon)
        p = odds / (1 + odds)
        masses = [_mass(self.made, k, p) for k in range(self.made + 1)]
        tail = sum(masses[self.right :])
        worst, between = 0.0, 0.0
        for i in range(1, self.right + 1):
            between += masses[self.right - i]
            worst = max(worst, between / i)
        return min(1.0, tail + 2 * self.records * delta * worst)


def _mass(n: int, k: int, p: float) -> float:
    return exp(lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) + k * log(p) + (n - k) * log1p(-p))


def one_run(
    name: str,
    run: Callable[[list[Any]], Any],
    records: Sequence[Any],
    score: Callable[[Any, Any], float],
    epsilon: float,
    delta: float,
    entropy: Entropy,
    *,
    guesses: int | None = None,
) -> Finding:
    """One run on a random half of the records, and a guess for those whose scores are furthest out.

    `score(output, record)` is higher where a record seems to be in.
    """
    coins = [bool(entropy.bits(1)) for _ in records]
    output = run([record for record, inside in zip(records, coins, strict=True) if inside])
    ranked = sorted(range(len(records)), key=lambda i: score(output, records[i]))
    each = min((guesses or len(records) // 4) // 2, len(records) // 2)
    right = sum(not coins[i] for i in ranked[:each]) + sum(coins[i] for i in ranked[len(ranked) - each :])
    seen = Guesses(right, 2 * each, len(records)).epsilon(delta)
    return Finding("one run", name, seen > epsilon, seen, epsilon, f"{right} of {2 * each} guesses right")
