"""Counts of cells, released once and then good for every range, free of charge; in one dimension or several.

The notes' tree puts Lap(1/ε) on every node: a person is in log₂ n + 1 nodes, so that costs (log₂ n + 1)·ε. Here the
noise is made for the whole of what one person moves: the largest column of the matrix, in L1 for Laplace noise and L2
for Gaussian, in whole numbers and exactly.  [LHMMR10, Proposition 4; HRMS10]
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import exp, expm1, prod, sqrt
from statistics import NormalDist
from typing import Any, get_args

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
MOST_AXES, MOST_CELLS = 8, 1 << 22
Strategies = Strategy | tuple[Strategy, ...]  # one for every axis, or one for each


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
    strategy: Strategies = "hats"

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", positive(self.epsilon, "ε"))
        _check(self.shape, self.strategy)

    @property
    def scale(self) -> Fraction:
        """Of the noise on each measured number."""
        return (
            prod(
                int(np.abs(matrix(way, size)).sum(0).max()) for way, size in _axes(self.shape, self.strategy)
            )
            / self.epsilon
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

    def variance_of(self, *weights: tuple[tuple[int, ...], Floats]) -> float:
        """Of a total of weighted cells; the weights are a product of tables over some axes each, and 1 over others."""
        return _laplace_variance(self.scale) * _weighted(weights, self.shape, self.strategy)

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
    strategy: Strategies = "optimal"

    def __post_init__(self) -> None:
        object.__setattr__(self, "each_rho", positive(self.each_rho, "ρ"))
        _check(self.shape, self.strategy)

    @property
    def noise(self) -> Fraction:
        """The variance of the noise on each measured number."""
        axes = _axes(self.shape, self.strategy)
        longest = prod(int((matrix(way, size) ** 2).sum(0).max()) for way, size in axes)
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


def _check(shape: tuple[int, ...], strategy: Strategies) -> None:
    if not 1 <= len(shape) <= MOST_AXES or not all(1 <= size <= LARGEST for size in shape):
        raise BadParameter(f"ranges are over 1 to {MOST_AXES} axes of at most {LARGEST} cells, not {shape}")
    if prod(shape) > MOST_CELLS:
        raise BadParameter(f"{prod(shape):,} cells are too many: there are at most {MOST_CELLS:,}")
    ways = (strategy,) if isinstance(strategy, str) else strategy
    if unknown := [way for way in ways if way not in get_args(Strategy)]:
        raise BadParameter(f"a strategy is {', '.join(get_args(Strategy))}, not {unknown[0]}")
    if not isinstance(strategy, str) and len(strategy) != len(shape):
        raise BadParameter(f"there are {len(shape)} axes and {len(strategy)} strategies")


def _axes(shape: tuple[int, ...], strategy: Strategies) -> list[tuple[Strategy, int]]:
    """What is measured on each axis, and how many cells it has."""
    ways = (strategy,) * len(shape) if isinstance(strategy, str) else strategy
    return list(zip(ways, shape, strict=True))


def _measure(value: NDArray[Any], shape: tuple[int, ...], strategy: Strategies) -> Whole:
    """The matrix of each axis applied to the cells, in whole numbers."""
    cells = whole(value)
    if cells.shape != shape:
        raise BadParameter(f"the cells are {shape}, as declared")
    axes = _axes(shape, strategy)
    largest = prod(int(np.abs(matrix(way, size)).max()) for way, size in axes)
    if float(np.abs(cells).sum(dtype=np.float64)) * largest >= 2.0**62:
        cells = cells.astype(object)  # whole numbers of any length
    for axis, (way, size) in enumerate(axes):
        cells = np.moveaxis(np.tensordot(matrix(way, size), cells, (1, axis)), 0, axis)
    return cells


def _cells(measured: Whole, shape: tuple[int, ...], strategy: Strategies) -> Floats:
    cells: Floats = measured.astype(np.float64)
    for axis, (way, size) in enumerate(_axes(shape, strategy)):
        cells = np.moveaxis(np.tensordot(inverse(way, size), cells, (1, axis)), 0, axis)
    return cells


def _laplace_variance(scale: Fraction) -> float:
    """Of discrete noise: 2q/(1 − q)² with q = exp(−1/scale), a little below 2·scale²."""
    return 2 * exp(-1 / float(scale)) / expm1(-1 / float(scale)) ** 2


def _spread(sides: tuple[tuple[int, int], ...], shape: tuple[int, ...], strategy: Strategies) -> float:
    """|A⁺ᵀ·r|² for the range r of these sides."""
    axes = zip(_axes(shape, strategy), sides, strict=True)
    rows = [inverse(way, size)[low:high].sum(0) for (way, size), (low, high) in axes]
    return prod(float(row @ row) for row in rows)


def _weighted(
    weights: tuple[tuple[tuple[int, ...], Floats], ...], shape: tuple[int, ...], strategy: Strategies
) -> float:
    """|A⁺ᵀ·w|² for weights w that are a product of tables over some axes each."""
    axes, total, left = _axes(shape, strategy), 1.0, set(range(len(shape)))
    for over, table in weights:
        left -= set(over)
        for place, axis in enumerate(over):
            table = np.moveaxis(np.tensordot(inverse(*axes[axis]), table, (0, place)), 0, place)
        total *= float(np.sum(table * table))
    return total * prod(float(np.sum(inverse(*axes[axis]).sum(0) ** 2)) for axis in left)


def _average(shape: tuple[int, ...], strategy: Strategies) -> float:
    """trace(G·(AᵀA)⁻¹) on each axis."""
    backs = [(size, inverse(way, size)) for way, size in _axes(shape, strategy)]
    return prod(float(np.sum(ranges(size) * back.dot(back.T))) for size, back in backs)
