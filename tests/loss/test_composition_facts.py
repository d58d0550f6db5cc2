"""The facts of docs/composition-facts.md, on tables and their neighbours, and on the curves."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from obverse.loss import FREE, Sensitivity, total
from obverse.mechanisms import Gaussian, Laplace

ONE = Sensitivity.of(1)
rows = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 100)), min_size=1, max_size=12)


def distance(a, b):
    """(L1, L2 squared, largest) between two lists of numbers."""
    changes = [abs(x - y) for x, y in zip(a, b, strict=True)]
    return sum(changes), sum(c * c for c in changes), max(changes)


def within(a, b, sensitivity):
    l1, l2_squared, most = distance(a, b)
    return l1 <= sensitivity.l1 and l2_squared <= sensitivity.l2_squared and most <= sensitivity.most


@given(st.integers(1, 50), st.fractions(Fraction(1, 100), Fraction(2)))
def test_t_questions_at_epsilon_cost_t_epsilon(t, epsilon):
    question = Laplace(1 / epsilon).loss(ONE)
    assert total([question] * t).pure == t * epsilon == (t * question).pure


@given(rows, st.data())
def test_m_counting_queries_have_sensitivity_m(table, data):
    """Each count of a predicate; one row comes or goes."""
    thresholds = data.draw(st.lists(st.integers(0, 100), min_size=1, max_size=6))
    gone = data.draw(st.integers(0, len(table) - 1))
    answers = [
        [sum(value >= low for _, value in part) for low in thresholds]
        for part in (table, without(table, gone))
    ]
    assert within(*answers, Sensitivity.of(1, numbers=len(thresholds)))


def test_all_m_counts_can_change():
    table = [(0, 100)]
    answers = [[sum(value >= low for _, value in part) for low in (10, 20, 30)] for part in (table, [])]
    assert distance(*answers) == (3, 3, 1)


@given(rows, st.data())
def test_group_by_over_disjoint_groups_has_sensitivity_one(table, data):
    gone = data.draw(st.integers(0, len(table) - 1))
    assert within(*(groups(part) for part in (table, without(table, gone))), ONE)


@given(rows, st.data(), st.integers(0, 3))
def test_group_by_has_sensitivity_two_where_a_row_may_change(table, data, group):
    changed = data.draw(st.integers(0, len(table) - 1))
    other = [*without(table, changed), (group, 0)]
    assert within(groups(table), groups(other), Sensitivity.of(1, numbers=2))


@given(rows, st.data())
def test_an_average_over_public_n_has_b_over_n(table, data):
    changed, value = data.draw(st.integers(0, len(table) - 1)), data.draw(st.integers(0, 100))
    other = [*without(table, changed), (0, value)]
    averages = [Fraction(sum(v for _, v in part), len(table)) for part in (table, other)]
    assert abs(averages[0] - averages[1]) <= Fraction(100, len(table))


@given(st.integers(1, 20))
def test_a_group_of_k_people_costs_k_epsilon(k):
    assert Laplace(Fraction(10)).pure(Sensitivity.of(k)) == k * Laplace(Fraction(10)).pure(ONE)
    assert Gaussian(Fraction(10)).rho(Sensitivity.of(k)) == k * k * Gaussian(Fraction(10)).rho(ONE)


@pytest.mark.parametrize("delta", [1e-9, 1e-5])
def test_disjoint_people_cost_the_worst_of_them(delta):
    a, b = Laplace(Fraction(3)).loss(ONE), Gaussian(Fraction(20)).loss(ONE)
    assert (a | b).epsilon(delta) == max(a.epsilon(delta), b.epsilon(delta))
    assert (a | b).delta(0.1) == max(a.delta(0.1), b.delta(0.1))
    assert a | FREE == a


def without(table, gone):
    return [row for i, row in enumerate(table) if i != gone]


def groups(table):
    return [sum(group == g for group, _ in table) for g in range(4)]
