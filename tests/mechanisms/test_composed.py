"""The same promise several times, exactly."""

from math import comb, exp

import pytest

from obverse.loss.curves import pure_profile
from obverse.mechanisms.composed import composed_profile


@pytest.mark.parametrize("epsilon", [-0.3, 0.0, 0.5, 0.99, 1.5])
def test_once_is_randomised_response(epsilon):
    """[KOV15, Theorem 3.1]"""
    assert composed_profile(1.0, 0.0, 1, epsilon) == pytest.approx(pure_profile(1.0, epsilon), rel=1e-9)


@pytest.mark.parametrize("times", [2, 5, 9])
def test_many_are_the_hockey_stick_of_many_coins(times):
    """[KOV15, Theorem 3.3], by summing over all outcomes."""
    p, epsilon, delta = exp(0.7) / (1 + exp(0.7)), 1.1, 0.01
    stick = sum(
        comb(times, k)
        * max(0, p ** (times - k) * (1 - p) ** k - exp(epsilon) * p**k * (1 - p) ** (times - k))
        for k in range(times + 1)
    )
    assert composed_profile(0.7, delta, times, epsilon) == pytest.approx(
        1 - (1 - delta) ** times * (1 - stick)
    )


def test_nothing_is_left_beyond_the_sum():
    assert composed_profile(1.0, 0.0, 3, 3.0) == 0
