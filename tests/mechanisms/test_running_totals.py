"""Running totals keep their ρ with a dozen numbers of state, and nearly the least error there can be."""

from fractions import Fraction

import numpy as np
import pytest

from obverse.errors import BadParameter, Withheld
from obverse.loss.loss import Sensitivity
from obverse.mechanisms.running_totals import (
    STATE,
    WEIGHT,
    Running,
    RunningTotals,
    _inverse,
    _length_squared,
    _parts,
)
from obverse.noise.entropy import Keyed

ONE = Sensitivity.of(1)
HALF = Fraction(1, 2)
CASES = [(RunningTotals(3, HALF), (0, 1), (1, 1), ONE), (RunningTotals(1, HALF), (0,), (1,), ONE)]
PLANTED = [(RunningTotals(3, Fraction(20)), RunningTotals(3, HALF), (0, 1), (1, 1), ONE)]


def feature(output):
    return float(output[0])


def series(steps):
    """c and b as they stand in the two tables of poles."""
    k = np.arange(steps)
    c = sum(weight * 2.0**-WEIGHT * (pole * 2.0**-STATE) ** k for pole, weight in _parts(steps))
    poles, weights = _inverse(steps)
    return c, sum(weight * pole**k for pole, weight in zip(poles, weights, strict=True))


@pytest.mark.parametrize("steps", [1, 2, 10, 1000])
def test_the_two_factors_make_totals(steps):
    """B·C = A: their series multiply to 1, 1, 1, …, and c is nearly (1 − t)^(−1/2).  [DMPST24; FHU23]"""
    c, b = series(steps)
    assert np.convolve(b, c)[:steps] == pytest.approx(np.ones(steps), abs=1e-9)
    k = np.arange(1, steps)
    assert c == pytest.approx(np.cumprod(np.append(1, (k - 0.5) / k)), rel=0.2)


@pytest.mark.parametrize("steps", [1, 10, 1000])
def test_the_length_is_rounded_up_and_hardly(steps):
    """What the noise is made for is at least the longest column of C, rounding included."""
    c, _ = series(steps)
    true = (np.sqrt((c**2).sum()) + steps**0.5 * 2.0**-31) ** 2
    assert true * (1 - 1e-12) <= float(_length_squared(steps)) <= true * (1 + 1e-6)


@pytest.mark.parametrize("values", [(0, 0, 0, 0, 0, 0), (5, 0, 3, 9, 1, 2)])
def test_neighbours_stay_within_the_length(values, monkeypatch):
    """What goes into the noise, step by step, on both sides of one change: replayed without noise."""
    entered = []
    monkeypatch.setattr(
        "obverse.mechanisms.running_totals.add_gaussian",
        lambda value, variance, entropy: entered[-1].append(value) or value,
    )
    mechanism = RunningTotals(6, HALF)
    for step in range(6):
        sides = []
        for change in (0, 1):
            entered.append([])
            mechanism.release(
                [value + (change if i == step else 0) for i, value in enumerate(values)], Keyed("none")
            )
            sides.append(entered[-1])
        distance = sum((a - b) ** 2 for a, b in zip(*sides, strict=True))
        assert Fraction(distance) / (2 * mechanism.noise) <= HALF


def test_a_million_steps_have_variance_31_and_eleven_numbers_of_state():
    """ρ = ½, n = 2²⁰: the binary tree has 420; nothing of this kind goes below 30."""
    mechanism = RunningTotals(1 << 20, HALF)
    assert mechanism.variance(1 << 20) < 30.2
    assert len(_parts(1 << 20)) == 11
    assert len(_parts(1 << 30)) < 16


def test_errors_have_the_variance_stated():
    mechanism, entropy, values = RunningTotals(20, HALF), Keyed("variance"), np.arange(20)
    off = np.array([mechanism.release(values, entropy) for _ in range(1500)]) - values.cumsum()
    for step in (1, 10, 20):
        assert off[:, step - 1].var() == pytest.approx(mechanism.variance(step), rel=0.2)
        assert abs(off[:, step - 1].mean()) < 5 * (mechanism.variance(step) / 1500) ** 0.5
    assert np.mean(np.abs(off[:, -1]) <= mechanism.interval(0.9)) == pytest.approx(0.9, abs=0.05)


def test_several_steps_of_one_person_cost_the_square():
    assert RunningTotals(9, HALF).rho(Sensitivity.of(1, numbers=3)) == Fraction(9, 2)


def test_a_stream_stops_at_its_last_step():
    stream = Running(RunningTotals(1, HALF), Keyed("stop"))
    stream.add(1)
    with pytest.raises(Withheld, match="last step"):
        stream.add(1)


@pytest.mark.parametrize(("steps", "rho"), [(0, 1), (2**31, 1), (5, 0), (5, float("nan")), (5, "1")])
def test_bad_streams_are_refused(steps, rho):
    with pytest.raises(BadParameter):
        RunningTotals(steps, rho)
