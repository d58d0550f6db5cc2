"""Rounding every cell to a multiple of a base: to the nearest, at random, or so that margins still add up.  [Cox87]"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import highspy
import numpy as np

from obverse.errors import BadParameter, Withheld
from obverse.noise.entropy import Entropy
from obverse.release import Accuracy, Syntactic, Terms
from obverse.tables.cube import KEY_BITS, Totals
from obverse.tables.equations import System, margins
from obverse.tables.polytope import programme, solver
from obverse.tables.protect import Exact, Protected, Shape, counts_only, syntactic, unmarked
from obverse.tables.published import shown

How = Literal["conventional", "random", "controlled"]
PROMISES = {
    "conventional": "to the nearest; margins do not add up, and other tables of the same people may undo it",
    "random": "at random without bias, the same for the same people; margins do not add up",
    "controlled": "up or down so that margins add up, at random as far as they allow",
}
FAR = 100.0
GAP = 0.01


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
        return (Accuracy("each count", most, 1.0, "two bases where no rounding adds up within one"),)

    def protect(self, shape: Shape, totals: Totals, entropy: Entropy) -> Protected:
        counts = totals.rows
        below, rest = np.divmod(counts, self.base)
        up = totals.keys * self.base < rest << KEY_BITS
        if self.how == "conventional":
            up = 2 * rest > self.base
        if self.how == "controlled":
            mask = shown(totals.dimensions, shape.by)
            return unmarked(self.base * controlled(margins(totals.dimensions), mask, below, rest, up))
        return unmarked(self.base * (below + up))


def controlled(
    system: System, mask: np.ndarray, below: np.ndarray, rest: np.ndarray, up: np.ndarray
) -> np.ndarray:
    """Multiples that add up: each the one below or above its cell, as many as can be where `up` wants them.

    In two dimensions such multiples always exist and a linear programme finds them [Cox87]; in more there may
    be none, and then cells may move one step further, as few as possible.
    """
    cells = np.flatnonzero(mask.ravel())
    whole = np.bincount(system.row_of, mask.ravel()[system.index] == 0, minlength=len(system.least)) == 0
    level, odd, wish = below.ravel()[cells], rest.ravel()[cells] > 0, up.ravel()[cells]
    part = system.rows(whole, cells)
    lacking = -np.bincount(part.row_of, part.value * level[part.index], minlength=len(part.least))
    for further in (0, 1):
        steps = _steps(part, lacking, odd, wish, level, further)
        if steps is not None:
            rounded = below.copy()
            rounded.ravel()[cells] += steps
            return rounded
    raise Withheld("no rounding of this table adds up within two bases of the counts: use a larger base")


def _steps(
    part: System, lacking: np.ndarray, odd: np.ndarray, wish: np.ndarray, level: np.ndarray, further: int
) -> np.ndarray | None:
    """How many steps above `level` each cell goes; None where nothing adds up."""
    many = len(level)
    copies = 1 + 2 * further
    order = np.argsort(np.tile(part.row_of, copies), kind="stable")
    index = np.concatenate([part.index + many * copy for copy in range(copies)])[order]
    value = np.concatenate([part.value * sign for sign in (1, 1, -1)[:copies]])[order]
    high = np.concatenate([odd, np.ones(many), level > 0][:copies]).astype(float)
    system = System(part.start * copies, index, value, lacking, lacking, np.zeros(many * copies), high)
    lp = programme(system, np.concatenate([np.where(wish, -1.0, 1.0), *[np.full(many, FAR)] * 2 * further]))
    lp.integrality_ = [highspy.HighsVarType.kInteger] * (many * copies)
    engine = solver()
    engine.setOptionValue("mip_rel_gap", GAP)
    engine.passModel(lp)
    engine.run()
    if engine.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        return None
    found = np.rint(np.array(engine.getSolution().col_value)).astype(np.int64).reshape(copies, many)
    moved: np.ndarray = found[0] if not further else found[0] + found[1] - found[2]
    return moved
