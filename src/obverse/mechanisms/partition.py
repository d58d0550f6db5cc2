"""Which groups may be named at all, when their names come from the data: the optimal rule, and thresholds.

A group of n people is named with a probability π(n) that climbs from π(0) = 0 as fast as (ε, δ) allows
[DVGM22, Definition 2 and Theorem 1]. `Partition` says only which; `NamedCounts` gives each named group's noisy count
at the same price, by noise cut off at k and the rule "name it if the noisy count is above k"
[DVGM22, Section 4]; `GaussianNamedCounts` is the same with Gaussian noise, for many groups a person.

A person in up to C groups pays for C: that is in the sensitivity, `Sensitivity.of(1, numbers=C)`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil, erfc, exp, expm1, floor, log, log1p, sqrt

import numpy as np
from numpy.typing import NDArray

from obverse.errors import BadParameter
from obverse.loss.loss import Sensitivity
from obverse.loss.number import chance, positive
from obverse.mechanisms.base import Mechanism
from obverse.mechanisms.composed import composed_profile
from obverse.mechanisms.gaussian import Gaussian
from obverse.mechanisms.laplace import Laplace
from obverse.mechanisms.lazily import Whole, whole
from obverse.noise.draws import gaussians, laplaces
from obverse.noise.entropy import Entropy
from obverse.noise.exact import exp_bounds

BITS = 128  # a chance is a whole multiple of 2⁻¹²⁸, rounded down
LONGEST = 1 << 20
LEAST = Fraction(1, 1 << 100)


def groups(sensitivity: Sensitivity) -> int:
    """How many groups one person may be in; each then has one person more or less, whatever that person's rows."""
    if sensitivity.most != 1:
        raise BadParameter("groups are named by how many people they have: each person counts 1 in each")
    return int(sensitivity.l1)


def small(delta: Fraction) -> Fraction:
    """A δ that can name a group: below 1, and not too small for `BITS`."""
    exact = chance(delta, "δ")
    if exact < LEAST:
        raise BadParameter("δ is at least 2⁻¹⁰⁰")
    return exact


@dataclass(frozen=True)
class Partition(Mechanism[Sequence[int] | Whole, NDArray[np.bool_]]):
    """Which groups are named, from how many people each has; (`epsilon`, `delta`) for each group a person is in.

    >>> from obverse.noise.entropy import Keyed
    >>> Partition(Fraction(1), Fraction(1, 100_000)).release([0, 2, 900], Keyed("example")).tolist()
    [False, False, True]
    """

    epsilon: Fraction
    delta: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", positive(self.epsilon, "ε"))
        object.__setattr__(self, "delta", small(self.delta))
        if _last_unsure(self.epsilon, self.delta) > LONGEST:
            raise BadParameter(
                "ε is so small that a group needs over a million people to be named: ask for more"
            )

    def draw(self, value: Sequence[int] | Whole, entropy: Entropy) -> NDArray[np.bool_]:
        people = whole(value)
        chances = _chances(self.epsilon, self.delta)
        first = np.array([min(chance, (1 << BITS) - 1) >> 64 for chance in chances], np.uint64)
        at = np.clip(people, 0, len(chances) - 1)
        drawn = np.frombuffer(entropy.bytes(8 * people.size), np.uint64)
        named: NDArray[np.bool_] = drawn < first[at]
        for place in (drawn == first[at]).nonzero()[0].tolist():
            named[place] = entropy.bits(64) < chances[at[place]] % (1 << 64)
        named |= at == len(chances) - 1
        return named

    def chance(self, people: int) -> Fraction:
        """π(n): how likely a group of so many people is to be named."""
        chances = _chances(self.epsilon, self.delta)
        return Fraction(chances[min(people, len(chances) - 1)], 1 << BITS)

    def interval(self, confidence: float) -> int:
        """How many people a group needs to be named in this share of runs."""
        chances = _chances(self.epsilon, self.delta)
        return bisect_left(chances, ceil(confidence * (1 << BITS)))

    def profile(self, epsilon: float, sensitivity: Sensitivity) -> float:
        """[DVGM22, Definition 2] for each group; together by [KOV15, Theorem 3.3]."""
        return composed_profile(float(self.epsilon), float(self.delta), groups(sensitivity), epsilon)


def _last_unsure(epsilon: Fraction, delta: Fraction) -> float:
    """About how many people a group may have and yet not be sure of its name.  [DVGM22, Theorem 1]"""
    e, d = float(epsilon), float(delta)
    return 2 * (log1p(expm1(e) / (2 * d)) + log(2 * d) - log((exp(e) + 1) * d)) / e if e < 700 else 2


@dataclass(frozen=True)
class NamedCounts(Mechanism[Sequence[int] | Whole, Whole]):
    """How many people each group has, with noise of at most `cut`; 0, and so no name, where that is not above `cut`.

    The noise x has probability proportional to exp(−ε|x|), |x| ≤ cut. A group of nobody is never named, one of a
    single person with probability P(x = cut): that is δ for each group a person is in.

    >>> from obverse.noise.entropy import Keyed
    >>> named = NamedCounts.at(Fraction(1), Fraction(1, 100_000))
    >>> named.cut, (named.release([0, 0, 900], Keyed("example")) > 0).tolist()
    (11, [False, False, True])
    """

    epsilon: Fraction
    cut: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", positive(self.epsilon, "ε"))
        if self.cut < 1:
            raise BadParameter(f"noise is cut off at 1 or more, not {self.cut}")

    @classmethod
    def at(cls, epsilon: Fraction, delta: Fraction) -> NamedCounts:
        """The one that costs (ε, δ) for each group a person is in."""
        cut = max(1, floor(_last_unsure(positive(epsilon, "ε"), small(delta)) / 2))
        while cls(epsilon, cut).delta > float(delta):
            cut += 1
        return cls(epsilon, cut)

    @property
    def delta(self) -> float:
        """P(x = cut), and a little more than any float is off."""
        q, e = exp(-float(self.epsilon)), float(self.epsilon)
        total = 1 + q - 2 * exp(-e * (self.cut + 1))
        return exp(-e * self.cut) * -expm1(-e) / total * (1 + 1e-9)

    def draw(self, value: Sequence[int] | Whole, entropy: Entropy) -> Whole:
        people = whole(value)
        noise = np.zeros(people.size, np.int64)
        beyond = np.arange(people.size)
        while beyond.size:
            noise[beyond] = laplaces(1 / self.epsilon, beyond.size, entropy)
            beyond = beyond[np.abs(noise[beyond]) > self.cut]
        noisy = people + noise
        return np.where((noisy > self.cut) & (people > 0), noisy, 0)

    def profile(self, epsilon: float, sensitivity: Sensitivity) -> float:
        """[DVGM22, Theorem 3] for each group; together by [KOV15, Theorem 3.3]."""
        return composed_profile(float(self.epsilon), self.delta, groups(sensitivity), epsilon)

    def interval(self, confidence: float) -> int:
        """How far a named count is off, at most, in this share of runs."""
        return min(self.cut, Laplace(1 / self.epsilon).interval(confidence))


@dataclass(frozen=True)
class GaussianNamedCounts(Mechanism[Sequence[int] | Whole, Whole]):
    """How many people each group has, with Gaussian noise; 0, and so no name, where that is below `threshold`.

    Only groups of somebody are given in; one of a single person is named with probability P(1 + x ≥ threshold).

    >>> GaussianNamedCounts.at(Fraction(1, 2), Fraction(1, 1_000_000), groups=4).threshold
    13
    """

    variance: Fraction
    threshold: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "variance", positive(self.variance, "a Gaussian variance"))
        if self.threshold < 2:
            raise BadParameter(f"a threshold is 2 or more, not {self.threshold}")

    @classmethod
    def at(cls, rho: Fraction, delta: Fraction, *, groups: int = 1) -> GaussianNamedCounts:
        """The one that costs ρ for the counts of a person in so many groups, and δ for naming any of them."""
        variance, allowed = Fraction(groups) / (2 * positive(rho, "ρ")), float(small(delta))
        enough = 3 + ceil(40 * sqrt(variance))  # where the tail is below any float

        def fits(threshold: int) -> bool:
            return cls(variance, threshold)._named(groups) <= allowed

        return cls(variance, bisect_left(range(enough), True, lo=2, key=fits))

    def draw(self, value: Sequence[int] | Whole, entropy: Entropy) -> Whole:
        people = whole(value)
        noisy = people + np.array(gaussians(self.variance, people.size, entropy), np.int64)
        return np.where((noisy >= self.threshold) & (people > 0), noisy, 0)

    def profile(self, epsilon: float, sensitivity: Sensitivity) -> float:
        """Either some group of one person is named, or what leaves is the noisy counts of the others.

        With P(S) ≤ d + (1 − d)·P′(S) and Q(S) ≥ (1 − d)·Q′(S), where d is the chance of the first and P′, Q′ are
        without it, δ(ε) ≤ d + (1 − d)·δ′(ε).
        """
        named = self._named(groups(sensitivity))
        return named + (1 - named) * Gaussian(self.variance).profile(epsilon, sensitivity)

    def _named(self, times: int) -> float:
        """How likely one of so many groups of one person is named, at most: the continuous tail is above the discrete.

        [CKS20, Proposition 25]
        """
        one = erfc((self.threshold - 2) / sqrt(2 * self.variance)) / 2 * (1 + 1e-9)
        return -expm1(times * log1p(-one))

    def interval(self, confidence: float) -> int:
        """How far a count is off, at most, in this share of runs; one that is named only by luck was low."""
        return Gaussian(self.variance).interval(confidence)


@lru_cache(maxsize=64)
def _chances(epsilon: Fraction, delta: Fraction) -> tuple[int, ...]:
    """π(0), π(1), … up to the first that is 1, as multiples of 2⁻¹²⁸.

    π(n) = min(e^ε·π(n−1) + δ, 1 − e^−ε·(1 − π(n−1) − δ), 1) [DVGM22, Theorem 1], rounded down at each step, with
    an e^ε that is rounded down and an e^−ε that is rounded up. Rounding is far below δ, so π still climbs and the
    other two inequalities of (ε, δ) hold by themselves.
    """
    one = 1 << BITS
    shrink = exp_bounds(epsilon, 2 * BITS)[1] + 1
    step = one * delta.numerator // delta.denominator
    chances = [0]
    while chances[-1] < one:
        last = chances[-1]
        grown = (last << 2 * BITS) // shrink + step
        eased = one - (-(-(one - last - step) * shrink >> 2 * BITS)) if last + step < one else one
        chances.append(min(grown, eased, one))
    return tuple(chances)
