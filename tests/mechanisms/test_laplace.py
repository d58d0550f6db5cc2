"""The Laplace mechanism keeps its law and its ε."""

from fractions import Fraction
from math import exp, inf, log, nan

import numpy as np
import pytest

from obverse.errors import BadParameter
from obverse.loss.loss import Sensitivity
from obverse.mechanisms import Laplace
from obverse.noise.entropy import Keyed

ONE = Sensitivity.of(1)
CASES = [
    (Laplace(Fraction(2)), 0, 1, ONE),
    (Laplace(Fraction(3, 2)), 5, 8, Sensitivity.of(3)),
    (Laplace(Fraction(1, 3)), 0, 1, ONE),
]
PLANTED = [
    (Laplace(Fraction(1)), Laplace(Fraction(2)), 0, 1, ONE),
    (Laplace(Fraction(2)), Laplace(Fraction(2)), 0, 2, ONE),  # a sensitivity that ignores a bound
]


def law(scale: float, far: int = 400) -> dict[int, float]:
    q = exp(-1 / scale)
    return {x: (1 - q) / (1 + q) * q ** abs(x) for x in range(-far, far + 1)}


def test_epsilon_is_sensitivity_over_scale():
    """[DR14, Theorem 3.6]"""
    assert Laplace(Fraction(2)).loss(Sensitivity.of(3)).epsilon() == 1.5


@pytest.mark.parametrize("scale", [0.5, 1.25, 4.0])
@pytest.mark.parametrize("shift", [1, 2, 5, 7])
@pytest.mark.parametrize("epsilon", [-1.0, 0.0, 0.3, 0.7, 1.0, 2.0])
def test_the_profile_is_that_of_the_probability_function(scale, shift, epsilon):
    p = law(scale)
    summed = sum(max(0.0, p[x] - exp(epsilon) * p[x - shift]) for x in p if x - shift in p)
    claimed = Laplace(Fraction(scale)).profile(epsilon, Sensitivity.of(shift))
    assert summed - 1e-13 <= claimed <= summed * (1 + 1e-10) + 1e-13


@pytest.mark.parametrize("shifts", [(1, 1), (2, 1), (2, 2), (3, 1)])
def test_one_number_moved_by_the_whole_distance_is_the_worst(shifts):
    """The lemma of loss/curves, against the sum over both numbers."""
    p = law(1.3, 30)
    for epsilon in (0.0, 0.2, 0.5, 1.0, 1.7, 2.4):
        both = sum(
            max(0.0, px * py - exp(epsilon) * p.get(x - shifts[0], 0.0) * p.get(y - shifts[1], 0.0))
            for x, px in p.items()
            for y, py in p.items()
        )
        claimed = Laplace(Fraction(1.3)).profile(epsilon, Sensitivity.of(sum(shifts)))
        assert both <= claimed + 1e-8


@pytest.mark.parametrize("order", [1.5, 2.0, 8.0, 64.0])
def test_renyi_is_at_least_that_of_the_probability_function(order):
    for scale, shift in ((1.5, 3), (2.0, 1), (0.5, 1)):
        p = law(scale, 200)
        moment = sum(exp(order * log(p[x]) + (1 - order) * log(p[x - shift])) for x in p if x - shift in p)
        claimed = Laplace(Fraction(scale)).renyi(order, Sensitivity.of(shift))
        assert log(moment) / (order - 1) <= claimed * (1 + 1e-9)


@pytest.mark.parametrize("scale", [0.3, 1.0, 7.5])
@pytest.mark.parametrize("confidence", [0.0, 0.5, 0.95, 0.999])
def test_the_interval_is_the_least_that_holds(scale, confidence):
    p = law(scale, 200)
    half = Laplace(Fraction(scale)).interval(confidence)
    inside = sum(p[x] for x in range(-half, half + 1))
    assert inside >= confidence - 1e-12
    assert half == 0 or inside - p[half] - p[-half] < confidence


@pytest.mark.parametrize(
    "scale", [0, -1, nan, inf, -inf, "2", True, None, Fraction(10**400), Fraction(1, 10**400)]
)
def test_a_bad_scale_is_refused_by_name(scale):
    with pytest.raises(BadParameter, match="Laplace scale"):
        Laplace(scale)


@pytest.mark.parametrize("confidence", [1, 1.5, -0.1, nan, "0.9"])
def test_a_bad_confidence_is_refused(confidence):
    with pytest.raises(BadParameter, match="confidence"):
        Laplace(Fraction(1)).interval(confidence)


class Watched(Keyed):
    """Entropy that remembers what it was told."""

    def watch(self, mechanism, value):
        self.seen = [*getattr(self, "seen", []), (mechanism, value)]


def test_many_values_are_shown_to_the_audit_once_and_together():
    entropy = Watched("many")
    noisy = Laplace(Fraction(2)).release_many([10, 20, 30], entropy)
    assert entropy.seen == [(Laplace(Fraction(2)), (10, 20, 30))]
    assert len(noisy) == 3 and all(isinstance(value, int) for value in noisy)


@pytest.mark.parametrize("scale", [0.1, 0.3, 1, 10])
@pytest.mark.parametrize("parts", [2, 3, 10, 100, 1000])
def test_the_interval_of_a_sum_holds(scale, parts):
    """Against the law of the sum itself, by the power of one draw's characteristic function."""
    size = 1 << 17
    q, steps = np.exp(-1 / scale), np.minimum(np.arange(size), size - np.arange(size))
    law = np.fft.ifft(np.fft.fft((1 - q) / (1 + q) * q**steps).real ** parts).real
    for confidence in (0.3, 0.5, 0.8, 0.9, 0.95, 0.99, 0.999):
        width = Laplace(Fraction(scale)).interval_of_sum(confidence, parts)
        assert law[0] + 2 * law[1 : width + 1].sum() >= confidence - 1e-9
