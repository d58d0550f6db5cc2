"""Differencing: two harmless counts, one with a person and one without him.  [DR14, section 1.3; WAB+18]"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan

import numpy as np
from numpy.typing import NDArray

from obverse.attack.base import Account, Attack, Claims, View
from obverse.errors import BadSource, ObverseError


@dataclass(frozen=True)
class Differencing(Attack):
    """Claims each target's bit, or number, from two questions that differ in that person alone.

    `questions` is an auxiliary table with a row for each target: `with` counts or sums a group that he is in,
    `without` the same group less him, or a day after he left it. With `numbers` the difference itself is claimed,
    to the nearest whole number.
    """

    questions: str
    numbers: bool = False

    harm = "inference"

    @property
    def threat(self) -> str:
        return "Somebody with an account, who knows who left a group, asks about it with and without that person."

    def claim(self, view: View) -> Claims:
        door = view.door()
        pairs = [[number(door, sql) for sql in pair] for pair in question_pairs(view, self.questions)]
        return of_differences(pairs, numbers=self.numbers)


def question_pairs(view: View, name: str) -> list[tuple[str, str]]:
    """Each target's two questions, from the auxiliary table of this name."""
    table = view.table(name, ["with", "without"])
    texts = [table[column].to_pylist() for column in ("with", "without")]
    if not all(isinstance(text, str) for column in texts for text in column):
        raise BadSource(f"{name} must hold two questions as text for every target")
    return list(zip(*texts, strict=True))


def number(door: Account, sql: str) -> float:
    """The one number that answers a question; not a number where it is refused or withheld."""
    try:
        rows = door.ask(sql).rows
    except ObverseError:
        return nan
    value = rows[0][0] if rows else None
    return nan if value is None else float(str(value))


def of_differences(pairs: Sequence[Sequence[float]], *, numbers: bool = False) -> Claims:
    """A bit is claimed where the difference is not half-way; where an answer was refused there is no claim."""
    difference: NDArray[np.float64] = np.array([before - after for before, after in pairs])
    known = np.isfinite(difference)
    filled = np.where(known, difference, 0.5)
    if numbers:
        return Claims(np.rint(filled).astype(np.int64), np.where(known, 1.0, 0.0), known)
    sure = np.abs(filled - 0.5)
    return Claims(filled > 0.5, sure, known & (sure > 0))
