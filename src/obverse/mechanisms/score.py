"""How scores of candidates move between neighbours, derived from what is counted: the place of the factor 2."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from obverse.loss.loss import Sensitivity
from obverse.loss.number import positive


@dataclass(frozen=True)
class Score:
    """Scores of which each moves by at most `most`; `one_way` when one person moves all of them the same way.

    Choosing by scores compares them, so what counts is how far two of them can move apart: `most` where all go the
    same way, twice that where one can rise while another falls.  [DR14, Theorem 3.10 and Remark 3.1]

    >>> Score.count("add-remove").apart, Score.count("replace-one").apart
    (Fraction(1, 1), Fraction(2, 1))
    """

    most: Fraction
    one_way: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "most", positive(self.most, "how far a score moves"))

    @classmethod
    def count(cls, neighbours: Literal["add-remove", "replace-one"], most: int = 1) -> Score:
        """How many rows each candidate has, at most `most` of one person: one way unless one can replace another."""
        return cls(Fraction(most), neighbours == "add-remove")

    @property
    def apart(self) -> Fraction:
        """How far two candidates' scores can move apart."""
        return apart(self.sensitivity, self.one_way)

    @property
    def sensitivity(self) -> Sensitivity:
        return Sensitivity.of(self.most)

    def rate(self, epsilon: Fraction) -> Fraction:
        """The rate of a choice that costs ε: ε/Δ where the scores move one way, ε/(2Δ) otherwise."""
        return positive(epsilon, "ε") / self.apart


def apart(sensitivity: Sensitivity, one_way: bool) -> Fraction:
    """How far two scores can move apart when each moves by at most `sensitivity.most`."""
    return sensitivity.most if one_way else 2 * sensitivity.most
