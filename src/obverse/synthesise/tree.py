"""Rows of many columns from one- and two-column counts along a tree.  [MMS21]

Each column is counted by itself, with noise. Its cells are then gathered into a few groups of about as many rows, as
few as the noise of a pair makes wise. The pairs of columns that a tree joins are chosen one by one: by how many rows
the counts of a pair are off from those that its columns would have if they had nothing to do with each other. The
chosen pairs are counted with noise too, brought into agreement with the single columns, and rows are drawn from the
root of the tree outwards; within a group as the single column's counts say.

A score is an L1 distance to counts that are public by then, so it moves by no more than the histogram does.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import sqrt

import numpy as np

from obverse.loss.loss import Loss, Sensitivity
from obverse.mechanisms.permute_and_flip import PermuteAndFlip
from obverse.mechanisms.score import Score
from obverse.noise.entropy import Entropy
from obverse.release import Accuracy
from obverse.synthesise.domain import Codes
from obverse.synthesise.joint import counted, many, shuffled
from obverse.synthesise.measure import Floats, Held, Noise, nearest, noises, rounded, spread

NUMBER, SINGLES, PAIRS, CHOICES = (Fraction(part, 20) for part in (1, 8, 9, 2))
LEAST_GROUPS, MOST_GROUPS = 2, 24
WORTH = 4  # a group of a pair holds so many times its noise, on average
ROUNDS = 25
Pair = tuple[int, int]


@dataclass(frozen=True)
class Tree:
    """What is measured to draw rows of many columns, and with which noise."""

    shape: tuple[int, ...]
    ordered: tuple[bool, ...]
    number: Noise
    single: Noise
    pair: Noise
    choice: PermuteAndFlip
    sensitivity: Sensitivity
    grid: Fraction

    @classmethod
    def at(
        cls,
        shape: tuple[int, ...],
        ordered: tuple[bool, ...],
        distance: Sensitivity,
        grid: Fraction,
        epsilon: Fraction,
        delta: Fraction,
    ) -> Tree:
        """The one that costs (ε, δ)."""
        axes, joined = len(shape), len(shape) - 1
        counted = [NUMBER, *[SINGLES / axes] * axes, *[PAIRS / joined] * joined]
        found = noises(counted, epsilon * (1 - CHOICES), delta, distance)
        choice = PermuteAndFlip.at(epsilon * CHOICES / joined, Score(distance.l1))
        return cls(shape, ordered, found[0], found[1], found[-1], choice, distance, grid)

    @property
    def loss(self) -> Loss:
        """[DR14, Theorem 3.14], of all that is measured and chosen, whatever came before."""
        apart, joined = self.sensitivity, len(self.shape) - 1
        chosen = self.choice.loss(Sensitivity.of(apart.l1))
        counts = self.number.loss(apart) + len(self.shape) * self.single.loss(apart)
        return counts + joined * (chosen + self.pair.loss(apart))

    def accuracy(self, confidence: float) -> tuple[Accuracy, ...]:
        """Of what was measured, before it is made consistent and rows are drawn of it."""
        alone, both = (float(noise.interval(confidence) * self.grid) for noise in (self.single, self.pair))
        return (
            counted(self.number, self.grid, confidence),
            Accuracy("rows of each cell of a column", alone, confidence),
            Accuracy("rows of each group of a pair of columns", both, confidence),
        )

    @property
    def words(self) -> str:
        axes = len(self.shape)
        return f"noisy counts of {axes} columns, and of {axes - 1} pairs of them, chosen privately, that make a tree"

    def rows(self, held: Held, entropy: Entropy) -> Codes:
        """The cells of rows whose single columns, and whose pairs along the tree, are as was released."""
        number = many(self.number, held, self.grid, entropy)
        singles = [
            self._counts(self.single, held.marginal(i), number, entropy) for i in range(len(self.shape))
        ]
        groups = self._groups(singles, number)
        gathered: list[Floats] = [
            np.bincount(groups[i], weights=one).astype(np.float64) for i, one in enumerate(singles)
        ]
        edges = self._edges(held, groups, gathered, number, entropy)
        tables = {}
        for one, other in edges:
            exact = held.marginal(one, other, group=groups)
            noisy = self._counts(self.pair, exact, number, entropy)
            tables[one, other] = _agreeing(noisy, gathered[one], gathered[other])
        drawn = _drawn(tables, gathered, number, entropy)
        cells = [_within(drawn[i], groups[i], singles[i], entropy) for i in range(len(self.shape))]
        return np.stack(cells, axis=1)

    def _counts(self, noise: Noise, exact: Codes, number: int, entropy: Entropy) -> Floats:
        noisy = noise.release_many(exact.ravel().tolist(), entropy)
        scaled = np.array(noisy, np.float64).reshape(exact.shape) * float(self.grid)
        return nearest(scaled, number).astype(np.float64)

    def _groups(self, singles: list[Floats], number: int) -> dict[int, Codes]:
        """As many groups of each column as make their pairs' counts stand out of the noise."""
        noise = spread(self.pair) * float(self.grid)
        most = int(sqrt(number / (WORTH * noise))) if noise else MOST_GROUPS
        most = min(max(most, LEAST_GROUPS), MOST_GROUPS)
        return {i: grouped(one, most, ordered=self.ordered[i]) for i, one in enumerate(singles)}

    def _edges(
        self, held: Held, groups: dict[int, Codes], gathered: list[Floats], number: int, entropy: Entropy
    ) -> list[Pair]:
        """A spanning tree, chosen edge by edge among those that join two parts.  [MMS21, Algorithm 2]"""
        scores = {}
        for one, other in combinations(range(len(self.shape)), 2):
            alone = np.outer(gathered[one], gathered[other]) / max(number, 1) / float(self.grid)
            exact = held.marginal(one, other, group=groups)
            scores[one, other] = int(np.abs(exact - np.rint(alone).astype(np.int64)).sum())
        part = list(range(len(self.shape)))
        edges: list[Pair] = []
        while len(edges) < len(self.shape) - 1:
            able = [pair for pair in scores if part[pair[0]] != part[pair[1]]]
            place = self.choice.release(np.array([scores[pair] for pair in able], np.int64), entropy)
            one, other = able[place]
            edges.append((one, other))
            joined = part[other]
            part = [part[one] if each == joined else each for each in part]
        return edges


def grouped(counts: Floats, most: int, *, ordered: bool) -> Codes:
    """Each cell's group: neighbours gathered until they hold enough, or the largest cells alone and the rest together.

    >>> grouped(np.array([5.0, 5.0, 10.0, 0.0]), 2, ordered=True).tolist()
    [0, 0, 1, 1]
    """
    if len(counts) <= most:
        return np.arange(len(counts))
    if not ordered:
        group = np.full(len(counts), most - 1)
        group[np.argsort(-counts, kind="stable")[: most - 1]] = np.arange(most - 1)
        return group
    before = np.cumsum(counts) - counts / 2
    found = np.minimum((before * most / max(counts.sum(), 1.0)).astype(np.int64), most - 1)
    return np.unique(found, return_inverse=True)[1].astype(np.int64)


def _agreeing(pair: Floats, rows: Floats, columns: Floats) -> Floats:
    """The pair's counts in agreement with those of its columns, by turns; a trace everywhere lets all be reached."""
    fitted = pair + 1e-3
    for _ in range(ROUNDS):
        fitted *= (rows / np.maximum(fitted.sum(1), 1e-9))[:, None]
        fitted *= columns / np.maximum(fitted.sum(0), 1e-9)
    return fitted


def _drawn(
    tables: dict[Pair, Floats], gathered: list[Floats], number: int, entropy: Entropy
) -> dict[int, Codes]:
    """The group of each row in each column, from the first column outwards."""
    start = np.repeat(np.arange(len(gathered[0])), rounded(gathered[0], number))
    drawn = {0: start[shuffled(number, entropy)]}
    while len(drawn) < len(gathered):
        for (one, other), table in tables.items():
            if one in drawn and other not in drawn:
                drawn[other] = _outward(drawn[one], table, entropy)
            elif other in drawn and one not in drawn:
                drawn[one] = _outward(drawn[other], table.T, entropy)
    return drawn


def _outward(known: Codes, table: Floats, entropy: Entropy) -> Codes:
    """The groups of a column beside those of its neighbour in the tree, in the proportions of their pair."""
    found = np.zeros(len(known), np.int64)
    for group in np.unique(known).tolist():
        where = np.flatnonzero(known == group)
        found[where] = _shared(table[group], len(where), entropy)
    return found


def _within(groups: Codes, group: Codes, counts: Floats, entropy: Entropy) -> Codes:
    """The cell of each row within its group."""
    cells = np.zeros(len(groups), np.int64)
    for each in np.unique(groups).tolist():
        where, inside = np.flatnonzero(groups == each), np.flatnonzero(group == each)
        cells[where] = inside[_shared(counts[inside], len(where), entropy)]
    return cells


def _shared(weights: Floats, number: int, entropy: Entropy) -> Codes:
    """`number` places in proportion to their weights, in random order."""
    whole = weights.sum()
    even = np.full(len(weights), 1 / len(weights))
    counts = rounded((weights / whole if whole > 0 else even) * number, number)
    return np.repeat(np.arange(len(weights)), counts)[shuffled(number, entropy)]
