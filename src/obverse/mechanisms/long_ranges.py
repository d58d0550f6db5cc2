"""Ranges over many cells, in time that grows with their number alone: hats upon hats.  [HRMS10; MMHM18]

Every cell is measured, and sums of cells whose weights rise and fall over 2·20 of them, and the same sums of those
sums, until few are left (mechanisms/strategy). Least squares is then done level by level, as [HRMS10, Section 4.1]
does for a tree: up, each level's estimate from the finer ones meets its own measurement; down, what a coarser level
knows better is handed to the finer. Between neighbours of one level that takes a tridiagonal system, whose inverse
falls off by a factor of about ¼ a step, so that `REACH` diagonals of it are all that a float can hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import sqrt
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from obverse.errors import BadParameter
from obverse.loss.curves import pure_profile
from obverse.loss.loss import Sensitivity
from obverse.loss.number import positive
from obverse.mechanisms.base import Mechanism
from obverse.mechanisms.lazily import Whole, whole
from obverse.mechanisms.strategy import FEW, STEP, Floats, knots
from obverse.noise.entropy import Entropy

REACH = 32
LARGEST = 1 << 24


@dataclass(frozen=True)
class LongRanges(Mechanism[Sequence[int] | Whole, Floats]):
    """Counts of a row of cells, consistent with each other; ε for a person who moves one cell by one.

    >>> from obverse.noise.entropy import Keyed
    >>> cells = LongRanges(3000, Fraction(1)).release([5] * 3000, Keyed("example"))
    >>> bool(4900 < cells[1000:2000].sum() < 5100)
    True
    """

    size: int
    epsilon: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", positive(self.epsilon, "ε"))
        if not FEW < self.size <= LARGEST:
            raise BadParameter(
                f"long ranges are over {FEW + 1} to 2²⁴ cells, not {self.size}: see LaplaceRanges"
            )

    @property
    def shares(self) -> list[Fraction]:
        """Of each level in ε: a nineteenth less than of the one before."""
        weights = [
            20 ** (len(_sizes(self.size)) - level) * 19**level for level in range(len(_sizes(self.size)))
        ]
        return [self.epsilon * weight / sum(weights) for weight in weights]

    def draw(self, value: Sequence[int] | Whole, entropy: Entropy) -> Floats:
        from obverse.noise.bulk import laplace

        cells = whole(value)
        if cells.shape != (self.size,):
            raise BadParameter(f"there are {self.size} cells, as declared")
        sums, measured = cells, []
        for level, share in enumerate(self.shares):
            scale = STEP**level / share  # a person moves each level's sums by STEP^level in all
            noisy = sums + laplace(scale, sums.size, entropy)
            measured.append(noisy.astype(np.float64) / STEP**level)
            sums = _up(sums)
        return _least_squares(measured, self._variances)

    @property
    def _variances(self) -> tuple[float, ...]:
        return tuple(float(2 / share**2) for share in self.shares)

    def variance(self, low: int, high: int) -> float:
        """Of the total over cells low … high − 1."""
        weights = np.zeros(self.size)
        weights[low:high] = 1.0
        return self.variance_of(weights)

    def variance_of(self, weights: Floats) -> float:
        """Of a total of weighted cells: what least squares makes of the weights themselves."""
        measured = [np.zeros(size) for size in _sizes(self.size)]
        measured[0] = weights * self._variances[0]
        return float(_least_squares(measured, self._variances) @ weights)

    def interval(self, confidence: float) -> float:
        """How far the total over the middle half is off, in this share of runs, by the normal approximation."""
        middle = self.variance(self.size // 4, 3 * self.size // 4)
        return NormalDist().inv_cdf((1 + confidence) / 2) * sqrt(middle)

    def pure(self, sensitivity: Sensitivity) -> Fraction:
        """The shares of all levels together, in each of which a hat's weights sum to one for every cell."""
        return self.epsilon * sensitivity.l1

    def profile(self, epsilon: float, sensitivity: Sensitivity) -> float:
        return pure_profile(float(self.pure(sensitivity)), epsilon)


def _sizes(size: int) -> list[int]:
    """How many sums each level has."""
    found = [size]
    while found[-1] > FEW:
        found.append(knots(found[-1], STEP))
    return found


def _up(cells: NDArray[Any]) -> NDArray[Any]:
    """STEP times the hats' sums of the cells, which may be columns of a table: whole numbers stay whole."""
    blocks = -(-cells.shape[0] // STEP)
    padded = np.zeros((blocks * STEP, *cells.shape[1:]), cells.dtype)
    padded[: cells.shape[0]] = cells
    padded = padded.reshape(blocks, STEP, *cells.shape[1:])
    past = np.arange(STEP).astype(cells.dtype)
    sums = np.zeros((blocks + 1, *cells.shape[1:]), cells.dtype)
    sums[:-1] = np.tensordot(padded, STEP - past, (1, 0))
    sums[1:] += np.tensordot(padded, past, (1, 0))
    return sums[: knots(cells.shape[0], STEP)]


def _down(sums: Floats, size: int) -> Floats:
    """The transposed hats: each cell the mean of its two knots by its distance to them."""
    past = np.arange(STEP) / STEP
    after = np.append(sums[1:], 0.0)
    return (sums[:, None] * (1 - past) + after[:, None] * past).ravel()[:size]


def _least_squares(measured: list[Floats], variances: tuple[float, ...]) -> Floats:
    """The cells that fit all levels best."""
    levels = _levels(len(measured[0]), variances)
    means, chains = [measured[0]], [measured[0]]
    for level, mine in zip(levels, measured[1:], strict=True):
        chains.append(_up(means[-1]) / STEP)
        means.append(chains[-1] + level.gain(mine - chains[-1]))
    best = means[-1]
    for place in range(len(levels) - 1, -1, -1):
        correction = _down(levels[place].inverse.times(best - chains[place + 1]), len(means[place]))
        best = means[place] + (levels[place - 1].spread(correction) if place else correction * variances[0])
    return best


@dataclass(frozen=True)
class _Level:
    """One level: what its covariance C before its own measurement, whose variance v is `own`, is needed for."""

    own: float
    inverse: _Symmetric
    with_own: _Symmetric

    def gain(self, surprise: Floats) -> Floats:
        """How far the estimate moves towards the measurement: C·(C + v)⁻¹."""
        moved: Floats = surprise - self.own * self.with_own.times(surprise)
        return moved

    def spread(self, vector: Floats) -> Floats:
        """The covariance after the measurement, times a vector: v·C·(C + v)⁻¹."""
        return self.own * self.gain(vector)


@dataclass(frozen=True)
class _Symmetric:
    """A symmetric matrix by its diagonals from the middle out; or in full, as one array of two axes."""

    diagonals: tuple[Floats, ...]

    def times(self, vector: Floats) -> Floats:
        if self.diagonals[0].ndim == 2:
            full: Floats = self.diagonals[0] @ vector
            return full
        shape = (-1,) + (1,) * (vector.ndim - 1)
        found = self.diagonals[0].reshape(shape) * vector
        for away, diagonal in enumerate(self.diagonals[1:], 1):
            column = diagonal.reshape(shape)
            found[:-away] += column * vector[away:]
            found[away:] += column * vector[:-away]
        return found


@lru_cache(maxsize=8)
def _levels(size: int, variances: tuple[float, ...]) -> list[_Level]:
    """The covariances of all levels, from public facts alone."""
    sizes, levels = _sizes(size), list[_Level]()
    for place, own in enumerate(variances[1:]):
        if place == 0:
            middle, beside = _overlaps(size, sizes[1])
            middle, beside = middle * variances[0], beside * variances[0]
            levels.append(_Level(own, _inverted(middle, beside), _inverted(middle + own, beside)))
            continue
        finer = _up(np.eye(sizes[place])) / STEP
        covariance: Floats = _up(levels[-1].spread(finer.T)) / STEP
        solid = covariance + own * np.eye(len(covariance))
        levels.append(_Level(own, _solid_inverse(covariance), _solid_inverse(solid)))
    return levels


def _solid_inverse(full: Floats) -> _Symmetric:
    return _Symmetric((np.linalg.inv(full).astype(np.float64),))


def _overlaps(size: int, count: int) -> tuple[Floats, Floats]:
    """The hats' products with themselves and with the next one."""
    knot, past = np.divmod(np.arange(size), STEP)
    far = past / STEP
    own = np.bincount(knot, (1 - far) ** 2, count) + np.bincount(knot + 1, far**2, count + 1)[:count]
    beside = np.bincount(knot, far * (1 - far), count)[: count - 1]
    return own.astype(np.float64), beside.astype(np.float64)


def _inverted(middle: Floats, beside: Floats) -> _Symmetric:
    """The diagonals of a tridiagonal inverse: with pivots from both ends, each follows from the one before."""
    down, up = middle.copy(), middle.copy()
    for i in range(1, len(middle)):
        down[i] -= beside[i - 1] ** 2 / down[i - 1]
        up[-1 - i] -= beside[-i] ** 2 / up[-i]
    diagonals = [1 / (down + up - middle)]
    for away in range(1, min(REACH, len(middle))):
        diagonals.append(-diagonals[-1][:-1] * beside[away - 1 :] / up[away:])
    return _Symmetric(tuple(diagonals))
