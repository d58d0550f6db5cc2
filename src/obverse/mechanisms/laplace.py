"""The Laplace mechanism, on the whole numbers.  [DMNS06; GRS12]"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, exp, log, log1p

from obverse.errors import BadParameter
from obverse.loss.loss import Sensitivity, pure_profile
from obverse.mechanisms.base import Mechanism
from obverse.noise.entropy import Entropy
from obverse.noise.exact import discrete_laplace


@dataclass(frozen=True)
class Laplace(Mechanism[int, int]):
    """Adds x with probability proportional to exp(−|x|/scale): pure, with ε = sensitivity/scale."""

    scale: Fraction

    def __post_init__(self) -> None:
        if self.scale <= 0:
            raise BadParameter(f"a Laplace scale is above 0, not {self.scale}")

    def draw(self, value: int, entropy: Entropy) -> int:
        return value + discrete_laplace(self.scale, entropy)

    def pure(self, sensitivity: Sensitivity) -> Fraction:
        """[DR14, Theorem 3.6], on the whole numbers [GRS12]; for several numbers by their L1 distance."""
        return sensitivity.l1 / self.scale

    def profile(self, epsilon: float, sensitivity: Sensitivity) -> float:
        return pure_profile(float(self.pure(sensitivity)), epsilon)

    def interval(self, confidence: float) -> int:
        """The least h with P(|x| ≤ h) ≥ confidence: P(|x| > h) = 2·q^(h+1)/(1 + q), q = exp(−1/scale)."""
        scale = float(self.scale)
        tail = log((1 - confidence) / 2) + log1p(exp(-1 / scale))
        return max(0, ceil(-scale * tail) - 1)
