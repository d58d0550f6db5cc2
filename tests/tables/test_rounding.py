"""Rounded tables are multiples of the base near the counts; controlled ones add up; random ones have no bias."""

import numpy as np
import pytest
from tests.tables.made import flat, laddered, skewed, summed

from obverse.errors import BadParameter
from obverse.noise.entropy import Keyed
from obverse.release import Terms
from obverse.tables.cube import KEY_BITS, Totals
from obverse.tables.equations import margins
from obverse.tables.protect import Shape
from obverse.tables.rounding import Round


def totals(dimensions, table, seed=1):
    keys = np.random.default_rng(seed).integers(0, 1 << KEY_BITS, table.shape)
    counts = table.astype(np.int64)
    return Totals(
        dimensions, counts, table, counts[None], np.zeros((1, 0)), keys, np.zeros_like(counts[None])
    )


def rounded(protection, dimensions, table, seed=1):
    shape = Shape(None, dimensions, (tuple(d.column for d in dimensions),))
    return protection.protect(shape, totals(dimensions, table, seed), Keyed("r")).value


@pytest.mark.parametrize("base", [3, 5, 10])
@pytest.mark.parametrize(
    "dimensions", [flat(20, 15), laddered(16, 8), flat(6, 5, 4)], ids=["2-D", "ladders", "3-D"]
)
def test_controlled_rounding_adds_up_and_stays_next_to_the_counts(dimensions, base):
    table = skewed(dimensions, 2)
    value = rounded(Round(base), dimensions, table)
    system = margins(dimensions)
    sums = np.bincount(system.row_of, system.value * value.ravel()[system.index])
    assert not sums.any() and not (value % base).any() and (value >= 0).all()
    further = np.abs(value - table) >= base
    assert further.sum() == 0 if len(dimensions) == 2 else further.mean() < 0.02
    assert (value == table)[table % base == 0].all() or len(dimensions) > 2


def test_random_rounding_has_no_bias():
    """The mean of 4,000 roundings of a count, at five standard errors."""
    dimensions = flat(4)
    table = summed(dimensions, np.array([1.0, 2, 3, 9]))
    drawn = np.array([rounded(Round(5, "random"), dimensions, table, seed) for seed in range(4000)])
    assert (np.abs(drawn.mean(axis=0) - table) < 5 * 2.5 / np.sqrt(4000)).all()
    assert (np.abs(drawn - table) < 5).all()


def test_the_same_people_are_rounded_the_same_way():
    dimensions = flat(4)
    table = summed(dimensions, np.array([1.0, 2, 3, 9]))
    once, again = (rounded(Round(5, "random"), dimensions, table, 7) for _ in range(2))
    assert (once == again).all()


def test_conventional_rounding_goes_to_the_nearest_and_warns():
    dimensions = flat(3)
    table = summed(dimensions, np.array([1.0, 4, 13]))
    assert rounded(Round(5, "conventional"), dimensions, table).tolist() == [0, 5, 15, 20]
    assert "may undo it" in str(Round(5, "conventional").guarantee(None))


@pytest.mark.parametrize("bad", [Round(1), Round(5, "up")])
def test_what_is_no_rounding_is_refused(bad):
    with pytest.raises(BadParameter):
        bad.settled(Shape(None, flat(2), (("d0",),)), Terms())


def test_amounts_are_not_rounded():
    with pytest.raises(BadParameter, match="counts of people"):
        Round().settled(Shape(None, flat(2), (("d0",),), measure="income"), Terms())
