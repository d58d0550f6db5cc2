"""The Gaussian mechanism, on the whole numbers.  [CKS20]"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING

from obverse.loss.curves import gaussian_profile_many
from obverse.loss.loss import Sensitivity
from obverse.loss.number import chance, positive
from obverse.mechanisms.base import Mechanism
from obverse.noise.draws import add_gaussian, gaussians
from obverse.noise.entropy import Entropy

if TYPE_CHECKING:
    from obverse.loss.moments import Moments


@dataclass(frozen=True)
class Gaussian(Mechanism[int, int]):
    """Adds x with probability proportional to exp(−x²/(2·variance)): ρ-zCDP with ρ = Δ²/(2·variance).

    >>> Gaussian(Fraction(100)).loss(Sensitivity.of(1)).epsilon(1e-6) < 0.46
    True
    """

    variance: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "variance", positive(self.variance, "a Gaussian variance"))

    def draw(self, value: int, entropy: Entropy) -> int:
        return add_gaussian(value, self.variance, entropy)

    def draw_many(self, values: Sequence[int], entropy: Entropy) -> list[int]:
        noise = gaussians(self.variance, len(values), entropy)
        return [int(value) + drawn for value, drawn in zip(values, noise, strict=True)]

    def rho(self, sensitivity: Sensitivity) -> Fraction:
        """[CKS20, Theorem 4], for several numbers by their L2 distance."""
        return sensitivity.l2_squared / (2 * self.variance)

    def profile(self, epsilon: float, sensitivity: Sensitivity) -> float:
        """Tight for one number, by [CKS20, Theorem 7]; a bound for several (loss/curves)."""
        return gaussian_profile_many(self.variance, sensitivity.l1, sensitivity.l2_squared, epsilon)

    def moments(self, sensitivity: Sensitivity) -> Moments | None:
        from obverse.loss.moments import GaussianShift

        shift = floor(sensitivity.l1)
        if sensitivity.l2_squared != shift * shift:
            return None
        return GaussianShift(float(self.variance), shift)

    def interval_of_sum(self, confidence: float, parts: int) -> int:
        """The same of the sum of so many draws, whose variances add up; no tail of one is above the normal's."""
        return Gaussian(parts * self.variance).interval(confidence)

    def interval(self, confidence: float) -> int:
        """h with P(|x| ≤ h) ≥ confidence: the discrete tail is below the continuous one.  [CKS20, Proposition 25]"""
        inside = float(chance(confidence, "a confidence"))
        if inside == 1:
            return self.interval(1 - 2.0**-53)
        return ceil(sqrt(self.variance) * NormalDist().inv_cdf((1 + inside) / 2))
