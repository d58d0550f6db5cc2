"""The draws a mechanism makes, one or many: from a stock where bits come from the system, one by one where replayed."""

from __future__ import annotations

from fractions import Fraction

from obverse.noise.entropy import Entropy, System
from obverse.noise.exact import discrete_gaussian, discrete_laplace


def add_laplace(value: int, scale: Fraction, entropy: Entropy) -> int:
    """The value plus x with probability proportional to exp(−|x|/scale)."""
    if isinstance(entropy, System):
        law = ("laplace", scale.numerator, scale.denominator)
        return entropy.stock.add(value, law, lambda count: laplaces(scale, count, entropy))
    return value + discrete_laplace(scale, entropy)


def add_gaussian(value: int, variance: Fraction, entropy: Entropy) -> int:
    """The value plus x with probability proportional to exp(−x²/(2·variance))."""
    if isinstance(entropy, System):
        law = ("gaussian", variance.numerator, variance.denominator)
        return entropy.stock.add(value, law, lambda count: gaussians(variance, count, entropy))
    return value + discrete_gaussian(variance, entropy)


def laplaces(scale: Fraction, count: int, entropy: Entropy) -> list[int]:
    """`count` of these x."""
    from obverse.noise import bulk

    drawn: list[int] = bulk.laplace(scale, count, entropy).tolist()
    return drawn


def gaussians(variance: Fraction, count: int, entropy: Entropy) -> list[int]:
    """`count` of these x."""
    from obverse.noise import bulk

    drawn: list[int] = bulk.gaussian(variance, count, entropy).tolist()
    return drawn
