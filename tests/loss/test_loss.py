"""A loss is a value with laws, and every figure asked of it is a promise."""

import itertools
from fractions import Fraction
from math import exp, inf

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from obverse.errors import BadParameter
from obverse.loss import FREE, Loss, Sensitivity, total
from obverse.loss.explain import advanced, equal
from obverse.mechanisms import Gaussian, Laplace

ONE = Sensitivity.of(1)
scales = st.fractions(Fraction(1, 2), Fraction(60), max_denominator=20)
simple = st.one_of(
    scales.map(lambda b: Laplace(b).loss(ONE)), scales.map(lambda v: Gaussian(v).loss(ONE)), st.just(FREE)
)
losses = st.recursive(
    simple,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda pair: pair[0] + pair[1]),
        st.tuples(inner, inner).map(lambda pair: pair[0] | pair[1]),
        st.tuples(inner, st.integers(0, 4)).map(lambda pair: pair[0] * pair[1]),
    ),
    max_leaves=4,
)


@given(losses, losses, losses)
@settings(max_examples=100, deadline=None)
def test_addition_is_commutative_and_associative(a, b, c):
    assert a + b == b + a
    assert (a + b) + c == a + (b + c) == total([c, a, b])
    assert hash(a + b) == hash(b + a)


@given(losses, st.integers(0, 5), st.integers(0, 5))
@settings(max_examples=100, deadline=None)
def test_times_is_repeated_addition(a, m, n):
    assert (m + n) * a == m * a + n * a
    assert 1 * a == a and 0 * a == FREE and a + FREE == a


@given(losses, losses, losses)
@settings(max_examples=100, deadline=None)
def test_parallel_is_commutative_associative_and_idempotent(a, b, c):
    assert a | a == a
    assert a | b == b | a
    assert (a | b) | c == a | (b | c)


@given(simple, simple)
@settings(max_examples=10, deadline=None)
def test_more_never_costs_less(a, b):
    for figure in (
        lambda x: x.epsilon(1e-6),
        lambda x: inf if x.rho is None else x.rho,
        lambda x: x.renyi(8.0),
    ):
        assert figure(a + b) >= figure(a) * (1 - 1e-2)
        assert figure(a | b) <= figure(a + b) * (1 + 1e-2) + 1e-9


@given(losses)
@settings(max_examples=20, deadline=None)
def test_the_curve_falls_and_agrees_with_its_inverse(a):
    curve = [a.delta(epsilon) for epsilon in (0.0, 0.5, 1.0, 2.0, 5.0)]
    assert all(0 <= later <= earlier * (1 + 1e-6) <= 1 + 1e-6 for earlier, later in itertools.pairwise(curve))
    for delta in (1e-9, 1e-4):
        assert a.delta(a.epsilon(delta) * (1 + 1e-9)) <= delta * (1 + 1e-6)


def test_more_noise_never_costs_more():
    for weaker, stronger in ((1, 2), (7, 50)):
        for mechanism in (Laplace, Gaussian):
            assert mechanism(Fraction(stronger)).loss(ONE).epsilon(1e-6) <= mechanism(Fraction(weaker)).loss(
                ONE
            ).epsilon(1e-6)


def test_two_equal_pure_losses_compose_exactly():
    """Twice randomised response with ε = 1: the sum over its four outcomes, worked out by hand."""
    twice, p = 2 * Laplace(Fraction(1)).loss(ONE), 1 / (1 + exp(-1))
    by_hand = p * p - exp(1.5) * (1 - p) ** 2
    assert by_hand <= twice.delta(1.5) <= by_hand * 1.001
    assert by_hand <= equal(1.0, 2, 1.5) <= by_hand * (1 + 1e-6)


def test_explain_orders_its_figures():
    """Each theorem holds, so none is below what is certainly lost; and the tight figure is the least."""
    explained = (200 * Laplace(Fraction(20)).loss(ONE) + 10 * Gaussian(Fraction(400)).loss(ONE)).explain(1e-6)
    figures = dict((name, epsilon) for name, epsilon, _ in explained.lines)
    assert figures["tight"] <= min(figures.values()) * (1 + 1e-6)
    assert figures["zCDP"] < figures["advanced"] < figures["basic"]


def test_advanced_composition_is_exact_for_equal_losses():
    """[KOV15, Theorem 3.3] against the tight figure, and below [KOV15, Theorem 3.5]."""
    loss = 100 * Laplace(Fraction(10)).loss(ONE)
    assert loss.epsilon(1e-6) == pytest.approx(advanced([(0.1, 100)], 1e-6), rel=1e-3)
    assert advanced([(0.1, 100)], 1e-6) < advanced([(0.1, 99), (0.1001, 1)], 1e-6)


def test_what_a_loss_means_to_an_adversary():
    """Odds grow by at most e^ε: from one in two to three in four at ε = log 3."""
    loss = Laplace(Fraction(1)).loss(ONE)
    assert loss.posterior(0.5) == pytest.approx(exp(1) / (1 + exp(1)))
    assert loss.posterior(0.01) == pytest.approx(exp(1) * 0.01 / (0.99 + exp(1) * 0.01))
    assert loss.deniability(0.5) == pytest.approx(1 - loss.posterior(0.5))
    assert loss.guess() == pytest.approx(exp(1) / (1 + exp(1)))
    assert Gaussian(Fraction(4)).loss(ONE).posterior(0.5) == 1.0


def test_a_posterior_fails_no_more_often_than_it_says():
    """A Gaussian's loss exceeds its figure with the stated chance at most, summed from the probability function."""
    variance, failing = 25.0, 1e-4
    allowed = Gaussian(Fraction(25)).loss(ONE).posterior(0.5, failing)
    weights = {x: exp(-x * x / (2 * variance)) for x in range(-60, 61)}
    beyond = sum(w for x, w in weights.items() if 1 / (1 + exp(-(1 + 2 * x) / (2 * variance))) > allowed)
    assert beyond / sum(weights.values()) <= failing


@pytest.mark.parametrize("prior", [0, 1, -0.5, float("nan"), "half"])
def test_a_bad_prior_is_refused(prior):
    with pytest.raises(BadParameter, match="prior"):
        Laplace(Fraction(1)).loss(ONE).posterior(prior)


def test_a_negative_number_of_times_is_refused():
    with pytest.raises(BadParameter):
        Laplace(Fraction(1)).loss(ONE) * -1


def test_nothing_costs_nothing():
    assert FREE.epsilon() == FREE.epsilon(1e-6) == FREE.delta(0.0) == 0
    assert isinstance(FREE, Loss)
