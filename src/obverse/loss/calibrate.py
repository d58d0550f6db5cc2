"""The noise for a wanted ε, δ or ρ: exact scales, from the same curves that are charged."""

from __future__ import annotations

from bisect import bisect_left
from fractions import Fraction
from math import log2

from obverse.loss.curves import gaussian_profile_many, zcdp_profile
from obverse.loss.loss import Sensitivity
from obverse.loss.number import chance, positive

STEPS = 20  # a variance is found to one part in 2^STEPS


def laplace_scale(epsilon: object, sensitivity: Sensitivity) -> Fraction:
    """The scale with which Laplace noise costs ε.  [DR14, Theorem 3.6]

    >>> laplace_scale(Fraction(1, 2), Sensitivity.of(3))
    Fraction(6, 1)
    """
    return sensitivity.l1 / positive(epsilon, "ε")


def gaussian_variance_for_rho(rho: object, sensitivity: Sensitivity) -> Fraction:
    """The variance with which Gaussian noise costs ρ of zCDP.  [CKS20, Theorem 4]

    >>> gaussian_variance_for_rho(Fraction(1, 2), Sensitivity.of(3))
    Fraction(9, 1)
    """
    return sensitivity.l2_squared / (2 * positive(rho, "ρ"))


def gaussian_variance(epsilon: object, delta: object, sensitivity: Sensitivity) -> Fraction:
    """The least variance, on a grid of one part in 2²⁰, whose own δ(ε) is at most δ.

    It is the analytic calibration of [BW18] on the discrete curve. The classical σ = √(2 ln(1.25/δ))·Δ/ε is
    too large below ε = 1 and wrong above it: at ε = 10 its δ is 1.9 times the claim.

    >>> 17.8 < gaussian_variance(1, 1e-6, Sensitivity.of(1)) < 18
    True
    """
    wanted, allowed = float(positive(epsilon, "ε", Fraction(1 << 20))), float(chance(delta, "δ"))

    def enough(variance: Fraction) -> bool:
        return gaussian_profile_many(variance, sensitivity.l1, sensitivity.l2_squared, wanted) <= allowed

    high = sensitivity.l2_squared or Fraction(1)
    while not enough(high):
        high *= 2
    while enough(high / 2):
        high /= 2
    grid = Fraction(2) ** (int(log2(high)) - STEPS)
    low, top = int(high / 2 / grid), -int(-high // grid)
    while top - low > 1:
        middle = (low + top) // 2
        low, top = (low, middle) if enough(middle * grid) else (middle, top)
    return top * grid


def largest_rho(epsilon: float, delta: float) -> Fraction:
    """The largest ρ that is (ε, δ)-private, to one part in 2²⁰.  [CKS20, Corollary 13]"""
    low = Fraction(2) ** (
        bisect_left(range(-59, 12), True, key=lambda k: zcdp_profile(2.0**k, epsilon) > delta) - 60
    )
    step = low
    for _ in range(20):
        step /= 2
        if zcdp_profile(float(low + step), epsilon) <= delta:
            low += step
    return low
