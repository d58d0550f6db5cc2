"""Rows from the whole histogram of few cells: each combination is counted, with noise of its own."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from obverse.loss.loss import Loss, Sensitivity
from obverse.noise.entropy import Entropy
from obverse.release import Accuracy
from obverse.synthesise.domain import Codes
from obverse.synthesise.measure import Held, Noise, nearest, noises

MOST_CELLS = 1 << 20
MOST_ROWS = 1_000_000
SHARES = [Fraction(1), Fraction(15)]  # of how many rows there are, and of each combination


@dataclass(frozen=True)
class Joint:
    """How many rows there are, and how many in each combination of cells; both with noise."""

    shape: tuple[int, ...]
    number: Noise
    noise: Noise
    sensitivity: Sensitivity
    grid: Fraction

    @classmethod
    def at(
        cls, shape: tuple[int, ...], distance: Sensitivity, grid: Fraction, epsilon: Fraction, delta: Fraction
    ) -> Joint:
        """The one that costs (ε, δ)."""
        number, noise = noises(SHARES, epsilon, delta, distance)
        return cls(shape, number, noise, distance, grid)

    @property
    def loss(self) -> Loss:
        return self.number.loss(self.sensitivity) + self.noise.loss(self.sensitivity)

    def accuracy(self, confidence: float) -> tuple[Accuracy, ...]:
        """Of what was measured, before it is made consistent and rows are drawn of it."""
        each = float(self.noise.interval(confidence) * self.grid)
        return counted(self.number, self.grid, confidence), Accuracy(
            "rows of each combination of cells", each, confidence
        )

    @property
    def words(self) -> str:
        cells = int(np.prod(self.shape))
        return f"the noisy count of each of {cells:,} combinations of cells"

    def rows(self, held: Held, entropy: Entropy) -> Codes:
        """The cells of rows that are as many in each combination as was released, in random order."""
        number = many(self.number, held, self.grid, entropy)
        noisy = self.noise.release_many(held.marginal(*range(len(self.shape))).ravel().tolist(), entropy)
        counts = nearest(np.array(noisy, np.float64) * float(self.grid), number)
        codes = np.stack(np.unravel_index(np.repeat(np.arange(counts.size), counts), self.shape), axis=1)
        return codes[shuffled(number, entropy)].astype(np.int64)


def many(noise: Noise, held: Held, grid: Fraction, entropy: Entropy) -> int:
    """How many rows are drawn: as many as there are, with noise."""
    return min(max(0, round(noise.release(held.total, entropy) * grid)), MOST_ROWS)


def counted(noise: Noise, grid: Fraction, confidence: float) -> Accuracy:
    """How far the number of rows is off."""
    return Accuracy("rows", float(noise.interval(confidence) * grid), confidence)


def shuffled(count: int, entropy: Entropy) -> Codes:
    """The places 0 … count − 1 in random order."""
    return np.argsort(np.frombuffer(entropy.bytes(8 * count), np.uint64), kind="stable")
