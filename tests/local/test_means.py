"""Private means: each protocol keeps its ε, is unbiased, and has the error its paper says."""

from fractions import Fraction
from math import exp

import pytest

from obverse.errors import BadParameter
from obverse.local.means import CELLS, Duchi, Hybrid, LocalLaplace, Piecewise
from obverse.loss.loss import Sensitivity
from obverse.noise.entropy import Keyed

E, STEPS = Fraction(1), 10
ALL = Sensitivity.of(2 * STEPS)
KINDS = [LocalLaplace, Duchi, Piecewise, Hybrid]
CASES = [(kind(E, STEPS), (-STEPS,), (STEPS,), ALL) for kind in KINDS]
PLANTED = [(kind(3 * E, STEPS), kind(E, STEPS), (-STEPS,), (STEPS,), ALL) for kind in KINDS]


def feature(output):
    """The report as one number; of a pair, which and where."""
    return int(output[0]) if output.ndim == 1 else int(output[0, 0] * 2 * CELLS + output[0, 1])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(3)])
@pytest.mark.parametrize("number", [-10, 3, 10])
def test_each_report_is_unbiased(kind, epsilon, number):
    protocol, draws = kind(epsilon, STEPS), 40_000
    reports = protocol.unbiased(protocol.release([number] * draws, Keyed("unbiased")))
    assert abs(reports.mean() - number) < 5 * reports.std() / draws**0.5
    error = protocol.estimate(protocol.release([number] * draws, Keyed("unbiased"))).errors[0]
    assert error == pytest.approx(reports.std() / 200, rel=1e-3)


def test_duchi_has_the_variance_of_the_paper():
    """((e^ε + 1)/(e^ε − 1))² − v².  [WXY+19, Equation 4]"""
    reports = Duchi(E, STEPS).unbiased(Duchi(E, STEPS).release([5] * 40_000, Keyed("duchi"))) / STEPS
    assert reports.var() == pytest.approx(((exp(1) + 1) / (exp(1) - 1)) ** 2 - 0.25, rel=0.02)


def test_piecewise_has_the_variance_of_the_paper():
    """v²/(e^(ε/2) − 1) + (e^(ε/2) + 3)/(3·(e^(ε/2) − 1)²).  [WXY+19, Lemma 1]"""
    protocol = Piecewise(Fraction(3), STEPS)
    reports = protocol.unbiased(protocol.release([5] * 60_000, Keyed("piecewise"))) / STEPS
    root = exp(1.5)
    assert reports.var() == pytest.approx(0.25 / (root - 1) + (root + 3) / (3 * (root - 1) ** 2), rel=0.04)


def test_a_window_is_e_to_the_epsilon_as_likely_as_the_rest():
    """By counting cells of a coarse report, at five standard errors."""
    protocol, draws = Piecewise(Fraction(2), 1), 60_000
    reports = protocol.release([-1] * draws, Keyed("window"))
    inside = (reports < protocol.window).mean()
    law = protocol.window * exp(2) / (protocol.window * exp(2) + CELLS - protocol.window)
    assert abs(inside - law) < 5 * (law * (1 - law) / draws) ** 0.5


@pytest.mark.parametrize(
    "make", [lambda: Duchi(0, 5), lambda: Piecewise(E, 0), lambda: Hybrid(E, 2**31), lambda: Duchi("1", 5)]
)
def test_bad_parameters_are_refused(make):
    with pytest.raises(BadParameter):
        make()
