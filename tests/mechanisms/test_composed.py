"""The same promise several times, exactly."""

from math import comb, exp

import pytest

from obverse.loss.curves import pure_profile
from obverse.mechanisms.composed import composed_profile, concentrated_profile


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


@pytest.mark.parametrize("rho", [0.01, 0.5, 3.0])
def test_a_concentrated_curve_is_no_better_than_a_gaussian(rho):
    """The Gaussian mechanism is ρ-zCDP, so no valid curve is below its own.  [BW18, Theorem 8]"""
    from statistics import NormalDist

    cdf, shift = NormalDist().cdf, (2 * rho) ** 0.5
    for epsilon in (-1.0, 0.0, 0.3, 1.0, 2.5):
        gaussian = cdf(shift / 2 - epsilon / shift) - exp(epsilon) * cdf(-shift / 2 - epsilon / shift)
        assert gaussian <= concentrated_profile(rho, epsilon) <= 1


@pytest.mark.parametrize("rho", [100.0, 1e4, 1e6])
def test_a_concentrated_curve_of_a_large_rho_falls_from_one(rho):
    curve = [concentrated_profile(rho, part * rho) for part in (0.0, 0.5, 0.99, 1.0, 1.5, 4.0)]
    assert 1 >= curve[0] >= curve[2] and curve == sorted(curve, reverse=True)
