"""Report-noisy-max: Laplace noise on every score, and the place of the largest.  [DR14, Claim 3.9]

On whole numbers the noise is discrete and sums can tie. The first of equals wins, whatever the data: the winner's
noise then needs to reach some whole number, which moves by no more than two scores can move apart, and a discrete
Laplace reaches t + a at least exp(−a/scale) times as often as t. So the claim holds as it stands.
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
from obverse.mechanisms.lazily import Whole, candidates
from obverse.mechanisms.score import Score, apart
from obverse.noise.draws import laplaces
from obverse.noise.entropy import Entropy


@dataclass(frozen=True)
class NoisyMax(Mechanism[Sequence[int] | Whole, int]):
    """The place of the largest score after discrete Laplace noise of this scale; permute-and-flip is better.

    >>> from obverse.noise.entropy import Keyed
    >>> NoisyMax.at(Fraction(1), Score.count("add-remove")).release([3, 90, 7], Keyed("example"))
    1
    """

    scale: Fraction
    one_way: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive(self.scale, "a Laplace scale"))

    @classmethod
    def at(cls, epsilon: Fraction, score: Score) -> NoisyMax:
        """The one that costs ε for such scores."""
        return cls(1 / score.rate(epsilon), score.one_way)

    def draw(self, value: Sequence[int] | Whole, entropy: Entropy) -> int:
        scores = candidates(value).tolist()
        noise = laplaces(self.scale, len(scores), entropy)
        noisy = [score + drawn for score, drawn in zip(scores, noise, strict=True)]
        return noisy.index(max(noisy))

    def pure(self, sensitivity: Sensitivity) -> Fraction:
        """[DR14, Claim 3.9], whose scores move one way; twice that where they need not."""
        return apart(sensitivity, self.one_way) / self.scale

    def profile(self, epsilon: float, sensitivity: Sensitivity) -> float:
        return pure_profile(float(self.pure(sensitivity)), epsilon)

    def interval(self, confidence: float, candidates: int) -> float:
        """How far below the best score the chosen one is, at most, in this share of runs: 2·scale·ln(n/α)."""
        return 2 * float(self.scale) * log(candidates / (1 - confidence))
