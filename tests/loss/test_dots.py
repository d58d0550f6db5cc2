"""Connected dots dominate the curve they are made from, hardly exceed it, and add up."""

from fractions import Fraction
from math import exp

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from obverse.loss.curves import gaussian_profile, laplace_profile, pure_profile, zcdp_profile
from obverse.loss.dots import Dots, convolved, top
from obverse.loss.explain import equal

CURVES = {
    "response": lambda e: pure_profile(1.0, e),
    "laplace": lambda e: laplace_profile(Fraction(30), 20, e),
    "gaussian": lambda e: gaussian_profile(Fraction(10**8), 10**4, e),
    "zcdp": lambda e: zcdp_profile(0.2, e),
    "with a delta": lambda e: 0.01 + 0.99 * pure_profile(0.5, e),
}


@pytest.mark.parametrize("name", CURVES)
def test_dots_are_above_their_curve_and_close(name):
    curve, end = CURVES[name], top(CURVES[name])
    dots = Dots.of(curve, end / 500, end)
    assert dots.infinite + dots.chances.sum() == pytest.approx(1, abs=1e-6 if name != "zcdp" else 0.5)
    for epsilon in np.linspace(0, end, 77):
        assert curve(epsilon) <= dots.delta(epsilon) * (1 + 1e-9) + 1e-15
        if name != "zcdp":  # the bound through zCDP is not the curve of any mechanism near ε = 0
            assert dots.delta(epsilon) <= curve(epsilon) + 2e-4


def test_dots_of_randomised_response_are_its_two_outcomes():
    dots = Dots.of(CURVES["response"], 0.25, 1.0)
    seen = {
        round(loss, 9): chance
        for loss, chance in zip(dots.losses, dots.chances, strict=True)
        if chance > 1e-9
    }
    assert seen == {-1.0: pytest.approx(1 / (1 + exp(1))), 1.0: pytest.approx(exp(1) / (1 + exp(1)))}


@given(st.floats(0.01, 1.0), st.integers(2, 100))
@settings(max_examples=25, deadline=None)
def test_convolved_responses_are_the_binomial_sum(pure, times):
    """[KOV15, Theorem 3.3]"""
    dots = convolved([(lambda e: pure_profile(pure, e), pure, times)])
    for share in (0.0, 0.1, 0.3):
        true = equal(pure, times, share * pure * times)
        assert true * (1 - 1e-8) <= dots.delta(share * pure * times) + 1e-15
        assert dots.delta(share * pure * times) <= true * 1.001 + 1e-8


def test_different_losses_add_up_whatever_their_order():
    a, b = (CURVES["response"], 1.0, 2), (CURVES["laplace"], 2 / 3, 3)
    assert convolved([a, b]).delta(1.0) == pytest.approx(convolved([b, a]).delta(1.0), rel=1e-4)


def test_two_gaussians_are_one_of_half_the_variance():
    twice = convolved([(CURVES["gaussian"], top(CURVES["gaussian"]), 2)])
    for epsilon in (0.5, 2.0, 6.0):
        one = gaussian_profile(Fraction(10**8, 2), 10**4, epsilon)
        assert one * (1 - 1e-5) <= twice.delta(epsilon) <= one * 1.01 + 1e-9


def test_a_delta_of_its_own_stays():
    assert convolved([(CURVES["with a delta"], 0.5, 3)]).delta(1.6) >= 1 - 0.99**3
