"""What to measure so that every range can be answered: whole-number matrices, and how to get back from them.  [LHMMR10]

`tree` is every cell and the blocks of b, b², … cells [HRMS10]; `haar` the differences of halves [XWG11]; both are kept
for comparison. `hats` measures every cell and overlapping sums of about 20 cells whose weights rise and fall in a
straight line, then the same of those: what an optimiser over all such matrices [MMHM18, Section 5] turns blocks into,
and a fifth better than the best tree. `cells` measures the cells alone, `total` also what they add up to, which on
every axis of a cube makes all its margins. `optimal` is the best there is for Gaussian noise and all ranges [YYZH16],
as whole numbers.

Whatever is measured, the cells follow by least squares [HRMS10, Section 4.1; LHMMR10, Definition 7]: that is
post-processing, and floats are fine there. On two axes the matrices multiply, and so do their inverses [MMHM18].
"""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from obverse.mechanisms.lazily import Whole

Strategy = Literal["hats", "tree", "haar", "optimal", "cells", "total"]
Floats = NDArray[np.float64]
STEP = 20  # cells between two hats
FEW = 45  # knots that need no coarser ones
BRANCHES = 16
FINE = 1 << 12  # what whole numbers stand for 1 in an optimal matrix
ROUNDS = 12


@lru_cache(maxsize=32)
def matrix(strategy: Strategy, size: int) -> Whole:
    """What is measured, a row each; every cell counts in some row."""
    made: Whole = _MAKE[strategy](size)
    made.setflags(write=False)
    return made


@lru_cache(maxsize=32)
def inverse(strategy: Strategy, size: int) -> Floats:
    """From what was measured to the cells, by least squares; rows are weighted by their size already."""
    if strategy == "cells":
        return np.eye(size)
    rows = matrix(strategy, size).astype(np.float64)
    back = np.linalg.solve(rows.T @ rows, rows.T)  # every cell is measured, so that there is one
    return back.astype(np.float64)


def hat(size: int, step: int) -> Whole:
    """Knots every `step` cells; a cell k past a knot counts step − k there and k at the next.

    >>> hat(4, 2)
    array([[2, 1, 0, 0],
           [0, 1, 2, 1],
           [0, 0, 0, 1]])
    """
    knot, past = np.divmod(np.arange(size), step)
    rows = np.zeros((knots(size, step), size), np.int64)
    rows[knot, np.arange(size)] = step - past
    inside = past > 0
    rows[knot[inside] + 1, np.arange(size)[inside]] = past[inside]
    return rows


def knots(size: int, step: int) -> int:
    """How many hats cover so many cells."""
    return (size - 2 + step) // step + 1 if size > 1 else 1


def _hats(size: int) -> Whole:
    """Each level has about a nineteenth less of ε than the one before, which is flat about the best."""
    levels = [np.eye(size, dtype=np.int64)]
    while len(levels[-1]) > FEW:
        levels.append(hat(len(levels[-1]), STEP) @ levels[-1])
    whole = [STEP ** (len(levels) - 1 - i) * 20 ** (len(levels) - 1 - i) * 19**i for i in range(len(levels))]
    return np.concatenate([level * weight for level, weight in zip(levels, whole, strict=True)])


def _tree(size: int) -> Whole:
    """Every cell, and blocks of 16, 256, … of them, all alike."""
    rows, width = [np.eye(size, dtype=np.int64)], BRANCHES
    while width < size:
        blocks = np.arange(size) // width
        rows.append((blocks == np.arange(blocks[-1] + 1)[:, None]).astype(np.int64))
        width *= BRANCHES
    return np.concatenate(rows)


def _haar(size: int) -> Whole:
    """The total, and left half less right half of every block of 2, 4, 8, … cells."""
    rows, width = [np.ones((1, size), np.int64)], 2
    while width < 2 * size:
        blocks, side = np.arange(size) // width, np.arange(size) % width < width // 2
        signs = (blocks == np.arange(blocks[-1] + 1)[:, None]) * np.where(side, 1, -1)
        rows.append(signs[np.abs(signs).sum(1) > 0])
        width *= 2
    return np.concatenate(rows)


def _optimal(size: int) -> Whole:
    """The root of the X with the least trace(G·X⁻¹) of all of diagonal 1, where G is the mean of r·rᵀ over ranges.

    At the optimum X = D^−½·(D^½·G·D^½)^½·D^−½ for the diagonal D that makes its diagonal 1: D is raised where X is
    above 1 and lowered where it is below.
    """
    between = ranges(size)
    weight = np.ones(size)
    for _ in range(ROUNDS):
        root = np.sqrt(weight)
        middle = _root(root[:, None] * between * root) / root[:, None] / root
        weight *= middle.diagonal()
    scaled = middle / middle.diagonal().max()
    return np.rint(FINE * _root(scaled)).astype(np.int64)


def _cells(size: int) -> Whole:
    return np.eye(size, dtype=np.int64)


def _total(size: int) -> Whole:
    """Every cell and their total, by the weights that leave a cell and the total the least variance together.

    With weight t on the total and 1 on cells, and both scaled so that a cell counts 1 in all, a cell has the variance
    (1 + t)²·(1 − t²/(1 + t²n)) and the total (1 + t)²·n/(1 + t²n).
    """

    def both(t: float) -> float:
        return float((1 + t) ** 2 * (1 - t * t / (1 + t * t * size) + size / (1 + t * t * size)))

    best = min(range(17), key=lambda eighths: both(eighths / 8))
    cells = 8 * np.eye(size, dtype=np.int64)
    return np.concatenate([cells, np.full((1, size), best, np.int64)]) if best else _cells(size)


def ranges(size: int) -> Floats:
    """The mean of r·rᵀ over all ranges r: how often two cells lie in one.

    >>> ranges(2) * 3
    array([[2., 1.],
           [1., 2.]])
    """
    place = np.arange(size)
    first, last = np.minimum(place[:, None], place), np.maximum(place[:, None], place)
    together: Floats = (first + 1) * (size - last) / (size * (size + 1) / 2)
    return together


def _root(symmetric: Floats) -> Floats:
    values, vectors = np.linalg.eigh(symmetric)
    made: Floats = (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T
    return made


_MAKE = {"hats": _hats, "tree": _tree, "haar": _haar, "optimal": _optimal, "cells": _cells, "total": _total}
