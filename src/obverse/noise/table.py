"""Discrete Laplace draws of a small scale from a table, two random bytes each; as exact as the others.  [GRS12]

A uniform U of which the first 16 bits are known lies in one of 65,536 cells. Where all of a cell gives the same x, with
F(x − 1) ≤ U < F(x), the table says so; where a value of F falls into the cell, *the same U* is given 32 bits more and
looked up in F itself, and where even that is too close for a float, as many as whole numbers need.

The margin: F(x) = q^|x|/(1 + q) below 0 and 1 − q^(x+1)/(1 + q) from there, q = exp(−1/scale), takes a dozen float
operations on numbers of at most 1 and an exponent of at most `REACH`: an error below REACH·2⁻⁵⁰ < 2⁻⁴⁴ = `MARGIN`.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from obverse.noise.entropy import Entropy
from obverse.noise.exact import exp_bounds

WIDEST = 256  # scales beyond leave too many cells undecided
WORTH = 1 << 12  # draws that make up for making a table
REACH = 40  # scales on either side of 0 that F is tabled for
MARGIN = 2.0**-44
UNSURE = -(1 << 15)

Floats = npt.NDArray[np.float64]
Wholes = npt.NDArray[np.int64]


def laplace(scale: Fraction, count: int, entropy: Entropy) -> Wholes:
    """`count` whole numbers x with probability proportional to exp(−|x|/scale); scale at most `WIDEST`.

    >>> from obverse.noise.entropy import Keyed
    >>> laplace(Fraction(3), 4, Keyed("example")).shape
    (4,)
    """
    table, heights = _tables(scale)
    known = np.frombuffer(entropy.bytes(2 * count), np.uint16)
    drawn = table[known]
    unsure = (drawn == UNSURE).nonzero()[0]
    more = np.frombuffer(entropy.bytes(4 * unsure.size), np.uint32).astype(np.int64)
    longer = (known[unsure].astype(np.int64) << 32) + more
    point = longer * 2.0**-48
    least = heights.searchsorted(point - MARGIN, side="right")
    most = heights.searchsorted(point + (2.0**-48 + MARGIN), side="left")
    drawn[unsure] = least - heights.size // 2
    for place in ((least != most) | (least == 0) | (most == heights.size)).nonzero()[0].tolist():
        guess = int(drawn[unsure[place]])
        drawn[unsure[place]] = _settled(scale, int(longer[place]), guess, entropy)
    return drawn


@lru_cache(maxsize=32)
def _tables(scale: Fraction) -> tuple[Wholes, Floats]:
    """For each cell its x or `UNSURE`, and F from −reach to reach."""
    reach = int(REACH * scale) + 1
    x = np.arange(-reach, reach + 1)
    rate = float(1 / scale)
    tail = np.exp(-rate * np.where(x < 0, -x, x + 1)) / (1 + np.exp(-rate))
    heights = np.where(x < 0, tail, 1 - tail)
    cells = np.arange(1 << 16) * 2.0**-16
    least = heights.searchsorted(cells - MARGIN, side="right")
    most = heights.searchsorted(cells + (2.0**-16 + MARGIN), side="left")
    table = np.where(least == most, least - reach, UNSURE)
    return table, heights


def _settled(scale: Fraction, known: int, guess: int, entropy: Entropy) -> int:
    """The x of a uniform of which 48 bits are known, walked to from a guess."""
    bits = 48
    while True:
        low, high = _height(scale, guess, bits)
        below_low, below_high = _height(scale, guess - 1, bits)
        if known >= high:
            guess += 1
        elif known + 1 <= below_low:
            guess -= 1
        elif known + 1 <= low and known >= below_high:
            return guess
        else:
            known, bits = known << 32 | entropy.bits(32), bits + 32


def _height(scale: Fraction, x: int, bits: int) -> tuple[int, int]:
    """Whole numbers around 2^bits·F(x)."""
    one = 1 << bits + 16
    top_low, top_high = exp_bounds((-x if x < 0 else x + 1) / scale, bits + 16)
    q_low, q_high = exp_bounds(1 / scale, bits + 16)
    low, high = (top_low << bits) // (one + q_high), -(-(top_high << bits) // (one + q_low))
    return (low, high) if x < 0 else ((1 << bits) - high, (1 << bits) - low)
