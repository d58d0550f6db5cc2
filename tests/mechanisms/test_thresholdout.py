"""The reusable holdout keeps its ε, bears out what is true and stops when spent."""

from fractions import Fraction

import pytest

from obverse.errors import BadParameter, Withheld
from obverse.loss.loss import Sensitivity
from obverse.mechanisms.thresholdout import Checks, Thresholdout
from obverse.noise.entropy import Keyed

ONE = Sensitivity.of(1)
CHECKS = Thresholdout(1, Fraction(2), 1)
CASES = [
    (CHECKS, ((0, 0), (0, 3)), ((0, 1), (0, 2)), ONE),
    (Thresholdout(0, Fraction(4), 2), ((0, 2), (0, 2)), ((0, 3), (0, 1)), ONE),
]
PLANTED = [(Thresholdout(1, Fraction(1, 2), 1), CHECKS, ((0, 3),), ((0, 4),), ONE)]


def test_epsilon_is_twice_the_hits_over_sigma():
    """[DFHPRR15, Theorem 10]: 2B/(σn) for means of n, Δ = 1/n."""
    assert Thresholdout(5, Fraction(4), 6).pure(Sensitivity.of(2)) == 6


def test_what_the_holdout_bears_out_is_said_as_it_is():
    checks = Thresholdout(100, Fraction(1), 1)
    assert checks.release([(500, 510), (7, 0), (0, 1)], Keyed("true")) == (500, 7, 0)


def test_what_it_does_not_is_answered_with_noise_and_spent():
    checks = Checks(Thresholdout(100, Fraction(1), 1), Keyed("hit"))
    assert abs(checks.check(900, 300) - 300) < 40
    with pytest.raises(Withheld):
        checks.check(1, 1)


@pytest.mark.parametrize("parts", [(-1, 1, 1), (1, 0, 1), (1, 1, 0), (1, float("inf"), 1)])
def test_bad_parameters_are_refused(parts):
    with pytest.raises(BadParameter):
        Thresholdout(*parts)


def test_answers_stay_within_the_interval():
    holdout, entropy = Thresholdout(20, Fraction(2), 5), Keyed("interval")
    pairs = [(90, 100), (130, 100), (100, 100), (60, 100)]
    said = [max(abs(answer - 100) for answer in holdout.release(pairs, entropy)) for _ in range(300)]
    assert sum(off <= holdout.interval(0.9, 4) for off in said) > 270
