"""What the curator may conclude from private reports: numbers without bias, each with its standard error."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Estimate:
    """Numbers without bias (so a count may come out below 0), and how far off each is likely to be."""

    values: Floats
    errors: Floats

    def margin(self, confidence: float = 0.95) -> Floats:
        """The ± of each number, by the normal approximation."""
        return NormalDist().inv_cdf((1 + confidence) / 2) * self.errors

    def clipped(self, low: float, high: float) -> Floats:
        """The numbers kept within bounds: nearer to the truth one by one, and biased; so it is never done unasked."""
        return np.clip(self.values, low, high)


def counts(supported: Floats, people: int, p: float, q: float) -> Estimate:
    """Counts from how many reports support each answer: chance p where it is the true one, q where not.

    E = true·p + (n − true)·q; a report varies by p(1 − p) or q(1 − q).  [WBLJ17, Equations 2 and 3]
    """
    true = (supported - people * q) / (p - q)
    variance = true * p * (1 - p) + (people - true) * q * (1 - q)
    return Estimate(true, np.sqrt(np.maximum(variance, people * min(p * (1 - p), q * (1 - q)))) / (p - q))


def mean(unbiased: Floats) -> Estimate:
    """The mean of reports that are each unbiased, and its standard error as they show it."""
    spread = float(unbiased.std(ddof=1)) if unbiased.size > 1 else float("inf")
    return Estimate(np.array([unbiased.mean()]), np.array([spread / unbiased.size**0.5]))
