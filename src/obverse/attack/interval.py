"""How sure a count of successes makes us: Clopper–Pearson intervals, exact at any size.  [CP34]"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import exp, lgamma, log, log1p


@dataclass(frozen=True)
class Rate:
    """So many right out of so many, with its 95 % Clopper–Pearson interval.

    >>> rate = Rate(8, 10)
    >>> rate.share, round(rate.low, 4), round(rate.high, 4)
    (0.8, 0.4439, 0.9748)
    >>> Rate(0, 0).high
    1.0
    """

    right: int
    of: int

    @property
    def share(self) -> float:
        return self.right / self.of if self.of else 0.0

    @cached_property
    def low(self) -> float:
        return lower(self.right, self.of, 0.025)

    @cached_property
    def high(self) -> float:
        return upper(self.right, self.of, 0.025)

    def __str__(self) -> str:
        return f"{self.share:.4g} [{self.low:.4g}, {self.high:.4g}]"


def lower(right: int, of: int, doubt: float) -> float:
    """The least p that does not make `right` or more of `of` rarer than `doubt`.  [CP34]"""
    return _quantile(doubt, right, of - right + 1) if right else 0.0


def upper(right: int, of: int, doubt: float) -> float:
    """The largest p that does not make `right` or fewer of `of` rarer than `doubt`.  [CP34]"""
    return 1 - _quantile(doubt, of - right, right + 1) if right < of else 1.0


def _quantile(chance: float, a: int, b: int) -> float:
    """Where the Beta(a, b) distribution function reaches `chance`, by halving, to the last bit but a few."""
    low, high = 0.0, 1.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if _beta(middle, a, b) < chance else (low, middle)
    return low


def _beta(x: float, a: int, b: int) -> float:
    """The regularised incomplete beta function I_x(a, b).  [DLMF, 8.17.22]"""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1 - _beta(1 - x, b, a)
    front = lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x)
    return exp(front) / a / _fraction(x, a, b)


def _fraction(x: float, a: int, b: int) -> float:
    """1 + d₁/(1 + d₂/(1 + …)) by Lentz's method."""
    tiny = 1e-300
    value, c, d = 1.0, 1.0, 0.0
    for i in range(1, 20_000):
        m = i // 2
        if i % 2:
            term = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        else:
            term = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        d = 1 / (1 + term * d or tiny)
        c = 1 + term / c or tiny
        value *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return value
