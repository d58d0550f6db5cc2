"""The Gaussian mechanism, on the whole numbers.  [CKS20]"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, sqrt
from statistics import NormalDist

from obverse.errors import BadParameter
from obverse.loss.loss import Sensitivity
from obverse.mechanisms.base import Mechanism
from obverse.noise.entropy import Entropy
from obverse.noise.exact import discrete_gaussian


@dataclass(frozen=True)
class Gaussian(Mechanism[int, int]):
    """Adds x with probability proportional to exp(−x²/(2·variance)): ρ-zCDP with ρ = Δ²/(2·variance)."""

    variance: Fraction

    def __post_init__(self) -> None:
        if self.variance <= 0:
            raise BadParameter(f"a Gaussian variance is above 0, not {self.variance}")

    def draw(self, value: int, entropy: Entropy) -> int:
        return value + discrete_gaussian(self.variance, entropy)

    def rho(self, sensitivity: Sensitivity) -> Fraction:
        """[CKS20, Theorem 4], for several numbers by their L2 distance."""
        return sensitivity.l2_squared / (2 * self.variance)

    def profile(self, epsilon: float, sensitivity: Sensitivity) -> float:
        raise NotImplementedError

    def interval(self, confidence: float) -> int:
        """h with P(|x| ≤ h) ≥ confidence: the discrete tail is below the continuous one.  [CKS20, Proposition 25]"""
        return ceil(sqrt(self.variance) * NormalDist().inv_cdf((1 + confidence) / 2))
