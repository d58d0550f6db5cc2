"""Every cell of the cube, from one query, is what counting by hand gives; whatever columns and values are called."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from obverse.errors import BadParameter
from obverse.tables.cube import KEY_BITS, Reading, read, shape
from obverse.tables.dimension import Dimension

ODD = "a-b \"x' ü.select"
ROWS = [
    ("1", "x", 7, 10.0),
    ("1", "x", 7, 20.0),
    ("2", "y'", 8, 30.0),
    ("3", None, 9, 40.0),
    (None, "x", 9, 50.0),
    ("1", "a,b", 10, 60.0),
    ("9", "x", 11, 5.0),
]


@pytest.fixture
def tables(memory):
    columns = zip(*ROWS, strict=True)
    return memory(t=pa.table(dict(zip((ODD, "group", "who", "m"), map(list, columns), strict=True))))


LADDER = Dimension.from_rungs(ODD, [("1", "low"), ("2", "low"), ("3", "high")])
OPEN = Dimension.from_rungs("group", [], closed=False)
OPEN_G = Dimension.from_rungs("g", [], closed=False)


def cell(totals, *labels):
    return tuple(d.node(label) for d, label in zip(totals.dimensions, labels, strict=True))


def test_counts_are_counts(tables):
    totals = read(Reading("t", (LADDER, OPEN)), tables)
    above = {
        "1": ("1", "low"),
        "2": ("2", "low"),
        "3": ("3", "high"),
        None: ("(missing)",),
        "9": ("(other)",),
    }
    expected = Counter(
        (up, across)
        for a, g, *_ in ROWS
        for up in (*above[a], "Total")
        for across in (g or "(missing)", "Total")
    )
    found = {
        (row, column): int(totals.rows[cell(totals, row, column)])
        for row in totals.dimensions[0].labels
        for column in totals.dimensions[1].labels
    }
    assert {labels: n for labels, n in found.items() if n} == expected


def test_contributors_are_people_and_the_largest_are_theirs(tables):
    totals = read(Reading("t", (LADDER,), measure="m", units=("who", None), top=2), tables)
    total, low = cell(totals, "Total"), cell(totals, "low")
    assert totals.value[total] == 215
    assert totals.contributors[:, *total].tolist() == [5, 7]
    assert totals.contributors[:, *low].tolist() == [3, 4]
    assert totals.largest[0][:, *total].tolist() == [90, 60]
    assert totals.largest[1][:, *low].tolist() == [60, 30]


def test_cell_keys_add_up_over_disjoint_people_and_follow_from_the_secret(tables):
    keys = read(Reading("t", (OPEN,), units=("who",), secret=b"s"), tables).keys
    again = read(Reading("t", (OPEN,), units=("who",), secret=b"s"), tables).keys
    other = read(Reading("t", (OPEN,), units=("who",), secret=b"t"), tables).keys
    assert (keys == again).all() and (keys != other).any()
    rows = read(Reading("t", (OPEN,), identity=("who", "m"), secret=b"s"), tables).keys
    assert rows[:-1].sum() % (1 << KEY_BITS) == rows[-1]


def test_an_empty_table_is_a_table_of_zeros(memory):
    empty = memory(t=pa.table({"g": pa.array([], pa.string())}))
    totals = read(Reading("t", (Dimension.from_rungs("g", [("a",)]),)), empty)
    assert np.array_equal(totals.rows, [0, 0, 0, 0])


def test_a_cube_that_would_not_fit_is_refused():
    wide = Dimension.from_rungs("n", [(str(n),) for n in range(3000)], closed=False)
    with pytest.raises(BadParameter, match="too large"):
        shape((wide, wide))


def test_rows_without_a_unit_are_one_contributor(memory):
    """They may all be one person's, and are never nobody's: a cell of one such row is a small cell."""
    rows = pa.table({"g": ["a", "a", "b", "b"], "who": [1, None, None, None], "m": [5.0, 1.0, 2.0, 3.0]})
    for measure, top in ((None, 0), ("m", 2)):
        totals = read(Reading("t", (OPEN_G,), measure, units=("who",), top=top), memory(t=rows))
        assert totals.contributors[0].tolist() == [2, 1, 0, 0, 2]


def test_a_row_without_an_amount_contributes_nothing(memory):
    """Two people without an income are no company for the one who has one."""
    rows = pa.table({"g": ["a"] * 3, "who": [1, 2, 2], "m": [500.0, None, None], "w": [1.0, 1.0, 1.0]})
    for unit in (None, "who"):
        reading = Reading("t", (OPEN_G,), "m", "w", units=(unit,), top=2)
        totals = read(reading, memory(t=rows))
        assert totals.contributors[0].tolist() == [1, 0, 0, 1] and totals.rows.tolist() == [3, 0, 0, 3]
        assert totals.largest[0][:, 0].tolist() == [500, 0]


def test_amounts_are_clamped_to_their_bounds(memory):
    rows = pa.table({"g": ["a"] * 5, "m": [-7.0, 7.0, 200.0, np.inf, None]})
    bounds = ((Fraction(1, 2), Fraction(100)), (None, None))
    totals = read(Reading("t", (OPEN_G,), "m", bounds=bounds, top=2), memory(t=rows))
    assert totals.value[0] == 0.5 + 7 + 100 + 100
