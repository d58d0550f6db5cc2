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

Stretches so far from the rank asked for that all of them together weigh next to nothing are looked at only if the
uniform number that chooses might mean one of them. They come behind the others, so that it means the same either way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil, exp, inf, log

import numpy as np
from numpy.typing import NDArray

from obverse.errors import BadParameter
from obverse.loss.curves import pure_profile
from obverse.loss.loss import Sensitivity
from obverse.loss.number import positive
from obverse.mechanisms.base import Mechanism
from obverse.mechanisms.exponential import bounded_range_profile
from obverse.mechanisms.heaps import Heaps
from obverse.mechanisms.lazily import Whole, exactly, surely, whole
from obverse.noise.entropy import Entropy
from obverse.noise.exact import below

Target = tuple[Fraction, int]
FINEST = 1000  # the largest denominator of a quantile within a part; rounding it is public
BEYOND = 12.0
HUGE = (1 << 63) - 1
FAR = 128.0  # what is so far from the best that e^−FAR is its weight is not looked at, as a rule
FINE = 20  # random low bits a value, at most; fewer where the bounds are so wide that 62 bits would not hold them


@dataclass(frozen=True)
class Quantiles(Mechanism[Sequence[int] | Whole, tuple[int, ...]]):
    """Whole numbers in low … high near the quantiles asked for, in order; `epsilon` for a person with one value.

    Each target is (q, offset): the value at rank q·n + offset. Give grid steps for real values.

    >>> from obverse.noise.entropy import Keyed
    >>> Quantiles.median(0, 100, Fraction(2)).release(list(range(101)), Keyed("example"))
    (51,)
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
        heaps = Heaps.of(whole(value), self.low, self.high, fine)
        last = (self.high - self.low + 1 << fine) - 1
        chosen = _choose_all(_steps(self.targets, self.epsilon), heaps, (0, last), entropy)
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


def _choose_all(step: _Step | None, heaps: Heaps, bounds: tuple[int, int], entropy: Entropy) -> list[int]:
    """The step's pivots among these values, and in the parts between them the others."""
    if step is None:
        return []
    places, heaps = _choose(step, heaps, bounds, entropy)
    edges = [bounds[0], *places, bounds[1]]
    found: list[int] = []
    parts = heaps.parts(places)
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


def _choose(step: _Step, heaps: Heaps, bounds: tuple[int, int], entropy: Entropy) -> tuple[list[int], Heaps]:
    """Places near the pivots, in order, and the heaps, of which some are spread now."""
    while True:
        places = []
        for pivot in step.pivots:
            place, heaps = _place(pivot, step.rate, heaps, bounds, entropy)
            places.append(place)
        if places[0] <= places[-1]:
            return places, heaps


def _place(
    pivot: Target, rate: Fraction, heaps: Heaps, bounds: tuple[int, int], entropy: Entropy
) -> tuple[int, Heaps]:
    """A stretch between two values by score and width, then a place in it; those near the pivot come first."""
    rank, known = heaps.total * pivot[0] + pivot[1], entropy.bits(64)
    reach, inside = FAR / float(rate), min(max(float(rank), 0.0), float(heaps.total))
    heaps = heaps.spread(*heaps.near(inside - reach, inside + reach), entropy)
    near = _Stretches.between(heaps, *heaps.near(inside - reach, inside + reach), bounds)
    at = near.sure(rank, rate, known)
    if at is None:
        heaps = heaps.spread(0, heaps.places.size, entropy)
        near = _Stretches.between(heaps, 0, heaps.places.size, bounds).starting(near.first)
        gaps, each = near.gaps(rank), rate / rank.denominator
        at = surely(gaps, each, known, near.widths)
        at = exactly(gaps, each, known, entropy, near.widths) if at is None else at
    return int(near.lows[at]) + 1 + below(int(near.widths[at]), entropy), heaps


@dataclass(frozen=True, eq=False)
class _Stretches:
    """Where a place may be: behind each of `lows`, how wide, and with how many values before it.

    Stretches with fewer than `first` values before them are left out, or more than `last`; these are within `span`.
    """

    lows: Whole
    widths: Whole
    ranks: Whole
    first: int
    last: int
    total: int
    span: int

    @classmethod
    def between(cls, heaps: Heaps, first: int, last: int, bounds: tuple[int, int]) -> _Stretches:
        """Those between the values of these heaps, which are spread; to the bounds, where they are the outermost."""
        start, end = first == 0, last == heaps.places.size
        outer = [bounds[0] - 1] * start, [bounds[1]] * end
        edges = np.concatenate((whole(outer[0]), heaps.places[first:last], whole(outer[1])))
        lowest = int(heaps.ranks[first]) + (not start)
        ranks = np.arange(lowest, lowest + edges.size - 1)
        highest = int(heaps.ranks[last]) - (not end)
        return cls(edges[:-1], np.diff(edges), ranks, lowest, highest, heaps.total, bounds[1] - bounds[0] + 1)

    def starting(self, first: int) -> _Stretches:
        """The same, from the one with so many values before it on, and round."""
        lows, widths, ranks = (np.roll(each, -first) for each in (self.lows, self.widths, self.ranks))
        return _Stretches(lows, widths, ranks, first, self.last, self.total, self.span)

    def gaps(self, rank: Fraction) -> NDArray[np.uint64]:
        """How much further from the rank than the best, in steps of its denominator; of those without a place 0."""
        steps = np.abs(self.ranks * rank.denominator - rank.numerator)
        wide = self.widths > 0
        return np.where(wide, steps - steps.min(where=wide, initial=HUGE), 0).view(np.uint64)

    def sure(self, rank: Fraction, rate: Fraction, known: int) -> int | None:
        """Which of them it is, if whatever was left out weighs too little to matter."""
        if not (wide := self.widths > 0).any():
            return None
        best = float(np.abs(self.ranks[wide] - float(rank)).min()) + 1.0
        left = [float(rank) - (self.first - 1)] * (self.first > 0)
        left += [self.last + 1 - float(rank)] * (self.last < self.total)
        beyond = self.span * exp(min(0.0, -float(rate) * (min(left, default=inf) - best)))
        return surely(self.gaps(rank), rate / rank.denominator, known, self.widths, beyond)


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
