"""Accuracy first: no more ε than the wanted ± needs, and a sharper answer for the difference alone."""

from fractions import Fraction

import numpy as np
import pytest

from obverse.errors import BadParameter
from obverse.loss.loss import Sensitivity
from obverse.mechanisms import Gaussian
from obverse.noise.entropy import Keyed
from obverse.validate.accuracy_first import (
    RelativeError,
    Sharpened,
    laplace_within,
    least_epsilon,
    least_rho,
)

ONE = Sensitivity.of(1)


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
@pytest.mark.parametrize("margin", [0, 1, 10, 1000])
@pytest.mark.parametrize("sensitivity", [ONE, Sensitivity.of(7)])
def test_least_epsilon_is_enough_and_a_little_less_is_not(margin, confidence, sensitivity):
    mechanism = laplace_within(margin, confidence, sensitivity)
    epsilon = least_epsilon(margin, confidence, sensitivity)
    assert mechanism.interval(confidence - 1e-9) <= margin
    assert mechanism.loss(sensitivity).epsilon() == pytest.approx(float(epsilon))
    assert type(mechanism)(mechanism.scale * Fraction(1001, 1000)).interval(confidence) > margin


def test_least_rho_is_enough():
    rho = least_rho(50, 0.95, Sensitivity.of(3))
    assert Gaussian(Fraction(9) / (2 * rho)).interval(0.95) <= 50


@pytest.mark.parametrize(
    "make",
    [
        lambda: least_epsilon(-1, 0.95, ONE),
        lambda: least_epsilon(5, 1, ONE),
        lambda: least_rho(0, 0.9, ONE),
        lambda: least_epsilon(5, float("nan"), ONE),
    ],
)
def test_what_cannot_be_wanted_is_refused(make):
    with pytest.raises(BadParameter):
        make()


def test_sharpening_charges_the_difference():
    """Two answers together cost what one of the wanted variance would."""
    earlier, more = Gaussian(Fraction(100)), Sharpened(Fraction(100), Fraction(20))
    together = earlier.loss(ONE) + more.mechanism.loss(ONE)
    assert together.rho == Gaussian(Fraction(20)).loss(ONE).rho


def test_the_mean_of_both_has_the_wanted_variance():
    entropy, more, earlier = Keyed("sharpen"), Sharpened(Fraction(100), Fraction(20)), Gaussian(Fraction(100))
    found = [
        float(more.combined(earlier.release(1000, entropy), more.mechanism.release(1000, entropy)))
        for _ in range(3000)
    ]
    assert np.var(found) == pytest.approx(20, rel=0.13)
    assert np.mean(found) == pytest.approx(1000, abs=0.5)


def test_only_a_smaller_variance_is_sharper():
    with pytest.raises(BadParameter):
        Sharpened(Fraction(20), Fraction(20))


def test_a_large_answer_pays_less_for_the_same_relative_error():
    """[LNRWW17]: it stops where the answer is sharp enough, and has paid for that one alone."""
    wanted = RelativeError(Fraction(1, 10), Fraction(1, 1000), Fraction(4))
    paid = {}
    for true in (50, 100_000):
        purse = []
        answer, margin = wanted.run(true, ONE, purse.append, Keyed("relative"))
        assert margin <= 0.12 * true and abs(answer - true) < 3 * margin
        paid[true] = sum(purse)
        assert paid[true] in wanted.epsilons
    assert paid[100_000] < paid[50] / 100


def test_a_small_answer_stops_at_the_last_epsilon():
    wanted = RelativeError(Fraction(1, 100), Fraction(1, 10), Fraction(1))
    purse = []
    wanted.run(0, ONE, purse.append, Keyed("small"))
    assert sum(purse) == 1 == wanted.epsilons[-1]


def test_bad_walks_are_refused():
    for parts in ((0, 1, 2), (1, 2, 1), (1, 0, 1), ("1", 1, 2)):
        with pytest.raises(BadParameter):
            RelativeError(*parts)
