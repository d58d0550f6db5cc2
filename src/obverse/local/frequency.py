"""How many people have each answer, from reports private before they are sent.  [WBLJ17; ASZ19]

Each has an ε for one answer of a person; k answers of one person cost kε, and so does the same answer sent to k
databases (unless the report is the same one: `rappor` keeps it).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import exp

import numpy as np
from numpy.typing import NDArray

from obverse.errors import BadParameter
from obverse.local.estimate import Estimate, counts
from obverse.loss.curves import pure_profile
from obverse.loss.loss import Sensitivity
from obverse.loss.number import positive
from obverse.mechanisms.base import Mechanism
from obverse.mechanisms.coins import against, coins, dice, exactly, odds
from obverse.mechanisms.lazily import Whole, whole
from obverse.noise.entropy import Entropy

MOST = 1 << 16
CHUNK = 1 << 15
Reports = NDArray[np.int64] | NDArray[np.uint64] | NDArray[np.bool_]
HALF = exactly(Fraction(1, 2))


@dataclass(frozen=True)
class Frequency(Mechanism[Sequence[int] | Whole, Reports]):
    """Answers in 0 … categories − 1, a report each; ε-private for each answer."""

    epsilon: Fraction
    categories: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", positive(self.epsilon, "ε"))
        if not 2 <= self.categories <= MOST:
            raise BadParameter(f"categories are 2 to {MOST}, not {self.categories}")

    def answers(self, value: Sequence[int] | Whole) -> Whole:
        """The answers, checked by each respondent's own device."""
        given = whole(value)
        if given.size and not 0 <= given.min() <= given.max() < self.categories:
            raise BadParameter(f"answers are numbered 0 to {self.categories - 1}")
        return given

    def pure(self, sensitivity: Sensitivity) -> Fraction:
        """ε for each answer a person gives."""
        return self.epsilon * sensitivity.l1

    def profile(self, epsilon: float, sensitivity: Sensitivity) -> float:
        return pure_profile(float(self.pure(sensitivity)), epsilon)

    @abstractmethod
    def estimate(self, reports: Reports) -> Estimate:
        """How many people have each answer."""


@dataclass(frozen=True)
class UnaryEncoding(Frequency):
    """A row of bits: the own answer's is set with chance ½, each other's with 1/(e^ε + 1).  [WBLJ17, Section 4.3: OUE]

    >>> from obverse.noise.entropy import Keyed
    >>> UnaryEncoding(Fraction(1), 4).release([0, 3], Keyed("example")).shape
    (2, 4)
    """

    def draw(self, value: Sequence[int] | Whole, entropy: Entropy) -> Reports:
        answers = self.answers(value)
        bits = coins(against(odds(self.epsilon)), answers.size * self.categories, entropy, first=8)
        table = bits.reshape(answers.size, self.categories)
        table[np.arange(answers.size), answers] = coins(HALF, answers.size, entropy, first=8)
        return table

    def estimate(self, reports: Reports) -> Estimate:
        supported = reports.sum(axis=0, dtype=np.int64).astype(np.float64)
        return counts(supported, len(reports), 0.5, 1 / (exp(float(self.epsilon)) + 1))


@dataclass(frozen=True)
class LocalHashing(Frequency):
    """A hash of one's own choosing to about e^ε + 1 values, and its value by randomised response.  [WBLJ17: OLH]

    A report is (a, b, value): the hash is the high half of a·x + b mod 2⁶⁴, scaled down: any two answers meet with
    chance 1/values to within 2⁻³².  [Die96]
    """

    @property
    def values(self) -> int:
        """How many values are hashed to."""
        return max(2, min(round(exp(min(float(self.epsilon), 20.0))) + 1, 1 << 20))

    def draw(self, value: Sequence[int] | Whole, entropy: Entropy) -> Reports:
        answers = self.answers(value)
        seeds = np.frombuffer(entropy.bytes(16 * answers.size), np.uint64).reshape(-1, 2)
        hashed = self._hash(seeds, answers.astype(np.uint64)).astype(np.int64)
        others = self.values - 1
        truth = coins(odds(self.epsilon, others), answers.size, entropy)
        lies = (hashed + 1 + dice(others, answers.size, entropy)) % self.values
        said = np.where(truth, hashed, lies).astype(np.uint64)
        return np.concatenate((seeds, said[:, None]), axis=1)

    def _hash(self, seeds: NDArray[np.uint64], answers: NDArray[np.uint64]) -> NDArray[np.uint64]:
        mixed = (seeds[:, 0] * answers + seeds[:, 1]) >> np.uint64(32)
        scaled: NDArray[np.uint64] = mixed * np.uint64(self.values) >> np.uint64(32)
        return scaled

    def estimate(self, reports: Reports) -> Estimate:
        seeds, said = reports[:, :2].astype(np.uint64), reports[:, 2].astype(np.uint64)
        supported = [
            np.count_nonzero(self._hash(seeds, np.full(len(reports), answer, np.uint64)) == said)
            for answer in range(self.categories)
        ]
        p = 1 / (1 + (self.values - 1) * exp(-float(self.epsilon)))
        return counts(np.array(supported, np.float64), len(reports), p, 1 / self.values)


@dataclass(frozen=True)
class HadamardResponse(Frequency):
    """A column of a Hadamard matrix in which the own answer's row has +1, with chance e^ε/(e^ε + 1).  [ASZ19]

    The column's number is the whole report; all counts follow from one fast transform of how often each was sent.

    >>> from obverse.noise.entropy import Keyed
    >>> HadamardResponse(Fraction(1), 60).columns
    64
    """

    @property
    def columns(self) -> int:
        """The least power of two above the number of categories: row 0 is all +1 and says nothing."""
        return 1 << self.categories.bit_length()

    def draw(self, value: Sequence[int] | Whole, entropy: Entropy) -> Reports:
        rows = self.answers(value).astype(np.uint32) + np.uint32(1)
        drawn = np.frombuffer(entropy.bytes(4 * rows.size), np.uint32) & np.uint32(self.columns - 1)
        minus = np.bitwise_count(rows & drawn) & np.uint8(1)
        wrong = coins(odds(self.epsilon), rows.size, entropy) == minus.astype(np.bool_)
        # Another column, one to one, in which this row has the other sign: one bit of the row turned over.
        turned: Reports = (drawn ^ np.where(wrong, rows & (~rows + np.uint32(1)), np.uint32(0))).astype(
            np.int64
        )
        return turned

    def estimate(self, reports: Reports) -> Estimate:
        signs = _transformed(np.bincount(reports.astype(np.int64), minlength=self.columns).astype(np.float64))
        supported = (len(reports) + signs[1 : self.categories + 1]) / 2
        return counts(supported, len(reports), 1 / (1 + exp(-float(self.epsilon))), 0.5)


def _transformed(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """The Hadamard matrix times a vector, in n·log n steps."""
    width = 1
    while width < sums.size:
        pairs = sums.reshape(-1, 2, width)
        sums = np.stack((pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]), axis=1).ravel()
        width *= 2
    return sums
