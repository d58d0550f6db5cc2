"""Contributors as attackers: whoever is alone in a cell knows it, and takes it off the sums that hide it.

Firms that are the only one of a kind do so, and one that is alone in several cells in all of them at once
[HDFG+12, chapter 4]. Hiding more never narrows what anybody else leaves open, so one pass over all of them is enough.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from obverse.errors import Withheld
from obverse.tables.dimension import Dimension
from obverse.tables.pattern import Gap, Pattern
from obverse.tables.suppress import Carrier

CHEAP = 1e-3  # what moving a cell costs that is hidden already


@dataclass(frozen=True, repr=False)
class Insider:
    """Somebody who is alone in these cells, and how much of each cell that contains them is so known to be theirs."""

    cells: np.ndarray
    held: Counter[int]


def insiders(
    dimensions: Sequence[Dimension], alone: np.ndarray, value: np.ndarray, first: int
) -> Iterator[Insider]:
    """Everybody who is alone somewhere; their cells are counted from `first`."""
    cells = np.flatnonzero(alone)
    if not len(cells):
        return
    order = cells[np.argsort(alone.ravel()[cells], kind="stable")]
    ends = np.flatnonzero(np.diff(alone.ravel()[order])) + 1
    above = [[_chain(d, node) for node in range(len(d.labels))] for d in dimensions]
    finest = [set(d.leaves) for d in dimensions]
    for theirs in np.split(order, ends):
        held: Counter[int] = Counter()
        for cell in np.transpose(np.unravel_index(theirs, alone.shape)):
            if all(node in leaves for node, leaves in zip(cell, finest, strict=True)):
                wider = product(*(chains[node] for chains, node in zip(above, cell, strict=True)))
                for place in np.ravel_multi_index(np.array(list(wider)).T, alone.shape):
                    held[first + int(place)] += value[tuple(cell)]
        yield Insider(first + theirs, held)


def _chain(dimension: Dimension, node: int) -> list[int]:
    """A node and all above it."""
    chain = [node]
    while (node := dimension.parents[node]) >= 0:
        chain.append(node)
    return chain


def guarded(pattern: Pattern, hidden: np.ndarray, attackers: Sequence[Insider]) -> np.ndarray:
    """Hides further cells until each confidential one keeps its room from everybody who is alone in others.

    From someone who has a part in it, the rest keeps the room; it cannot be less than their part.
    """
    if not attackers:
        return hidden
    routes = Routes(pattern, hidden, attackers)
    for sign in (1, -1):
        for cell in np.flatnonzero(pattern.need(sign) > 0):
            routes.open(int(cell), sign)
    return routes.hidden


class Routes:
    """Ways for one cell to move with few others, for those who know some of the others."""

    def __init__(self, pattern: Pattern, hidden: np.ndarray, attackers: Sequence[Insider]) -> None:
        self.pattern, self.hidden, self.attackers = pattern, hidden.copy(), attackers
        self.near, self.far = Carrier(pattern, hidden), Carrier(pattern)
        self.knows: dict[int, list[int]] = {}
        for who, attacker in enumerate(attackers):
            for cell in attacker.cells:
                self.knows.setdefault(int(cell), []).append(who)

    def open(self, cell: int, sign: int) -> None:
        """Finds ways for the cell to move as far as it was promised, of which each insider knows no cell of one."""
        need = float(self.pattern.need(sign)[cell])
        ways = [self._way(Gap(cell, sign, need), np.zeros(0, np.int64))]
        for who in self._met(ways[0], cell):
            told = self.attackers[who].cells
            rest = self.pattern.truth[cell] - self.attackers[who].held[cell]
            amount = need if sign > 0 else min(need, rest)
            if amount <= 0 or any(not way[told].any() for way in ways):
                continue
            try:
                ways.append(self._way(Gap(cell, sign, amount), told))
            except Withheld:
                # Earlier tables may leave no more room. A number of people is shown nevertheless, an amount is not.
                if not (self.pattern.free[cell] or self.pattern.system.whole):
                    raise

    def _met(self, way: np.ndarray, cell: int) -> list[int]:
        """Everybody who knows a cell on the way, but for those who know the moving cell itself."""
        met = {who for there in np.flatnonzero(way) for who in self.knows.get(int(there), ())}
        return sorted(met.difference(self.knows.get(cell, ())))

    def _way(self, gap: Gap, told: np.ndarray) -> np.ndarray:
        """The cheapest along hidden cells; where there is none, what else it needs is hidden."""
        try:
            return self.near.carry(gap, np.full(len(self.hidden), CHEAP), told)
        except Withheld:
            way = self.far.carry(gap, np.where(self.hidden, CHEAP, self.pattern.weight), told)
        self.hidden |= way
        self.near = Carrier(self.pattern, self.hidden)
        return way
