"""What was learnt of a table once, with noise: how many rows people have, and how large their numbers are.

All of it left through the door and was paid for, so that what follows from it is free [DR14, Proposition 2.1]: the
bounds of every later question, and how much those bounds are expected to take off an answer. The few people of a long
tail drown in the noise; how many there are beyond the last number that stands out of it is expected from how fast the
numbers fell before, and from what little the noise lets through.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import exp, expm1, log

import numpy as np
from numpy.typing import NDArray

PARTS = 4  # a bin's people are thought to be at so many places, evenly by their logarithm
SURE = 7  # what stands out by ln(bins) + 7 scales of the noise is noise once in two thousand registrations
STEEP = 0.45  # of a tail that falls to half its people or less, the sizes too add up to something
FEW = 0.5  # no tail is expected beyond where half a person is
Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Binned:
    """Noisy numbers of people by powers of two: bin k is of sizes from 2^(first + k) to below its double.

    The first bin holds all smaller sizes too. `scale` is that of the Laplace noise in each number; `whole` says that
    sizes are whole numbers.

    >>> few = Binned(0, (1003, 2996, -2, 4), Fraction(1), whole=True)
    >>> round(few.people), round(few.beyond(1)), round(few.beyond(4))
    (4000, 4498, 1)
    """

    first: int
    counts: tuple[int, ...]
    scale: Fraction
    whole: bool

    @cached_property
    def expected(self) -> tuple[float, ...]:
        """How many people are expected in each bin, given the noisy numbers."""
        noise = float(self.scale)
        sure = [k for k, count in enumerate(self.counts) if count > noise * (log(len(self.counts)) + SURE)]
        if not sure:
            return ()
        found = [
            max(0.0, count if count > 3 * noise else count - noise) for count in self.counts[: sure[-1] + 1]
        ]
        found[: sure[0]] = [0.0] * sure[0]
        return tuple(found) + self._tail(found, noise)

    def _tail(self, found: list[float], noise: float) -> tuple[float, ...]:
        """The bins beyond the last sure one: falling on as they fell, unless the noisy number says otherwise."""
        back = min(2, len(found) - 1)
        falls = (found[-1] / found[-1 - back]) ** (1 / back) if back and found[-1 - back] > 0 else STEEP
        falls = min(falls, STEEP)
        people, tail = found[-1], list[float]()
        for count in self.counts[len(found) :]:
            likely = people * falls
            people = given(count, likely, noise)
            if people < likely / 4:
                falls *= people / likely
            if people < FEW * (1 - falls):
                break
            tail.append(people)
        return tuple(tail)

    @cached_property
    def points(self) -> tuple[Numbers, Numbers]:
        """Sizes, and how many people are expected to have each."""
        places = np.arange(len(self.expected) * PARTS)
        sizes = 2.0 ** (self.first + (places + 0.5) / PARTS)
        return (np.floor(sizes) if self.whole else sizes), np.repeat(self.expected, PARTS) / PARTS

    @property
    def people(self) -> float:
        """How many people there are, about."""
        return float(sum(self.expected))

    @property
    def total(self) -> float:
        """The sum of all sizes, about."""
        sizes, people = self.points
        return float(sizes @ people)

    @property
    def largest(self) -> Fraction:
        """A size beyond which nobody is expected."""
        return Fraction(2) ** (self.first + len(self.expected))

    def beyond(self, limit: float) -> float:
        """What is above a limit, added up over all people, about."""
        sizes, people = self.points
        return float(np.maximum(sizes - limit, 0) @ people)

    def joined(self, other: Binned) -> tuple[Numbers, Numbers]:
        """The points of both."""
        one, two = self.points, other.points
        return np.concatenate([one[0], two[0]]), np.concatenate([one[1], two[1]])


def given(count: float, likely: float, noise: float) -> float:
    """How many people to expect where `likely` many were, and a number with Laplace noise says `count`.

    The mean of x ≥ 0 with density exp(−x/likely − |count − x|/noise).
    """
    if likely <= 0:
        return 0.0
    above = 1 / likely + 1 / noise
    if count <= 0:
        return 1 / above
    below = 1 / likely - 1 / noise
    fall = below * count
    if fall < -100:
        return count + 1 / above + 1 / below
    if abs(fall) < 1e-6:
        weight, mass = count, count * count / 2
    else:
        weight, mass = -expm1(-fall) / below, (1 - (1 + fall) * exp(-fall)) / below**2
    rest = exp(-fall) / above
    return (mass + rest * (count + 1 / above)) / (weight + rest)


@dataclass(frozen=True)
class Sizes:
    """People by the largest |x| they have of one column: those with none below 0, with none above it, and with both."""

    column: str
    positive: Binned
    negative: Binned
    mixed: Binned


@dataclass(frozen=True)
class Learnt:
    """What one registration told of a table: people by how many rows they have, and by values.

    `unit` is the column that said who is who; None where each row is a unit, and then `rows` is None too.
    `epsilon` is what it cost, `version` the data it was learnt on, which is nobody's to see.
    """

    table: str
    unit: str | None
    epsilon: Fraction
    rows: Binned | None
    values: tuple[Sizes, ...]
    version: str = field(default="", repr=False, compare=False)

    def sizes(self, column: str) -> Sizes | None:
        """What was learnt of a column."""
        return next((each for each in self.values if each.column == column), None)

    def pack(self) -> bytes:
        """As bytes for the ledger to keep."""
        rows = None if self.rows is None else _plain(self.rows)
        values = [[s.column, *map(_plain, (s.positive, s.negative, s.mixed))] for s in self.values]
        whole = {
            "learnt": self.table,
            "unit": self.unit,
            "epsilon": str(self.epsilon),
            "rows": rows,
            "values": values,
            "version": self.version,
        }
        return json.dumps(whole, separators=(",", ":"), ensure_ascii=False).encode()

    @classmethod
    def unpack(cls, kept: bytes) -> Learnt:
        """Back from its bytes."""
        whole = json.loads(kept)
        rows = None if whole["rows"] is None else _binned(*whole["rows"])
        values = tuple(Sizes(name, *(_binned(*each) for each in three)) for name, *three in whole["values"])
        epsilon = Fraction(whole["epsilon"])
        return cls(whole["learnt"], whole["unit"], epsilon, rows, values, whole["version"])


def _plain(binned: Binned) -> list[object]:
    return [binned.first, list(binned.counts), str(binned.scale), binned.whole]


def _binned(first: int, counts: list[int], scale: str, whole: bool) -> Binned:
    return Binned(first, tuple(counts), Fraction(scale), whole)
