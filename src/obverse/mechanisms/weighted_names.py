"""Which groups may be named where one person may be in many: weights that share a person out, in rounds.

A person in n groups adds 1/√n to each, so that all they add has length 1 however many there are; groups whose sum
with Gaussian noise is above a threshold are named [GGK+20]. What is named is left out of the next round, so
that people's weights go to the groups that are not yet; it is done again with less noise [SDH23].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil, erfc, expm1, log1p, sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from obverse.errors import BadParameter
from obverse.loss.loss import Sensitivity
from obverse.loss.number import positive
from obverse.mechanisms.base import Mechanism
from obverse.mechanisms.composed import concentrated_profile
from obverse.mechanisms.lazily import Whole, whole
from obverse.mechanisms.partition import small
from obverse.noise.draws import gaussians
from obverse.noise.entropy import Entropy

FIRST_AND_SECOND = (Fraction(1, 5), Fraction(4, 5))  # of ρ and δ: what stands out is named for little
Round = tuple[int, Sequence[int] | Whole]


@dataclass(frozen=True)
class WeightedNames(Mechanism[Round, NDArray[np.bool_]]):
    """For each group whether it is named in a round, from the sum of its people's weights, each ⌊unit/√n⌋.

    n is in how many groups a person counts, `most` at most; those named in earlier rounds are left out. Only groups of
    somebody are given in. What is charged is for all rounds.

    >>> names = WeightedNames.at(Fraction(1, 50), Fraction(1, 10**6), Sensitivity.of(1000), most=20, rounds=2)
    >>> names.thresholds
    (62985, 30240)
    """

    variances: tuple[Fraction, ...]
    thresholds: tuple[int, ...]
    most: int
    unit: int

    def __post_init__(self) -> None:
        variances = tuple(positive(variance, "a Gaussian variance") for variance in self.variances)
        object.__setattr__(self, "variances", variances)
        if not variances or len(variances) != len(self.thresholds):
            raise BadParameter("each round has a variance and a threshold")
        if self.unit < 1 or self.most < 1 or min(self.thresholds) <= self.unit:
            raise BadParameter("a threshold is above the weight of one person, who is in one group at least")

    @classmethod
    def at(
        cls, rho: Fraction, delta: Fraction, sensitivity: Sensitivity, *, most: int, rounds: int
    ) -> WeightedNames:
        """The one that costs ρ for the sums, and δ for naming a group of one person in any round; one round or two."""
        shares = FIRST_AND_SECOND if rounds == 2 else (Fraction(1),)
        variances = tuple(sensitivity.l2_squared / (2 * positive(rho, "ρ") * share) for share in shares)
        allowed, unit = float(small(delta)), int(sensitivity.most)
        thresholds = tuple(
            _threshold(variance, allowed * float(share), most, unit)
            for variance, share in zip(variances, shares, strict=True)
        )
        return cls(variances, thresholds, most, unit)

    @property
    def rounds(self) -> range:
        return range(len(self.variances))

    def draw(self, value: Round, entropy: Entropy) -> NDArray[np.bool_]:
        at, weights = value[0], whole(value[1])
        noise = np.array(gaussians(self.variances[at], weights.size, entropy), np.int64)
        named: NDArray[np.bool_] = (weights + noise >= self.thresholds[at]) & (weights > 0)
        return named

    def profile(self, epsilon: float, sensitivity: Sensitivity) -> float:
        """Either a group of one person is named, with chance d, or δ(ε) is that of the noisy sums of the others.

        With P(S) ≤ d + (1 − d)·P′(S) and Q(S) ≥ (1 − d)·Q′(S), where P′ and Q′ are without it, δ(ε) is at most
        d + (1 − d)·δ′(ε). The sums of the others are Gaussian, whatever was named before
        [BS16, Lemma 2.3; CKS20, Theorem 4].
        """
        pairs = zip(self.variances, self.thresholds, strict=True)
        named = -expm1(
            sum(log1p(-alone(variance, threshold, self.most, self.unit)) for variance, threshold in pairs)
        )
        rho = sum(sensitivity.l2_squared / (2 * variance) for variance in self.variances)
        return named + (1 - named) * concentrated_profile(float(rho), epsilon)

    def interval(self, confidence: float) -> int:
        """How many people a group needs to be named in this share of runs, if all else they are in was named before."""
        high = sqrt(self.variances[-1]) * NormalDist().inv_cdf(confidence)
        return ceil((self.thresholds[-1] + high) / self.unit)


def alone(variance: Fraction, threshold: int, most: int, unit: int) -> float:
    """How likely one of the groups that only one person is in is named, at most, in however many that person is.

    Of n groups each has a weight of 1/√n at most: 1 − (1 − P(1/√n + x ≥ threshold))ⁿ [GGK+20], for blocks
    of n at the most weight and the most groups of each; the tail of x is below the continuous one, a step further in
    [CKS20, Proposition 25].
    """
    spread = sqrt(2 * variance)
    largest, least = 0.0, 1
    while least <= most:
        last = min(most, max(least, least * 9 // 8))
        one = erfc((threshold - unit / sqrt(least) - 1) / spread) / 2 * (1 + 1e-9)
        largest = max(largest, -expm1(last * log1p(-one)))
        least = last + 1
    return largest


@lru_cache(maxsize=256)
def _threshold(variance: Fraction, delta: float, most: int, unit: int) -> int:
    """The least threshold, to a 64th of a person, that names a group of one person with chance δ at most."""
    step = max(1, unit // 64)
    low = unit // step
    high = low + 1
    while alone(variance, high * step, most, unit) > delta:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if alone(variance, middle * step, most, unit) > delta else (low, middle)
    return high * step
