"""The Laplace mechanism, on the whole numbers.  [DMNS06; GRS12]"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, exp, floor, log, log1p, sinh, sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING

from obverse.loss.curves import laplace_profile, pure_renyi
from obverse.loss.loss import Sensitivity
from obverse.loss.number import chance, positive
from obverse.mechanisms.base import Mechanism
from obverse.noise.draws import add_laplace, laplaces
from obverse.noise.entropy import Entropy

if TYPE_CHECKING:
    from obverse.loss.moments import Moments


@dataclass(frozen=True)
class Laplace(Mechanism[int, int]):
    """Adds x with probability proportional to exp(−|x|/scale): pure, with ε = sensitivity/scale.

    >>> Laplace(Fraction(2)).loss(Sensitivity.of(1)).epsilon()
    0.5
    """

    scale: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive(self.scale, "a Laplace scale"))

    def draw(self, value: int, entropy: Entropy) -> int:
        return add_laplace(value, self.scale, entropy)

    def draw_many(self, values: Sequence[int], entropy: Entropy) -> list[int]:
        noise = laplaces(self.scale, len(values), entropy)
        return [int(value) + drawn for value, drawn in zip(values, noise, strict=True)]

    def pure(self, sensitivity: Sensitivity) -> Fraction:
        """[DR14, Theorem 3.6], on the whole numbers [GRS12]; for several numbers by their L1 distance."""
        return sensitivity.l1 / self.scale

    def profile(self, epsilon: float, sensitivity: Sensitivity) -> float:
        """Tight for one number; several are dominated by one that moves as far (the lemma of loss/curves)."""
        return laplace_profile(self.scale, floor(sensitivity.l1), epsilon)

    def renyi(self, order: float, sensitivity: Sensitivity) -> float:
        return pure_renyi(float(self.pure(sensitivity)), order)

    def moments(self, sensitivity: Sensitivity) -> Moments | None:
        from obverse.loss.moments import LaplaceShift

        shift = floor(sensitivity.l1)
        return LaplaceShift(float(self.scale), shift)

    def interval_of_sum(self, confidence: float, parts: int) -> int:
        """h with P(|x₁ + … + xₙ| ≤ h) ≥ confidence, of n draws: the larger of √n times one draw's, and the normal's.

        A sum's tails lie between those of its parts and the normal ones; where noise is rare they are nearly Poisson's,
        which a step more covers. Tests hold it to the exact convolution.
        """
        if parts == 1:
            return self.interval(confidence)
        deviation = sqrt(0.5) / sinh(min(1 / (2 * float(self.scale)), 700.0))
        inside = min(float(chance(confidence, "a confidence")), 1 - 2.0**-53)
        normal = NormalDist().inv_cdf((1 + inside) / 2) * deviation
        return ceil(sqrt(parts) * max(self.interval(confidence), normal)) + (self.scale < 1)

    def interval(self, confidence: float) -> int:
        """The least h with P(|x| ≤ h) ≥ confidence: P(|x| > h) = 2·q^(h+1)/(1 + q), q = exp(−1/scale)."""
        outside = float(1 - chance(confidence, "a confidence", zero=True))
        scale = float(self.scale)
        tail = log(outside / 2) + log1p(exp(-1 / scale))
        return max(0, ceil(-scale * tail) - 1)
