"""Rounding every cell to a multiple of a base: to the nearest, at random, or so that margins still add up.  [Cox87]"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import highspy
import numpy as np

from obverse.errors import BadParameter
from obverse.noise.entropy import Entropy
from obverse.release import Accuracy, Syntactic, Terms
from obverse.tables.cube import KEY_BITS, Totals
from obverse.tables.dimension import Dimension
from obverse.tables.equations import margins
from obverse.tables.polytope import programme, solver
from obverse.tables.protect import Exact, Protected, Shape, counts_only, syntactic, unmarked
from obverse.tables.published import shown
from obverse.tables.settle import settled

How = Literal["conventional", "random", "controlled"]
PROMISES = {
    "conventional": "to the nearest; margins do not add up, and other tables of the same people may undo it",
    "random": "at random without bias, the same for the same people; margins do not add up",
    "controlled": "up or down so that margins add up, at random as far as they allow",
}
GAP = 0.01
NODES = 50


@dataclass(frozen=True)
class Round(Exact):
    """Shows every count as a multiple of `base`.

    A count that is a multiple already stays; another one goes to the multiple below or above it. At random
    means up with probability remainder/base, decided by the cell's key, so that no bias and no second chance
    is left.
    """

    base: int = 5
    how: How = "controlled"
    keyed = True

    def within(self, shape: Shape) -> float | None:
        ladders = sum(dimension.height > 1 for dimension in shape.dimensions)
        if self.how == "controlled" and (len(shape.dimensions) > 2 or ladders > 1):
            return None
        return float(self.base // 2 if self.how == "conventional" else self.base - 1)

    def settled(self, shape: Shape, terms: Terms) -> Round:
        if self.base < 2:
            raise BadParameter(f"a base to round to is 2 or more, such as 3, 5 or 10, not {self.base}")
        if self.how not in PROMISES:
            raise BadParameter(f"rounding is {', '.join(PROMISES)}, not {self.how}")
        counts_only(shape, "rounding")
        return self

    def guarantee(self, shape: Shape) -> Syntactic:
        return syntactic(("base", self.base), ("rounding", PROMISES[self.how]))

    def accuracy(self, shape: Shape) -> tuple[Accuracy, ...]:
        most = self.base // 2 if self.how == "conventional" else self.base - 1
        return (
            Accuracy(
                "each count", most, 1.0, "with three columns or more a few margins may be one base further"
            ),
        )

    def protect(self, shape: Shape, totals: Totals, entropy: Entropy) -> Protected:
        counts = totals.rows
        below, rest = np.divmod(counts, self.base)
        up = totals.keys * self.base < rest << KEY_BITS
        if self.how == "conventional":
            up = 2 * rest > self.base
        if self.how == "controlled":
            mask = shown(totals.dimensions, shape.by)
            value = controlled(totals.dimensions, mask, counts, up, self.base)
            return unmarked(
                settled(totals.dimensions, mask, counts, up, self.base) if value is None else value
            )
        return unmarked(self.base * (below + up))


def controlled(
    dimensions: Sequence[Dimension], mask: np.ndarray, counts: np.ndarray, up: np.ndarray, base: int
) -> np.ndarray | None:
    """Multiples that add up, each next to its cell's count, as many as can be where `up` wants them.

    By two columns they always exist and a linear programme finds them [Cox87]; by more there may be none and
    none is looked for, nor where several ladders leave none.
    """
    if len(dimensions) > 2:
        return None
    system = margins(dimensions)
    cells = np.flatnonzero(mask.ravel())
    below, rest = np.divmod(counts.ravel()[cells], base)
    within = np.bincount(system.row_of, ~mask.ravel()[system.index], minlength=len(system.least)) == 0
    part = system.rows(within, cells)
    lacking = -np.bincount(part.row_of, part.value * below[part.index], minlength=len(part.least))
    steps = replace(part, least=lacking, most=lacking, high=(rest > 0).astype(float))
    lp = programme(steps, np.where(up.ravel()[cells], -1.0, 1.0))
    lp.integrality_ = [highspy.HighsVarType.kInteger] * len(cells)
    engine = solver()
    engine.setOptionValue("mip_rel_gap", GAP)
    engine.setOptionValue("mip_max_nodes", NODES)
    engine.passModel(lp)
    engine.run()
    if engine.getInfo().primal_solution_status != highspy.SolutionStatus.kSolutionStatusFeasible:
        return None
    value = counts.copy()
    value.ravel()[cells] = base * (below + np.rint(engine.getSolution().col_value).astype(np.int64))
    return value
