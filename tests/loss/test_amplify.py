"""A secret sample and a shuffle leak less, and what is claimed of them holds."""

from fractions import Fraction
from math import comb, exp, expm1, log1p

import pytest

from obverse.errors import BadParameter
from obverse.loss import Sensitivity
from obverse.loss.amplify import sampled, shuffled
from obverse.mechanisms import Gaussian, Laplace

ONE = Sensitivity.of(1)


def hockey(p, q, epsilon):
    return sum(max(0.0, p[x] - exp(epsilon) * q[x]) for x in p)


@pytest.mark.parametrize("rate", [Fraction(1, 100), Fraction(1, 3)])
@pytest.mark.parametrize("mechanism", [Laplace(Fraction(1)), Gaussian(Fraction(2))])
def test_a_sampled_count_keeps_the_claim_in_both_orders(mechanism, rate):
    """A person who is sampled adds one to a count: the mixture of both laws against the law without."""
    r, far = float(rate), 60
    if isinstance(mechanism, Laplace):
        weights = {x: exp(-abs(x) / float(mechanism.scale)) for x in range(-far, far + 1)}
    else:
        weights = {x: exp(-x * x / (2 * float(mechanism.variance))) for x in range(-far, far + 1)}
    whole = sum(weights.values())
    without = {x: weights.get(x, 0.0) / whole for x in range(-far + 1, far)}
    mixed = {x: (1 - r) * without[x] + r * weights.get(x - 1, 0.0) / whole for x in without}
    loss = sampled(mechanism.loss(ONE), rate)
    for epsilon in (0.0, 0.005, 0.1, 0.5, 1.0):
        true = max(hockey(mixed, without, epsilon), hockey(without, mixed, epsilon))
        assert true <= loss.delta(epsilon) * (1 + 1e-9) + 1e-12
    assert hockey(mixed, without, 0.05) == pytest.approx(loss.delta(0.05), rel=1e-6, abs=1e-12)


def test_a_pure_loss_shrinks_to_about_the_rate():
    """[BBG18, Theorem 8]"""
    loss = sampled(Laplace(Fraction(1)).loss(ONE), Fraction(1, 100))
    assert loss.epsilon() == pytest.approx(log1p(0.01 * expm1(1)))
    assert (100 * loss).epsilon(1e-6) < 100 * loss.epsilon()
    assert loss.rho <= Laplace(Fraction(1)).loss(ONE).rho
    assert loss.renyi(4.0) <= Laplace(Fraction(1)).loss(ONE).renyi(4.0)


def test_a_thousand_steps_of_a_sampled_gaussian():
    """σ = 1, rate 1 %, 1,000 steps: an ε near 2.5 at δ = 10⁻⁵, where charging each step in full gives hundreds."""
    step = Gaussian(Fraction(10**6)).loss(Sensitivity.of(1000))
    assert 2 < (1000 * sampled(step, Fraction(1, 100))).epsilon(1e-5) < 2.6
    assert (1000 * step).epsilon(1e-5) > 100


def test_everybody_is_no_sample():
    loss = Laplace(Fraction(1)).loss(ONE)
    assert sampled(loss, 1) == loss


def clones(local, people, epsilon):
    """δ of the pair in [FMT21, Theorem 3.2]: C ~ Bin(n − 1, e^−ε₀), A ~ Bin(C, ½), Δ ~ Bernoulli(e^ε₀/(e^ε₀ + 1))."""
    p, keep, delta = exp(-local), exp(local) / (exp(local) + 1), 0.0
    for c in range(people):
        weight = comb(people - 1, c) * p**c * (1 - p) ** (people - 1 - c)
        half = [comb(c, a) / 2**c for a in range(c + 1)] + [0.0]
        for a in range(c + 2):
            with_one, without = (half[a - 1] if a else 0.0), half[a]
            delta += weight * max(
                0.0,
                (keep - exp(epsilon) * (1 - keep)) * with_one + (1 - keep - exp(epsilon) * keep) * without,
            )
    return delta


@pytest.mark.parametrize("local", [0.05, 0.3])
def test_shuffled_epsilon_is_above_the_clones(local):
    people, delta = 300, 0.05
    epsilon = shuffled(local, people, delta)
    assert epsilon <= local
    assert clones(local, people, epsilon) <= delta


def test_shuffling_helps_more_with_more_people_and_never_hurts():
    figures = [shuffled(1, people, 1e-6) for people in (10, 10_000, 100_000, 10**7)]
    assert figures[0] == 1 and sorted(figures, reverse=True) == figures and figures[-1] < 0.01


@pytest.mark.parametrize("rate", [0, -1, 2, float("nan"), "half"])
def test_a_bad_rate_is_refused(rate):
    with pytest.raises(BadParameter, match="rate"):
        sampled(Laplace(Fraction(1)).loss(ONE), rate)


def test_bad_shuffles_are_refused():
    for local, people, delta in ((0, 10, 0.1), (1, 0, 0.1), (1, 10, 1)):
        with pytest.raises(BadParameter):
            shuffled(local, people, delta)
