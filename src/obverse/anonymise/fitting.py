"""Which labels hold a value and which region holds a row: the first one, and the rows for which it is another.

Regions may overlap: a row that lies in several was put where the table loses least, not always into the first. So that
a recoding gives the same labels again, such rows are listed beside it, for the curator alone.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numba import njit
from numpy.typing import NDArray

from obverse.anonymise.codes import Domain, Ints, Value

if TYPE_CHECKING:
    from obverse.anonymise.recode import Test

Bools = NDArray[np.bool_]
Words = NDArray[np.uint64]
WORD, CHUNK = 64, 4096
MOST_CELLS, MOST_WORDS = 50_000_000, 30_000_000
Exceptions = tuple[tuple[tuple[Value, ...], int], ...]


def inside(domain: Domain, tests: Sequence[Test]) -> Bools:
    """Which label stands for which value of a column."""
    order = np.argsort(domain.at, kind="stable")
    ranked = [domain.plain[i] for i in order]
    place = {value: code for code, value in enumerate(domain.plain)}
    found = np.zeros((len(tests), domain.size), bool)
    for row, test in zip(found, tests, strict=True):
        if test.any:
            row[:] = True
        elif test.low is None or test.high is None:
            row[[place[value] for value in test.among if value in place]] = True
        elif all(type(end) in _kin(ranked) for end in (test.low, test.high)):
            row[order[bisect_left(ranked, test.low) : bisect_right(ranked, test.high)]] = True
    return found


def _kin(ranked: Sequence[Value]) -> tuple[type, ...]:
    """The types that a column's values can be compared with."""
    return (int, float) if ranked and isinstance(ranked[0], int | float) else (str,)


def first_region(codes: Sequence[NDArray[np.int32]], fits: Sequence[Bools], regions: Ints) -> Ints:
    """The first region that holds each row, or −1; a bit for each region, and a row's columns ANDed."""
    sizes = [each.shape[1] for each in fits]
    start = np.cumsum([0, *sizes[:-1]])
    holding = np.zeros((sum(sizes), -(-len(regions) // CHUNK) * CHUNK // WORD), np.uint64)
    for a in range(0, len(regions), CHUNK):
        for j, each in enumerate(fits):
            bits = np.zeros((sizes[j], CHUNK), bool)
            here = each[regions[a : a + CHUNK, j]].T
            bits[:, : here.shape[1]] = here
            words = np.packbits(bits, axis=1, bitorder="little").view(np.uint64)
            holding[start[j] : start[j] + sizes[j], a // WORD : (a + CHUNK) // WORD] = words
    return _lowest_bit(np.ascontiguousarray(np.array(codes, np.int32).T), holding, start.astype(np.int64))


@njit(cache=True)
def _lowest_bit(codes: NDArray[np.int32], holding: Words, start: Ints) -> Ints:
    found = np.full(len(codes), -1, np.int64)
    for i in range(len(codes)):
        for w in range(holding.shape[1]):
            word = holding[start[0] + codes[i, 0], w]
            for j in range(1, codes.shape[1]):
                if word == 0:
                    break
                word &= holding[start[j] + codes[i, j], w]
            if word != 0:
                bit = 0
                while not (word >> np.uint64(bit)) & np.uint64(1):
                    bit += 1
                found[i] = w * WORD + bit
                break
    return found


def exceptions(
    domains: Sequence[Domain],
    codes: NDArray[np.int32],
    tests: Sequence[Sequence[Test]],
    regions: Ints,
    own: Ints,
) -> Exceptions | None:
    """The combinations of values whose own region is not the first that holds them; −1 where a row is left out.

    None where so many values and labels differ that it would take too much memory to say.
    """
    if max(d.size * len(its) for d, its in zip(domains, tests, strict=True)) > MOST_CELLS:
        return None
    if sum(d.size for d in domains) * -(-len(regions) // CHUNK) * (CHUNK // WORD) > MOST_WORDS:
        return None
    fits = [inside(domain, each) for domain, each in zip(domains, tests, strict=True)]
    first = first_region(list(codes.T), fits, regions)
    moved = np.flatnonzero((own >= 0) & (regions[first] != regions[own]).any(axis=1))
    return tuple(
        (tuple(domain.plain[c] for domain, c in zip(domains, codes[i].tolist(), strict=True)), int(own[i]))
        for i in moved
    )
