"""For every mechanism a pair of neighbours that uses up its whole promise; one without a case fails the audit."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction as F
from typing import Any

from obverse import catalogue
from obverse.loss.loss import Sensitivity
from obverse.mechanisms.base import Mechanism
from obverse.mechanisms.exponential import Exponential
from obverse.mechanisms.gaussian import Gaussian
from obverse.mechanisms.gradual import Gradual
from obverse.mechanisms.laplace import Laplace
from obverse.mechanisms.long_ranges import LongRanges
from obverse.mechanisms.noisy_max import NoisyMax
from obverse.mechanisms.partition import GaussianNamedCounts, NamedCounts, Partition
from obverse.mechanisms.permute_and_flip import PermuteAndFlip
from obverse.mechanisms.quantile import Quantiles
from obverse.mechanisms.randomized_response import RandomizedResponse
from obverse.mechanisms.ranges import GaussianRanges, LaplaceRanges
from obverse.mechanisms.running_totals import RunningTotals
from obverse.mechanisms.sampled_classes import SampledClasses
from obverse.mechanisms.score import Score
from obverse.mechanisms.sparse_vector import SparseVector
from obverse.mechanisms.thresholdout import Thresholdout
from obverse.mechanisms.top_k import TopK
from obverse.mechanisms.weighted_names import WeightedNames

WEIGHT = Sensitivity.of(10)
ONE, TWO = Sensitivity.of(1), Sensitivity.of(1, numbers=2)
COUNTS, GENERAL = Score.count("add-remove"), Score.count("replace-one")


@dataclass(frozen=True)
class Case:
    """A mechanism, what goes in on one table and on its neighbour, and how far apart these are said to be."""

    mechanism: Mechanism[Any, Any]
    value: Any
    neighbour: Any
    sensitivity: Sensitivity

    @property
    def name(self) -> str:
        return type(self.mechanism).__name__


def cases() -> tuple[Case, ...]:
    """The cases of all mechanisms."""
    return (
        Case(Laplace(F(1)), 0, 1, ONE),
        Case(Laplace(F(3)), 5, 8, Sensitivity.of(3)),
        Case(Gaussian(F(4)), 0, 1, ONE),
        Case(Exponential.at(F(1), COUNTS), (3, 3, 3), (3, 4, 3), ONE),
        Case(Exponential.at(F(1), GENERAL), (3, 4), (4, 3), ONE),
        Case(PermuteAndFlip.at(F(1), COUNTS), (3, 3, 3), (3, 4, 3), ONE),
        Case(PermuteAndFlip.at(F(1), GENERAL), (3, 4), (4, 3), ONE),
        Case(NoisyMax.at(F(1), COUNTS), (3, 3), (3, 4), ONE),
        Case(TopK.at(F(1), COUNTS, 2), (3, 3, 2), (3, 4, 2), ONE),
        Case(Quantiles.median(0, 9, F(1)), (2, 3, 7), (2, 3, 7, 9), ONE),
        Case(SparseVector.at(F(1), GENERAL, threshold=0, hits=1), (0, 0, 0), (1, -1, 1), ONE),
        Case(RandomizedResponse(F(1), 4), (0,), (3,), ONE),
        Case(Partition(F(1), F(1, 100)), (1, 3), (2, 4), TWO),
        Case(NamedCounts.at(F(1), F(1, 100)), (5, 0), (6, 1), TWO),
        Case(GaussianNamedCounts.at(F(1, 2), F(1, 100)), (5,), (6,), ONE),
        Case(
            WeightedNames.at(F(1, 2), F(1, 100), WEIGHT, most=4, rounds=1),
            (0, (50, 11)),
            (0, (60, 11)),
            WEIGHT,
        ),
        Case(LaplaceRanges((2,), F(1), "haar"), (0, 0), (1, 0), ONE),
        Case(LaplaceRanges((4,), F(1), "tree"), (0, 0, 0, 0), (0, 1, 0, 0), ONE),
        Case(GaussianRanges((3,), F(1, 2)), (0, 0, 0), (0, 1, 0), ONE),
        Case(LongRanges(46, F(1)), (0,) * 46, (1,) + (0,) * 45, ONE),
        Case(SampledClasses(F(1, 2), 3, F(1)), (0,) * 8 + (1,) * 3, (0,) * 7 + (1,) * 3, ONE),
        Case(Gradual((F(5), F(1))), 0, 1, ONE),
        Case(Thresholdout(2, F(4), 2), ((0, 0), (0, 9)), ((0, 1), (0, 8)), ONE),
        Case(RunningTotals(3, F(1, 2)), (0, 1), (1, 1), ONE),
    )


def without_case(listed: tuple[Case, ...]) -> list[str]:
    """Mechanisms that nobody watches."""
    watched = {case.name for case in listed}
    return sorted(set(catalogue.classes("obverse.mechanisms", Mechanism)) - watched)
