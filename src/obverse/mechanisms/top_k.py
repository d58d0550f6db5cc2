"""The best k candidates, one after the other: each choice is permute-and-flip among those left.  [MS20; DR19]"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import log

import numpy as np

from obverse.errors import BadParameter
from obverse.loss.loss import Sensitivity
from obverse.loss.number import positive
from obverse.mechanisms.base import Mechanism
from obverse.mechanisms.composed import composed_profile
from obverse.mechanisms.lazily import Whole, a_head, candidates, gaps_below_best
from obverse.mechanisms.score import Score, apart
from obverse.noise.entropy import Entropy


@dataclass(frozen=True)
class TopK(Mechanism[Sequence[int] | Whole, tuple[int, ...]]):
    """The places of `count` high scores, best first; costs `count` times one choice.

    >>> from obverse.noise.entropy import Keyed
    >>> TopK.at(Fraction(2), Score.count("add-remove"), 2).release([3, 90, 7, 95], Keyed("example"))
    (3, 1)
    """

    rate: Fraction
    count: int
    one_way: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "rate", positive(self.rate, "a rate"))
        if self.count < 1:
            raise BadParameter(f"the best 1 or more, not {self.count}")

    @classmethod
    def at(cls, epsilon: Fraction, score: Score, count: int) -> TopK:
        """The one that costs ε in all for such scores."""
        return cls(score.rate(epsilon) / count, count, score.one_way)

    def draw(self, value: Sequence[int] | Whole, entropy: Entropy) -> tuple[int, ...]:
        left = candidates(value)
        if left.size < self.count:
            raise BadParameter(f"{self.count} cannot be chosen from {left.size} candidates")
        places, chosen = np.arange(left.size), []
        for _ in range(self.count):
            at = a_head(gaps_below_best(left), self.rate, entropy)
            chosen.append(int(places[at]))
            left, places = np.delete(left, at), np.delete(places, at)
        return tuple(chosen)

    def pure(self, sensitivity: Sensitivity) -> Fraction:
        """`count` choices, each [MS20, Theorem 1]."""
        return self.count * self.rate * apart(sensitivity, self.one_way)

    def rho(self, sensitivity: Sensitivity) -> Fraction:
        """`count` choices of ε₀²/2 each.  [BS16, Proposition 1.4 and Lemma 1.7]"""
        return self.pure(sensitivity) ** 2 / (2 * self.count)

    def profile(self, epsilon: float, sensitivity: Sensitivity) -> float:
        """[KOV15, Theorem 3.3]"""
        return composed_profile(float(self.pure(sensitivity)) / self.count, 0.0, self.count, epsilon)

    def interval(self, confidence: float, candidates: int) -> float:
        """How far below the best that was left any of them is, at most, in this share of runs."""
        return log(candidates * self.count / (1 - confidence)) / float(self.rate)
