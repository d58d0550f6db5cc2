"""After secondary suppression no sum narrows a confidential cell below what it was promised."""

import numpy as np
import pytest
from tests.tables.made import flat, laddered, seen, skewed, small_cells

from obverse.errors import Withheld
from obverse.tables.audit import ranges
from obverse.tables.pattern import Check
from obverse.tables.suppress import suppress, tidy

TABLES = {
    "2-D": (flat(20, 30), 1),
    "ladders": (laddered(32, 8), 2),
    "3-D": (flat(6, 5, 6), 3),
    "one row": (flat(12), 4),
}


@pytest.mark.parametrize("dimensions, seed", TABLES.values(), ids=TABLES)
def test_the_audit_recovers_nothing(dimensions, seed):
    pattern = small_cells(dimensions, skewed(dimensions, seed), 3)
    hidden = suppress(pattern)
    low, high = ranges(seen(pattern, hidden))
    assert pattern.primary.any() and not (hidden & pattern.fixed).any()
    assert (low[pattern.primary] == 0).all() and (high[pattern.primary] >= 3).all()
    assert (low < high)[hidden].all()


def test_without_it_the_audit_recovers_cells():
    pattern = small_cells(flat(20, 30), skewed(flat(20, 30), 1), 3)
    low, high = ranges(seen(pattern, pattern.primary))
    assert (low == high)[pattern.primary].any()


def test_no_hidden_cell_could_be_shown_again():
    pattern = small_cells(laddered(16, 8), skewed(laddered(16, 8), 5), 3)
    hidden = suppress(pattern)
    for cell in np.flatnonzero(hidden & ~pattern.primary):
        shown = hidden.copy()
        shown[cell] = False
        assert Check(pattern, shown).gaps()
    assert (tidy(pattern, hidden) == hidden).all()


def test_the_fewest_cells_are_hidden_where_one_can_tell():
    """In a row of one small cell, one more has to go; which one, the weights say."""
    pattern = small_cells(flat(4), np.array([2.0, 9, 9, 9, 29]), 3)
    assert suppress(pattern).sum() == 2
    pattern.weight[:] = [1, 5, 2, 5, 9]
    assert np.flatnonzero(suppress(pattern)).tolist() == [0, 2]


def test_what_cannot_be_protected_is_withheld():
    """Everything else was published before."""
    pattern = small_cells(flat(3), np.array([2.0, 9, 9, 20]), 3)
    pattern.fixed[1:] = True
    with pytest.raises(Withheld):
        suppress(pattern)


def test_the_same_table_gives_the_same_cells():
    pattern = small_cells(flat(20, 30), skewed(flat(20, 30), 1), 3)
    assert (suppress(pattern) == suppress(pattern)).all()
