"""Contributors as attackers: whoever is alone in a cell knows it, and takes it off the sums that hide it.

Firms that are the only one of a kind do so, and one that is alone in several cells in all of them at once
[HDFG+12, chapter 4]. Hiding more never narrows what anybody else leaves open, so one pass over all of them is enough.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, product

import numpy as np

from obverse.errors import Withheld
from obverse.tables.dimension import Dimension
from obverse.tables.pattern import NEAR, Check, Gap, Pattern
from obverse.tables.suppress import Carrier

BASE = 8  # groups of insiders for each digit
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
    routes, crowd = Routes(pattern, hidden, attackers), Crowd(pattern, hidden, attackers)
    for sign in (1, -1):
        for cell in np.flatnonzero(pattern.need(sign) > 0):
            if doubtful := crowd.doubtful(int(cell), sign):
                routes.open(int(cell), sign, doubtful)
    return routes.hidden


def required(pattern: Pattern, attacker: Insider, cell: int, sign: int) -> float:
    """How far a cell must be able to go for somebody who may have a part in it."""
    need = float(pattern.need(sign)[cell])
    return need if sign > 0 else min(need, float(pattern.truth[cell]) - attacker.held[cell])


class Crowd:
    """Many insiders at once: what moves while all that a group knows stays, moves for each of the group.

    Everybody is in one group for each digit of their number: for any two people there is a group of the one
    without the other.
    """

    def __init__(self, pattern: Pattern, hidden: np.ndarray, attackers: Sequence[Insider]) -> None:
        self.pattern, self.attackers = pattern, attackers
        check = Check(pattern, hidden)
        self.place = {int(cell): place for place, cell in enumerate(check.columns)}
        numbers = np.arange(len(attackers))
        digits = 1
        while BASE**digits < len(attackers):
            digits += 1
        self.digits = np.array([numbers // BASE**place % BASE for place in range(digits)])
        self.seen = {sign: np.zeros((digits, BASE, len(check.columns))) for sign in (1, -1)}
        for place, value in product(range(digits), range(BASE)):
            group = [attackers[who] for who in np.flatnonzero(self.digits[place] == value).tolist()]
            for sign in (1, -1) if group else ():
                cells = np.concatenate([attacker.cells for attacker in group])
                self.seen[sign][place, value] = check.reach(cells, self._need(check, group, sign), sign)

    def _need(self, check: Check, group: Sequence[Insider], sign: int) -> np.ndarray:
        need = check.need[sign].copy()
        if sign < 0:
            for cell, part in chain.from_iterable(attacker.held.items() for attacker in group):
                if cell in self.place:
                    here = self.place[cell]
                    need[here] = min(need[here], check.pattern.truth[cell] - part)
        return need

    def doubtful(self, cell: int, sign: int) -> list[int]:
        """Those to whom the cell is not seen to go far enough, but for those who know it."""
        reached = self.seen[sign][:, :, self.place[cell]]
        most = np.take_along_axis(reached, self.digits, axis=1).max(axis=0)
        short = np.flatnonzero(most < self.pattern.need(sign)[cell] - NEAR)
        return [
            who
            for who in short.tolist()
            if cell not in self.attackers[who].cells
            and most[who] < required(self.pattern, self.attackers[who], cell, sign) - NEAR
        ]


class Routes:
    """Ways for one cell to move with few others, for those who know some of the others."""

    def __init__(self, pattern: Pattern, hidden: np.ndarray, attackers: Sequence[Insider]) -> None:
        self.pattern, self.hidden, self.attackers = pattern, hidden.copy(), attackers
        self.near, self.far = Carrier(pattern, hidden), Carrier(pattern)

    def open(self, cell: int, sign: int, doubtful: Sequence[int]) -> None:
        """Finds ways for the cell to move as far as it was promised, of which each insider knows no cell of one."""
        ways = [self._way(Gap(cell, sign, float(self.pattern.need(sign)[cell])), np.zeros(0, np.int64))]
        for who in doubtful:
            told = self.attackers[who].cells
            amount = required(self.pattern, self.attackers[who], cell, sign)
            if amount <= 0 or any(not way[told].any() for way in ways):
                continue
            try:
                ways.append(self._way(Gap(cell, sign, amount), told))
            except Withheld:
                # Earlier tables may leave no more room. A number of people is shown nevertheless, an amount is not.
                if not (self.pattern.free[cell] or self.pattern.system.whole):
                    raise

    def _way(self, gap: Gap, told: np.ndarray) -> np.ndarray:
        """The cheapest along hidden cells; where there is none, what else it needs is hidden."""
        try:
            return self.near.carry(gap, np.full(len(self.hidden), CHEAP), told)
        except Withheld:
            way = self.far.carry(gap, np.where(self.hidden, CHEAP, self.pattern.weight), told)
        self.hidden |= way
        self.near = Carrier(self.pattern, self.hidden)
        return way
