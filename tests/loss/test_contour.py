"""The contour's figure is certain from both sides, whatever is added and however often."""

from fractions import Fraction
from math import exp, inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from obverse.loss import Sensitivity, contour, tight, total
from obverse.loss.contour import FLAT, Contour
from obverse.loss.curves import gaussian_profile, laplace_profile, pure_profile
from obverse.loss.explain import equal
from obverse.loss.loss import least_epsilon
from obverse.loss.moments import Atoms, GaussianShift, LaplaceShift, Response
from obverse.mechanisms import Gaussian, Laplace


def law_of(loss):
    """(values of the loss, chances), term by term from the probability function."""
    if isinstance(loss, Response):
        return np.array([loss.pure, -loss.pure]), np.array([1, exp(-loss.pure)]) / (1 + exp(-loss.pure))
    if isinstance(loss, LaplaceShift):
        x = np.arange(-2000, 2001)
        chances = np.exp(-np.abs(x) / loss.scale)
        return (np.abs(x - loss.shift) - np.abs(x)) / loss.scale, chances / chances.sum()
    x = np.arange(-1000, 1001)
    chances = np.exp(-x * x / (2 * loss.variance))
    return (loss.shift**2 + 2 * loss.shift * x) / (2 * loss.variance), chances / chances.sum()


@pytest.mark.parametrize(
    "loss",
    [
        Response(0.7),
        LaplaceShift(3.0, 1),
        LaplaceShift(3.0, 7),
        GaussianShift(0.3, 1),
        GaussianShift(2.0, 3),
        GaussianShift(900.0, 10),
    ],
)
def test_moments_are_those_of_the_probability_function(loss):
    values, chances = law_of(loss)
    nodes = FLAT[np.abs(FLAT) < 40]
    logs, factors = loss.parts(nodes)
    for z, log, factor in zip(nodes, logs, np.broadcast_to(factors, nodes.shape), strict=True):
        with np.errstate(over="ignore", invalid="ignore"):
            peak = float(np.sum(chances * np.exp(z.real * values)))
            summed = np.sum(chances * np.exp(z * values))
        if peak < 1e200:
            assert abs(np.exp(log) * factor - summed) <= 1e-9 * peak


@pytest.mark.parametrize(
    "loss", [Response(0.7), LaplaceShift(3.0, 1), GaussianShift(2.0, 3), GaussianShift(0.3, 1)]
)
@pytest.mark.parametrize("c", [0.5, 4.3])
def test_moments_fall_until_half_a_period_and_mirror_there(loss, c):
    t = np.linspace(0, loss.period / 2, 200)
    (logs, factors), (far, others) = loss.parts(c + 1j * t), loss.parts(c + 1j * (loss.period - t))
    size, mirrored = np.abs(np.exp(logs) * factors), np.abs(np.exp(far) * others)
    assert (np.diff(size) <= 1e-9 * size[0]).all()
    assert np.allclose(size, mirrored, atol=1e-9 * size[0])


@given(st.floats(0.001, 2.0), st.integers(1, 2000), st.sampled_from([1e-10, 1e-6, 1e-3]))
@settings(max_examples=60, deadline=None)
def test_equal_responses_are_between_the_bounds(pure, times, delta):
    """Against the exact composition of [KOV15, Theorem 3.3]."""
    account = Contour()
    account.add(Response(pure), times)
    true = least_epsilon(lambda epsilon: equal(pure, times, epsilon), delta)
    found = account.epsilon(delta)
    assert found.low <= true * (1 + 1e-6) + 1e-9
    assert true <= min(found.high, pure * times) * (1 + 1e-6) + 1e-9


@given(st.floats(4.0, 1e6), st.integers(1, 1000), st.sampled_from([1e-10, 1e-6, 1e-3]))
@settings(max_examples=60, deadline=None)
def test_gaussians_are_between_the_bounds(variance, times, delta):
    """One Gaussian of variance/times, shift 1000: the grid is so fine that the discrete and the continuous agree."""
    account = Contour()
    account.add(GaussianShift(variance * 1e6, 1000), times)
    found = account.epsilon(delta)
    true = least_epsilon(lambda e: gaussian_profile(Fraction(variance * 1e6 / times), 1000, e), delta)
    assert found.low <= true * (1 + 1e-4) + 1e-9
    assert true <= found.high * (1 + 1e-4) + 1e-9


def test_delta_is_between_its_bounds_at_every_epsilon():
    account = Contour()
    account.add(LaplaceShift(1000.0, 100))
    account.add(GaussianShift(1e8, 1000))
    losses = [law_of(LaplaceShift(100.0, 10)), law_of(GaussianShift(1e4, 10))]
    values = np.add.outer(losses[0][0], losses[1][0]).ravel()
    chances = np.multiply.outer(losses[0][1], losses[1][1]).ravel()
    for epsilon in (0.0, 0.1, 0.3, 0.5):
        above = values > epsilon
        true = float(np.sum(chances[above] * -np.expm1(epsilon - values[above])))
        found = account.delta(epsilon)
        assert found.low <= true * 1.01 and true <= found.high * 1.01


def many(count=10_000):
    """Thirds Laplace, Gaussian and randomised response (on a count, Laplace noise is that); e = 2^u/100, |u| ≤ 1."""
    grid, one = Sensitivity.of(1024), Sensitivity.of(1)
    sizes = [Fraction(2 ** (-1 + 2 * i / (count - 1)) / 100) for i in range(count)]
    kinds = (
        lambda e: Laplace(1024 / e).loss(grid),
        lambda e: Gaussian((1024 / e) ** 2).loss(grid),
        lambda e: Laplace(1 / e).loss(one),
    )
    return [kinds[i % 3](e) for i, e in enumerate(sizes)]


def test_ten_thousand_different_mechanisms_within_a_thousandth():
    """The true ε at δ = 10⁻⁶ is between two figures 10⁻³ apart, and the charged one is not below."""
    loss = total(many())
    found = tight.bounds(loss, 1e-6)
    assert 0 <= found.high - found.low <= 1e-3
    assert found.low > 5.80 and found.high <= 5.825
    assert found.high == loss.epsilon(1e-6)


def test_an_infinite_loss_is_a_floor_under_delta():
    account = Contour()
    account.add(Atoms(np.array([-0.1, 0.1]), np.array([0.45, 0.5]), 0.05))
    assert account.epsilon(0.04).high == inf
    assert account.delta(20.0).high >= 0.05


def test_too_small_a_tail_would_be_noticed(monkeypatch):
    """The planted bug: what the nodes leave out is forgotten, and one coin comes out cheaper than it is."""
    monkeypatch.setattr(Contour, "_tail", lambda self, line, pad: 0.0)
    account = Contour()
    account.add(Response(3.0))
    assert account.delta(2.9).high < pure_profile(3.0, 2.9)


def test_a_laplace_of_shift_one_is_a_response():
    near, far = LaplaceShift(5.0, 1).parts(FLAT), Response(0.2).parts(FLAT)
    assert np.allclose(near[0], far[0]) and np.allclose(near[1], far[1])
    assert laplace_profile(Fraction(5), 1, 0.1) == pytest.approx(pure_profile(0.2, 0.1))
    assert contour.NODES > 0
