"""The exponential mechanism.  [MT07]"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import exp, expm1, log

from obverse.loss.loss import Sensitivity
from obverse.loss.number import positive
from obverse.mechanisms.base import Mechanism
from obverse.mechanisms.lazily import Whole, candidates, choose, gaps_below_best
from obverse.mechanisms.score import Score, apart
from obverse.noise.entropy import Entropy


@dataclass(frozen=True)
class Exponential(Mechanism[Sequence[int] | Whole, int]):
    """The place of a high score, with probability proportional to exp(rate·score).

    The factor 2 of [MT07] is in the rate: ε/(2Δ), or ε/Δ where one person moves all scores the same way.

    >>> from obverse.noise.entropy import Keyed
    >>> Exponential.at(Fraction(1), Score.count("add-remove")).release([3, 90, 7], Keyed("example"))
    1
    """

    rate: Fraction
    one_way: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "rate", positive(self.rate, "a rate"))

    @classmethod
    def at(cls, epsilon: Fraction, score: Score) -> Exponential:
        """The one that costs ε for such scores."""
        return cls(score.rate(epsilon), score.one_way)

    def draw(self, value: Sequence[int] | Whole, entropy: Entropy) -> int:
        return choose(gaps_below_best(candidates(value)), self.rate, entropy)

    def pure(self, sensitivity: Sensitivity) -> Fraction:
        """[MT07, Theorem 6]; the range of the scores' changes is what counts [DDR20, Section 3]."""
        return self.rate * apart(sensitivity, self.one_way)

    def rho(self, sensitivity: Sensitivity) -> Fraction:
        """ε²/8: the loss has range ε.  [CR21, Lemma 3.4]"""
        return self.pure(sensitivity) ** 2 / 8

    def profile(self, epsilon: float, sensitivity: Sensitivity) -> float:
        return bounded_range_profile(float(self.pure(sensitivity)), epsilon)

    def interval(self, confidence: float, candidates: int) -> float:
        """How far below the best score the chosen one is, at most, in this share of runs.  [DR14, Theorem 3.11]"""
        return log(candidates / (1 - confidence)) / float(self.rate)


def bounded_range_profile(width: float, epsilon: float) -> float:
    """δ(ε) where the loss stays in some [t − width, t], whatever t: (e^(width/2) − e^(ε/2))²/(e^width − 1).

    The worst loss takes the values t and t − width, as randomised response does between two unequal coins
    [DDR20, Lemma 3.2]; its δ is (e^width − e^t)(1 − e^(ε−t))/(e^width − 1), largest where t = (width + ε)/2.
    """
    if epsilon >= width:
        return 0.0
    if epsilon <= -width:
        return -expm1(epsilon)
    return (
        exp(-width) * exp(epsilon) * expm1((width - epsilon) / 2) ** 2 / -expm1(-width)
        if width < 700
        else 1.0
    )
