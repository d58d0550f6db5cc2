"""Does a choice of hidden cells keep what was promised to each of them?  [FS01]

The attacker knows every shown cell, the range every hidden one must lie in, and all sums. Hiding S protects a
cell i when some table that agrees with all of that has x_i ≥ a_i + up_i, and another has x_i ≤ a_i − down_i.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from obverse.tables.equations import System
from obverse.tables.polytope import Polytope

NEAR = 1e-6
FAR = 1e9
LARGEST = 1e3
MANY = 20
SLACKS = (1, 10)


@dataclass(frozen=True, repr=False)
class Pattern:
    """What has to be hidden: the true cells, the primary ones and the room promised to each.

    `free` cells are hidden from the start at no cost, such as those of margins that nobody publishes;
    `fixed` ones cannot be hidden. `weight` is what hiding a cell costs.
    """

    system: System
    truth: np.ndarray
    primary: np.ndarray
    up: np.ndarray
    down: np.ndarray
    weight: np.ndarray
    free: np.ndarray
    fixed: np.ndarray

    @property
    def start(self) -> np.ndarray:
        """What is hidden in any case."""
        hidden: np.ndarray = self.primary | self.free
        return hidden

    @property
    def choosable(self) -> np.ndarray:
        """What may be hidden besides."""
        left: np.ndarray = ~self.start & ~self.fixed
        return left

    def room(self, sign: int) -> np.ndarray:
        """How far each cell can go up (1) or down (−1) once hidden."""
        ends = self.system.high - self.truth if sign > 0 else self.truth - self.system.low
        room: np.ndarray = np.minimum(ends, FAR)
        return room

    def need(self, sign: int) -> np.ndarray:
        """How far each primary cell must be able to go; 0 for the others."""
        return np.where(self.primary, self.up if sign > 0 else self.down, 0.0)

    def scaled(self) -> Pattern:
        """The same in a unit in which the largest need is a thousand: then the tolerances of programmes are small."""
        unit = max(self.up.max(initial=0.0), self.down.max(initial=0.0)) / LARGEST
        if self.system.whole or unit == 0:
            return self
        return replace(
            self,
            system=self.system.scaled(unit),
            truth=self.truth / unit,
            up=self.up / unit,
            down=self.down / unit,
        )

    def moves(self, hidden: np.ndarray) -> System:
        """The same system about how far cells are from the truth: 0 is a solution."""
        system = self.system
        there = np.bincount(
            system.row_of, system.value * self.truth[system.index], minlength=len(system.least)
        )
        return replace(
            system,
            least=np.minimum(system.least - there, 0.0),  # sums of floats differ in their last digits
            most=np.maximum(system.most - there, 0.0),
            low=np.where(hidden, -self.room(-1), 0.0),
            high=np.where(hidden, self.room(1), 0.0),
            whole=False,
        )


@dataclass(frozen=True)
class Gap:
    """A primary cell that has to be able to go so far up or down, and the prices of the equations that hold it."""

    cell: int
    sign: int
    amount: float
    prices: np.ndarray = field(default_factory=lambda: np.zeros(0), repr=False)


class Check:
    """One choice of hidden cells, with the tables found so far that show what it protects."""

    def __init__(self, pattern: Pattern, hidden: np.ndarray) -> None:
        self.pattern = pattern
        self.columns = np.flatnonzero(hidden)
        moves = pattern.moves(hidden)
        touched = np.zeros(len(moves.least), bool)
        touched[moves.row_of[hidden[moves.index]]] = True
        self.rows = np.flatnonzero(touched)
        part = moves.rows(touched, self.columns)
        self.low, self.high = part.low, part.high
        self.polytope = Polytope(part)
        self.need = {sign: pattern.need(sign)[self.columns] for sign in (1, -1)}
        self.proof = {sign: np.full(len(self.columns), -1) for sign in (1, -1)}
        self.moved: list[np.ndarray] = []

    def gaps(self) -> list[Gap]:
        """Every primary cell that is left too well known."""
        return list(self._unproved({sign: self.need[sign] > 0 for sign in (1, -1)}))

    def drop(self, column: int) -> bool:
        """Show this cell again, unless that opens a gap."""
        kept_low, kept_high = self.low[column], self.high[column]
        self.low[column] = self.high[column] = 0.0
        self.polytope.fix(column, 0.0, 0.0)
        kept = {sign: proof.copy() for sign, proof in self.proof.items()}
        relies = np.array([moved[column] for moved in self.moved] + [False])
        lost = {sign: (self.need[sign] > 0) & relies[self.proof[sign]] for sign in (1, -1)}
        if next(self._unproved(lost), None) is None:
            return True
        self.proof = kept
        self.low[column], self.high[column] = kept_low, kept_high
        self.polytope.fix(column, kept_low, kept_high)
        return False

    def _unproved(self, wanted: dict[int, np.ndarray]) -> Iterator[Gap]:
        """Gaps among the wanted cells; every other one is given a table as its proof."""
        for sign in (1, -1):
            pending = wanted[sign].copy()
            if pending.sum() > MANY:
                pending = self._together(pending, sign, wanted)
            while pending.any():
                nearest = int(np.flatnonzero(pending)[np.argmin(self.need[sign][pending])])
                move = self.polytope.range(nearest, sign)
                if sign * move[nearest] < self.need[sign][nearest] - NEAR:
                    pending[nearest] = False
                    yield self._gap(nearest, sign)
                self._note(move, wanted)
                pending &= sign * move < self.need[sign] - NEAR

    def _together(self, pending: np.ndarray, sign: int, wanted: dict[int, np.ndarray]) -> np.ndarray:
        """Those that are left when tables that move many cells at once prove no more."""
        for move in self._many(np.where(pending, self.need[sign], 0.0), sign):
            self._note(move, wanted)
            pending = pending & (sign * move < self.need[sign] - NEAR)
        return pending

    def reach(self, cells: np.ndarray, need: np.ndarray, sign: int) -> np.ndarray:
        """How far, up to its need, each cell is seen to go while these stay as they are; it may be farther."""
        still = np.isin(self.columns, cells)
        found = np.zeros(len(self.columns))
        for move in self._many(np.where(still, 0.0, need), sign, still):
            np.maximum(found, sign * move, out=found)
        return found

    def _many(self, need: np.ndarray, sign: int, still: np.ndarray | None = None) -> Iterator[np.ndarray]:
        """Tables that move many cells at once, none much farther than it needs, while each proves some more."""
        ends = {s: np.where(self.need[s] > 0, self.need[s], np.inf) for s in (1, -1)}
        still = np.zeros(len(need), bool) if still is None else still
        pending = need > 0
        for slack in SLACKS:
            low, high = np.maximum(self.low, -slack * ends[-1]), np.minimum(self.high, slack * ends[1])
            self.polytope.bound(np.where(still, 0.0, low), np.where(still, 0.0, high))
            before = np.inf
            while pending.any() and pending.sum() < 0.95 * before:
                before = pending.sum()
                move = self.polytope.farthest(sign * pending.astype(float))
                yield move
                pending = pending & (sign * move < need - NEAR)
        self.polytope.bound(self.low, self.high)

    def _note(self, move: np.ndarray, wanted: dict[int, np.ndarray]) -> None:
        for sign in (1, -1):
            shown = (self.need[sign] > 0) & (sign * move >= self.need[sign] - NEAR)
            self.proof[sign][shown & wanted[sign]] = len(self.moved)
        self.moved.append(np.abs(move) > NEAR)

    def _gap(self, column: int, sign: int) -> Gap:
        prices = np.zeros(len(self.pattern.system.least))
        prices[self.rows] = self.polytope.prices()
        return Gap(int(self.columns[column]), sign, float(self.need[sign][column]), prices)
