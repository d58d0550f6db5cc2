"""Randomised response keeps its ε, and its estimate is unbiased with the error it states."""

from fractions import Fraction
from math import exp

import numpy as np
import pytest

from obverse.errors import BadParameter
from obverse.loss.loss import Sensitivity
from obverse.mechanisms.randomized_response import RandomizedResponse
from obverse.noise.entropy import Keyed

ONE, TWO = Sensitivity.of(1), Sensitivity.of(1, numbers=2)
CASES = [
    (RandomizedResponse(Fraction(1)), (0,), (1,), ONE),
    (RandomizedResponse(Fraction(1), 5), (0,), (3,), ONE),
    (RandomizedResponse(Fraction(1, 2), 3), (0, 1), (1, 2), TWO),
]
PLANTED = [
    (RandomizedResponse(Fraction(3, 2)), RandomizedResponse(Fraction(1)), (0,), (1,), ONE),
    (RandomizedResponse(Fraction(2), 5), RandomizedResponse(Fraction(1), 5), (0,), (3,), ONE),
]


@pytest.mark.parametrize("categories", [2, 5, 64])
def test_exact_distribution(categories):
    draws = 40_000
    found = np.bincount(
        RandomizedResponse(Fraction(2), categories).release([1] * draws, Keyed("law")), minlength=categories
    )
    law = np.where(np.arange(categories) == 1, exp(2), 1) / (exp(2) + categories - 1)
    assert (np.abs(found - draws * law) < 5 * np.sqrt(draws * law * (1 - law))).all()


@pytest.mark.parametrize("categories", [2, 6])
def test_the_estimate_is_unbiased_with_its_standard_error(categories):
    mechanism, entropy = RandomizedResponse(Fraction(1), categories), Keyed("estimate")
    people = np.repeat(np.arange(categories), 500 * np.arange(1, categories + 1))
    runs = [mechanism.estimate(mechanism.release(people, entropy)) for _ in range(400)]
    found, errors = np.array([run[0] for run in runs]), np.array([run[1] for run in runs])
    true = np.bincount(people)
    assert (np.abs(found.mean(0) - true) < 5 * found.std(0) / 20).all()
    assert errors.mean(0) == pytest.approx(found.std(0), rel=0.15)


def test_many_answers_cost_many_times():
    assert RandomizedResponse(Fraction(1), 4).pure(Sensitivity.of(1, numbers=3)) == 3


def test_interval_holds_what_it_says():
    mechanism, entropy = RandomizedResponse(Fraction(1)), Keyed("interval")
    off = [
        abs(mechanism.estimate(mechanism.release([1] * 300 + [0] * 700, entropy))[0][1] - 300)
        for _ in range(400)
    ]
    assert np.mean(np.array(off) <= mechanism.interval(0.9, 1000)) > 0.85


@pytest.mark.parametrize("categories", [0, 1, -1, 10**6])
def test_categories_are_two_or_more_and_not_a_million(categories):
    with pytest.raises(BadParameter, match="categories"):
        RandomizedResponse(Fraction(1), categories)


@pytest.mark.parametrize("answers", [[2], [-1], [0.5]])
def test_an_answer_that_is_none_is_refused(answers):
    with pytest.raises(BadParameter):
        RandomizedResponse(Fraction(1)).release(answers, Keyed("bad"))
