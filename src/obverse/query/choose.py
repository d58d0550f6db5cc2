"""Bounded measures → a plan: ε shared out, a mechanism for each total, the accuracy stated.

One ε is for the whole question. Its statistics share it equally: with m of them each gets ε/m, and basic composition
adds the shares up again [DR14, Theorem 3.14]. Groups are about disjoint rows, so they cost what one costs, by the L1
(or L2) norm of the whole vector of groups. Where δ > 0 is granted, totals take Gaussian noise instead if it is less.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from obverse.data.bounding import (
    Measure,
    Rows,
    histogram_sensitivity,
    naming_sensitivity,
    out_grid,
    sensitivity,
)
from obverse.errors import BadQuestion
from obverse.loss.calibrate import gaussian_variance, gaussian_variance_for_rho, laplace_scale
from obverse.loss.curves import zcdp_profile
from obverse.loss.loss import FREE, Loss, Sensitivity
from obverse.mechanisms.gaussian import Gaussian
from obverse.mechanisms.laplace import Laplace
from obverse.mechanisms.lazily import Whole
from obverse.mechanisms.partition import GaussianNamedCounts, Partition
from obverse.mechanisms.quantile import Quantiles
from obverse.noise.entropy import Entropy
from obverse.query.bound import Ranked
from obverse.query.ranked import GREATEST, LEAST

LEAST_EACH = Fraction(1, 2**40)  # ranks stay well within 63 bits


@dataclass(frozen=True)
class NoisyTotal:
    """One measure's totals: what noise they get, how far neighbours' totals are apart, what a step is worth."""

    measure: Measure
    mechanism: Laplace | Gaussian
    sensitivity: Sensitivity
    grid: Fraction

    @property
    def loss(self) -> Loss:
        return self.mechanism.loss(self.sensitivity)

    def margin(self, confidence: float) -> Fraction:
        """The noise's ± at this confidence."""
        return self.mechanism.interval(confidence) * self.grid

    def off(self, confidence: float) -> float:
        """The same, as a preview states it."""
        return float(self.margin(confidence))

    def release(self, totals: Sequence[int], entropy: Entropy) -> list[int]:
        """The total of each group with its noise."""
        return self.mechanism.release_many(totals, entropy)


@dataclass(frozen=True)
class NoisyQuantile:
    """One value found by its rank in each group: neighbours' values differ in at most `sensitivity` of them."""

    measure: Measure
    mechanism: Quantiles
    sensitivity: Sensitivity
    grid: Fraction

    @property
    def loss(self) -> Loss:
        return self.mechanism.loss(self.sensitivity)

    def margin(self, confidence: float) -> None:
        """No ±: how far a wrong rank moves a value, only the values could tell."""

    def off(self, confidence: float) -> float:
        """By how many ranks it is off, at most."""
        return self.mechanism.interval(confidence)

    def release(self, values: Sequence[Whole], entropy: Entropy) -> list[int]:
        """The value of each group."""
        return [found for (found,) in self.mechanism.release_many(values, entropy)]


Noisy = NoisyTotal | NoisyQuantile


def choose(
    rows: Rows, wanted: tuple[Measure | Ranked, ...], grouped: bool, epsilon: Fraction, delta: Fraction
) -> tuple[Noisy, ...]:
    """A noisy statistic for each that is wanted, ε and δ in all."""
    measures = tuple(each for each in wanted if isinstance(each, Measure))
    share = epsilon / len(wanted)
    totals = iter(_totals(rows, measures, grouped, share * len(measures), delta) if measures else ())
    return tuple(
        next(totals) if isinstance(each, Measure) else _quantile(rows, each, share) for each in wanted
    )


def _quantile(rows: Rows, ranked: Ranked, epsilon: Fraction) -> NoisyQuantile:
    measure, distance = ranked.measure, histogram_sensitivity(rows)
    bounds, each = (measure.low, measure.high), epsilon / distance.l1
    if each < LEAST_EACH:
        raise BadQuestion(
            "this leaves less than ε = 2⁻⁴⁰ for each value of a quantile: spend more, or ask for less"
        )
    if ranked.function == LEAST:
        mechanism = Quantiles.least(*bounds, each)
    elif ranked.function == GREATEST:
        mechanism = Quantiles.greatest(*bounds, each)
    else:
        mechanism = Quantiles.at([ranked.rank], *bounds, each)
    return NoisyQuantile(measure, mechanism, distance, measure.grid)


def _totals(
    rows: Rows, measures: tuple[Measure, ...], grouped: bool, epsilon: Fraction, delta: Fraction
) -> tuple[NoisyTotal, ...]:
    distances = [sensitivity(rows, measure, grouped) for measure in measures]
    mechanisms: list[Laplace | Gaussian] = [
        Laplace(laplace_scale(epsilon / len(measures), _some(distance))) for distance in distances
    ]
    if delta > 0:
        mechanisms = _less_noise(mechanisms, _gaussians(distances, epsilon, delta))
    return tuple(
        NoisyTotal(measure, mechanism, distance, out_grid(rows, measure, grouped))
        for measure, mechanism, distance in zip(measures, mechanisms, distances, strict=True)
    )


def _some(distance: Sensitivity) -> Sensitivity:
    """A total that nobody can change still gets the noise of a step: a scale is above 0."""
    return distance if distance.l1 else Sensitivity.of(1)


def _gaussians(distances: list[Sensitivity], epsilon: Fraction, delta: Fraction) -> list[Laplace | Gaussian]:
    """The same ρ for each total, together the largest whose δ(ε) is at most δ.  [CKS20, Corollary 13]"""
    if len(distances) == 1:
        return [Gaussian(gaussian_variance(epsilon, delta, _some(distances[0])))]
    share = _largest_rho(float(epsilon), float(delta)) / len(distances)
    return [Gaussian(gaussian_variance_for_rho(share, _some(distance))) for distance in distances]


def _largest_rho(epsilon: float, delta: float) -> Fraction:
    """The largest ρ that is (ε, δ)-private, to one part in 2²⁰."""
    fits = [k for k in range(-60, 12) if zcdp_profile(2.0**k, epsilon) <= delta]
    low = Fraction(2) ** max(fits, default=-60)
    step = low
    for _ in range(20):
        step /= 2
        if zcdp_profile(float(low + step), epsilon) <= delta:
            low += step
    return low


def _less_noise(
    one: list[Laplace | Gaussian], other: list[Laplace | Gaussian], confidence: float = 0.95
) -> list[Laplace | Gaussian]:
    def width(mechanisms: list[Laplace | Gaussian]) -> int:
        return max(mechanism.interval(confidence) for mechanism in mechanisms)

    return other if width(other) < width(one) else one


@dataclass(frozen=True)
class Naming:
    """Which groups may be named at all, by how many units they have."""

    mechanism: Partition | GaussianNamedCounts
    sensitivity: Sensitivity

    @property
    def loss(self) -> Loss:
        return self.mechanism.loss(self.sensitivity)

    def named(self, units: list[int], entropy: Entropy) -> list[bool]:
        """For each group whether it is named."""
        return [bool(said) for said in self.mechanism.release(units, entropy)]


def name(rows: Rows, epsilon: Fraction, delta: Fraction) -> Naming:
    """The rule that costs (ε, δ) and names the smaller groups: the optimal one for each group, or Gaussian for all."""
    distance = naming_sensitivity(rows)
    groups, delta = int(distance.l1), delta * Fraction(1023, 1024)  # what summing up loses by rounding
    optimal = Partition(epsilon / groups, delta / groups)
    gaussian = GaussianNamedCounts.at(
        _largest_rho(float(epsilon), float(delta / 2)), delta / 2, groups=groups
    )
    if groups == 1 or optimal.chance(gaussian.threshold) > Fraction(1, 2):
        return Naming(optimal, distance)
    return Naming(gaussian, distance)


def whole_loss(statistics: tuple[Noisy, ...]) -> Loss:
    """What all statistics cost together."""
    return sum((each.loss for each in statistics), FREE)
