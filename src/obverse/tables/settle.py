"""Roundings of the finest cells, flipped one by one and in pairs until every margin, their sum, is near its count.

Where no linear programme finds multiples that add up (three columns or more), sums of rounded cells still do;
flipping keeps that, and brings the margins back to within the base.
"""

from __future__ import annotations

from collections.abc import Sequence

import numba
import numpy as np

from obverse.tables.dimension import Dimension

PASSES = 50
BEYOND = 1000.0


def settled(
    dimensions: Sequence[Dimension], mask: np.ndarray, counts: np.ndarray, up: np.ndarray, base: int
) -> np.ndarray:
    """Every cell rounded: finest ones up or down, beginning with `up`, and the others as their sums."""
    picked = np.ix_(*(np.array(dimension.leaves) for dimension in dimensions))
    leaves = counts[picked]
    ups = up[picked].ravel().astype(np.int64)
    above, start = _above(dimensions, mask)
    apart = (_summed(dimensions, base * (leaves // base + ups.reshape(leaves.shape))) - counts).ravel()
    lines, ends = _lines(leaves.shape)
    free = (leaves % base > 0).ravel()
    _settle(ups, free, above, start, apart.astype(float), float(base), lines, ends)
    return _summed(dimensions, base * (leaves // base + ups.reshape(leaves.shape)))


def _summed(dimensions: Sequence[Dimension], leaves: np.ndarray) -> np.ndarray:
    for axis, dimension in enumerate(dimensions):
        leaves = dimension.sums(leaves, axis)
    return leaves


def _above(dimensions: Sequence[Dimension], mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each combination of categories the shown cells it is part of: all of them, and where each one's begin."""
    found = np.zeros((1, 1), np.int64)
    for dimension in dimensions:
        chains = []
        for node in dimension.leaves:
            chain = []
            while node >= 0:
                chain.append(node)
                node = dimension.parents[node]
            chains.append(chain)
        depth = max(map(len, chains))
        nodes = np.array([chain + [-1] * (depth - len(chain)) for chain in chains])
        cells = found[:, None, :, None] * len(dimension.labels) + nodes[None, :, None, :]
        cells[(found[:, None, :, None] < 0) | (nodes[None, :, None, :] < 0)] = -1
        found = cells.reshape(found.shape[0] * nodes.shape[0], -1)
    kept = (found >= 0) & mask.ravel()[found]
    return found[kept], np.concatenate([[0], np.cumsum(kept.sum(axis=1))])


def _lines(sizes: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """The cells that differ in one column only, a line after another, and where each line begins."""
    cells = np.arange(np.prod(sizes)).reshape(sizes)
    lines = [np.moveaxis(cells, axis, -1).reshape(-1, size) for axis, size in enumerate(sizes)]
    lengths = np.concatenate([np.full(len(line), line.shape[1]) for line in lines])
    return np.concatenate([line.ravel() for line in lines]), np.concatenate([[0], np.cumsum(lengths)])


@numba.njit(cache=True)
def _move(
    cell: int, step: float, above: np.ndarray, start: np.ndarray, apart: np.ndarray, base: float
) -> float:
    """Moves one cell with all its margins; how much worse that is, by squares, far worse beyond the base."""
    worse = 0.0
    for at in range(start[cell], start[cell + 1]):
        before = apart[above[at]]
        after = before + step
        worse += after * after - before * before
        worse += BEYOND * max(abs(after) - base + 1, 0.0) ** 2
        worse -= BEYOND * max(abs(before) - base + 1, 0.0) ** 2
        apart[above[at]] = after
    return worse


@numba.njit(cache=True)
def _settle(
    ups: np.ndarray,
    free: np.ndarray,
    above: np.ndarray,
    start: np.ndarray,
    apart: np.ndarray,
    base: float,
    lines: np.ndarray,
    ends: np.ndarray,
) -> None:
    for _ in range(PASSES):
        moved = False
        for one in range(len(ups)):
            if free[one]:
                step = -base if ups[one] else base
                if _move(one, step, above, start, apart, base) < 0:
                    ups[one] = 1 - ups[one]
                    moved = True
                else:
                    _move(one, -step, above, start, apart, base)
        for line in range(len(ends) - 1):
            for first in range(ends[line], ends[line + 1]):
                one = lines[first]
                for second in range(first + 1, ends[line + 1] if free[one] else first + 1):
                    two = lines[second]
                    if free[two] and ups[one] != ups[two]:
                        step = -base if ups[one] else base
                        worse = _move(one, step, above, start, apart, base)
                        worse += _move(two, -step, above, start, apart, base)
                        if worse < -0.5:
                            ups[one], ups[two] = ups[two], ups[one]
                            moved = True
                            break
                        _move(one, -step, above, start, apart, base)
                        _move(two, step, above, start, apart, base)
        if not moved:
            break
