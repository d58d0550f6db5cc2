"""From a curve δ(ε) to a loss with finitely many values that dominates it, and sums of such losses.  [DGKKM22]

Between grid points δ is replaced by its chord in e^ε, which lies above the curve as the curve is convex; the chords are
the curve of a discrete loss. It is used at ε ≥ 0 and mirrored, since neighbours come in both orders.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, expm1, log2, sqrt

import numpy as np
import numpy.typing as npt

from obverse.loss.moments import Atoms

Floats = npt.NDArray[np.float64]

GONE = 1e-18  # δ beyond the end of the grid counts as an infinite loss
FURTHEST = 4096.0
POINTS = 1024
SIZE = 1 << 12


@dataclass(frozen=True, eq=False)
class Dots:
    """A loss of (first + i)·step with chance `chances[i]`, and an infinite one with chance `infinite`."""

    step: float
    first: int
    chances: Floats
    infinite: float

    @classmethod
    def of(cls, curve: Callable[[float], float], step: float, top: float) -> Dots:
        """The dots of a falling curve on a grid up to `top`."""
        count = max(1, ceil(top / step - 1e-9))
        right = np.array([curve(k * step) for k in range(count + 1)])
        grid = step * np.arange(1, count + 1)
        left = -np.expm1(-grid) + np.exp(-grid) * right[1:]
        heights = np.concatenate([left[::-1], right])
        rises = np.diff(heights)
        chances = np.zeros(2 * count + 1)
        chances[:-1] += rises / expm1(step)
        chances[1:] += rises / expm1(-step)
        chances[0] -= heights[0] - 1
        dots = cls(step, -count, np.maximum(chances, 0.0), float(right[-1]))
        # Rounding in the second differences, and dents in a curve that is itself a bound, are paid for here.
        short = max(0.0, float(np.max(right - dots._deltas(np.append(0.0, grid)))))
        return cls(step, -count, dots.chances, dots.infinite + short)

    @property
    def losses(self) -> Floats:
        return np.asarray(self.step * (self.first + np.arange(len(self.chances))), dtype=np.float64)

    def delta(self, epsilon: float) -> float:
        return float(self._deltas(np.array([epsilon]))[0])

    def _deltas(self, epsilon: Floats) -> Floats:
        """δ at each ε > −700, from sums over the losses above it."""
        losses = self.losses
        mass = np.append(np.cumsum(self.chances[::-1])[::-1], 0.0)
        less = np.append(np.cumsum((self.chances * np.exp(-np.maximum(losses, -700.0)))[::-1])[::-1], 0.0)
        above = np.searchsorted(losses, epsilon, side="right")
        found: Floats = self.infinite + mass[above] - np.exp(np.minimum(epsilon, 700.0)) * less[above]
        least: Floats = np.minimum(1.0, found)
        return least

    def atoms(self) -> Atoms:
        """The same loss through its moments."""
        return Atoms(self.losses, self.chances, min(self.infinite, 1 - 1e-16))


def top(curve: Callable[[float], float]) -> float:
    """Where a falling curve has reached its end, but for GONE."""
    end = curve(FURTHEST)
    high = 2.0**-20
    while high < FURTHEST and curve(high) - end > GONE:
        high *= 2
    low = high / 2
    for _ in range(12):
        middle = (low + high) / 2
        low, high = (low, middle) if curve(middle) - end <= GONE else (middle, high)
    return high


Part = tuple[Callable[[float], float], float, int]  # a curve, where it ends, how many times


def grid(parts: Sequence[Part]) -> float:
    """The step of one grid for all of them, on which the end of the part that matters most lies exactly."""
    step = sum(n * end for _, end, n in parts) / SIZE
    most = max(parts, key=lambda part: part[1] * part[2])[1]
    return max(2.0**-40, most / max(1, int(most / step)))


def convolved(parts: Sequence[Part]) -> Dots:
    """The sum of independent losses with these curves, on one grid by the Fourier transform.

    Computed in double precision, n factors of L entries err by at most n·log₂(L)·√L·2⁻⁵² in total, which becomes an
    infinite loss; what the transform leaves below 0 is within that error.
    """
    step = grid(parts)
    dots = [(Dots.of(curve, step, end), n) for curve, end, n in parts]
    number = sum(n for _, n in dots)
    length = 1 + sum(n * (len(each.chances) - 1) for each, n in dots)
    size = 1 << ceil(log2(length))
    wave = np.ones(size // 2 + 1, dtype=complex)
    alive = 1.0
    for each, n in dots:
        wave *= np.fft.rfft(each.chances, size) ** n
        alive *= (1 - each.infinite) ** n
    chances = np.fft.irfft(wave, size)[:length]
    error = number * log2(size) * sqrt(size) * 2.0**-52
    return Dots(step, sum(n * each.first for each, n in dots), np.maximum(chances, 0.0), 1 - alive + error)
