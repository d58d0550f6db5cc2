"""Cells as intervals: what a generalised cell allows is what a person's own value may be."""

import datetime

import numpy as np
import pyarrow as pa
import pytest

from obverse.attack.mixed import encode, shared
from obverse.errors import BadSource

PEOPLE = pa.table({"age": [20, 35, 60], "place": ["Rome", "Oslo", "Lima"]})


def _allows(cell, column, ladder=()):
    """Which of the three people a released cell allows."""
    release = pa.table({column: [cell]})
    boxes, people = encode([release, PEOPLE], [column], {column: ladder})
    inside = (boxes.low <= people.low) & (people.low <= boxes.high)
    return inside[:, 0].tolist()


@pytest.mark.parametrize(
    ("cell", "allowed"),
    [
        ("*", [True, True, True]),
        ("20-35", [True, True, False]),
        ("[20, 35)", [True, False, False]),
        ("(20,35]", [False, True, False]),
        ("20 .. 35", [True, True, False]),
        ("<36", [True, True, False]),
        (">= 35", [False, True, True]),
        ("60+", [False, False, True]),
        ("35", [False, True, False]),
    ],
)
def test_a_number_cell_allows_what_it_says(cell, allowed):
    assert _allows(cell, "age") == allowed


def test_a_label_allows_what_lies_below_it():
    ladder = [("Rome", "Europe", "*"), ("Lima", "America", "*"), ("Oslo", "Europe", "*")]
    assert _allows("Europe", "place", ladder) == [True, True, False]
    assert _allows("America", "place", ladder) == [False, False, True]
    assert _allows("*", "place", ladder) == [True, True, True]
    assert _allows("Paris", "place", ladder) == [False, False, False]


def test_a_set_allows_its_members():
    assert _allows("{Lima, Oslo}", "place") == [False, True, True]


def test_sets_that_nest_leave_no_others_between_their_members():
    """{Lima, Rome} does not allow Oslo, though Oslo lies between them in the alphabet."""
    release = pa.table({"place": ["{Lima, Rome}", "{Lima, Rome, Oslo}"]})
    boxes, people = encode([release, PEOPLE], ["place"])
    inside = (boxes.low <= people.low.T) & (boxes.high >= people.low.T)
    assert inside.tolist() == [[True, False, True], [True, True, True]]


def test_intervals_are_numbers_where_they_stand_alone():
    """And months are not: 2020-01 would be an interval that ends before it begins."""
    spans, months = pa.table({"x": ["10-19", "5", "*"]}), pa.table({"x": ["2020-01", "2020-02"]})
    assert encode([spans], ["x"])[0].low[0, 0] < encode([spans], ["x"])[0].high[0, 0]
    assert encode([months], ["x"])[0].exact


def test_missing_is_like_missing_and_unlike_all_else():
    table = pa.table({"age": pa.array([None, None, 5]), "place": ["a", None, "a"]})
    (boxes,) = encode([table], ["age", "place"])
    assert boxes.low[0, 0] == boxes.low[1, 0] and abs(boxes.low[0, 0] - boxes.low[2, 0]) >= 1
    assert abs(boxes.low[1, 1] - boxes.low[0, 1]) >= 1


def test_dates_and_truths_have_a_place():
    table = pa.table({"when": [datetime.date(2020, 1, 1), datetime.date(2022, 1, 1)], "ill": [True, False]})
    (boxes,) = encode([table], ["when", "ill"])
    assert np.array_equal(boxes.low[:, 0], [0, 1]) and boxes.low[0, 1] != boxes.low[1, 1]


def test_tables_that_do_not_fit_are_refused_without_quoting_a_row():
    with pytest.raises(BadSource, match="shares no column"):
        shared(PEOPLE, pa.table({"x": [1]}))
    with pytest.raises(BadSource, match="neither number nor interval") as refused:
        encode([PEOPLE, pa.table({"age": ["forty"]})], ["age"])
    assert "forty" not in str(refused.value)
