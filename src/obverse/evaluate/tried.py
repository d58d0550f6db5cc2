"""One attack as it was tried on a release, and the word that its risk gets beside a threshold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from obverse.attack.base import Evidence

Word = Literal["low", "unclear", "high"]
THRESHOLD = 0.09
"""One in eleven: the chance of recognising a trial participant that EMA's policy 0070 and Health Canada accept at
most in clinical data for the public. Here, by analogy, the share of people that an attack may be right about."""

ENOUGH = 10  # of a planted copy, for an attack's blindness to be told from chance


@dataclass(frozen=True)
class Tried:
    """One attack as it was tried: its evidence, what it was aimed at, and what else must be known of it."""

    evidence: Evidence
    about: str = ""
    wins: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64), repr=False, compare=False)
    note: str = ""

    def word(self, threshold: float = THRESHOLD) -> Word:
        """Low or high where the whole interval of the risk lies on one side of the threshold."""
        low, high = self.evidence.risk_interval
        return "high" if low > threshold else "low" if high <= threshold else "unclear"


def short(name: str, most: int = 56) -> str:
    """A name as long as a page bears: of a longer one its beginning and its end.

    >>> short("how often did you go to a doctor in the last twelve months", most=30)
    'how often did you g…lve months'
    """
    return name if len(name) <= most else f"{name[: most - 11]}…{name[-10:]}"


def few(names: Sequence[str], most: int = 6) -> str:
    """Names with commas; of more than a reader takes in, the first and how many others.

    >>> few(["age", "sex", "zip", "job"], most=3)
    'age, sex and 2 others'
    """
    if len(names) <= most:
        return ", ".join(map(short, names))
    return f"{', '.join(map(short, names[: most - 1]))} and {len(names) - most + 1} others"
