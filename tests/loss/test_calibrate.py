"""Calibrated noise costs what was wanted, and hardly less."""

from fractions import Fraction
from math import log, nan

import pytest

from obverse.errors import BadParameter
from obverse.loss.calibrate import gaussian_variance, gaussian_variance_for_rho, laplace_scale
from obverse.loss.curves import pure_epsilon, pure_profile
from obverse.loss.loss import Sensitivity
from obverse.mechanisms import Gaussian, Laplace


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(3), Fraction(10)])
@pytest.mark.parametrize("delta", [1e-9, 1e-5, 0.1])
@pytest.mark.parametrize(
    "sensitivity", [Sensitivity.of(1), Sensitivity.of(10**6), Sensitivity.of(2, numbers=5)]
)
def test_the_gaussian_keeps_its_delta_and_a_smaller_one_does_not(epsilon, delta, sensitivity):
    variance = gaussian_variance(epsilon, delta, sensitivity)
    assert Gaussian(variance).loss(sensitivity).delta(float(epsilon)) <= delta
    assert Gaussian(variance * (1 - Fraction(1, 2**18))).loss(sensitivity).delta(float(epsilon)) > delta


def test_the_classical_formula_would_break_its_promise_at_ten():
    """σ = √(2 ln(1.25/δ))·Δ/ε is proven for ε ≤ 1 only; at ε = 10, δ = 10⁻⁵ it leaks more than it says."""
    sensitivity = Sensitivity.of(10**6)
    classical = Fraction(2 * log(1.25 / 1e-5) / 10**2) * sensitivity.l2_squared
    assert Gaussian(classical).loss(sensitivity).delta(10.0) > 1.8e-5
    assert gaussian_variance(10, 1e-5, sensitivity) > classical


def test_laplace_and_rho_are_exact():
    assert Laplace(laplace_scale(Fraction(1, 3), Sensitivity.of(7))).pure(Sensitivity.of(7)) == Fraction(1, 3)
    variance = gaussian_variance_for_rho(Fraction(1, 3), Sensitivity.of(7))
    assert Gaussian(variance).rho(Sensitivity.of(7)) == Fraction(1, 3)


@pytest.mark.parametrize("bad", [0, -1, nan, float("inf"), "1", 10**400])
def test_bad_epsilons_are_refused(bad):
    for calibrate in (
        lambda: laplace_scale(bad, Sensitivity.of(1)),
        lambda: gaussian_variance(bad, 1e-6, Sensitivity.of(1)),
        lambda: gaussian_variance_for_rho(bad, Sensitivity.of(1)),
    ):
        with pytest.raises(BadParameter):
            calibrate()


@pytest.mark.parametrize("bad", [0, -1, nan, 1, 2, "1"])
def test_bad_deltas_are_refused(bad):
    with pytest.raises(BadParameter, match="δ"):
        gaussian_variance(1, bad, Sensitivity.of(1))


@pytest.mark.parametrize("pure", [0.01, 0.1, 1.0, 5.0, 50.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-6, 1e-3, 0.1, 0.5])
def test_the_inverse_of_a_pure_curve_is_its_inverse(pure, delta):
    epsilon = pure_epsilon(pure, delta)
    assert pure_profile(pure, epsilon) <= delta * (1 + 1e-9)
    assert epsilon == 0 or pure_profile(pure, epsilon * (1 - 1e-9)) >= delta * (1 - 1e-9)
