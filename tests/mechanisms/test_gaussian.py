"""The Gaussian mechanism keeps its law, its ρ and its δ."""

from fractions import Fraction
from math import exp, inf, log, nan, sqrt

import numpy as np
import pytest

from obverse.errors import BadParameter
from obverse.loss import curves
from obverse.loss.loss import Sensitivity
from obverse.mechanisms import Gaussian

ONE = Sensitivity.of(1)
CASES = [
    (Gaussian(Fraction(4)), 0, 1, ONE),
    (Gaussian(Fraction(9, 2)), 5, 8, Sensitivity.of(3)),
]
PLANTED = [
    (Gaussian(Fraction(1)), Gaussian(Fraction(4)), 0, 1, ONE),
    (Gaussian(Fraction(4)), Gaussian(Fraction(4)), 0, 2, ONE),  # a sensitivity that ignores a bound
]


def law(variance: float, far: int = 200) -> dict[int, float]:
    weights = {x: exp(-x * x / (2 * variance)) for x in range(-far, far + 1)}
    return {x: weight / sum(weights.values()) for x, weight in weights.items()}


@pytest.mark.parametrize("variance", [0.25, 1.5, 40.0])
@pytest.mark.parametrize("shift", [1, 2, 7])
@pytest.mark.parametrize("epsilon", [-1.0, 0.0, 0.3, 1.0, 2.0, 5.0])
def test_the_profile_is_that_of_the_probability_function(variance, shift, epsilon):
    """[CKS20, Theorem 7]"""
    p = law(variance)
    summed = sum(max(0.0, p[x] - exp(epsilon) * p[x - shift]) for x in p if x - shift in p)
    claimed = Gaussian(Fraction(variance)).profile(epsilon, Sensitivity.of(shift))
    assert summed - 1e-13 <= claimed <= summed * (1 + 1e-10) + 1e-12


@pytest.mark.parametrize("shifts", [(1, 1), (2, 1), (2, 2), (3, 1)])
def test_one_number_moved_by_the_whole_distance_is_the_worst(shifts):
    """The lemma of loss/curves, against the sum over both numbers."""
    p = law(1.3, 14)
    for epsilon in (0.0, 0.2, 0.5, 1.0, 2.0, 4.0):
        both = sum(
            max(0.0, px * py - exp(epsilon) * p.get(x - shifts[0], 0.0) * p.get(y - shifts[1], 0.0))
            for x, px in p.items()
            for y, py in p.items()
        )
        each = max(map(abs, shifts))
        far = Sensitivity(Fraction(sum(shifts)), Fraction(sum(s * s for s in shifts)), Fraction(each))
        assert both <= Gaussian(Fraction(1.3)).profile(epsilon, Sensitivity.of(sum(shifts))) + 1e-12
        assert both <= Gaussian(Fraction(1.3)).profile(epsilon, far) + 1e-12


@pytest.mark.parametrize(("epsilon", "shift"), [(0.004, 1), (2.0, 1000), (5.0, 1000), (0.0, 3), (30.0, 5000)])
def test_where_there_are_too_many_terms_the_bound_stays_above_the_sum(monkeypatch, epsilon, shift):
    variance = Fraction(999**2)
    summed = curves.gaussian_profile(variance, shift, epsilon)
    monkeypatch.setattr(curves, "SUMMED", 10)
    assert summed * (1 - 1e-9) <= curves.gaussian_profile(variance, shift, epsilon) <= summed * 1.05


def test_rho_is_half_the_squared_ratio():
    """[CKS20, Theorem 4]"""
    assert Gaussian(Fraction(9)).loss(Sensitivity.of(3)).rho == Fraction(1, 2)


@pytest.mark.parametrize("order", [1.5, 2.0, 8.0])
def test_renyi_is_at_least_that_of_the_probability_function(order):
    for variance, shift in ((1.5, 1), (0.3, 1), (4.0, 3)):
        p = law(variance, int(20 * sqrt(variance)))
        moment = sum(exp(order * log(p[x]) + (1 - order) * log(p[x - shift])) for x in p if x - shift in p)
        claimed = Gaussian(Fraction(variance)).renyi(order, Sensitivity.of(shift))
        assert log(moment) / (order - 1) <= claimed * (1 + 1e-9)


@pytest.mark.parametrize("variance", [0.3, 1.0, 50.0])
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_the_interval_holds_and_is_no_wider_than_two_steps(variance, confidence):
    p = law(variance)
    half = Gaussian(Fraction(variance)).interval(confidence)
    assert sum(p[x] for x in range(-half, half + 1)) >= confidence - 1e-12
    assert half <= 2 + sqrt(variance) * 3.3


@pytest.mark.parametrize("variance", [0, -1, nan, inf, "2", True, Fraction(10**400)])
def test_a_bad_variance_is_refused_by_name(variance):
    with pytest.raises(BadParameter, match="Gaussian variance"):
        Gaussian(variance)


@pytest.mark.parametrize("delta", [1, 1.5, -0.1, nan, "0.1"])
def test_a_bad_delta_is_refused(delta):
    with pytest.raises(BadParameter, match="δ"):
        Gaussian(Fraction(1)).loss(ONE).epsilon(delta)


@pytest.mark.parametrize("variance", [0.1, 0.5, 4, 100])
@pytest.mark.parametrize("parts", [2, 10, 1000])
def test_the_interval_of_a_sum_holds(variance, parts):
    """Against the law of the sum itself, by the power of one draw's characteristic function."""
    size = 1 << 14
    steps = np.minimum(np.arange(size), size - np.arange(size)).astype(float)
    one = np.exp(-(steps**2) / (2 * variance))
    law = np.fft.ifft(np.fft.fft(one / one.sum()).real ** parts).real
    for confidence in (0.5, 0.8, 0.95, 0.999):
        width = Gaussian(Fraction(variance)).interval_of_sum(confidence, parts)
        assert law[0] + 2 * law[1 : width + 1].sum() >= confidence - 1e-9
