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


def exp_bounds(x: Fraction, bits: int) -> tuple[int, int]:
    """Whole numbers around exp(−x)·2^bits, a few steps apart; equal where exp(−x) is 1.

    The series of exp(x/2^r), x/2^r ≤ 2⁻⁸, rounded down and up at every step, then squared r times and inverted.

    >>> exp_bounds(Fraction(0), 8)
    (256, 256)
    """
    if x == 0:
        return 1 << bits, 1 << bits
    if x > bits:
        return 0, 1
    halvings = max(0, (x.numerator // x.denominator).bit_length() + 8)
    width = bits + halvings + 3 * (x.numerator // x.denominator) // 2 + 16
    one, over = 1 << width, x.denominator << halvings
    low = high = low_term = high_term = one
    k = 1
    while high_term > 1:
        low_term = low_term * x.numerator // (over * k)
        high_term = -(-high_term * x.numerator // (over * k))
        low, high, k = low + low_term, high + high_term, k + 1
    high += 2  # the terms left out are below 1, 2⁻⁸, 2⁻¹⁶, …
    for _ in range(halvings):
        low, high = low * low >> width, -(-high * high >> width)
    return (one << bits) // high, -(-(one << bits) // low)


class Uniform:
    """A point of (0, 1), each as likely, known to as many bits as any question about it needed."""

    __slots__ = ("_bits", "_entropy", "_known")

    def __init__(self, known: int, bits: int, entropy: Entropy) -> None:
        self._known, self._bits, self._entropy = known, bits, entropy

    def below_exp(self, x: Fraction) -> bool:
        """Whether the point is below exp(−x), x ≥ 0: with more bits of the same point until it is certain."""
        while True:
            low, high = exp_bounds(x, self._bits)
            if self._known + 1 <= low:
                return True
            if self._known >= high:
                return False
            self._known = self._known << 32 | self._entropy.bits(32)
            self._bits += 32

    def geometric(self, scale: Fraction, guess: int) -> int:
        """The k with exp(−(k+1)/scale) ≤ point < exp(−k/scale), searched from a guess."""
        k = max(0, guess)
        while self.below_exp((k + 1) / scale):
            k += 1
        while k and not self.below_exp(k / scale):
            k -= 1
        return k


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
