"""A budget is never overdrawn, however the questions adapt, and lets through what it can."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from obverse.errors import BadParameter
from obverse.loss.filters import DELTA_GRAIN, GRAIN, NOTHING, NOTIONS, ORDERS, Amounts, Filter
from obverse.loss.loss import FREE, Sensitivity
from obverse.mechanisms import Gaussian, Laplace

ONE = Sensitivity.of(1)
laplaces = st.fractions(Fraction(1, 2), Fraction(100), max_denominator=50).map(lambda b: Laplace(b).loss(ONE))
gaussians = st.fractions(Fraction(1), Fraction(1000), max_denominator=50).map(lambda v: Gaussian(v).loss(ONE))
losses = st.one_of(laplaces, gaussians)


def test_amounts_are_rounded_up_to_whole_grains():
    third = Laplace(Fraction(3)).loss(ONE)
    assert Amounts.of(third).pure.size == -(-GRAIN // 3)
    assert Fraction(Amounts.of(third).rho.size, GRAIN) >= third.rho
    assert Amounts.of(third).pure.delta == 0


@given(losses, losses)
@settings(max_examples=40, deadline=None)
def test_amounts_of_a_sum_are_at_most_the_sum_of_amounts(a, b):
    """Rounding up each never charges less than rounding up the whole."""
    whole, parts = Amounts.of(a + b), Amounts.of(a) + Amounts.of(b)
    for total, added in zip((whole.rho, *whole.renyi), (parts.rho, *parts.renyi), strict=True):
        assert total.size <= added.size + 1


@given(st.lists(losses, max_size=40), st.sampled_from(NOTIONS), st.randoms(use_true_random=False))
@settings(max_examples=40, deadline=None)
def test_what_a_filter_admits_keeps_its_promise_in_any_order(asked, notion, random):
    """All that was admitted, looked at afterwards as one plan, is within the filter's ε at its δ."""
    budget = Filter(notion, Fraction(3, 2), Fraction(1, 10**6))
    spent, admitted = NOTHING, FREE
    for loss in random.sample(asked, len(asked)):
        more = Amounts.of(loss)
        if budget.admits(spent, more):
            spent, admitted = spent + more, admitted + loss
    assert admitted.epsilon(1e-6) <= 1.5 * (1 + 1e-6)


@given(st.sampled_from(NOTIONS), st.lists(laplaces, max_size=12))
@settings(max_examples=30, deadline=None)
def test_what_remains_is_admitted_and_hardly_more_is(notion, asked):
    budget = Filter(notion, Fraction(2), Fraction(1, 10**5))
    spent = NOTHING
    for loss in asked:
        if budget.admits(spent, Amounts.of(loss)):
            spent = spent + Amounts.of(loss)
    left = budget.remaining(spent)
    if left > Fraction(1, 2**20):
        assert budget.admits(spent, Amounts.of(Laplace(1 / (left * (1 - Fraction(1, 2**18)))).loss(ONE)))
    assert not budget.admits(spent, Amounts.of(Laplace(1 / (left + Fraction(1, 2**10))).loss(ONE)))


def test_the_last_tenth_is_spent_once():
    budget, tenth = Filter("pure", Fraction(1)), Amounts.of(Laplace(Fraction(10)).loss(ONE))
    spent = NOTHING
    for _ in range(10):
        assert budget.admits(spent, tenth)
        spent = spent + tenth
    assert budget.remaining(spent) == 0
    assert not budget.admits(spent, Amounts.of(Laplace(Fraction(2**30)).loss(ONE)))


def test_zcdp_answers_more_questions_than_pure():
    tenth = Amounts.of(Laplace(Fraction(10)).loss(ONE))

    def answered(budget):
        spent, count = NOTHING, 0
        while budget.admits(spent, tenth):
            spent, count = spent + tenth, count + 1
        return count

    delta = Fraction(1, 10**6)
    assert answered(Filter("pure", Fraction(1), delta)) == 10
    assert answered(Filter("zcdp", Fraction(3), delta)) > answered(Filter("pure", Fraction(3), delta))


def test_a_gaussian_has_no_pure_epsilon_unless_delta_is_given_up():
    loss = Gaussian(Fraction(100)).loss(ONE)
    budget = Filter("pure", Fraction(1), Fraction(1, 10**5))
    assert not budget.admits(NOTHING, Amounts.of(loss))
    given_up = Amounts.of(loss, Fraction(1, 10**6))
    assert given_up.pure.delta == -(-DELTA_GRAIN // 10**6)
    assert Fraction(given_up.pure.size, GRAIN) >= Fraction(loss.epsilon(1e-6))
    assert given_up.rho.delta == 0
    assert budget.admits(NOTHING, given_up)
    assert not budget.admits(NOTHING, Amounts.of(loss, Fraction(1, 10**4)))


def test_a_share_of_delta_goes_to_each_part_that_needs_it():
    loss = 3 * Gaussian(Fraction(100)).loss(ONE) + Laplace(Fraction(4)).loss(ONE)
    amounts = Amounts.of(loss, Fraction(3, 2**30))
    assert amounts.pure.delta == 3 * -(-DELTA_GRAIN // 2**30)
    each = Gaussian(Fraction(100)).loss(ONE).epsilon(2.0**-30)
    assert Fraction(amounts.pure.size, GRAIN) >= Fraction(1, 4) + 3 * Fraction(each)


@pytest.mark.parametrize(
    ("notion", "epsilon", "delta"),
    [
        ("approximate", 1, 0),
        ("pure", 0, 0),
        ("pure", -1, 0),
        ("pure", float("nan"), 0),
        ("pure", 10**400, 0),
        ("pure", "1", 0),
        ("pure", 1, 1),
        ("pure", 1, -1),
        ("zcdp", 1, 0),
        ("renyi", 1, 0),
    ],
)
def test_a_bad_budget_is_refused(notion, epsilon, delta):
    with pytest.raises(BadParameter):
        Filter(notion, epsilon, delta)


def test_nothing_costs_nothing():
    assert Amounts.of(FREE) == NOTHING
    assert len(NOTHING.renyi) == len(ORDERS)
    assert Filter("zcdp", Fraction(1), Fraction(1, 10**9)).admits(NOTHING, NOTHING)
