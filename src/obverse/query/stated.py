"""How far noise may have moved a number, worked out once where it is the same in every group."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from sqlglot import exp

from obverse.query.recipes import Recipe, Total
from obverse.query.released import Row

Off = Callable[[int, Row, float], Fraction | None]


@dataclass(frozen=True)
class Stated:
    """How sure each ± is, and how far a total of a group is off by then.

    `own` says that it is the noise of the plan itself, which is alike in all groups of so many parts.
    """

    confidence: Fraction
    off: Off
    own: bool = False
    known: dict[tuple[int, int, float], Fraction | None] = field(default_factory=dict, compare=False)

    def width(self, place: int, row: Row, confidence: float) -> Fraction | None:
        """How far one total of this group is off."""
        if not self.own:
            return self.off(place, row, confidence)
        at = place, row.parts, confidence
        if at not in self.known:
            self.known[at] = self.off(place, row, confidence)
        return self.known[at]


def bare(tree: exp.Expr, recipes: Sequence[Recipe]) -> int | None:
    """The total that a column is, if it is one as it is: its ± is the total's."""
    if not isinstance(tree, exp.Column) or tree.table != "§aggregate":
        return None
    recipe = recipes[int(tree.name)]
    return recipe.total if isinstance(recipe, Total) else None
