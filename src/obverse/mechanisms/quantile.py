"""Quantiles between declared bounds, many at once, by halving: the recursive exponential mechanism.  [KSS22; Smi11]

One or two quantiles about the middle are chosen by the exponential mechanism, the values split there, and each part
asked for its share of the others: a person's value is in one part of each level, so m quantiles cost about log₂ m
choices, not m.

The score of numbers y₁ ≤ y₂ ≤ … for the quantiles q₁, q₂, … of n values is −Σ|(values below yᵢ) − qᵢ·n|. One more
value z moves the i-th term by 1 − qᵢ if yᵢ > z and by qᵢ if not, and those with yᵢ ≤ z come first: so by at most
Δ = max over j of q₁ + … + qⱼ + (1 − qⱼ₊₁) + …, which is ½ for the median (not 1) and 1 for a pair about the middle.
The pair is two independent choices, drawn again while they are out of order: exactly the law of ordered pairs.

Equal values would all fall on one side of a split. Each value is therefore given random low bits, drawn for it alone:
neighbours stay neighbours, and a split through a heap of equal values divides it fairly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil, log

import numpy as np

from obverse.errors import BadParameter
from obverse.loss.curves import pure_profile
from obverse.loss.loss import Sensitivity
from obverse.loss.number import positive
from obverse.mechanisms.base import Mechanism
from obverse.mechanisms.exponential import bounded_range_profile
from obverse.mechanisms.lazily import Whole, choose, whole
from obverse.noise.entropy import Entropy
from obverse.noise.exact import below

Target = tuple[Fraction, int]
FINEST = 1000  # the largest denominator of a quantile within a part; rounding it is public
BEYOND = 12.0
HUGE = (1 << 63) - 1
FINE = 20  # random low bits a value, at most; fewer where the bounds are so wide that 62 bits would not hold them


@dataclass(frozen=True)
class Quantiles(Mechanism[Sequence[int] | Whole, tuple[int, ...]]):
    """Whole numbers in low … high near the quantiles asked for, in order; `epsilon` for a person with one value.

    Each target is (q, offset): the value at rank q·n + offset. Give grid steps for real values.

    >>> from obverse.noise.entropy import Keyed
    >>> Quantiles.median(0, 100, Fraction(2)).release(list(range(101)), Keyed("example"))
    (49,)
    """

    targets: tuple[Target, ...]
    low: int
    high: int
    epsilon: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", positive(self.epsilon, "ε"))
        if not self.low < self.high:
            raise BadParameter(f"bounds are low before high, not {self.low} and {self.high}")
        if self.high - self.low >= 1 << 52:
            raise BadParameter("bounds are less than 2⁵² steps apart: choose a coarser grid")
        if not self.targets:
            raise BadParameter("no quantile asked for")
        if any(not 0 <= q <= 1 for q, _ in self.targets) or [*self.targets] != sorted(self.targets):
            raise BadParameter("quantiles lie between 0 and 1, in order")

    @classmethod
    def at(cls, quantiles: Sequence[Fraction], low: int, high: int, epsilon: Fraction) -> Quantiles:
        """These quantiles, such as `[Fraction(k, 10) for k in range(1, 10)]`."""
        return cls(tuple((Fraction(q), 0) for q in quantiles), low, high, epsilon)

    @classmethod
    def median(cls, low: int, high: int, epsilon: Fraction) -> Quantiles:
        return cls.at([Fraction(1, 2)], low, high, epsilon)

    @classmethod
    def least(cls, low: int, high: int, epsilon: Fraction) -> Quantiles:
        """MIN: a rank just inside, or nothing would hold the answer away from `low`."""
        return cls(((Fraction(0), _inside(low, high, epsilon)),), low, high, epsilon)

    @classmethod
    def greatest(cls, low: int, high: int, epsilon: Fraction) -> Quantiles:
        """MAX: a rank just inside, or nothing would hold the answer away from `high`."""
        return cls(((Fraction(1), -_inside(low, high, epsilon)),), low, high, epsilon)

    def draw(self, value: Sequence[int] | Whole, entropy: Entropy) -> tuple[int, ...]:
        fine = max(0, min(FINE, 61 - (self.high - self.low).bit_length()))
        clamped = np.clip(whole(value), self.low, self.high) - self.low
        bits = np.frombuffer(entropy.bytes(4 * clamped.size), np.uint32) >> (32 - fine)
        ordered = np.sort((clamped << fine) + bits)
        last = (self.high - self.low + 1 << fine) - 1
        chosen = _choose_all(_steps(self.targets, self.epsilon), ordered, (0, last), entropy)
        return tuple(self.low + (place >> fine) for place in chosen)

    def pure(self, sensitivity: Sensitivity) -> Fraction:
        """[KSS22, Lemma 3.1], `epsilon` for each value a person adds or takes away."""
        return self.epsilon * sensitivity.l1

    def rho(self, sensitivity: Sensitivity) -> Fraction:
        """ε²/8 for the choice of each level.  [CR21, Lemma 3.4]"""
        return (
            sum((share**2 for share in _shares(len(self.targets))), Fraction(0))
            * self.pure(sensitivity) ** 2
            / 8
        )

    def profile(self, epsilon: float, sensitivity: Sensitivity) -> float:
        pure = float(self.pure(sensitivity))
        return bounded_range_profile(pure, epsilon) if len(self.targets) <= 2 else pure_profile(pure, epsilon)

    def interval(self, confidence: float) -> int:
        """How many ranks any of them is off, at most, in this share of runs: the levels' errors added up.

        A choice of rate λ is worse than the best by more than t with chance at most places·e^(−λt).
        [KSS22, Lemma 3.2; MT07, Theorem 7]
        """
        places = (self.high - self.low + 1) * 2.0**FINE * len(self.targets) / (1 - confidence)
        shares = [float(self.epsilon * share) for share in _shares(len(self.targets))]
        return ceil(sum(2 * log(places) / share for share in shares))


@dataclass(frozen=True)
class _Step:
    """One level of the halving, from public facts: what is chosen, how sharply, and what is asked of the parts."""

    pivots: tuple[Target, ...]
    rate: Fraction
    parts: tuple[_Step | None, ...]


@lru_cache(maxsize=256)
def _steps(targets: tuple[Target, ...], epsilon: Fraction) -> _Step | None:
    """The middle targets first, then in the parts between them the others with what is left of ε."""
    if not targets:
        return None
    first, last = _pivots(len(targets))
    pivots = tuple(targets[place] for place in sorted({first, last}))
    now = epsilon * _shares(len(targets))[0]
    before = tuple(_before(target, pivots[0]) for target in targets[:first])
    between = tuple(_after(target, pivots[0]) for target in targets[first + 1 : last])
    between = tuple(_before(target, _after(pivots[-1], pivots[0])) for target in between)
    after = tuple(_after(target, pivots[-1]) for target in targets[last + 1 :])
    parts = tuple(
        _steps(part, epsilon - now) for part in (before, between, after)[:: 1 if last > first else 2]
    )
    return _Step(pivots, now / (2 * _most([q for q, _ in pivots])), parts)


def _pivots(targets: int) -> tuple[int, int]:
    """The places of the first and the last chosen at once: the middle, or two about it."""
    middle = targets // 2
    if targets in (1, 3):
        return middle, middle
    return middle - 1, middle + targets % 2


def _choose_all(step: _Step | None, values: Whole, bounds: tuple[int, int], entropy: Entropy) -> list[int]:
    """The step's pivots among these values, and in the parts between them the others."""
    if step is None:
        return []
    places = _choose(step, values, bounds, entropy)
    parts = np.split(values, values.searchsorted(places))
    edges = [bounds[0], *places, bounds[1]]
    found: list[int] = []
    for part, inside, low, high in zip(parts, step.parts, edges[:-1], edges[1:], strict=True):
        found += [*_choose_all(inside, part, (low, high), entropy), high]
    return found[:-1]


def _shares(targets: int) -> list[Fraction]:
    """The share of each level in ε: a pair's choice is half as sharp as the middle's, so it has twice the share."""
    weights = []
    while targets:
        first, last = _pivots(targets)
        weights.append(2 if last > first else 1)
        targets = first
    return [Fraction(weight, sum(weights)) for weight in weights]


def _choose(step: _Step, values: Whole, bounds: tuple[int, int], entropy: Entropy) -> list[int]:
    """Places near the pivots, in order: a stretch between two values by score and width, then a place in it."""
    edges = np.concatenate(([bounds[0] - 1], values, [bounds[1]]))
    widths = edges[1:] - edges[:-1]
    below_it = np.arange(widths.size)
    while True:
        places = []
        for q, offset in step.pivots:
            rank = values.size * q.numerator + offset * q.denominator
            steps = np.abs(below_it * q.denominator - rank)
            gaps = np.where(widths > 0, steps - steps.min(where=widths > 0, initial=HUGE), 0)
            at = choose(gaps.view(np.uint64), step.rate / q.denominator, entropy, widths)
            places.append(int(edges[at]) + 1 + below(int(widths[at]), entropy))
        if places[0] <= places[-1]:
            return places


def _most(quantiles: list[Fraction]) -> Fraction:
    """The Δ of one or more quantiles' common score."""
    return max(
        sum(quantiles[:j], Fraction(0)) + sum((1 - q for q in quantiles[j:]), Fraction(0))
        for j in range(len(quantiles) + 1)
    )


def _before(target: Target, pivot: Target) -> Target:
    """The target's rank among the values below the pivot, of which there are about pivot.q·n + pivot.offset."""
    q = (target[0] / pivot[0]).limit_denominator(FINEST) if pivot[0] else Fraction(0)
    return q, round(target[1] - q * pivot[1])


def _after(target: Target, pivot: Target) -> Target:
    """The target's rank among the values from the pivot on."""
    rest = 1 - pivot[0]
    q = ((target[0] - pivot[0]) / rest).limit_denominator(FINEST) if rest else Fraction(1)
    return q, round(target[1] - (1 - q) * pivot[1])


def _inside(low: int, high: int, epsilon: Fraction) -> int:
    """How many ranks inside the extreme to aim, so that the empty stretch beyond it seldom wins."""
    return ceil(2 * min(log(high - low + 1), BEYOND) / float(epsilon))
