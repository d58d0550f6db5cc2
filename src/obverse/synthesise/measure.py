"""Counts of cells: read once and bounded, then as noisy as what was paid leaves them, then a table of counts again.

Every marginal is a sum of the one bounded histogram of all axes together, so what one unit moves there, in L1, is the
most it moves in any of them: to add up cells brings no two vectors further apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod, sqrt

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from obverse.data.bounding import Measure, Rows, out_grid, sensitivity, totals
from obverse.data.table import Tables
from obverse.loss.calibrate import gaussian_variance_for_rho, laplace_scale, largest_rho
from obverse.loss.loss import Sensitivity
from obverse.mechanisms.gaussian import Gaussian
from obverse.mechanisms.laplace import Laplace
from obverse.synthesise.domain import Axis, Codes

ROWS = Measure(None, 1, 1)
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Read:
    """What is read of the rows: how many are in each combination of cells, bounded by whose they are."""

    rows: Rows
    where: exp.Expr | None
    axes: tuple[Axis, ...]

    @property
    def select(self) -> exp.Select:
        return totals(self.rows, self.where, tuple(axis.key for axis in self.axes), (ROWS,))

    @property
    def sensitivity(self) -> Sensitivity:
        """How far the counts of two neighbours are apart, in steps of `grid`."""
        return sensitivity(self.rows, ROWS, grouped=True)

    @property
    def grid(self) -> Fraction:
        """What a step of a count is worth."""
        return out_grid(self.rows, ROWS, grouped=True)

    @property
    def bounds(self) -> str:
        """What no ± includes: how many rows of a person count. Nothing where each row is somebody's own."""
        if self.rows.unit.column is None:
            return ""
        most = self.rows.unit.rows
        return f"{most:,} {'row' if most == 1 else 'rows'} of one person count at most, which no ± includes"

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(axis.size for axis in self.axes)

    def held(self, tables: Tables) -> Held:
        """The combinations that rows have, in an order that follows from them alone."""
        *said, steps = list(zip(*tables.run(self.select), strict=True)) or [()] * (len(self.axes) + 1)
        codes = np.array(
            [axis.codes(each) for axis, each in zip(self.axes, said, strict=True)], np.int64
        ).T.reshape(-1, len(self.axes))
        counts = np.array([int(each or 0) for each in steps], np.int64)
        inside = (codes >= 0).all(axis=1)
        codes, counts = codes[inside], counts[inside]
        ordered = np.lexsort(codes.T[::-1])
        return Held(self.shape, codes[ordered], counts[ordered])


@dataclass(frozen=True, eq=False)
class Held:
    """A histogram of which only the cells that rows have are held. Secret: it has no `repr`."""

    shape: tuple[int, ...]
    codes: Codes
    steps: Codes

    def __repr__(self) -> str:
        return "Held(…)"

    @property
    def total(self) -> int:
        return int(self.steps.sum())

    def marginal(self, *places: int, group: dict[int, Codes] | None = None) -> Codes:
        """The counts over these axes alone; an axis with a `group` by the group of its cells."""
        sizes, parts = [], []
        for place in places:
            codes, size = self.codes[:, place], self.shape[place]
            if group is not None and place in group:
                codes, size = group[place][codes], int(group[place].max()) + 1
            parts.append(codes)
            sizes.append(size)
        cells = np.ravel_multi_index(tuple(parts), sizes)
        assert self.total < 1 << 53, "sums of floats are exact below"
        counts = np.bincount(cells, self.steps, minlength=prod(sizes))
        return counts.astype(np.int64).reshape(sizes)


def nearest(fitted: Floats, total: int | None = None) -> Codes:
    """The nearest table of counts from 0 up with the same total, or with this one, in whole numbers.

    It is what is left of a common amount taken from every cell, cut off at 0 [DSSC08]; then the cells with the
    largest remainders are rounded up.
    """
    total = max(0, round(float(fitted.sum())) if total is None else total)
    ranked = np.sort(fitted.ravel())[::-1]
    excess = (np.cumsum(ranked) - total) / np.arange(1, len(ranked) + 1)
    taken = excess[np.flatnonzero(ranked > excess)[-1]] if total else np.inf
    return rounded(np.maximum(fitted.ravel() - taken, 0), total).reshape(fitted.shape)


def rounded(left: Floats, total: int) -> Codes:
    """Whole numbers near these, which add up to about as much, that add up to `total`."""
    counts = np.floor(left).astype(np.int64)
    remainders = np.argsort(counts - left, kind="stable")
    counts[remainders[: total - int(counts.sum())]] += 1
    return counts


Noise = Laplace | Gaussian


def noises(
    shares: Sequence[Fraction], epsilon: Fraction, delta: Fraction, distance: Sensitivity
) -> list[Noise]:
    """A noise for each share of (ε, δ): Laplace, or Gaussian where a δ is granted and all of it is less then."""
    whole = sum(shares)
    pure: list[Noise] = [Laplace(laplace_scale(epsilon * share / whole, distance)) for share in shares]
    if not delta:
        return pure
    rho = largest_rho(float(epsilon), float(delta))
    normal: list[Noise] = [
        Gaussian(gaussian_variance_for_rho(rho * share / whole, distance)) for share in shares
    ]
    return min(pure, normal, key=lambda each: max(noise.interval(0.95) for noise in each))


def spread(noise: Noise) -> float:
    """Its standard deviation in steps, nearly."""
    return sqrt(noise.variance) if isinstance(noise, Gaussian) else sqrt(2) * float(noise.scale)
