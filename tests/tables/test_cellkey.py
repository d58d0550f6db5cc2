"""The cell key's noise has the mean, variance and reach it states, and is no more private than it says."""

from fractions import Fraction
from math import exp

import numpy as np
import pytest
from tests.tables.made import flat, summed
from tests.tables.test_rounding import rounded

from obverse.errors import BadParameter
from obverse.release import Terms
from obverse.tables.cellkey import KEYS, CellKey
from obverse.tables.protect import Shape

CASES = [CellKey(), CellKey(Fraction(1), 3, 0), CellKey(Fraction(5), 8, 2), CellKey(Fraction(1, 2), 2, 1)]


@pytest.mark.parametrize("method", CASES, ids=str)
def test_the_table_has_mean_0_and_the_stated_variance(method):
    steps = np.arange(-method.most, method.most + 1)
    for count, keys in enumerate(method.table):
        assert keys.sum() == KEYS and (keys >= 0).all()
        law = keys / KEYS
        assert abs(law @ steps) < 1e-6
        after = count + steps[keys > 0]
        assert (after >= 0).all() and not ((after >= 1) & (after <= method.smallest)).any()
    assert (method.table[-1] / KEYS) @ steps**2 == pytest.approx(float(method.variance), abs=1e-6)
    assert (method.table[0] > 0).sum() == 1


@pytest.mark.parametrize("method", CASES, ids=str)
def test_large_counts_get_the_law_of_most_entropy(method):
    """Its logarithm is a parabola."""
    logs = np.log(method.table[-1] / KEYS)
    third = np.diff(logs, 3)
    assert np.abs(third[np.isfinite(third)]).max() < 1e-3


@pytest.mark.parametrize("method", CASES, ids=str)
def test_delta_is_that_of_the_worst_event(method):
    """Every set of outcomes of neighbouring counts obeys P ≤ exp(ε)·Q + δ, and one meets it."""
    for epsilon in (0.5, 1.0, 2.0):
        worst = 0.0
        for count in range(method.most + method.smallest + 4):
            a, b = (
                {
                    n + d - method.most: k / KEYS
                    for d, k in enumerate(method.table[min(n, len(method.table) - 1)])
                }
                for n in (count, count + 1)
            )
            for p, q in ((a, b), (b, a)):
                worst = max(worst, sum(max(p[x] - exp(epsilon) * q.get(x, 0), 0) for x in p))
        assert method.delta(epsilon) == pytest.approx(worst, abs=1e-12)
    assert method.delta(0.1) >= method.delta(2) >= method.delta(2, 10) >= method.delta(700, 10) > 0


def test_the_noise_follows_the_table():
    """Frequencies over 4,000 keys, at five standard errors."""
    method, dimensions = CellKey(), flat(3)
    table = summed(dimensions, np.array([0.0, 1, 20]))
    drawn = np.array([rounded(method, dimensions, table, seed) for seed in range(4000)])
    assert (drawn[:, 0] == 0).all() and set(drawn[:, 1]) == {0, 3}
    steps = drawn[:, 2] - 20
    law = method.table[-1] / KEYS
    for step, chance in zip(range(-5, 6), law, strict=True):
        assert abs((steps == step).mean() - chance) <= 5 * np.sqrt(chance * (1 - chance) / 4000) + 1e-4


@pytest.mark.parametrize("bad", [CellKey(Fraction(0)), CellKey(Fraction(26), 5), CellKey(Fraction(2), 5, 5)])
def test_what_is_no_perturbation_is_refused(bad):
    with pytest.raises(BadParameter):
        bad.settled(Shape(None, flat(2), (("d0",),)), Terms())
