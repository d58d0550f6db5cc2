"""Averaging: the same question many times, until the noise is gone.

The median needs half the questions that the mean needs against Laplace noise, whose density is sharp in the
middle: its variance is b²/n, not 2b²/n. A server that keeps its answers by their text is asked in other words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan
from statistics import fmean, median
from typing import Literal

from obverse.attack.base import Account, Attack, Claims, View
from obverse.attack.differencing import number, of_differences, question_pairs
from obverse.errors import BadParameter


@dataclass(frozen=True)
class Averaging(Attack):
    """Claims each target's bit from two questions, as Differencing does, each asked `times` times.

    `respelt` asks in other words each time: other spaces, other case, a condition that is always true.
    """

    questions: str
    times: int
    by: Literal["median", "mean"] = "median"
    respelt: bool = True

    harm = "inference"

    def __post_init__(self) -> None:
        if self.times < 1:
            raise BadParameter(f"a question is asked once or more, not {self.times} times")
        if self.by not in ("median", "mean"):
            raise BadParameter(f"answers are averaged by median or mean, not by {self.by}")

    @property
    def threat(self) -> str:
        return f"Somebody with an account asks {self.times} times about a group with and without a person."

    def claim(self, view: View) -> Claims:
        door = view.door()
        return of_differences([self.averages(door, pair) for pair in question_pairs(view, self.questions)])

    def averages(self, door: Account, pair: tuple[str, str]) -> list[float]:
        """The middle of the answers to each; asked in turn, so that a budget that ends has answered both."""
        told = [
            [number(door, respelt(sql, n) if self.respelt else sql) for sql in pair]
            for n in range(self.times)
        ]
        return [self._middle(answers) for answers in zip(*told, strict=True)]

    def _middle(self, answers: Sequence[float]) -> float:
        given = [answer for answer in answers if answer == answer]
        if not given:
            return nan
        return median(given) if self.by == "median" else fmean(given)


def respelt(sql: str, n: int) -> str:
    """The n-th way to ask the same: no two have the same text, all have the same meaning.

    >>> respelt("SELECT COUNT(*) FROM people WHERE age = 3", 5)
    'SELECT  COUNT(*) FROM people WHERE (age = 3) AND 5 = 5'
    """
    before, where, condition = sql.partition(" WHERE ")
    spaced = before.replace(" ", " " * (1 + n % 2), 1)
    return f"{spaced} WHERE ({condition}) AND {n} = {n}" if where else f"{spaced} WHERE {n} = {n}"
