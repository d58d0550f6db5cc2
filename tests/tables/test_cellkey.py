"""The cell key's noise has the mean, variance and reach it states, and is no more private than it says."""

from fractions import Fraction
from math import exp

import numpy as np
import pytest
from tests.tables.made import flat, summed
from tests.tables.test_rounding import rounded

from obverse.data.schema import Neighbours, Schema, Unit
from obverse.errors import BadParameter
from obverse.release import Terms
from obverse.tables.cellkey import KEYS, CellKey
from obverse.tables.cube import scattered
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


def worst(laws, others, epsilon):
    """δ(ε) of two independent cells, over all pairs of outcomes."""
    one, other = (np.multiply.outer(*pair) for pair in (laws, others))
    return float(np.maximum(one - exp(epsilon) * other, 0).sum())


@pytest.mark.parametrize("method", CASES, ids=str)
def test_a_person_in_two_cells_is_as_private_as_the_guarantee_says(method):
    """Brute force: a cell and its margin, every two neighbouring counts, every pair of outcomes."""
    counts = range(2 * method.most + method.smallest + 4)
    laws = np.zeros((len(counts) + 1, len(counts) + method.most + 1))
    for count in range(len(laws)):
        row = method.table[min(count, len(method.table) - 1)] / KEYS
        for step in np.flatnonzero(row):
            laws[count, count + step - method.most] = row[step]
    found = 0.0
    for small in counts:
        for large in range(small + 1, len(counts)):
            before, after = (laws[small], laws[large]), (laws[small + 1], laws[large + 1])
            found = max(found, worst(before, after, 2.0), worst(after, before, 2.0))
    schema = Schema("people", "none", ())
    promised = dict(method.guarantee(Shape(schema, flat(9), (("d0",),))).terms)["all cells of a person"]
    assert promised.startswith("2, so δ up to") and found <= float(promised.split()[5])


def test_more_rows_of_a_person_are_less_private():
    """Brute force over up to three rows more or less in one cell; and all cells of them are counted."""
    method = CellKey(Fraction(8), 10)
    few, many = method.delta(1), method.delta(1, rows=3)
    law = method.table[-1] / KEYS
    shifted = np.concatenate([np.zeros(3), law]), np.concatenate([law, np.zeros(3)])
    assert many >= np.maximum(shifted[0] - exp(1) * shifted[1], 0).sum() and many > few
    schema = Schema("people", "none", (), Unit("id", 3), Neighbours.REPLACE)
    told = dict(method.guarantee(Shape(schema, flat(9), (("d0",),))).terms)
    assert told["all cells of a person of up to 3 rows"].startswith("12, ")
    untold = Schema("people", "none", (), Unit("id", told=False))
    assert "a person may have several" in str(method.guarantee(Shape(untold, flat(9), (("d0",),))))


def test_the_noise_of_two_cells_tells_nothing_of_that_of_their_sum():
    """Keys that are small have a small sum; scattered they are as good as any, at five standard errors."""
    keys = np.random.default_rng(1).integers(0, KEYS // 16, (2, 20_000))
    for drawn in scattered(np.array([*keys, keys.sum(axis=0) % KEYS]), b"secret") / KEYS:
        assert abs(drawn.mean() - 0.5) < 5 * np.sqrt(1 / 12 / 20_000)
    again = scattered(keys, b"secret")
    assert (again == scattered(keys, b"secret")).all() and (again != scattered(keys, b"other")).any()


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
