"""What an outsider can still work out: the range of every cell given everything published.  [FS01]"""

from __future__ import annotations

from math import ceil, floor

import numpy as np

from obverse.tables.equations import System
from obverse.tables.polytope import Polytope
from obverse.tables.propagate import propagate

NEAR = 1e-6
UNBOUNDED = 1e9
LARGEST = 1e4
TINY = 1e-300


def ranges(system: System, targets: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """The least and most each target cell can be; cells that are no target may come out wider than they are.

    Where all numbers are whole the ends are rounded inwards, and what follows from that is followed; others are
    counted in a unit in which the programme's tolerances are small, be they millionths or billions.
    """
    unit = 1.0 if system.whole else max(_largest(system) / LARGEST, TINY)
    low, high = _ranges(system.scaled(unit), targets)
    return low * unit, high * unit


def _largest(system: System) -> float:
    ends = np.abs(np.concatenate([system.least, system.most, system.low, system.high]))
    return float(ends[np.isfinite(ends)].max(initial=0.0))


def _ranges(system: System, targets: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    tight = propagate(system)
    wanted = np.ones(len(system.low), bool) if targets is None else targets
    low, high = tight.low.copy(), tight.high.copy()
    for rows, columns in components(tight):
        if wanted[columns].any():
            part = tight.rows(rows, columns)
            low[columns], high[columns] = _by_programme(part, wanted[columns])
    after = propagate(system.bounded(low, high)) if system.whole else system.bounded(low, high)
    return after.low, after.high


def components(system: System) -> list[tuple[np.ndarray, np.ndarray]]:
    """Rows (as a mask) and columns that hang together once what is known exactly is taken out."""
    free = system.high - system.low > NEAR
    root = np.arange(len(system.low))
    live = free[system.index]
    rows, cells = system.row_of[live], system.index[live]
    if not len(rows):
        return []
    first = np.full(len(system.least), -1)
    first[rows[::-1]] = cells[::-1]
    links = np.stack([cells, first[rows]])
    while True:
        lowest = np.minimum(root[links[0]], root[links[1]])
        np.minimum.at(root, links[0], lowest)
        np.minimum.at(root, links[1], lowest)
        after = root[root]
        if (after == root).all() and (root[links[0]] == root[links[1]]).all():
            break
        root = after
    names = np.unique(root[cells])
    row_root = np.full(len(system.least), -1)
    row_root[rows] = root[cells]
    return [(row_root == name, np.flatnonzero(free & (root == name))) for name in names]


def _by_programme(part: System, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Every programme's solution is a possible table: it settles all cells it drives to a bound they cannot pass."""
    low, high = part.low.copy(), np.minimum(part.high, UNBOUNDED)
    polytope = Polytope(part.bounded(low, high))
    table = polytope.farthest(np.zeros(len(low)))
    least, most = table.copy(), table.copy()
    for sign, bound, reached in ((1, high, most), (-1, low, least)):
        pending = wanted & (sign * (bound - reached) > NEAR)
        together = True
        while pending.any():
            before = pending.sum()
            if together:
                table = polytope.farthest(sign * pending.astype(float))
            else:
                nearest = np.flatnonzero(pending)[np.argmin((sign * (bound - table))[pending])]
                table = polytope.range(int(nearest), sign)
                bound[nearest] = _inward(table[nearest], sign, part.whole)
            np.minimum(least, table, out=least)
            np.maximum(most, table, out=most)
            pending &= sign * (bound - reached) > NEAR
            together &= pending.sum() < 0.97 * before
    high[high >= UNBOUNDED / 2] = np.inf
    return low, high


def _inward(end: float, sign: int, whole: bool) -> float:
    if not whole:
        return end
    return floor(end + NEAR) if sign > 0 else ceil(end - NEAR)
