"""A holdout set that can be used again and again: means of the analyst's own functions, checked without overfitting it.

Functions take a row and give a number in 0 … 1, which is rounded to a grid; what one row can move is therefore one
row's share, whatever the function does.  [DFHPRR15]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Generic, TypeVar

from obverse.errors import BadParameter
from obverse.loss.loss import Loss, Sensitivity
from obverse.mechanisms.thresholdout import Checks, Thresholdout
from obverse.noise.entropy import Entropy

Row = TypeVar("Row")
GRID = 1 << 20


class Holdout(Generic[Row]):
    """Two parts of the data: one the analyst may see, one that only answers checks.

    >>> from obverse.noise.entropy import Keyed
    >>> seen, held = [0, 1] * 500, [0, 1] * 500
    >>> tenth, hundredth = Fraction(1, 10), Fraction(1, 100)
    >>> holdout = Holdout(seen, held, threshold=tenth, noise=hundredth, hits=3, entropy=Keyed("example"))
    >>> holdout.mean(lambda row: row)
    0.5
    """

    def __init__(
        self,
        training: Sequence[Row],
        holdout: Sequence[Row],
        *,
        threshold: Fraction,
        noise: Fraction,
        hits: int,
        entropy: Entropy,
    ) -> None:
        if not training or not holdout:
            raise BadParameter("both parts need a row at least")
        self._training, self.__holdout = training, holdout
        self._unit = GRID * len(holdout)  # sums over the holdout, in steps: a row moves one by at most GRID
        self.mechanism = Thresholdout(round(threshold * self._unit), Fraction(noise) * self._unit, hits)
        self._checks = Checks(self.mechanism, entropy)

    @property
    def loss(self) -> Loss:
        """What all checks together cost the people of the holdout, where one can replace another: 2·hits/(noise·n)."""
        return self.mechanism.loss(Sensitivity.of(GRID))

    @property
    def left(self) -> int:
        """How many more differences may be found."""
        return self._checks.left

    def mean(self, function: Callable[[Row], float]) -> float:
        """The function's mean on the training part, where the holdout bears it out; else on the holdout, noisy."""
        seen = Fraction(sum(_step(function(row)) for row in self._training), GRID * len(self._training))
        held = sum(_step(function(row)) for row in self.__holdout)
        return float(Fraction(self._checks.check(round(seen * self._unit), held), self._unit))


def _step(value: float) -> int:
    """A number of 0 … 1 on the grid; what is none counts as 0."""
    return round(min(max(value, 0.0), 1.0) * GRID) if value == value else 0
