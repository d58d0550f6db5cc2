"""Keep each row by chance, and show only classes of which enough rows were kept: k-anonymity with an ε.  [LQS12]

The classes must not depend on the rows: they are steps of public ladders.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil, exp, expm1, floor, lgamma, log, log1p

from obverse.errors import BadParameter
from obverse.loss.loss import Sensitivity
from obverse.mechanisms.base import Mechanism
from obverse.noise.entropy import Entropy
from obverse.noise.exact import bernoulli


@dataclass(frozen=True)
class SampledClasses(Mechanism[tuple[int, ...], tuple[int, ...]]):
    """Rows' classes, each row kept with probability `share`; classes with fewer than `least` kept rows vanish.

    (ε, δ) at `epsilon`, which is at least −ln(1 − share), with the δ of the theorem.
    """

    share: Fraction
    least: int
    epsilon: Fraction

    def __post_init__(self) -> None:
        if not 0 < self.share < 1 or self.least < 1:
            raise BadParameter("the share of rows kept is between 0 and 1, the least class at least 1")
        if float(self.epsilon) < -log1p(-float(self.share)):
            raise BadParameter(
                f"keeping {float(self.share):g} of the rows needs ε ≥ {-log1p(-float(self.share)):g}"
            )

    def draw(self, value: tuple[int, ...], entropy: Entropy) -> tuple[int, ...]:
        kept = Counter(number for number in value if bernoulli(self.share, entropy))
        return tuple(sorted(number for number in kept.elements() if kept[number] >= self.least))

    def estimate(self, kept: int) -> Fraction:
        """How many rows a class of this many shown rows stands for."""
        return kept / self.share

    def profile(self, epsilon: float, sensitivity: Sensitivity) -> float:
        """Of the worst (ε₀, δ₀)-private mechanism [KOV15, Theorem 3.1], for a group of rows [DR14, Theorem 2.2]."""
        rows = ceil(sensitivity.l1)
        one, delta = float(self.epsilon), spill(self.least, self.share, float(self.epsilon))
        most = rows * one
        delta = min(1.0, delta * expm1(most) / expm1(one))
        if epsilon >= most:
            return delta
        if epsilon <= -most:
            return 1 - exp(epsilon) * (1 - delta)
        return delta + (1 - delta) * (exp(most) - exp(epsilon)) / (1 + exp(most))


@lru_cache(maxsize=256)
def spill(least: int, share: Fraction, epsilon: float) -> float:
    """δ: the most, over n ≥ ⌈k/γ − 1⌉, of the chance that more than γ·n of n rows are kept.  [LQS12, Theorem 5]

    γ = (exp(ε) − 1 + β)/exp(ε) is above β, so the chance falls below exp(−n·D(γ‖β)), where the search may end.
    """
    chance = float(share)
    gamma = (expm1(epsilon) + chance) / exp(epsilon)
    away = gamma * log(gamma / chance) + (1 - gamma) * log((1 - gamma) / (1 - chance))
    n = max(1, ceil(least / gamma - 1))
    most = 0.0
    while exp(-n * away) > most:
        most = max(most, _tail(n, floor(gamma * n) + 1, chance))
        n += 1
    return min(1.0, most * (1 + 1e-9))


def _tail(n: int, first: int, chance: float) -> float:
    """P(X ≥ first) for X binomial."""
    if first > n:
        return 0.0
    logs = [
        lgamma(n + 1) - lgamma(j + 1) - lgamma(n - j + 1) + j * log(chance) + (n - j) * log1p(-chance)
        for j in range(first, n + 1)
    ]
    return sum(exp(x) for x in logs)
