"""Exact choices made of floats where floats are sure, and of more digits where they are not.

One uniform number U is drawn a few bits at a time. A float decides where U is further from the line than any error a
float can have made; where it is not, *the same* U is given more bits and compared with whole numbers that enclose
exp(−x). So the law is exact and a float only ever saves time.

The margin: for y = rate·gap, a float product is within 3·2⁻⁵³ of y, relatively, and NumPy's exp within 4 units in the
last place, so that exp(−y) is wrong by less than (745·3·2⁻⁵³ + 2⁻⁵⁰) < 2⁻⁴¹ of itself, or y > 745 and it is below
2⁻¹⁰⁷⁴. `MARGIN` is twice that; tests/mechanisms/test_lazily.py holds this library's exp to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from math import exp

import numpy as np
from numpy.typing import NDArray

from obverse.errors import BadParameter
from obverse.noise.entropy import Entropy
from obverse.noise.exact import Uniform, below, exp_bounds

Whole = NDArray[np.int64]
MARGIN = 2.0**-40
TINY = 2.0**-1000
FIRST = 16


def whole(values: Sequence[int] | Whole) -> Whole:
    """The values as 64-bit whole numbers; a float, a truth value or nothing at all is refused."""
    array = np.asarray(values)
    if array.dtype != np.int64:
        if array.size and (array.dtype.kind not in "iu" or array.dtype == np.uint64):
            raise BadParameter("values are whole numbers of at most 63 bits")
        array = array.astype(np.int64)
    return array


def candidates(scores: Sequence[int] | Whole) -> Whole:
    """The scores of at least one candidate."""
    array = whole(scores)
    if not array.size:
        raise BadParameter("nothing to choose from: the list of candidates is empty")
    return array


def gaps_below_best(scores: Whole) -> NDArray[np.uint64]:
    """How far each score is below the best: exact even where the difference needs all 64 bits."""
    gaps: NDArray[np.uint64] = (scores[scores.argmax()] - scores).view(np.uint64)
    return gaps


def a_head(gaps: NDArray[np.uint64], rate: Fraction, entropy: Entropy) -> int:
    """One of the places whose coin fell on heads, each as likely; a gap's coin has chance exp(−rate·gap), exactly.

    The first 16 bits of each coin rule out most; of the others one is taken until its coin, looked at closely, is up.
    """
    drawn = np.frombuffer(entropy.bytes(2 * gaps.size), np.uint16)
    maybe = (drawn <= _most(gaps, rate)).nonzero()[0]
    while True:
        at = below(maybe.size, entropy)
        place, first = int(maybe[at]), int(drawn[maybe[at]])
        chance = 2.0**FIRST * exp(-float(rate) * int(gaps[place]))
        sure = first + 1 <= chance * (1 - MARGIN)
        if sure or Uniform(first, FIRST, entropy).below_exp(int(gaps[place]) * rate):
            return place
        maybe = np.delete(maybe, at)


def _most(gaps: NDArray[np.uint64], rate: Fraction) -> NDArray[np.uint16]:
    """What the first 16 bits of a coin on heads are at most."""
    table = _table(rate)
    if table is not None:
        most: NDArray[np.uint16] = table.take(
            gaps.view(np.int64), mode="clip"
        )  # one past 2⁶³ is taken for 0: more
        return most
    return _most_of(gaps, float(rate))


def _most_of(gaps: NDArray[np.uint64], rate: float) -> NDArray[np.uint16]:
    most = np.exp(gaps * -rate) * (2.0**FIRST * (1 + MARGIN))
    capped: NDArray[np.uint16] = np.minimum(most, 2**FIRST - 1).astype(np.uint16)
    return capped


@lru_cache(maxsize=64)
def _table(rate: Fraction) -> NDArray[np.uint16] | None:
    """What `_most` is for each gap until it is 0, unless that takes too many."""
    length = int(FIRST / rate) + 2
    return None if length > 1 << FIRST else _most_of(np.arange(length, dtype=np.uint64), float(rate))


def choose(gaps: NDArray[np.uint64], rate: Fraction, entropy: Entropy, sizes: Whole | None = None) -> int:
    """A place, with probability proportional to size·exp(−rate·gap), exactly; the best gap is 0."""
    known = entropy.bits(64)
    place = surely(gaps, rate, known, sizes)
    return exactly(gaps, rate, known, entropy, sizes) if place is None else place


def surely(
    gaps: NDArray[np.uint64], rate: Fraction, known: int, sizes: Whole | None = None, beyond: float = 0.0
) -> int | None:
    """The place that a uniform number of these first 64 bits chooses, if floats are sure of it.

    There may be further places behind those given, which weigh `beyond` in all, at most.
    """
    weights = np.exp(gaps * -float(rate))
    if sizes is not None:
        weights *= sizes
    upto = weights.cumsum()
    total = upto[-1]
    margin = total * (MARGIN + gaps.size * 2.0**-50) + TINY + 2 * beyond
    at = known * 2.0**-64 * total
    place = int(upto.searchsorted(at, side="right"))
    if (place == 0 or at - upto[place - 1] > margin) and place < upto.size and upto[place] - at > margin:
        return place
    return None


def exactly(
    gaps: NDArray[np.uint64], rate: Fraction, known: int, entropy: Entropy, sizes: Whole | None = None
) -> int:
    """The place that the same number chooses, of which more bits are drawn where it takes them."""
    counted = [1] * gaps.size if sizes is None else sizes.tolist()
    return _choose_exactly(gaps.tolist(), counted, rate, known, entropy)


def _choose_exactly(gaps: list[int], sizes: list[int], rate: Fraction, known: int, entropy: Entropy) -> int:
    """The same choice by the same uniform number, known to 64 bits and then to as many as it takes."""
    last, bits = max(place for place, size in enumerate(sizes) if size), 64
    while True:
        bounds = {gap: exp_bounds(gap * rate, bits) for gap in set(gaps)}
        all_low = sum(size * bounds[gap][0] for gap, size in zip(gaps, sizes, strict=True))
        all_high = sum(size * bounds[gap][1] for gap, size in zip(gaps, sizes, strict=True))
        low = high = 0  # the weights before this place, and what U·total must be above and below to mean it
        for place, (gap, size) in enumerate(zip(gaps, sizes, strict=True)):
            above = not high or known * all_low >= high << bits
            low, high = low + size * bounds[gap][0], high + size * bounds[gap][1]
            below_it = place == last or (known + 1) * all_high <= low << bits
            if size and above and below_it:
                return place
        known, bits = known << 64 | entropy.bits(64), bits + 64
