"""The audit's range of a hidden cell is the range over all tables that agree with what is published."""

import itertools

import numpy as np
import pytest
from tests.tables.made import flat, laddered, seen, skewed, small_cells, summed

from obverse.tables.audit import ranges
from obverse.tables.published import COUNT, Fact, Published, knowledge


def enumerated(system, hidden):
    """Every whole table, by trying them all."""
    cells = np.flatnonzero(hidden)
    most = int(system.low[~hidden].max())
    low, high = np.full(len(hidden), np.inf), np.full(len(hidden), -np.inf)
    for values in itertools.product(range(most + 1), repeat=len(cells)):
        table = system.low.copy()
        table[cells] = values
        sums = np.add.reduceat(system.value * table[system.index], system.start[:-1])
        if ((sums >= system.least) & (sums <= system.most)).all():
            low, high = np.minimum(low, table), np.maximum(high, table)
    return low, high


@pytest.mark.parametrize("seed", range(6))
def test_ranges_are_those_of_all_tables(seed):
    dimensions = flat(3, 3)
    generator = np.random.default_rng(seed)
    table = summed(dimensions, generator.integers(0, 3, (3, 3)).astype(float)).ravel()
    hidden = np.zeros(len(table), bool)
    hidden[generator.choice([n for n in range(16) if n % 4 < 3 and n < 12], 4, replace=False)] = True
    system = small_cells(dimensions, table, 1).system.bounded(
        np.where(hidden, 0, table), np.where(hidden, np.inf, table)
    )
    low, high = ranges(system)
    true_low, true_high = enumerated(system, hidden)
    assert (low == true_low).all() and (high == true_high).all()


@pytest.mark.parametrize(
    "dimensions", [flat(12, 9), laddered(16, 8), flat(5, 6, 5)], ids=["2-D", "ladders", "3-D"]
)
def test_ranges_contain_the_truth_and_shrink_with_what_is_known(dimensions):
    pattern = small_cells(dimensions, skewed(dimensions, 3), 15)
    hidden = pattern.primary
    system = seen(pattern, hidden)
    low, high = ranges(system)
    assert (low <= pattern.truth).all() and (pattern.truth <= high).all()
    first = np.flatnonzero(hidden & (low < high))[0]
    told_low, told_high = system.low.copy(), system.high.copy()
    told_low[first] = told_high[first] = pattern.truth[first]
    closer_low, closer_high = ranges(system.bounded(told_low, told_high))
    assert (closer_low >= low).all() and (closer_high <= high).all()


def test_a_margin_gives_the_only_hidden_cell_away():
    dimensions = flat(3)
    system = small_cells(dimensions, np.array([1.0, 4, 5, 10]), 3).system
    hidden = np.array([True, False, False, False])
    low, high = ranges(
        system.bounded(np.where(hidden, 0, [1.0, 4, 5, 10]), np.where(hidden, np.inf, [1.0, 4, 5, 10]))
    )
    assert low[0] == high[0] == 1


def test_percentages_and_means_give_cells_away():
    """30 % of 10 people is 3 people; a mean of 33.3 among 30 … 40 with two people at the ends says how many there are."""
    dimensions = flat(2)
    total = Fact(((COUNT, ("Total",), 1.0),), 10, 10)
    share = [
        Fact(((COUNT, ("0",), 100.0), (COUNT, ("Total",), -29.5)), 0, np.inf),
        Fact(((COUNT, ("0",), 100.0), (COUNT, ("Total",), -30.5)), -np.inf, 0),
    ]
    known = knowledge(dimensions, (COUNT,), [Published(("d0",), (total, *share))])
    low, high = ranges(known.system)
    assert low.tolist() == high.tolist() == [3, 7, 10]
