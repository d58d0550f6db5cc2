"""Private answers of many people: each protocol keeps its ε, and its counts are unbiased with the error of theory."""

from fractions import Fraction
from math import exp

import numpy as np
import pytest

from obverse.errors import BadParameter
from obverse.local.frequency import HadamardResponse, LocalHashing, UnaryEncoding
from obverse.loss.loss import Sensitivity
from obverse.noise.entropy import Keyed

ONE, E = Sensitivity.of(1), Fraction(1)
KINDS = [UnaryEncoding, LocalHashing, HadamardResponse]


class Loud(LocalHashing):
    """Hashes to as few values as ε = 1 would, and tells the truth as often as ε = 4 would."""

    values = 4


CASES = [
    (UnaryEncoding(E, 3), (0,), (2,), ONE),
    (HadamardResponse(E, 3), (0,), (2,), ONE),
    (LocalHashing(E, 3), (0,), (2,), ONE),
]
PLANTED = [
    (UnaryEncoding(4 * E, 2), UnaryEncoding(E, 2), (0,), (1,), ONE),
    (HadamardResponse(3 * E, 3), HadamardResponse(E, 3), (0,), (2,), ONE),
    (Loud(4 * E, 3), LocalHashing(E, 3), (0,), (2,), ONE),
]


def feature(output):
    """A report; of a hash, whether it supports the first answer and whether the third."""
    if output.shape[1:] == (3,) and output.dtype == np.uint64:
        hashed = (
            LocalHashing(E, 3)._hash(output[:, :2], np.array([answer], np.uint64))[0] for answer in (0, 2)
        )
        return tuple(bool(value == output[0, 2]) for value in hashed)
    return tuple(np.ravel(output).tolist())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("categories", [2, 7, 64])
def test_counts_are_unbiased_with_the_error_of_theory(kind, categories):
    """[WBLJ17, Equation 3; ASZ19, Theorem 1], over 150 runs of 1,000 people."""
    protocol, entropy = kind(E, categories), Keyed("counts")
    people = np.arange(1000) % min(categories, 5)
    runs = [protocol.estimate(protocol.release(people, entropy)) for _ in range(150)]
    values, errors = np.array([run.values for run in runs]), np.array([run.errors for run in runs])
    true = np.bincount(people, minlength=categories)
    assert (np.abs(values.mean(0) - true) < 5 * values.std(0) / 150**0.5).all()
    assert errors.mean() == pytest.approx(values.std(0).mean(), rel=0.1)


def test_variance_of_unary_and_hadamard_is_within_two_percent_of_theory():
    """64 answers: n·4e^ε/(e^ε − 1)² for OUE [WBLJ17, Equation 6], n·((e^ε + 1)/(e^ε − 1))² for Hadamard.

    Answers that nobody gave are measured, 14 and 62 at once, over runs that leave one percent to chance.
    """
    n = 4000
    for protocol, theory, runs in (
        (UnaryEncoding(E, 64), n * 4 * exp(1) / (exp(1) - 1) ** 2, 60),
        (HadamardResponse(E, 64), n * ((exp(1) + 1) / (exp(1) - 1)) ** 2, 400),
    ):
        entropy, people = Keyed("variance"), np.zeros(n, np.int64)
        values = np.array(
            [protocol.estimate(protocol.release(people, entropy)).values[1:] for _ in range(runs)]
        )
        assert np.square(values).mean() == pytest.approx(theory, rel=0.04)


def test_hadamard_reports_split_even():
    """The own row has +1 with chance e^ε/(e^ε + 1), every column alike otherwise."""
    protocol, draws = HadamardResponse(E, 5), 40_000
    found = np.bincount(protocol.release([3] * draws, Keyed("split")), minlength=8)
    plus = np.bitwise_count(np.arange(8) & 4) % 2 == 0
    law = np.where(plus, exp(1), 1) / (exp(1) + 1) / 4
    assert (np.abs(found - draws * law) < 5 * np.sqrt(draws * law)).all()


def test_unary_bits_have_their_chances():
    table = UnaryEncoding(Fraction(2), 4).release([1] * 30_000, Keyed("bits"))
    law = np.where(np.arange(4) == 1, 0.5, 1 / (exp(2) + 1))
    assert (np.abs(table.mean(0) - law) < 5 * np.sqrt(law * (1 - law) / 30_000)).all()


def test_k_answers_cost_k_times():
    assert UnaryEncoding(E, 9).pure(Sensitivity.of(1, numbers=4)) == 4


@pytest.mark.parametrize("kind", KINDS)
def test_bad_questions_and_answers_are_refused(kind):
    for make in (
        lambda: kind(E, 1),
        lambda: kind(E, 10**6),
        lambda: kind(0, 4),
        lambda: kind(E, 4).release([4], Keyed("bad")),
    ):
        with pytest.raises(BadParameter):
            make()
