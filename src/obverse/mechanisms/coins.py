"""Many coins of one chance, and many even dice, exactly: a uniform is given more bits where its first ones tie."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from obverse.mechanisms.lazily import Whole
from obverse.noise.entropy import Entropy
from obverse.noise.exact import exp_bounds

CHUNK = 1 << 16  # coins at a time, so that they stay in the processor's cache
Chance = Callable[[int], tuple[int, int]]
"""Whole numbers around 2^bits times a chance, for any number of bits: closer, relatively, the more bits."""


def odds(x: Fraction, others: int | Fraction = 1) -> Chance:
    """The chance 1/(1 + others·exp(−x)), of the truth against `others` lies that are each exp(−x) as likely.

    >>> odds(Fraction(0), 3)(8)
    (64, 64)
    """

    top, bottom = Fraction(others).as_integer_ratio()

    def bounds(bits: int) -> tuple[int, int]:
        one = bottom << bits + 8
        low, high = exp_bounds(x, bits + 8)
        return (one << bits) // (one + top * high), -(-(one << bits) // (one + top * low))

    return bounds


def against(chance: Chance) -> Chance:
    """One minus the chance."""

    def bounds(bits: int) -> tuple[int, int]:
        low, high = chance(bits)
        return (1 << bits) - high, (1 << bits) - low

    return bounds


def exactly(chance: Fraction) -> Chance:
    """A rational chance."""

    def bounds(bits: int) -> tuple[int, int]:
        return (chance.numerator << bits) // chance.denominator, -(
            -(chance.numerator << bits) // chance.denominator
        )

    return bounds


def coins(chance: Chance, count: int, entropy: Entropy, *, first: int = 16) -> NDArray[np.bool_]:
    """`count` coins that each fall on heads with this chance; their first 8 or 16 bits settle nearly all of them."""
    up = np.empty(count, np.bool_)
    for start in range(0, count, CHUNK):
        part = up[start : start + CHUNK]
        part[:] = _throw(chance, part.size, first, entropy)
    return up


def _throw(chance: Chance, count: int, first: int, entropy: Entropy) -> NDArray[np.bool_]:
    kind = np.uint8 if first == 8 else np.uint16
    known: NDArray[np.uint8 | np.uint16] = np.frombuffer(entropy.bytes(count * first // 8), kind)
    low, high = chance(first)
    up: NDArray[np.bool_] = known < low
    unsure = (
        ((known >= low) & (known < high)).nonzero()[0] if high - low != 1 else (known == low).nonzero()[0]
    )
    if unsure.size:
        more = np.frombuffer(entropy.bytes(4 * unsure.size), np.uint32).astype(np.int64)
        longer = (known[unsure].astype(np.int64) << 32) + more
        low, high = chance(first + 32)
        up[unsure] = longer < low
        for place in ((longer >= low) & (longer < high)).nonzero()[0].tolist():
            up[unsure[place]] = _coin(chance, int(longer[place]), first + 32, entropy)
    return up


def _coin(chance: Chance, known: int, bits: int, entropy: Entropy) -> bool:
    """One coin of which so many bits are known."""
    while True:
        low, high = chance(bits)
        if not low <= known < high:
            return known < low
        known, bits = known << 64 | entropy.bits(64), bits + 64


def dice(sides: int, count: int, entropy: Entropy) -> Whole:
    """`count` whole numbers in 0 … sides − 1, each as likely; those beyond a whole multiple are thrown again."""
    drawn = np.frombuffer(entropy.bytes(4 * count), np.uint32).astype(np.int64)
    most = (1 << 32) // sides * sides
    again = (drawn >= most).nonzero()[0]
    rolled: Whole = drawn % sides
    if again.size:
        rolled[again] = dice(sides, again.size, entropy)
    return rolled
