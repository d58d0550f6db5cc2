"""Totals so far over a stream, after every step, with state that grows with the logarithm.  [DMPST24; HUU23; FHU23]

Let A turn a stream into its totals, A = B·C with C the Toeplitz matrix of c₀, c₁, …: what leaves is C·x + z with
Gaussian z, and the totals B·(C·x + z) = A·x + B·z follow from that. With c(t) = (1 − t)^(−1/2) the largest variance is
within a whisker of the best there is [FHU23, Theorem 3]. That series is an integral of geometric ones,
(1 − t)^(−1/2) = (1/π)·∫ dθ/(√(θ(1 − θ))·(1 − θ·t)); a dozen of them, by the trapezium rule in ½·log(1/θ − 1), stand for
all of it, and each needs one number of state. B has the same form, with the zeros of c for poles.  [DMPST24, Section 3]

The claim: C·x is kept in whole numbers of 2⁻⁶⁴, rounded down to the grid of 2⁻³², and gets an exact discrete Gaussian
on that grid. Rounding moves each step by at most `SLACK` = 2⁻³¹: at most 2³⁰ times 2⁻⁶⁴ in the state and 2⁻³² at the
grid. So a person with ±1 in one step moves the whole by at most |c| + SLACK·√steps in L2, which is what the variance
is made for [CKS20, Theorem 4], whatever the analyst does between two steps [DMRST22, Theorem 2.1]. Everything after
that is done to what has left already: floats are fine there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil, exp, isqrt, log, pi, sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from obverse.errors import BadParameter, Withheld
from obverse.loss.loss import Sensitivity
from obverse.loss.number import positive
from obverse.mechanisms.base import Mechanism
from obverse.mechanisms.composed import concentrated_profile
from obverse.mechanisms.lazily import Whole, whole
from obverse.noise.draws import add_gaussian
from obverse.noise.entropy import Entropy

STATE, WEIGHT, GRID = 64, 64, 32
SLACK = Fraction(1, 1 << GRID - 1)
LONGEST = 1 << 30
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class RunningTotals(Mechanism[Sequence[int] | Whole, Floats]):
    """The total so far after each of at most `steps` steps; ρ-zCDP for a person who moves one step by one.

    >>> from obverse.noise.entropy import Keyed
    >>> totals = RunningTotals(1 << 20, Fraction(1, 2))
    >>> totals.variance(1 << 20) < 31
    True
    >>> len(totals.release([3, 1, 4], Keyed("example")))
    3
    """

    steps: int
    each_rho: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "each_rho", positive(self.each_rho, "ρ"))
        if not 1 <= self.steps <= LONGEST:
            raise BadParameter(f"a stream has 1 to 2³⁰ steps, not {self.steps}")

    @property
    def noise(self) -> Fraction:
        """The variance of each step's noise, in squares of the grid's step."""
        return _length_squared(self.steps) * (1 << 2 * GRID) / (2 * self.each_rho)

    def draw(self, value: Sequence[int] | Whole, entropy: Entropy) -> Floats:
        stream = Running(self, entropy)
        return np.array([stream.add(step) for step in whole(value).tolist()])

    def rho(self, sensitivity: Sensitivity) -> Fraction:
        """[CKS20, Theorem 4]; several steps of one person add up, at worst, as vectors of one direction do."""
        return self.each_rho * sensitivity.l1**2

    def profile(self, epsilon: float, sensitivity: Sensitivity) -> float:
        return concentrated_profile(float(self.rho(sensitivity)), epsilon)

    def variance(self, step: int) -> float:
        """Of the total after this many steps."""
        poles, weights = _inverse(self.steps)
        return float(self.noise) / 4.0**GRID * _gram(poles, weights, step)

    def interval(self, confidence: float) -> float:
        """How far the last and least certain total is off, at most, in this share of runs."""
        return NormalDist().inv_cdf((1 + confidence) / 2) * sqrt(self.variance(self.steps))


class Running:
    """A stream at work: each `add` takes one step's sum and gives the noisy total so far."""

    def __init__(self, totals: RunningTotals, entropy: Entropy) -> None:
        self._noise, self._entropy, self._left = totals.noise, entropy, totals.steps
        self._parts = _parts(totals.steps)
        self._state = [0] * len(self._parts)
        self._poles, self._weights = _inverse(totals.steps)
        self._seen: Floats = np.zeros(len(self._poles))

    def add(self, step: int) -> float:
        """The total with this step, noisy."""
        if not self._left:
            raise Withheld("the stream is at its last step: no more was paid for")
        self._left -= 1
        scaled = step << STATE
        self._state = [
            (held * pole >> STATE) + scaled for held, (pole, _) in zip(self._state, self._parts, strict=True)
        ]
        mixed = sum(held * weight for held, (_, weight) in zip(self._state, self._parts, strict=True))
        left = add_gaussian(mixed >> STATE + WEIGHT - GRID, self._noise, self._entropy)
        self._seen = self._seen * self._poles + left * 2.0**-GRID
        return float(self._seen @ self._weights)


@lru_cache(maxsize=64)
def _parts(steps: int) -> tuple[tuple[int, int], ...]:
    """c as Σ weight·pole^k, in whole multiples of 2⁻⁶⁴: the trapezium rule with steps of 1 from slower than the stream.

    What the rule leaves out of c₀ = 1 falls on a pole at 0.
    """
    start = -log(max(2, steps)) / 2 - 1.5
    points = [start + i for i in range(ceil(1 - start))]
    poles = [round(Fraction(1 / (1 + exp(2 * s))) * (1 << STATE)) for s in points]
    weights = [round(2 / pi * exp(s) / (1 + exp(2 * s)) * 2.0**WEIGHT) for s in points]
    rest = (1 << WEIGHT) - sum(weights)
    return (*zip(poles, weights, strict=True), *([(0, rest)] if rest > 0 else []))


@lru_cache(maxsize=64)
def _length_squared(steps: int) -> Fraction:
    """At least (|c| + SLACK·√steps)²: Σ wᵢ·wⱼ·(1 − (pᵢ·pⱼ)^steps)/(1 − pᵢ·pⱼ), its powers rounded down."""
    one, total = 1 << 2 * STATE, Fraction(0)
    for pole, weight in _parts(steps):
        for other, its in _parts(steps):
            both = pole * other
            total += Fraction(weight * its * (one - _power(both, steps)), one - both)
    squared = ceil(total / (1 << 2 * WEIGHT) * (1 << 64))
    length = Fraction(isqrt(squared << 64) + 1, 1 << 64) + SLACK * (isqrt(steps) + 1)
    return length * length


def _power(base: int, exponent: int) -> int:
    """At most base^exponent, both as multiples of 2⁻¹²⁸."""
    result = 1 << 2 * STATE
    while exponent:
        if exponent & 1:
            result = result * base >> 2 * STATE
        base, exponent = base * base >> 2 * STATE, exponent >> 1
    return result


@lru_cache(maxsize=64)
def _inverse(steps: int) -> tuple[Floats, Floats]:
    """The poles and weights of b(t) = 1/((1 − t)·c(t)): 1, and the zeros of c, one between each two of its poles.

    With y = 1/t, c = Σ w·y/(y − p); a zero is found by halving, and the weight of a pole η of b is
    1/((η − 1)·c′(η)), of the pole 1 it is 1/c(1).
    """
    parts = sorted(_parts(steps), reverse=True)
    gaps = np.array([((1 << STATE) - pole) * 2.0**-STATE for pole, _ in parts])
    weights = np.array([weight * 2.0**-WEIGHT for _, weight in parts])
    low, high = gaps[:-1].copy(), gaps[1:].copy()
    for _ in range(120):
        middle = (low + high) / 2
        rising = (weights / (gaps - middle[:, None])).sum(1) < 0
        low, high = np.where(rising, middle, low), np.where(rising, high, middle)
    slope = (weights * (gaps - 1) / (gaps - low[:, None]) ** 2).sum(1)
    ends = 1 / (weights / gaps).sum()
    return np.concatenate(([1.0], 1 - low)), np.concatenate(([ends], -1 / (low * slope)))


def _gram(poles: Floats, weights: Floats, steps: int) -> float:
    """Σ_{k < steps} (Σ weight·pole^k)²."""
    both = np.outer(poles, poles)
    near = np.where(both < 1, both, 0.5)
    sums = np.where(both < 1, (1 - near**steps) / (1 - near), steps)
    return float(weights @ sums @ weights)
