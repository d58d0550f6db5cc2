"""The cell key method: noise that depends on who is in a cell, so that the same people always get the same.
As the Australian Bureau of Statistics and, for the census of 2021, the Office for National Statistics use it.  [FW05]

Everybody has a record key, a number that follows from the curator's secret; a cell's key is the sum of its
people's keys modulo 2³². The cell key, scattered by the secret once more so that cells of different people are
independent, picks a number from the perturbation table's row for the count.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil, exp, floor, log10, prod, sqrt

import numpy as np

from obverse.data.schema import Neighbours
from obverse.errors import BadParameter
from obverse.noise.entropy import Entropy
from obverse.release import Accuracy, Syntactic, Terms
from obverse.tables.cube import KEY_BITS, Totals
from obverse.tables.protect import Exact, Protected, Shape, counts_only, syntactic, unmarked

KEYS = 1 << KEY_BITS
STEEPEST = 60.0


@dataclass(frozen=True)
class CellKey(Exact):
    """Adds a whole number of mean 0 and this variance, at most `most` either way, to every count above 0.

    No result lies in 1 … `smallest`, and none below 0. Each row of the table has the largest entropy that
    these rules allow [Gie16]; where they do not allow the variance, the nearest one they do.
    """

    variance: Fraction = Fraction(2)
    most: int = 5
    smallest: int = 2
    keyed = True

    def within(self, shape: Shape) -> float:
        return float(self.most)

    def settled(self, shape: Shape, terms: Terms) -> CellKey:
        if not 0 < self.variance <= self.most**2 or self.most > 100:
            raise BadParameter(f"noise of at most ±{self.most} has no variance of {self.variance}")
        if not 0 <= self.smallest < self.most:
            raise BadParameter(f"smallest is 0 or more and below most = {self.most}, not {self.smallest}")
        counts_only(shape, "the cell key method")
        return self

    @cached_property
    def table(self) -> np.ndarray:
        """Out of 2³² keys, how many add −most … most: a row a count, the last for all larger counts."""
        return np.array([self._row(count) for count in range(self.most + self.smallest + 2)])

    def _row(self, count: int) -> np.ndarray:
        steps = np.arange(-self.most, self.most + 1)
        after = count + steps
        allowed = (after >= 0) & ~((after >= 1) & (after <= self.smallest)) if count else steps == 0
        shares = _most_entropy(steps[allowed].astype(float), float(self.variance))
        keys = np.zeros(len(steps), np.int64)
        keys[allowed] = np.floor(shares * KEYS)
        keys[np.argmax(keys)] += KEYS - keys.sum()
        return keys

    def delta(self, epsilon: float, least: int = 0, rows: int = 1) -> float:
        """δ(ε) of one count, from `least` up, when up to so many rows come or go: their keys make the cell's a fresh
        one.  [RKSS18]"""
        steps = range(1, min(rows, 2 * self.most + 1) + 1)
        counts = range(min(least, self.most + self.smallest + 1), self.most + self.smallest + 2)
        laws = np.zeros((counts[-1] + steps[-1] + 1, counts[-1] + steps[-1] + self.most + 1))
        for count in range(len(laws)):
            row = self.table[min(count, len(self.table) - 1)]
            for step in np.flatnonzero(row):
                laws[count, count + step - self.most] = row[step] / KEYS
        pairs = [pair for n in counts for more in steps for pair in ((n, n + more), (n + more, n))]
        return max(float(np.maximum(laws[a] - exp(epsilon) * laws[b], 0).sum()) for a, b in pairs)

    def guarantee(self, shape: Shape) -> Syntactic:
        unit, large = shape.schema.unit, self.most + self.smallest
        rows = unit.rows if unit.column is not None and unit.told else 1
        who = "a person" if unit.told else "one row, of which a person may have several,"
        who = f"{who} of up to {rows} rows" if rows > 1 else who
        cells = _cells_of_one_row(shape) * rows * (1 + (shape.schema.neighbours is Neighbours.REPLACE))
        one, most = (self.delta(1, least, rows) for least in (large, 0))
        return syntactic(
            ("cell key", f"variance {self.variance}, at most ±{self.most}, none of 1 … {self.smallest}"),
            ("a cell's δ at ε = 1", f"{_up(most)}, of counts from {large} up {_up(one)}"),
            (f"all cells of {who}", f"{cells}, so δ up to {_up(min(1.0, cells * most))} at ε = {cells}"),
        )

    def accuracy(self, shape: Shape) -> tuple[Accuracy, ...]:
        return (
            Accuracy(
                "each count",
                self.most,
                1.0,
                f"standard deviation {sqrt(self.variance):.2g} above small counts",
            ),
        )

    def protect(self, shape: Shape, totals: Totals, entropy: Entropy) -> Protected:
        rows = np.minimum(totals.rows, len(self.table) - 1)
        ends = np.cumsum(self.table, axis=1)
        picked = (totals.keys[..., None] >= ends[rows]).sum(axis=-1)
        return unmarked(totals.rows + picked - self.most)


def _up(delta: float) -> str:
    """Two digits, rounded up: a bound that is printed is a bound."""
    step = 10.0 ** (floor(log10(delta)) - 1) if delta > 0 else 1.0
    return f"{ceil(delta / step - 1e-9) * step:.2g}"


def _most_entropy(steps: np.ndarray, variance: float) -> np.ndarray:
    """The law on these steps of mean 0 and this variance, or the nearest possible, that has the most entropy.

    It has the form exp(a·x + b·x²); its variance grows with b when a keeps the mean at 0.
    """
    low, high = -STEEPEST, STEEPEST
    for _ in range(50):
        middle = (low + high) / 2
        law = _centred(steps, middle)
        low, high = (middle, high) if law @ steps**2 < variance else (low, middle)
    return law


def _centred(steps: np.ndarray, b: float) -> np.ndarray:
    """The law exp(a·x + b·x²) with the a that gives mean 0."""
    low, high = -2000.0, 2000.0
    for _ in range(64):
        a = (low + high) / 2
        exponent = a * steps + b * steps**2
        law: np.ndarray = np.exp(exponent - exponent.max())
        law /= law.sum()
        low, high = (a, high) if law @ steps < 0 else (low, a)
    return law


def _cells_of_one_row(shape: Shape) -> int:
    """In how many shown cells a row is: one on each rung, or the total, of each table's columns."""
    heights = {d.column: d.height + 1 for d in shape.dimensions}
    return sum(prod(heights[column] for column in columns) for columns in shape.by)
