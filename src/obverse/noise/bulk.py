"""The laws of noise/exact for many draws at once: a float decides where it provably can, whole numbers where not.

A uniform U is known by its first 64 bits: n·2⁻⁶⁴ ≤ U < (n + 1)·2⁻⁶⁴. With u = (n + ½)·2⁻⁶⁴ in floats, how far
is E = −log(u), as computed, from −log U?

- the bits not yet known: at most 1/n;
- n + ½ and its scaling are rounded once, by a factor 1 ± 2⁻⁵³: at most 2⁻⁵² in E;
- `numpy.log` is within 4 units in the last place (NumPy's own limit for its vector loops): at most E·2⁻⁵⁰;
- a product with a rounded constant: at most E·2⁻⁵².

Together |E + log U| ≤ MARGIN·(1 + E) + 1/n with MARGIN = 2⁻⁴⁸, which leaves the logarithm four times its limit;
tests/noise holds the logarithm of the machine at hand to a quarter of it. Where the interval around E decides a
question it is decided; where not, *the same uniform* is given more bits (`Uniform`), never drawn again, so each draw
has its law exactly. That happens about once in 2⁴⁰/scale draws, and nothing is redone on its account.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import isqrt

import numpy as np
import numpy.typing as npt

from obverse.noise import table
from obverse.noise.entropy import Entropy
from obverse.noise.exact import Uniform, discrete_gaussian, discrete_laplace

MARGIN = 2.0**-48
CHUNK = 1 << 15  # draws at a time, so that all of them stay in the processor's cache
FINE = 24  # a geometric variable of a scale beyond 2^FINE is drawn in two parts
WIDEST = 1 << 50  # beyond, whole numbers one at a time: 64 bits would not hold every draw

Floats = npt.NDArray[np.float64]
Words = npt.NDArray[np.uint64]
Wholes = npt.NDArray[np.int64]
Truths = npt.NDArray[np.bool_]
Exact = Callable[[int], Fraction]


def laplace(scale: Fraction, count: int, entropy: Entropy) -> Wholes:
    """`count` whole numbers x with probability proportional to exp(−|x|/scale), as G₁ − G₂ of geometric variables.

    P(G₁ − G₂ = x) = Σ_k (1 − q)²·q^(2k + |x|) = (1 − q)/(1 + q)·q^|x|, q = exp(−1/scale).

    >>> from obverse.noise.entropy import Keyed
    >>> laplace(Fraction(10), 3, Keyed("example")).shape
    (3,)
    """
    if scale >= WIDEST:
        return np.array([discrete_laplace(scale, entropy) for _ in range(count)], dtype=object)
    if scale <= table.WIDEST and count >= table.WORTH:
        return table.laplace(scale, count, entropy)
    drawn = np.empty(count, dtype=np.int64)
    for start in range(0, count, CHUNK):
        size = min(CHUNK, count - start)
        np.subtract(
            _geometric(scale, size, entropy),
            _geometric(scale, size, entropy),
            out=drawn[start : start + size],
        )
    return drawn


def gaussian(variance: Fraction, count: int, entropy: Entropy) -> Wholes:
    """`count` whole numbers x with probability proportional to exp(−x²/(2·variance)).  [CKS20, Algorithm 3]

    A Laplace draw y of scale t = ⌊σ⌋ + 1 is kept with probability exp(−(|y| − σ²/t)²/(2σ²)), about ¾.
    """
    t = isqrt(variance.numerator // variance.denominator) + 1
    if t >= WIDEST:
        return np.array([discrete_gaussian(variance, entropy) for _ in range(count)], dtype=object)
    drawn, done = np.empty(count, dtype=np.int64), 0
    while done < count:
        tried = laplace(Fraction(t), min(CHUNK, (count - done) * 11 // 8 + 8), entropy)
        kept = tried[_kept(tried, variance, t, entropy)][: count - done]
        drawn[done : done + len(kept)] = kept
        done += len(kept)
    return drawn


def _geometric(scale: Fraction, count: int, entropy: Entropy) -> Wholes:
    """G ≥ 0 with P(G ≥ k) = exp(−k/scale): ⌊−scale·log U⌋."""
    spare = max(0, int(scale).bit_length() - FINE)
    if spare:
        # q^G = (q^m)^H·q^R for G = m·H + R, m = 2^spare: the two parts are independent.
        high = _geometric(scale / (1 << spare), count, entropy)
        return (high << spare) + _remainder(scale, spare, count, entropy)
    words = _words(count, entropy)
    exponential, unsure = _exponential(words)
    exponential *= float(scale)
    unsure *= float(scale)
    drawn = np.floor(exponential)
    exponential -= drawn
    np.minimum(exponential, 1 - exponential, out=exponential)
    whole = drawn.astype(np.int64)
    for i in np.flatnonzero(exponential <= unsure).tolist():
        whole[i] = Uniform(int(words[i]), 64, entropy).geometric(scale, int(drawn[i]))
    return whole


def _remainder(scale: Fraction, spare: int, count: int, entropy: Entropy) -> Wholes:
    """R in 0 … 2^spare − 1 with probability proportional to exp(−R/scale): uniform, and nearly always kept."""
    drawn = (_words(count, entropy) >> np.uint64(64 - spare)).astype(np.int64)
    size: Floats = drawn.astype(np.float64)
    size *= float(1 / scale)
    refused = np.flatnonzero(~_below_exp(size, size, lambda i: int(drawn[i]) / scale, entropy))
    if len(refused):
        drawn[refused] = _remainder(scale, spare, len(refused), entropy)
    return drawn


def _kept(tried: Wholes, variance: Fraction, t: int, entropy: Entropy) -> Truths:
    """Which Laplace draws a Gaussian keeps; the exponent's own rounding is at most 2⁻⁵⁰·(|y| + σ²/t)²/(2σ²)."""
    centre, steep = variance / t, float(1 / (2 * variance))
    size = np.abs(tried).astype(np.float64)
    exponent: Floats = (size - float(centre)) ** 2 * steep
    rounded: Floats = (size + float(centre)) ** 2 * steep
    return _below_exp(
        exponent, rounded, lambda i: (abs(int(tried[i])) - centre) ** 2 / (2 * variance), entropy
    )


def _below_exp(x: Floats, rounded: Floats, exact: Exact, entropy: Entropy) -> Truths:
    """True with probability exp(−exact(i)): x is that in floats, within 2⁻⁵⁰·rounded."""
    words = _words(len(x), entropy)
    exponential, unsure = _exponential(words)
    unsure += MARGIN * rounded
    answer = exponential > x
    for i in np.flatnonzero(np.abs(exponential - x) <= unsure).tolist():
        answer[i] = Uniform(int(words[i]), 64, entropy).below_exp(exact(i))
    return answer


def _exponential(words: Words) -> tuple[Floats, Floats]:
    """E = −log U for the uniforms that start with these words, and how far off each can be (see the top)."""
    floats = words.astype(np.float64)
    with np.errstate(divide="ignore"):
        unsure = 1 / floats
    floats += 0.5
    floats *= 2.0**-64
    exponential: Floats = np.log(floats)
    np.negative(exponential, out=exponential)
    unsure *= 2
    unsure += MARGIN
    unsure += MARGIN * exponential
    return exponential, unsure


def _words(count: int, entropy: Entropy) -> Words:
    return np.frombuffer(entropy.bytes(8 * count), dtype=np.uint64)
