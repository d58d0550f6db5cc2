"""Made-up tables with all their margins."""

from __future__ import annotations

import numpy as np

from obverse.tables.dimension import Dimension
from obverse.tables.equations import margins
from obverse.tables.pattern import Pattern


def flat(*sizes):
    return tuple(
        Dimension.from_rungs(f"d{i}", [(str(n),) for n in range(size)], closed=False)
        for i, size in enumerate(sizes)
    )


def laddered(*sizes, fan=4):
    def line(n, size):
        return [str(n), *(f"{k}.{n // fan**k}" for k in range(1, 9) if fan**k < size)]

    return tuple(
        Dimension.from_rungs(f"d{i}", [line(n, size) for n in range(size)], closed=False)
        for i, size in enumerate(sizes)
    )


def summed(dimensions, leaves):
    """Leaf cells with all their margins."""
    for axis, dimension in enumerate(dimensions):
        leaves = dimension.sums(leaves, axis)
    return leaves


def skewed(dimensions, seed, mean=10.0):
    """A table with many small cells and a few large ones."""
    generator = np.random.default_rng(seed)
    sizes = [len(dimension.leaves) for dimension in dimensions]
    return summed(dimensions, generator.negative_binomial(0.6, 0.6 / (mean + 0.6), sizes).astype(float))


def small_cells(dimensions, table, threshold, *, zeros=False):
    """Counts below a threshold as primary cells: each must seem possibly empty and possibly large enough."""
    truth = table.ravel()
    primary = (truth > 0) & (truth < threshold)
    return Pattern(
        margins(dimensions),
        truth,
        primary,
        up=np.where(primary, threshold - truth, 0),
        down=np.where(primary, truth, 0),
        weight=np.ones(len(truth)),
        free=np.zeros(len(truth), bool),
        fixed=(truth == 0) & (not zeros),
    )


def seen(pattern, hidden):
    """What an outsider knows when these cells are hidden."""
    return pattern.system.bounded(np.where(hidden, 0, pattern.truth), np.where(hidden, np.inf, pattern.truth))
