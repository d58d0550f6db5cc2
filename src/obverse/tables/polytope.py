"""The tables that an outsider cannot tell from the true one, and how far a cell varies among them."""

from __future__ import annotations

import highspy
import numpy as np

from obverse.errors import Withheld
from obverse.tables.equations import System

DUAL, PRIMAL = 1, 4


class Polytope:
    """A linear programme that is solved again and again for other objectives, each time from where it stood."""

    def __init__(self, system: System) -> None:
        self.size = len(system.low)
        self._columns = np.arange(self.size, dtype=np.int32)
        self._cost = np.zeros(self.size)
        self._solver = solver()
        self._solver.setOptionValue("presolve", "off")
        self._solver.setOptionValue("simplex_strategy", PRIMAL)
        self._solver.setOptionValue("simplex_scale_strategy", 0)
        self._solver.passModel(programme(system, self._cost))

    def farthest(self, direction: np.ndarray) -> np.ndarray:
        """The table that goes farthest in a direction."""
        self._solver.changeColsCost(self.size, self._columns, -direction)
        self._solver.run()
        if self._solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            self._anew()
        return np.array(self._solver.getSolution().col_value)

    def _anew(self) -> None:
        """Solves once more from nothing: a basis that was good can end, by rounding, where no table seems possible.

        Ratios bring that about: their coefficients are hundreds where those of sums are 1.
        """
        self._solver.clearSolver()
        self._solver.setOptionValue("simplex_strategy", DUAL)
        self._solver.run()
        self._solver.setOptionValue("simplex_strategy", PRIMAL)
        if self._solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            raise Withheld("the linear programme of an audit could not be solved: treat every cell as known")

    def range(self, cell: int, sign: int) -> np.ndarray:
        """The table in which a cell is largest (sign 1) or smallest (sign −1)."""
        direction = np.zeros(self.size)
        direction[cell] = sign
        return self.farthest(direction)

    def fix(self, cell: int, low: float, high: float) -> None:
        """Another range for one cell."""
        self._solver.changeColBounds(cell, low, high)

    def bound(self, low: np.ndarray, high: np.ndarray) -> None:
        """Other ranges for all cells."""
        self._solver.changeColsBounds(self.size, self._columns, low, high)

    def prices(self) -> np.ndarray:
        """What the last direction pays for each equation: the proof that no table goes farther."""
        return -np.array(self._solver.getSolution().row_dual)


def solver() -> highspy.Highs:
    """A solver of one thread and no chatter: the same steps on every machine."""
    made = highspy.Highs()
    made.setOptionValue("output_flag", False)
    made.setOptionValue("threads", 1)
    return made


def programme(system: System, cost: np.ndarray) -> highspy.HighsLp:
    """Least cost over the system, as HiGHS takes it."""
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = len(system.low), len(system.least)
    lp.col_cost_ = cost
    lp.col_lower_, lp.col_upper_ = system.low, system.high
    lp.row_lower_, lp.row_upper_ = system.least, system.most
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_ = system.start.astype(np.int32)
    lp.a_matrix_.index_ = system.index.astype(np.int32)
    lp.a_matrix_.value_ = system.value
    return lp
