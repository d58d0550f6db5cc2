"""Report-noisy-max keeps its ε, ties included, and permute-and-flip beats it."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from obverse.errors import BadParameter
from obverse.loss.loss import Sensitivity
from obverse.mechanisms.noisy_max import NoisyMax
from obverse.mechanisms.permute_and_flip import PermuteAndFlip
from obverse.mechanisms.score import Score
from obverse.noise.entropy import Keyed

ONE = Sensitivity.of(1)
COUNTS, GENERAL = Score.count("add-remove"), Score.count("replace-one")
CASES = [
    (NoisyMax.at(Fraction(1), COUNTS), (3, 3), (3, 4), ONE),
    (NoisyMax.at(Fraction(1), GENERAL), (3, 4), (4, 3), ONE),
]
PLANTED = [(NoisyMax(Fraction(1, 2)), NoisyMax(Fraction(2)), (3, 4), (4, 3), ONE)]


def laws(scores, scale, widest=60):
    """P(place wins), by summing over the winner's noise; the first of equals wins."""
    q = np.exp(-1 / scale)
    steps = np.arange(-widest, widest + 1)
    mass = (1 - q) / (1 + q) * q ** np.abs(steps)
    upto = {int(s): m for s, m in zip(steps, mass.cumsum(), strict=True)}
    cumulated = lambda t: upto[max(-widest, min(widest, t))]  # noqa: E731
    return [
        sum(
            m
            * np.prod(
                [cumulated(int(s) + score - other - (j < i)) for j, other in enumerate(scores) if j != i]
            )
            for s, m in zip(steps, mass, strict=True)
        )
        for i, score in enumerate(scores)
    ]


def test_exact_distribution():
    scores, draws, entropy = (0, 2, 1), 5_000, Keyed("law")
    found = Counter(NoisyMax(Fraction(2)).release(scores, entropy) for _ in range(draws))
    for place, chance in enumerate(laws(scores, 2.0)):
        assert abs(found[place] - draws * chance) < 5 * (draws * chance * (1 - chance)) ** 0.5


@pytest.mark.parametrize(
    ("scores", "neighbour", "one_way"), [((3, 3, 3), (3, 3, 4), True), ((3, 3, 3), (4, 2, 2), False)]
)
def test_ties_do_not_cost_more_than_epsilon(scores, neighbour, one_way):
    """[DR14, Claim 3.9], by summing the law itself."""
    epsilon = float(NoisyMax(Fraction(2), one_way).pure(ONE))
    ratios = np.log(np.array(laws(scores, 2.0)) / np.array(laws(neighbour, 2.0)))
    assert np.abs(ratios).max() <= epsilon + 1e-9


def test_permute_and_flip_is_never_worse():
    """[MS20, Theorem 2], on a list where both have something to lose."""
    scores, entropy = [0, 4, 6, 7, 8], Keyed("compare")
    loss = {}
    for kind in (NoisyMax, PermuteAndFlip):
        mechanism = kind.at(Fraction(1), GENERAL)
        loss[kind] = np.mean([8 - scores[mechanism.release(scores, entropy)] for _ in range(2000)])
    assert loss[PermuteAndFlip] < loss[NoisyMax]


@pytest.mark.parametrize("scale", [0, -1, float("nan"), float("inf"), "1"])
def test_a_scale_is_a_finite_number_above_0(scale):
    with pytest.raises(BadParameter, match="above 0"):
        NoisyMax(scale)
