"""RAPPOR: the permanent answer is what costs, however often it is reported."""

from fractions import Fraction
from math import log

import numpy as np
import pytest

from obverse.errors import BadParameter
from obverse.local.rappor import Rappor
from obverse.loss.loss import Sensitivity
from obverse.noise.entropy import Keyed

ONE, HALF = Sensitivity.of(1), Fraction(1, 2)
PROTOCOL = Rappor(3, HALF, Fraction(3, 4), Fraction(1, 4))
CASES = [(PROTOCOL, (0,), (2,), ONE)]
PLANTED = [(Rappor(3, Fraction(1, 20), Fraction(3, 4), Fraction(1, 4)), PROTOCOL, (0,), (2,), ONE)]


def feature(output):
    return tuple(np.ravel(output).tolist())


def test_epsilon_is_that_of_the_permanent_answer():
    """[EPK14, Theorem 1], rounded up."""
    exact = 2 * log((1 - 0.25) / 0.25)
    assert exact < float(PROTOCOL.pure(ONE)) < exact + 1e-9


def test_counts_are_unbiased():
    entropy, people = Keyed("counts"), np.repeat([0, 1, 2], [600, 300, 100])
    runs = [
        PROTOCOL.estimate(PROTOCOL.report(PROTOCOL.release(people, entropy), entropy)) for _ in range(200)
    ]
    values = np.array([run.values for run in runs])
    assert (np.abs(values.mean(0) - [600, 300, 100]) < 5 * values.std(0) / 200**0.5).all()
    assert np.mean([run.errors for run in runs]) == pytest.approx(values.std(0).mean(), rel=0.1)


def test_reports_of_one_permanent_answer_average_to_it_and_no_further():
    """The longitudinal attack: a thousand reports give away the permanent bits, which are noisy themselves."""
    entropy = Keyed("longitudinal")
    permanent = PROTOCOL.release([1], entropy)
    seen = np.mean([PROTOCOL.report(permanent, entropy) for _ in range(1000)], axis=0) > 0.5
    assert (seen == permanent).all()


@pytest.mark.parametrize(
    "parts",
    [(1, HALF, 0.75, 0.25), (3, 0, 0.75, 0.25), (3, 1, 0.75, 0.25), (3, HALF, 0.25, 0.75), (3, HALF, 2, 0.1)],
)
def test_bad_parameters_are_refused(parts):
    with pytest.raises(BadParameter):
        Rappor(*parts)
