"""Groups named by their people's weights: what one person adds has a length of one, and nobody is named alone."""

from fractions import Fraction
from math import erfc, expm1, log1p, sqrt

import numpy as np
import pytest

from obverse.errors import BadParameter
from obverse.loss.calibrate import largest_rho
from obverse.loss.loss import Sensitivity
from obverse.mechanisms.weighted_names import WeightedNames, alone
from obverse.noise.entropy import Keyed

TEN = Sensitivity.of(10)
SMALL = WeightedNames((Fraction(100),), (40,), 4, 10)
TWICE = WeightedNames((Fraction(200), Fraction(100)), (60, 40), 4, 10)
CASES = [
    (SMALL, (0, (10,)), (0, ()), TEN),
    (SMALL, (0, (5, 5, 5, 5)), (0, ()), TEN),
    (SMALL, (0, (50, 27)), (0, (43, 20)), TEN),
    (TWICE, (0, (60,)), (0, (50,)), TEN),
    (TWICE, (1, (45,)), (1, (35,)), TEN),
]
PLANTED = [
    (WeightedNames((Fraction(9),), (40,), 4, 10), SMALL, (0, (45,)), (0, (35,)), TEN),
    (WeightedNames((Fraction(100),), (11,), 4, 10), SMALL, (0, (10,)), (0, ()), TEN),
]
MILLIONTH = Fraction(1, 10**6)


def feature(output: np.ndarray) -> tuple[bool, int]:
    return bool(output.any()), int(output.sum())


@pytest.mark.parametrize("most", [1, 3, 20, 1024])
@pytest.mark.parametrize("rounds", [1, 2])
def test_a_key_of_one_person_is_named_with_chance_delta_at_most(most: int, rounds: int) -> None:
    """In however many groups a person is, of equal weights, none of theirs alone is named in any round."""
    names = WeightedNames.at(Fraction(1, 50), MILLIONTH, Sensitivity.of(65536), most=most, rounds=rounds)
    pairs = list(zip(names.variances, names.thresholds, strict=True))
    for groups in range(1, most + 1):
        weight = int(65536 / sqrt(groups))
        each = [erfc((t - weight - 1) / sqrt(2 * v)) / 2 for v, t in pairs]
        assert -expm1(sum(groups * log1p(-one) for one in each)) <= MILLIONTH * (1 + Fraction(1, 10**6))
    lower = [alone(v, t - 2048, most, 65536) for v, t in pairs]
    assert sum(lower) > MILLIONTH


@pytest.mark.parametrize("rounds", [1, 2])
def test_epsilon_and_delta_are_what_was_asked_for(rounds: int) -> None:
    rho = largest_rho(1.0, 0.5e-6)
    for distance in (Sensitivity.of(65536), Sensitivity.of(65536, numbers=2)):
        names = WeightedNames.at(rho, MILLIONTH / 2, distance, most=20, rounds=rounds)
        assert 0.99e-6 <= names.profile(1.0, distance) <= 1.0e-6
        assert names.loss(distance).epsilon(1e-6) <= 1
        assert names.profile(0.0, distance) > names.profile(0.5, distance) > names.profile(2.0, distance)


def test_named_as_often_as_the_noise_says() -> None:
    """At five standard errors, against the continuous law, which is nearly the discrete one here."""
    draws = 20_000
    for weight in (20, 40, 55):
        named = SMALL.release((0, [weight] * draws), Keyed(f"{weight}")).sum()
        chance = erfc((40 - 0.5 - weight) / sqrt(200)) / 2
        assert abs(named - draws * chance) <= 5 * sqrt(draws * chance * (1 - chance))
    assert not SMALL.release((0, [0] * draws), Keyed("nobody")).any()


def test_a_mechanism_that_is_none_is_refused() -> None:
    for variances, thresholds, most, unit in (
        ((), (), 1, 1),
        ((Fraction(1),), (5, 6), 1, 1),
        ((Fraction(1),), (1,), 1, 1),
        ((Fraction(0),), (5,), 1, 1),
        ((Fraction(1),), (5,), 0, 1),
    ):
        with pytest.raises(BadParameter):
            WeightedNames(variances, thresholds, most, unit)
