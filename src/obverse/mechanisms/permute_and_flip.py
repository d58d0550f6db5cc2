"""Permute-and-flip: the best candidate, nearly; never worse than the exponential mechanism.  [MS20]

It is report-noisy-max with exponential noise [DKSSWXZ21, Theorem 5], hence its privacy: the winner's noise needs to
rise by no more than two scores can move apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import log

from obverse.loss.curves import pure_profile
from obverse.loss.loss import Sensitivity
from obverse.loss.number import positive
from obverse.mechanisms.base import Mechanism
from obverse.mechanisms.lazily import Whole, a_head, candidates, gaps_below_best
from obverse.mechanisms.score import Score, apart
from obverse.noise.entropy import Entropy


@dataclass(frozen=True)
class PermuteAndFlip(Mechanism[Sequence[int] | Whole, int]):
    """The place of a high score: in random order, the first whose coin of chance exp(−rate·gap) falls on heads.

    The coins do not depend on the order, so all are thrown and one of the heads is taken, each as likely.

    >>> from obverse.noise.entropy import Keyed
    >>> PermuteAndFlip.at(Fraction(1), Score.count("add-remove")).release([3, 90, 7], Keyed("example"))
    1
    """

    rate: Fraction
    one_way: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "rate", positive(self.rate, "a rate"))

    @classmethod
    def at(cls, epsilon: Fraction, score: Score) -> PermuteAndFlip:
        """The one that costs ε for such scores."""
        return cls(score.rate(epsilon), score.one_way)

    def draw(self, value: Sequence[int] | Whole, entropy: Entropy) -> int:
        return a_head(gaps_below_best(candidates(value)), self.rate, entropy)

    def pure(self, sensitivity: Sensitivity) -> Fraction:
        """[MS20, Theorem 1]; without the factor 2 where scores move one way [MS20, Section 3]."""
        return self.rate * apart(sensitivity, self.one_way)

    def profile(self, epsilon: float, sensitivity: Sensitivity) -> float:
        return pure_profile(float(self.pure(sensitivity)), epsilon)

    def interval(self, confidence: float, candidates: int) -> float:
        """How far below the best score the chosen one is, at most, in this share of runs: (ln n − ln α)/rate."""
        return log(candidates / (1 - confidence)) / float(self.rate)
