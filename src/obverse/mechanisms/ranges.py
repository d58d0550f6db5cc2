"""Counts of cells, released once and then good for every range, free of charge; in one dimension or two.

The notes' tree puts Lap(1/ε) on every node: a person is in log₂ n + 1 nodes, so that costs (log₂ n + 1)·ε. Here the
noise is made for the whole of what one person moves: the largest column of the matrix, in L1 for Laplace noise and L2
for Gaussian, in whole numbers and exactly.  [LHMMR10, Proposition 4; HRMS10]
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import prod, sinh, sqrt
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from obverse.errors import BadParameter
from obverse.loss.curves import pure_profile
from obverse.loss.loss import Sensitivity
from obverse.loss.number import positive
from obverse.mechanisms.base import Mechanism
from obverse.mechanisms.composed import concentrated_profile
from obverse.mechanisms.lazily import Whole, whole
from obverse.mechanisms.strategy import Floats, Strategy, inverse, matrix, ranges
from obverse.noise.draws import gaussians, laplaces
from obverse.noise.entropy import Entropy

LARGEST = 2048  # cells on an axis: matrices of more are better taken by `LongRanges`


@dataclass(frozen=True)
class LaplaceRanges(Mechanism[NDArray[Any], Floats]):
    """Counts of a row or a rectangle of cells, consistent with each other; ε for a person who moves one cell by one.

    >>> from obverse.noise.entropy import Keyed
    >>> cells = LaplaceRanges((256,), Fraction(1))
    >>> cells.average_variance() < 68
    True
    >>> round(cells.release([100] * 256, Keyed("example"))[10:200].sum() / 100) in range(180, 200)
    True
    """

    shape: tuple[int, ...]
    epsilon: Fraction
    strategy: Strategy = "hats"

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", positive(self.epsilon, "ε"))
        _check(self.shape, self.strategy)

    @property
    def scale(self) -> Fraction:
        """Of the noise on each measured number."""
        return (
            prod(int(np.abs(matrix(self.strategy, size)).sum(0).max()) for size in self.shape) / self.epsilon
        )

    def draw(self, value: NDArray[Any], entropy: Entropy) -> Floats:
        measured = _measure(value, self.shape, self.strategy)
        noise = np.array(laplaces(self.scale, measured.size, entropy)).reshape(measured.shape)
        return _cells(measured + noise, self.shape, self.strategy)

    def pure(self, sensitivity: Sensitivity) -> Fraction:
        """[LHMMR10, Proposition 4]"""
        return self.epsilon * sensitivity.l1

    def profile(self, epsilon: float, sensitivity: Sensitivity) -> float:
        return pure_profile(float(self.pure(sensitivity)), epsilon)

    def variance(self, *sides: tuple[int, int]) -> float:
        """Of the total over cells low … high − 1 on each axis."""
        return _laplace_variance(self.scale) * _spread(sides, self.shape, self.strategy)

    def average_variance(self) -> float:
        """Over all ranges, each as likely."""
        return _laplace_variance(self.scale) * _average(self.shape, self.strategy)

    def interval(self, confidence: float) -> float:
        """How far the total over a range is off, on average, in this share of runs, by the normal approximation."""
        return NormalDist().inv_cdf((1 + confidence) / 2) * sqrt(self.average_variance())


@dataclass(frozen=True)
class GaussianRanges(Mechanism[NDArray[Any], Floats]):
    """Counts of a row or a rectangle of cells, consistent with each other; ρ for a person who moves one cell by one.

    >>> GaussianRanges((256,), Fraction(1, 2)).average_variance() < 8.6
    True
    """

    shape: tuple[int, ...]
    each_rho: Fraction
    strategy: Strategy = "optimal"

    def __post_init__(self) -> None:
        object.__setattr__(self, "each_rho", positive(self.each_rho, "ρ"))
        _check(self.shape, self.strategy)

    @property
    def noise(self) -> Fraction:
        """The variance of the noise on each measured number."""
        longest = prod(int((matrix(self.strategy, size) ** 2).sum(0).max()) for size in self.shape)
        return longest / (2 * self.each_rho)

    def draw(self, value: NDArray[Any], entropy: Entropy) -> Floats:
        measured = _measure(value, self.shape, self.strategy)
        noise = np.array(gaussians(self.noise, measured.size, entropy)).reshape(measured.shape)
        return _cells(measured + noise, self.shape, self.strategy)

    def rho(self, sensitivity: Sensitivity) -> Fraction:
        """[CKS20, Theorem 4]; several cells add up, at worst, as vectors of one direction do."""
        return self.each_rho * sensitivity.l1**2

    def profile(self, epsilon: float, sensitivity: Sensitivity) -> float:
        return concentrated_profile(float(self.rho(sensitivity)), epsilon)

    def variance(self, *sides: tuple[int, int]) -> float:
        """Of the total over cells low … high − 1 on each axis."""
        return float(self.noise) * _spread(sides, self.shape, self.strategy)

    def average_variance(self) -> float:
        """Over all ranges, each as likely."""
        return float(self.noise) * _average(self.shape, self.strategy)

    def interval(self, confidence: float) -> float:
        """How far the total over a range is off, on average, in this share of runs."""
        return NormalDist().inv_cdf((1 + confidence) / 2) * sqrt(self.average_variance())


def _check(shape: tuple[int, ...], strategy: Strategy) -> None:
    if not 1 <= len(shape) <= 2 or not all(1 <= size <= LARGEST for size in shape):
        raise BadParameter(f"ranges are over one axis or two of at most {LARGEST} cells, not {shape}")
    if strategy not in ("hats", "tree", "haar", "optimal"):
        raise BadParameter(f"a strategy is hats, tree, haar or optimal, not {strategy}")


def _measure(value: NDArray[Any], shape: tuple[int, ...], strategy: Strategy) -> Whole:
    """The matrix of each axis applied to the cells, in whole numbers."""
    cells = whole(value)
    if cells.shape != shape:
        raise BadParameter(f"the cells are {shape}, as declared")
    largest = prod(int(np.abs(matrix(strategy, size)).max()) for size in shape)
    if float(np.abs(cells).sum(dtype=np.float64)) * largest >= 2.0**62:
        cells = cells.astype(object)  # whole numbers of any length
    for axis, size in enumerate(shape):
        cells = np.moveaxis(np.tensordot(matrix(strategy, size), cells, (1, axis)), 0, axis)
    return cells


def _cells(measured: Whole, shape: tuple[int, ...], strategy: Strategy) -> Floats:
    cells: Floats = measured.astype(np.float64)
    for axis, size in enumerate(shape):
        cells = np.moveaxis(np.tensordot(inverse(strategy, size), cells, (1, axis)), 0, axis)
    return cells


def _laplace_variance(scale: Fraction) -> float:
    """Of discrete noise: 2q/(1 − q)² with q = exp(−1/scale), a little below 2·scale²."""
    return 1 / (2 * sinh(1 / (2 * float(scale))) ** 2)


def _spread(sides: tuple[tuple[int, int], ...], shape: tuple[int, ...], strategy: Strategy) -> float:
    """|A⁺ᵀ·r|² for the range r of these sides."""
    rows = [inverse(strategy, size)[low:high].sum(0) for size, (low, high) in zip(shape, sides, strict=True)]
    return prod(float(row @ row) for row in rows)


def _average(shape: tuple[int, ...], strategy: Strategy) -> float:
    """trace(G·(AᵀA)⁻¹) on each axis."""
    return prod(float(np.sum(ranges(size) * (back := inverse(strategy, size)).dot(back.T))) for size in shape)
