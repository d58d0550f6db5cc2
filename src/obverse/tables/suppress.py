"""Secondary suppression: the fewest further cells to hide so that the margins give nothing away.  [FS01]

By linear duality a choice S leaves cell i too well known exactly if there are prices π, one an equation, with
    Σ_{j in S} max(r_j, 0)·UB_j + max(−r_j, 0)·LB_j < need_i,   r = e_i − Mᵀπ,
so every choice that works satisfies the *capacity cut* of each such π [FS01, Section 4]. The master problem
picks the cheapest choice that satisfies the cuts found so far. Where it would take too long to close the last
gaps, each is closed by the cheapest way to let its cell move [KGA92], and cells that turn out to be of no use
are shown again.
"""

from __future__ import annotations

import highspy
import numpy as np

from obverse.errors import Withheld
from obverse.tables.equations import System
from obverse.tables.pattern import NEAR, Check, Gap, Pattern
from obverse.tables.polytope import programme, solver

HOPELESS = "no choice of hidden cells keeps the promise: what is shown already gives it away"
NOBODY = np.zeros(0, np.int64)
ROUNDS = 5
NODES = 1


def suppress(pattern: Pattern, *, rounds: int = ROUNDS) -> np.ndarray:
    """True at every cell to hide: the primary ones, the free ones and as few others as we can find.

    Rounds and branches are counted, not timed, so that the same table always gives the same cells.
    """
    master = Master(pattern)
    hidden, found = pattern.start, Check(pattern, pattern.start).gaps()
    for _ in range(rounds):
        if not found:
            break
        for gap in found:
            master.add(cut(pattern, gap))
        hidden = master.choice()
        found = Check(pattern, hidden).gaps()
    if not found:
        return tidy(pattern, hidden)
    tried = [tidy(pattern, complete(pattern, begun)) for begun in (hidden, pattern.start)]
    return min(tried, key=lambda cells: float(pattern.weight[cells].sum()))


def complete(pattern: Pattern, hidden: np.ndarray) -> np.ndarray:
    """Hides what else it takes, a gap at a time."""
    hidden = hidden.copy()
    carrier = None
    while found := Check(pattern, hidden).gaps():
        carrier, before = carrier or Carrier(pattern), hidden.sum()
        for gap in found:
            hidden |= carrier.carry(gap, np.where(hidden, 0.0, pattern.weight))
        if hidden.sum() == before:
            raise Withheld(HOPELESS)
    return hidden


def tidy(pattern: Pattern, hidden: np.ndarray) -> np.ndarray:
    """Shows again what nobody's protection needs: dear cells first, then those fewest tables rely on."""
    check = Check(pattern, hidden)
    if check.gaps():
        raise Withheld(HOPELESS)
    used = np.sum(check.moved, axis=0) if check.moved else np.zeros(len(check.columns))
    chosen = np.flatnonzero(~pattern.start[check.columns])
    order = np.lexsort((chosen, used[chosen], -pattern.weight[check.columns[chosen]]))
    hidden = hidden.copy()
    for column in chosen[order]:
        if check.drop(int(column)):
            hidden[check.columns[column]] = False
    return hidden


def cut(pattern: Pattern, gap: Gap) -> np.ndarray:
    """The capacity cut of a gap: a coefficient a cell; what is hidden must bring them to 1 or more."""
    system = pattern.system
    reduced = -np.bincount(
        system.index, system.value * gap.prices[system.row_of], minlength=len(pattern.truth)
    )
    reduced[gap.cell] += gap.sign
    reduced[np.abs(reduced) < NEAR] = 0
    gain = np.maximum(reduced, 0) * pattern.room(1) + np.maximum(-reduced, 0) * pattern.room(-1)
    coefficients: np.ndarray = np.minimum(gain / gap.amount, 1.0)
    return coefficients


class Master:
    """The cheapest choice of cells that satisfies all cuts so far."""

    def __init__(self, pattern: Pattern, *, nodes: int = NODES) -> None:
        self.pattern = pattern
        self.solver = solver()
        self.solver.setOptionValue("mip_max_nodes", nodes)
        self.cells = np.flatnonzero(pattern.choosable)
        none, many = np.zeros(0), len(self.cells)
        choice = System(
            np.zeros(1, np.int64), np.zeros(0, np.int64), none, none, none, np.zeros(many), np.ones(many)
        )
        lp = programme(choice, pattern.weight[self.cells])
        lp.integrality_ = [highspy.HighsVarType.kInteger] * many
        self.solver.passModel(lp)

    def add(self, coefficients: np.ndarray) -> None:
        """One more cut, less what is hidden anyway."""
        rest = 1.0 - coefficients[self.pattern.start].sum()
        values = np.minimum(coefficients[self.cells] / rest, 1.0)
        chosen = np.flatnonzero(values > NEAR)
        if values.sum() < 1 - NEAR:
            raise Withheld(HOPELESS)
        self.solver.addRow(1.0, highspy.kHighsInf, len(chosen), chosen.astype(np.int32), values[chosen])

    def choice(self) -> np.ndarray:
        """The best choice found."""
        self.solver.run()
        hidden = self.pattern.start.copy()
        hidden[self.cells] = np.array(self.solver.getSolution().col_value) > 0.5
        return hidden


class Carrier:
    """The cheapest way to let one cell move: which cells must move with it, at their weight a unit.  [KGA92]

    Only the cells `among` may move: those that can be hidden, if none are named.
    """

    def __init__(self, pattern: Pattern, among: np.ndarray | None = None) -> None:
        self.among = pattern.start | pattern.choosable if among is None else among
        self.columns = np.flatnonzero(self.among)
        self.place = np.full(len(self.among), -1)
        self.place[self.columns] = np.arange(len(self.columns))
        moves = pattern.moves(self.among)
        touched = np.zeros(len(moves.least), bool)
        touched[moves.row_of[self.among[moves.index]]] = True
        system = moves.rows(touched, self.columns)
        self.size = len(self.columns)
        order = np.argsort(np.concatenate([system.row_of, system.row_of]), kind="stable")
        self.high = np.concatenate([system.high, -system.low])
        both = System(
            start=system.start * 2,
            index=np.concatenate([system.index, system.index + self.size])[order],
            value=np.concatenate([system.value, -system.value])[order],
            least=system.least,
            most=system.most,
            low=np.zeros(2 * self.size),
            high=self.high,
        )
        self.solver = solver()
        self.solver.setOptionValue("presolve", "off")
        self.solver.passModel(programme(both, np.zeros(2 * self.size)))

    def carry(self, gap: Gap, cost: np.ndarray, told: np.ndarray = NOBODY) -> np.ndarray:
        """True at the cells that move when this gap is closed at least cost; those `told` do not."""
        here = int(self.place[gap.cell])
        there, back = (here, here + self.size) if gap.sign > 0 else (here + self.size, here)
        every, prices = np.arange(2 * self.size, dtype=np.int32), cost[self.columns]
        self.solver.changeColsCost(2 * self.size, every, np.concatenate([prices, prices]))
        known = self.place[told][self.place[told] >= 0]
        still = [back, *known.tolist(), *(known + self.size).tolist()]
        for column in still:
            self.solver.changeColBounds(column, 0.0, 0.0)
        self.solver.changeColBounds(there, gap.amount, gap.amount)
        self.solver.run()
        moved = np.array(self.solver.getSolution().col_value)
        found = self.solver.getModelStatus() == highspy.HighsModelStatus.kOptimal
        for column in (there, *still):
            self.solver.changeColBounds(column, 0.0, self.high[column])
        if not found:
            raise Withheld(HOPELESS)
        carried = np.zeros(len(self.among), bool)
        carried[self.columns] = moved[: self.size] + moved[self.size :] > NEAR
        return carried
