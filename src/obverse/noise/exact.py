"""Exact samplers: whole numbers and fractions only, no float anywhere.  [CKS20]"""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

from obverse.noise.entropy import Entropy


def below(limit: int, entropy: Entropy) -> int:
    """A whole number in 0 … limit − 1, each as likely."""
    width = (limit - 1).bit_length()
    while (drawn := entropy.bits(width) if width else 0) >= limit:
        pass
    return drawn


def bernoulli(chance: Fraction, entropy: Entropy) -> bool:
    """True with probability `chance`."""
    return below(chance.denominator, entropy) < chance.numerator


def bernoulli_exp(x: Fraction, entropy: Entropy) -> bool:
    """True with probability exp(−x), x ≥ 0.  [CKS20, Algorithm 1]"""
    while x > 1:
        if not bernoulli_exp(Fraction(1), entropy):
            return False
        x -= 1
    k = 1
    while bernoulli(x / k, entropy):
        k += 1
    return k % 2 == 1


def discrete_laplace(scale: Fraction, entropy: Entropy) -> int:
    """x with probability proportional to exp(−|x|/scale).  [CKS20, Algorithm 2]"""
    t, s = scale.numerator, scale.denominator
    while True:
        u = below(t, entropy)
        if not bernoulli_exp(Fraction(u, t), entropy):
            continue
        v = 0
        while bernoulli_exp(Fraction(1), entropy):
            v += 1
        size = (u + t * v) // s
        negative = entropy.bits(1)
        if not (negative and size == 0):
            return -size if negative else size


def discrete_gaussian(variance: Fraction, entropy: Entropy) -> int:
    """x with probability proportional to exp(−x²/(2·variance)).  [CKS20, Algorithm 3]"""
    t = isqrt(variance.numerator // variance.denominator) + 1
    while True:
        y = discrete_laplace(Fraction(t), entropy)
        if bernoulli_exp((abs(y) - variance / t) ** 2 / (2 * variance), entropy):
            return y
