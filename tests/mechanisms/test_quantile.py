"""Quantiles keep their ε between declared bounds, ties and extremes included."""

from fractions import Fraction
from math import exp

import numpy as np
import pytest

from obverse.errors import BadParameter
from obverse.loss.loss import Sensitivity
from obverse.mechanisms import quantile
from obverse.mechanisms.quantile import Quantiles, _most, _shares
from obverse.noise.entropy import Keyed

ONE = Sensitivity.of(1)
DECILES = [Fraction(k, 10) for k in range(1, 10)]
CASES = [
    (Quantiles.median(0, 9, Fraction(1)), (2, 3, 7), (2, 3, 7, 9), ONE),
    (Quantiles.at([Fraction(1, 4), Fraction(3, 4)], 0, 3, Fraction(1)), (0, 0), (0, 0, 3), ONE),
    (Quantiles.greatest(0, 3, Fraction(1)), (0, 0, 0), (0, 0, 0, 3), ONE),
]
PLANTED = [
    (Quantiles.median(0, 999, Fraction(8)), Quantiles.median(0, 999, Fraction(1)), (0, 0), (0, 0, 999), ONE)
]


@pytest.mark.parametrize("far", [128.0, 1.0, 0.1])
def test_exact_distribution_of_a_median(far, monkeypatch):
    """exp(−ε|below − n/2|) over the fine grid: a value in a heap of equal ones may be split, and is counted so.

    However little is looked at first, the law is the same.
    """
    monkeypatch.setattr(quantile, "FAR", far)
    values, draws, entropy = [2] * 4 + [7] * 2, 6000, Keyed("law")
    found = np.bincount(
        [Quantiles.median(0, 9, Fraction(1)).release(values, entropy)[0] for _ in range(draws)], minlength=10
    )
    weights = np.zeros(10)
    for y in range(10):
        under, here = sum(v < y for v in values), values.count(y)
        weights[y] = np.mean(
            [exp(-abs(under + k - 3)) for k in range(here + 1)]
        )  # spacings of uniforms are alike
    for y, chance in enumerate(weights / weights.sum()):
        assert abs(found[y] - draws * chance) < 5 * (draws * chance * (1 - chance)) ** 0.5 + 1


def test_the_median_moves_half_a_rank():
    """Δ = max(q, 1 − q), and 1 for a pair about the middle."""
    assert _most([Fraction(1, 2)]) == Fraction(1, 2)
    assert _most([Fraction(1, 10)]) == Fraction(9, 10)
    assert _most([Fraction(2, 5), Fraction(3, 5)]) == 1


@pytest.mark.parametrize("count", range(1, 40))
def test_levels_share_epsilon(count):
    assert sum(_shares(count)) == 1
    assert len(_shares(count)) <= count.bit_length()


def test_nine_deciles_of_a_thousand_at_epsilon_1():
    """Mean rank error about 5, in order and between the bounds."""
    entropy, errors = Keyed("deciles"), []
    values = np.sort(np.frombuffer(entropy.bytes(4000), np.uint32) % 1_000_000).astype(np.int64)
    for _ in range(100):
        found = Quantiles.at(DECILES, 0, 999_999, Fraction(1)).release(values, entropy)
        assert list(found) == sorted(found) and found[0] >= 0 and found[-1] <= 999_999
        errors.append(np.abs(values.searchsorted(found) - np.arange(100, 1000, 100)).mean())
    assert np.mean(errors) < 5.5


def test_a_heap_of_equal_values_is_split_fairly():
    """Deciles 3 to 7 all lie in a heap of half the values: every one of them is found there."""
    values = [10] * 25 + [40] * 50 + [80] * 25
    found = Quantiles.at(DECILES, 0, 100, Fraction(50)).release(values, Keyed("heap"))
    assert found[2:7] == (40,) * 5


def test_quartiles_are_the_same_law_however_little_is_looked_at_first(monkeypatch):
    """Each pair of counts at five standard errors, of three quartiles chosen by halves among few heaps."""
    values, draws, found = [1] * 9 + [3] * 2 + [4] * 14 + [8] * 3, 4000, []
    quartiles = Quantiles.at([Fraction(k, 4) for k in (1, 2, 3)], 0, 9, Fraction(2))
    for far in (128.0, 1.0):
        monkeypatch.setattr(quantile, "FAR", far)
        entropy = Keyed(f"quartiles {far}")
        found.append([quartiles.release(values, entropy) for _ in range(draws)])
    for which in range(3):
        one, other = (np.bincount([each[which] for each in draw], minlength=10) for draw in found)
        assert (np.abs(one - other) <= 5 * np.sqrt(one + other + 1)).all()


def test_a_million_equal_values_far_from_the_rank_are_not_looked_at():
    """Of a million values in 74 heaps only those about the median are given places of their own."""
    drawn = []

    class Counted(Keyed):
        def bytes(self, count):
            drawn.append(count)
            return super().bytes(count)

    values = np.sort(np.arange(1_000_000) % 74)
    assert Quantiles.median(0, 73, Fraction(1, 12)).release(values, Counted("few")) in ((36,), (37,))
    assert sum(drawn) < 4 * 4 * 1_000_000 / 74 + 1000


@pytest.mark.parametrize(("make", "expected"), [(Quantiles.least, 100), (Quantiles.greatest, 900)])
def test_extremes_stay_just_inside(make, expected):
    values = [100 + 8 * (i % 101) for i in range(2000)]
    found = make(-10_000, 10_000, Fraction(1)).release(values, Keyed("extremes"))[0]
    assert abs(found - expected) < 25


@pytest.mark.parametrize("values", [[], [0], [9], [-(10**9), 10**9]])
def test_few_or_wild_values_answer_within_the_bounds(values):
    for found in Quantiles.at(DECILES, 0, 9, Fraction(1)).release(values, Keyed("few")):
        assert 0 <= found <= 9


def test_epsilon_is_for_each_value_of_a_person():
    """[KSS22, Lemma 3.1]"""
    mechanism = Quantiles.at(DECILES, 0, 9, Fraction(1, 2))
    assert mechanism.pure(ONE) == Fraction(1, 2)
    assert mechanism.pure(Sensitivity.of(1, numbers=3)) == Fraction(3, 2)
    assert mechanism.rho(ONE) == Fraction(1, 32) * (Fraction(1, 4) + Fraction(1, 16) * 2)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Quantiles.median(5, 5, Fraction(1)), "low before high"),
        (lambda: Quantiles.median(9, 0, Fraction(1)), "low before high"),
        (lambda: Quantiles.median(0, 2**60, Fraction(1)), "coarser"),
        (lambda: Quantiles.median(0, 9, Fraction(0)), "above 0"),
        (lambda: Quantiles.at([], 0, 9, Fraction(1)), "no quantile"),
        (lambda: Quantiles.at([Fraction(2)], 0, 9, Fraction(1)), "between 0 and 1"),
        (lambda: Quantiles.at([Fraction(1, 2), Fraction(1, 4)], 0, 9, Fraction(1)), "in order"),
    ],
)
def test_bad_requests_are_refused(make, says):
    with pytest.raises(BadParameter, match=says):
        make()


def test_ranks_stay_within_the_interval():
    mechanism, entropy, values = (
        Quantiles.at(DECILES, 0, 9999, Fraction(2)),
        Keyed("interval"),
        np.arange(0, 10_000, 5),
    )
    for _ in range(50):
        found = values.searchsorted(mechanism.release(values, entropy))
        assert np.abs(found - np.arange(200, 2000, 200)).max() <= mechanism.interval(0.9)
