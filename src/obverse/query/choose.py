"""Bounded measures → a plan: ε shared out, a mechanism for each total, the accuracy stated.

One ε is for the whole question. Its statistics share it equally: with m of them each gets ε/m, and basic composition
adds the shares up again [DR14, Theorem 3.14]. Groups are about disjoint rows, so they cost what one costs, by the L1
(or L2) norm of the whole vector of groups. Where δ > 0 is granted, totals take Gaussian noise instead if it is less.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, sqrt

from sqlglot import exp

from obverse.data.bounding import (
    Measure,
    Rows,
    histogram_sensitivity,
    most_weighted,
    naming_sensitivity,
    out_grid,
    sensitivity,
    weights_sensitivity,
)
from obverse.data.picked import people, weights
from obverse.data.schema import Category
from obverse.errors import BadQuestion
from obverse.loss.calibrate import gaussian_variance, gaussian_variance_for_rho, laplace_scale, largest_rho
from obverse.loss.loss import FREE, Loss, Sensitivity
from obverse.mechanisms.gaussian import Gaussian
from obverse.mechanisms.laplace import Laplace
from obverse.mechanisms.lazily import Whole
from obverse.mechanisms.partition import Partition
from obverse.mechanisms.permute_and_flip import PermuteAndFlip
from obverse.mechanisms.quantile import Quantiles
from obverse.mechanisms.weighted_names import WeightedNames
from obverse.noise.entropy import Entropy
from obverse.query.bound import Commonest, Ranked, Wanted

FEW = 8  # in more groups a person's weights name smaller ones, whatever ε
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
        return self.mechanism.loss(self.sensitivity) if self.sensitivity.l1 else FREE

    def margin(self, confidence: float, parts: int = 1) -> Fraction:
        """The noise's ± at this confidence, in the sum of so many groups."""
        return self.mechanism.interval_of_sum(confidence, parts) * self.grid

    def off(self, confidence: float) -> float:
        """The same, as a preview states it."""
        return float(self.margin(confidence))

    @property
    def width(self) -> int:
        return 1

    def release(self, totals: Sequence[int], entropy: Entropy) -> list[list[int]]:
        """The total of each group with its noise."""
        return [self.mechanism.release_many(totals, entropy)]


@dataclass(frozen=True)
class NoisyQuantile:
    """Values found by their ranks in each group: neighbours' values differ in at most `sensitivity` of them."""

    measure: Measure
    mechanism: Quantiles
    sensitivity: Sensitivity
    grid: Fraction

    @property
    def loss(self) -> Loss:
        return self.mechanism.loss(self.sensitivity)

    def margin(self, confidence: float, parts: int = 1) -> None:
        """No ±: how far a wrong rank moves a value, only the values could tell."""

    def off(self, confidence: float) -> float:
        """By how many ranks it is off, at most."""
        return self.mechanism.interval(confidence)

    @property
    def width(self) -> int:
        return len(self.mechanism.targets)

    def release(self, values: Sequence[Whole], entropy: Entropy) -> list[list[int]]:
        """Of each rank the value of each group."""
        return _columns(self.mechanism.release_many(values, entropy), self.width)


@dataclass(frozen=True)
class NoisyChoice:
    """The commonest of the values known in public, or several, by their places: chosen by how many rows have each.

    One is chosen by permute-and-flip: a person who comes raises every count or leaves it, and may do so in several
    groups, by no more than `sensitivity` in all; so ε is rate times that [MS20, Theorem 1 and Section 3]. Several are
    the largest of counts with Laplace noise: rows are of one value each, so that all counts together move no further
    than one, and one after the other would cost as often [DMNS06].
    """

    measure: Measure
    domain: tuple[Category, ...]
    width: int
    mechanism: PermuteAndFlip | Laplace
    sensitivity: Sensitivity
    grid: Fraction
    counted: Fraction

    @property
    def loss(self) -> Loss:
        return self.mechanism.loss(self.sensitivity)

    @property
    def value(self) -> exp.Expr:
        assert self.measure.value is not None
        return self.measure.value

    def margin(self, confidence: float, parts: int = 1) -> None:
        """No ±: a value that is chosen is not a number."""

    def off(self, confidence: float) -> float:
        """By how many rows it may be less common than the commonest, at most."""
        if isinstance(self.mechanism, PermuteAndFlip):
            return self.mechanism.interval(confidence, len(self.domain)) * float(self.counted)
        each = 1 - (1 - confidence) / len(self.domain)
        return 2 * self.mechanism.interval(each) * float(self.counted)

    def release(self, counts: Sequence[Whole], entropy: Entropy) -> list[list[int]]:
        """Of each place the value of each group."""
        if isinstance(self.mechanism, PermuteAndFlip):
            return [self.mechanism.release_many(counts, entropy)]
        noisy = self.mechanism.release_many([int(n) for each in counts for n in each], entropy)
        size = len(self.domain)
        scores = [noisy[at : at + size] for at in range(0, len(noisy), size)]
        best = [sorted(range(size), key=each.__getitem__, reverse=True)[: self.width] for each in scores]
        return _columns(best, self.width)


Noisy = NoisyTotal | NoisyQuantile | NoisyChoice


def _columns(rows: Sequence[Sequence[int]], width: int) -> list[list[int]]:
    return [[row[place] for row in rows] for place in range(width)]


def choose(
    rows: Rows, wanted: tuple[Wanted, ...], grouped: bool, epsilon: Fraction, delta: Fraction
) -> tuple[Noisy, ...]:
    """A noisy statistic for each that is wanted, ε and δ in all."""
    measures = tuple(each for each in wanted if isinstance(each, Measure))
    share = epsilon / len(wanted)
    totals = iter(_totals(rows, measures, grouped, share * len(measures), delta) if measures else ())
    return tuple(
        _quantile(rows, each, share)
        if isinstance(each, Ranked)
        else _choice(rows, each, share)
        if isinstance(each, Commonest)
        else next(totals)
        for each in wanted
    )


def _quantile(rows: Rows, ranked: Ranked, epsilon: Fraction) -> NoisyQuantile:
    measure, distance = ranked.measure, histogram_sensitivity(rows)
    bounds, each = (measure.low, measure.high), epsilon / distance.l1
    if each < LEAST_EACH:
        raise BadQuestion(
            "this leaves less than ε = 2⁻⁴⁰ for each value of a quantile: spend more, or ask for less"
        )
    ends = {Fraction(0): Quantiles.least(*bounds, each), Fraction(1): Quantiles.greatest(*bounds, each)}
    targets = tuple(ends[rank].targets[0] if rank in ends else (rank, 0) for rank in ranked.ranks)
    return NoisyQuantile(measure, Quantiles(targets, *bounds, each), distance, measure.grid)


def _choice(rows: Rows, wanted: Commonest, epsilon: Fraction) -> NoisyChoice:
    """By group or not, values part the rows: neighbours' counts are as far apart as those of groups."""
    distance = sensitivity(rows, wanted.measure, grouped=True)
    counted = out_grid(rows, wanted.measure, grouped=True)
    one = Sensitivity.of(distance.l1)
    mechanism: PermuteAndFlip | Laplace
    if wanted.width == 1:
        mechanism = PermuteAndFlip(epsilon / one.most, one_way=True)
    else:
        mechanism = Laplace(laplace_scale(epsilon, one))
    return NoisyChoice(wanted.measure, wanted.domain, wanted.width, mechanism, one, Fraction(1), counted)


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
    share = largest_rho(float(epsilon), float(delta)) / len(distances)
    return [Gaussian(gaussian_variance_for_rho(share, _some(distance))) for distance in distances]


def _less_noise(
    one: list[Laplace | Gaussian], other: list[Laplace | Gaussian], confidence: float = 0.95
) -> list[Laplace | Gaussian]:
    def width(mechanisms: list[Laplace | Gaussian]) -> int:
        return max(mechanism.interval(confidence) for mechanism in mechanisms)

    return other if width(other) < width(one) else one


@dataclass(frozen=True)
class Naming:
    """Which groups may be named at all: by how many units they have, or by how units' weights add up, in rounds."""

    mechanism: Partition | WeightedNames
    sensitivity: Sensitivity

    @property
    def loss(self) -> Loss:
        return self.mechanism.loss(self.sensitivity)

    @property
    def rounds(self) -> range:
        return self.mechanism.rounds if isinstance(self.mechanism, WeightedNames) else range(1)

    def select(
        self, rows: Rows, where: exp.Expr | None, keys: tuple[exp.Expr, ...], named: tuple[Category, ...]
    ) -> exp.Select:
        """What a round goes by, of each group that is not `named` yet."""
        if isinstance(self.mechanism, WeightedNames):
            return weights(rows, where, keys, named)
        return people(rows, where, keys)

    def named(self, at: int, found: list[int], entropy: Entropy) -> list[bool]:
        """For each group whether it is named in a round."""
        if isinstance(self.mechanism, WeightedNames):
            return [bool(said) for said in self.mechanism.release((at, found), entropy)]
        return [bool(said) for said in self.mechanism.release(found, entropy)]


def name(rows: Rows, keys: int, epsilon: Fraction, delta: Fraction) -> Naming:
    """The rule that costs (ε, δ) and names the smaller groups: the optimal one for each group, or weights for all."""
    distance, many = naming_sensitivity(rows), weights_sensitivity(rows)
    groups, most = int(distance.l1), most_weighted(rows)
    if most == 1:
        return Naming(Partition(epsilon / groups, _less(delta) / groups), distance)
    rho, half = largest_rho(float(epsilon), float(_less(delta) / 2)), _less(delta) / 2
    weighted = WeightedNames.at(rho, half, many, most=most, rounds=2 if keys == 1 else 1)
    if groups <= FEW:
        optimal = Partition(epsilon / groups, _less(delta) / groups)
        if optimal.chance(ceil(weighted.interval(0.5) * sqrt(groups))) > Fraction(1, 2):
            return Naming(optimal, distance)
    return Naming(weighted, many)


def _less(delta: Fraction) -> Fraction:
    """What summing up loses of it by rounding."""
    return delta * Fraction(1023, 1024)


def whole_loss(statistics: tuple[Noisy, ...]) -> Loss:
    """What all statistics cost together."""
    return sum((each.loss for each in statistics), FREE)
