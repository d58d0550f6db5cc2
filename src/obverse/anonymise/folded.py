"""Several columns as one: which rows are alike at a node of the lattice, with one look-up for a few columns together.

A combination of values of a few columns has one code, and a table says for each combination of their steps what number
its labels have. The numbers of all tables add up to one that tells every combination of labels from every other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np
from numba import njit
from numpy.typing import NDArray

from obverse.anonymise.boxes import Lines
from obverse.anonymise.codes import Ints, group

MOST_ENTRIES = 1_000_000


@dataclass(frozen=True)
class Folded:
    """The codes of each item on the joined columns, their tables one after the other, and where each begins."""

    columns: tuple[tuple[int, ...], ...]
    codes: NDArray[np.int32]
    table: Ints
    start: Ints
    width: Ints
    steps: tuple[int, ...]

    def at(self, node: Sequence[int]) -> Ints:
        """Where the tables of a node begin."""
        rows = [
            np.ravel_multi_index([node[c] for c in columns], [self.steps[c] for c in columns])
            for columns in self.columns
        ]
        return self.start + self.width * np.array(rows, np.int64)


def fold(codes: NDArray[np.int32], line: Lines, steps: Sequence[int]) -> Folded | None:
    """Neighbouring columns joined as long as their table is small; None where the numbers would not fit a word."""
    sizes = np.diff([*line.start, line.up.shape[1]])
    if prod(map(float, sizes)) >= 2.0**62:
        return None
    radix = np.append(np.cumprod(sizes[:0:-1])[::-1], 1).astype(np.int64)
    joined, tables = list[tuple[tuple[int, ...], Ints]](), list[Ints]()
    columns: tuple[int, ...] = (0,)
    first, which = _combined([codes[:, 0]], [int(sizes[0])])
    j = 1
    while j <= len(steps):
        if j < len(steps):
            more, wider = _combined([which, codes[:, j]], [len(first), int(sizes[j])])
            if len(more) * prod(steps[c] for c in (*columns, j)) <= MOST_ENTRIES:
                columns, first, which, j = (*columns, j), more, wider, j + 1
                continue
        joined.append((columns, which))
        tables.append(_table(codes[first], line, radix, columns, steps))
        if j < len(steps):
            columns, (first, which) = (j,), _combined([codes[:, j]], [int(sizes[j])])
        j += 1
    width = np.array([table.shape[1] for table in tables], np.int64)
    start = np.cumsum([0, *(table.size for table in tables[:-1])]).astype(np.int64)
    together = np.ascontiguousarray(np.array([its for _, its in joined], np.int32).T)
    flat = np.concatenate([table.ravel() for table in tables])
    return Folded(tuple(c for c, _ in joined), together, flat, start, width, tuple(steps))


def _combined(columns: Sequence[NDArray[np.int32] | Ints], sizes: Sequence[int]) -> tuple[Ints, Ints]:
    first, which, _ = group(columns, sizes)
    return first, which


def _table(
    codes: NDArray[np.int32], line: Lines, radix: Ints, columns: Sequence[int], steps: Sequence[int]
) -> Ints:
    """For each combination of steps, the number of the labels of each combination of values."""
    rows = []
    for node in product(*(range(steps[c]) for c in columns)):
        number = np.zeros(len(codes), np.int64)
        for c, step in zip(columns, node, strict=True):
            number += line.up[step, line.start[c] + codes[:, c]] * radix[c]
        rows.append(number)
    return np.array(rows)


@njit(cache=True)
def alike(codes: NDArray[np.int32], table: Ints, at: Ints, items: Ints, slot: Ints) -> tuple[Ints, int]:
    """The class of each of some items, and how many there are; `slot` is all −1, and is left so."""
    size, classes = len(slot), 0
    label, keys = np.empty(len(items), np.int64), np.empty(len(items), np.int64)
    used = np.empty(len(items), np.int64)
    for x in range(len(items)):
        key = np.int64(0)
        for g in range(len(at)):
            key += table[at[g] + codes[items[x], g]]
        s = np.int64((np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(20)) & (size - 1)
        while slot[s] >= 0 and keys[slot[s]] != key:
            s = (s + 1) & (size - 1)
        if slot[s] < 0:
            slot[s], used[classes], keys[classes] = classes, s, key
            classes += 1
        label[x] = slot[s]
    for c in range(classes):
        slot[used[c]] = -1
    return label, classes
