"""Which groups may be named: as many as (ε, δ) allows, and no more."""

from fractions import Fraction
from math import exp

import numpy as np
import pytest

from obverse.errors import BadParameter
from obverse.loss.loss import Sensitivity
from obverse.mechanisms.partition import GaussianNamedCounts, NamedCounts, Partition
from obverse.noise.entropy import Keyed

E, D = Fraction(1), Fraction(1, 20)
ONE, TWO = Sensitivity.of(1), Sensitivity.of(1, numbers=2)
SMALL = GaussianNamedCounts(Fraction(1), 4)
CASES = [
    (Partition(E, D), (1,), (2,), ONE),
    (Partition(E, D), (0, 0), (1, 1), TWO),
    (NamedCounts.at(E, D), (0,), (1,), ONE),
    (NamedCounts.at(E, D), (5, 2), (6, 3), TWO),
    (SMALL, (1,), (0,), ONE),
    (SMALL, (5, 2), (6, 2), ONE),
]
PLANTED = [
    (Partition(E, Fraction(1, 4)), Partition(E, D), (1,), (0,), ONE),
    (Partition(Fraction(6), D), Partition(E, D), (2,), (1,), ONE),
    (NamedCounts(E, 1), NamedCounts.at(E, D), (1,), (0,), ONE),
    (GaussianNamedCounts(Fraction(1, 4), 4), SMALL, (5,), (6,), ONE),
    (GaussianNamedCounts(Fraction(1), 2), SMALL, (1,), (0,), ONE),
]


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(E, D), (Fraction(1, 10), Fraction(1, 10**6)), (Fraction(9), Fraction(1, 10**9))]
)
def test_the_rule_keeps_epsilon_delta_and_is_the_most_that_does(epsilon, delta):
    """[DVGM22, Theorem 1]: all four inequalities between n and n + 1, one of them within 2⁻¹⁰⁰ of equality."""
    rule, grow, d = Partition(epsilon, delta), exp(epsilon), float(delta)
    people = 0
    while rule.chance(people) < 1:
        low, high = float(rule.chance(people)), float(rule.chance(people + 1))
        assert low < high <= grow * low + d * (1 + 1e-9) or high == 1
        assert 1 - low <= (grow * (1 - high) + d) * (1 + 1e-9)
        assert high == pytest.approx(min(1.0, grow * low + d, 1 - (1 - low - d) / grow), rel=1e-9)
        people += 1
    assert rule.chance(0) == 0 and rule.chance(10**9) == 1


def test_named_as_often_as_the_rule_says():
    rule, draws = Partition(E, D), 20_000
    for people in (0, 1, 2, 3, 4):
        named = rule.release([people] * draws, Keyed(f"{people}")).sum()
        chance = float(rule.chance(people))
        assert abs(named - draws * chance) <= 5 * (draws * chance * (1 - chance)) ** 0.5


def test_a_first_half_that_ties_is_settled_by_the_second():
    """128 bits decide, of which the last 64 are drawn only where the first 64 are equal."""

    class Half(Keyed):
        def bytes(self, count):
            return (
                int(Partition(E, D).chance(1) * 2**64).to_bytes(8, "little")
                if count == 8
                else super().bytes(count)
            )

        def bits(self, count):
            return self.low

    rest = int(Partition(E, D).chance(1) * 2**128) % 2**64
    for low, expected in ((rest - 1, True), (rest, False)):
        entropy = Half("tie")
        entropy.low = low
        assert Partition(E, D).release([1], entropy).tolist() == [expected]


def test_nobody_is_named_where_nobody_is():
    for mechanism in (Partition(E, D), NamedCounts.at(E, D), SMALL):
        assert not mechanism.release([0] * 500, Keyed("empty")).any()


def test_named_counts_cut_noise_where_delta_says():
    """[DVGM22, Section 4]: P(x = cut) ≤ δ, by summing the law, and one less would not do."""
    for epsilon, delta in ((E, D), (Fraction(1, 10), Fraction(1, 10**6))):
        named = NamedCounts.at(epsilon, delta)
        for cut, enough in ((named.cut, True), (named.cut - 1, False)):
            mass = np.exp(-float(epsilon) * np.abs(np.arange(-cut, cut + 1)))
            assert (mass[-1] / mass.sum() <= float(delta)) == enough


def test_named_counts_name_no_more_often_than_the_rule():
    """The rule is the most that (ε, δ) allows; one person fewer makes up for a cut that is a whole number."""
    named, rule, draws = NamedCounts.at(E, D), Partition(E, D), 4000
    for people in (2, 3, 5):
        found = (named.release([people] * draws, Keyed(f"alike {people}")) > 0).mean()
        assert float(rule.chance(people - 1)) - 0.04 <= found <= float(rule.chance(people)) + 0.04


def test_a_person_in_many_groups_pays_for_each():
    """Nearly C times δ, and never more than basic composition."""
    one, many = (Partition(E, Fraction(1, 10**6)).profile(9.0, Sensitivity.of(1, numbers=c)) for c in (1, 9))
    assert 8.9 * one < many <= 9 * one


def test_gaussian_threshold_is_least():
    """δ of naming any of the groups of one person."""
    found = GaussianNamedCounts.at(Fraction(1, 2), Fraction(1, 10**6), groups=4)
    assert found._named(4) <= 1e-6 < GaussianNamedCounts(found.variance, found.threshold - 1)._named(4)
    assert found.variance == 4


@pytest.mark.parametrize("delta", [0, 1, 2, -1, float("nan"), "0.1", Fraction(1, 2**101)])
def test_delta_is_small_and_not_nothing(delta):
    for make in (lambda: Partition(E, delta), lambda: NamedCounts.at(E, delta)):
        with pytest.raises(BadParameter):
            make()


def test_a_row_weight_is_refused():
    with pytest.raises(BadParameter, match="people"):
        Partition(E, D).profile(1.0, Sensitivity.of(3))


def test_an_epsilon_that_names_nobody_is_refused():
    with pytest.raises(BadParameter, match="million"):
        Partition(Fraction(1, 10**9), Fraction(1, 10**9))


def test_enough_people_are_named_as_often_as_stated():
    rule = Partition(E, D)
    needed = rule.interval(0.9)
    assert rule.chance(needed) >= 0.9 > rule.chance(needed - 1)
