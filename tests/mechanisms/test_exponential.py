"""The exponential mechanism keeps its law, its ε and its bounded range."""

from collections import Counter
from fractions import Fraction
from math import exp, log

import numpy as np
import pytest

from obverse.errors import BadParameter
from obverse.loss.loss import Sensitivity
from obverse.mechanisms.exponential import Exponential, bounded_range_profile
from obverse.mechanisms.score import Score
from obverse.noise.entropy import Keyed

ONE = Sensitivity.of(1)
COUNTS, GENERAL = Score.count("add-remove"), Score.count("replace-one")
CASES = [
    (Exponential.at(Fraction(1), COUNTS), (3, 3, 3), (3, 4, 3), ONE),
    (Exponential.at(Fraction(2), GENERAL), (3, 4), (4, 3), ONE),
]
PLANTED = [
    (Exponential(Fraction(1)), Exponential(Fraction(1, 2)), (3, 4), (4, 3), ONE),
    (Exponential.at(Fraction(2), COUNTS), Exponential.at(Fraction(2), GENERAL), (3, 4), (4, 3), ONE),
]


def test_exact_distribution():
    """Counts against exp(rate·score), at five standard errors."""
    scores, draws, entropy = (0, 5, 3, 4), 20_000, Keyed("law")
    found = Counter(Exponential(Fraction(1, 2)).release(scores, entropy) for _ in range(draws))
    total = sum(exp(score / 2) for score in scores)
    for place, score in enumerate(scores):
        chance = exp(score / 2) / total
        assert abs(found[place] - draws * chance) < 5 * (draws * chance * (1 - chance)) ** 0.5


def test_epsilon_has_the_factor_two_unless_scores_move_one_way():
    """[MT07, Theorem 6; DR14, Remark 3.1]"""
    assert Exponential(Fraction(1, 2)).pure(ONE) == 1
    assert Exponential(Fraction(1, 2), one_way=True).pure(ONE) == Fraction(1, 2)


def test_zero_concentration_is_an_eighth_of_epsilon_squared():
    """[CR21, Lemma 3.4]"""
    assert Exponential.at(Fraction(2), GENERAL).rho(ONE) == Fraction(1, 2)


@pytest.mark.parametrize("width", [0.1, 1.0, 5.0])
def test_profile_is_the_worst_of_all_bounded_ranges(width):
    """[DDR20, Lemma 3.2]: by trying every place of the range."""
    for epsilon in np.linspace(-0.9 * width, 0.9 * width, 7):
        worst = max(
            (exp(width) - exp(t)) * max(0, 1 - exp(epsilon - t)) / (exp(width) - 1)
            + (exp(t) - 1) / (exp(width) - 1) * max(0, 1 - exp(epsilon - t + width))
            for t in np.linspace(0, width, 2001)
        )
        assert worst == pytest.approx(bounded_range_profile(width, float(epsilon)), rel=1e-4)


def test_interval_holds_what_it_says():
    mechanism, scores, entropy = Exponential(Fraction(1, 10)), list(range(100)), Keyed("interval")
    off = [99 - mechanism.release(scores, entropy) for _ in range(1000)]
    assert np.mean(np.array(off) <= mechanism.interval(0.9, 100)) > 0.9
    assert mechanism.interval(0.9, 100) == pytest.approx(10 * log(1000))


def test_scores_at_both_ends_of_64_bits():
    assert Exponential(Fraction(1)).release([-(2**63), 2**63 - 1], Keyed("wide")) == 1


@pytest.mark.parametrize("rate", [0, -1, float("nan"), float("inf"), "1"])
def test_a_rate_is_a_finite_number_above_0(rate):
    with pytest.raises(BadParameter, match="above 0"):
        Exponential(rate)


def test_an_empty_list_of_candidates_is_refused():
    with pytest.raises(BadParameter, match="empty"):
        Exponential(Fraction(1)).release([], Keyed("bad"))
