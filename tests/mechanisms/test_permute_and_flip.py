"""Permute-and-flip keeps its law, its ε and its factor 2."""

from collections import Counter
from fractions import Fraction
from itertools import permutations
from math import exp

import numpy as np
import pytest

from obverse.errors import BadParameter
from obverse.loss.loss import Sensitivity
from obverse.mechanisms.permute_and_flip import PermuteAndFlip
from obverse.mechanisms.score import Score
from obverse.noise.entropy import Keyed

ONE = Sensitivity.of(1)
COUNTS, GENERAL = Score.count("add-remove"), Score.count("replace-one")
CASES = [
    (PermuteAndFlip.at(Fraction(1), COUNTS), (3, 3, 3), (3, 4, 3), ONE),
    (PermuteAndFlip.at(Fraction(1), GENERAL), (3, 4), (4, 3), ONE),
]
PLANTED = [
    (PermuteAndFlip(Fraction(1)), PermuteAndFlip(Fraction(1, 2)), (3, 4), (4, 3), ONE),
    (PermuteAndFlip(Fraction(2)), PermuteAndFlip(Fraction(1, 2), one_way=True), (3, 3), (3, 4), ONE),
]


def law(scores, rate):
    """Each order as likely; in it the first whose coin falls on heads."""
    best, chances = max(scores), Counter()
    orders = list(permutations(range(len(scores))))
    for order in orders:
        left = 1.0
        for place in order:
            chance = exp(-rate * (best - scores[place]))
            chances[place] += left * chance / len(orders)
            left *= 1 - chance
    return chances


def test_exact_distribution():
    """Counts against the definition, at five standard errors."""
    scores, draws, entropy = (0, 5, 3, 4), 20_000, Keyed("law")
    found = Counter(PermuteAndFlip(Fraction(1, 2)).release(scores, entropy) for _ in range(draws))
    for place, chance in law(scores, 0.5).items():
        assert abs(found[place] - draws * chance) < 5 * (draws * chance * (1 - chance)) ** 0.5


def test_epsilon_has_the_factor_two_unless_scores_move_one_way():
    """[MS20, Theorem 1 and Section 3]"""
    assert PermuteAndFlip(Fraction(1, 2)).pure(ONE) == 1
    assert PermuteAndFlip(Fraction(1, 2), one_way=True).pure(ONE) == Fraction(1, 2)
    assert PermuteAndFlip.at(Fraction(3), GENERAL).loss(GENERAL.sensitivity).epsilon() == 3
    assert PermuteAndFlip.at(Fraction(3), COUNTS).loss(COUNTS.sensitivity).epsilon() == 3


def test_interval_holds_what_it_says():
    mechanism, scores, entropy = PermuteAndFlip(Fraction(1, 10)), list(range(100)), Keyed("interval")
    off = [99 - mechanism.release(scores, entropy) for _ in range(1000)]
    assert np.mean(np.array(off) <= mechanism.interval(0.9, 100)) > 0.9


def test_scores_at_both_ends_of_64_bits():
    """Their difference needs 64 bits, and does not wrap."""
    assert PermuteAndFlip(Fraction(1)).release([-(2**63), 2**63 - 1], Keyed("wide")) == 1


@pytest.mark.parametrize("rate", [0, -1, float("nan"), float("inf"), "1", True])
def test_a_rate_is_a_finite_number_above_0(rate):
    with pytest.raises(BadParameter, match="above 0"):
        PermuteAndFlip(rate)


@pytest.mark.parametrize("scores", [[], [1.5], [True, False], [2**64]])
def test_candidates_have_whole_scores(scores):
    with pytest.raises(BadParameter):
        PermuteAndFlip(Fraction(1)).release(scores, Keyed("bad"))
