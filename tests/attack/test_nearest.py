"""The nearest records are the nearest: held against every distance, computed."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from obverse.attack.nearest import Boxes, Nearest


def _all(points, low, high):
    gaps = np.maximum(0, np.maximum(low[None] - points[:, None], points[:, None] - high[None]))
    return np.minimum(1, gaps).sum(axis=2)


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**31), st.integers(1, 400), st.integers(1, 7), st.integers(1, 6), st.booleans())
def test_no_record_is_nearer_than_those_found(seed, rows, columns, count, wide):
    drawn = np.random.default_rng(seed)
    low = drawn.integers(0, 4, (rows, columns)).astype(np.float32) / drawn.choice([1, 7], columns).astype(
        np.float32
    )
    high = low + (drawn.random((rows, columns)) / 3).astype(np.float32) if wide else low
    points = low[drawn.integers(0, rows, 20)] + drawn.choice([0, 0.1], (20, columns)).astype(np.float32)
    distance, index = Nearest(Boxes(low, high)).search(points, count)
    every = _all(points, low, high)
    assert np.allclose(distance, np.sort(every, axis=1)[:, :count], atol=1e-5)
    assert np.allclose(np.take_along_axis(every, index, axis=1), distance, atol=1e-5)
    assert all(len(set(row)) == len(row) for row in index.tolist())


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**31), st.integers(1, 400), st.integers(1, 5), st.booleans())
def test_a_box_holds_as_many_records_as_are_counted_one_by_one(seed, rows, columns, wide):
    """Descriptions of some columns, exact or more extreme than a value, of exact records and of ranges."""
    drawn = np.random.default_rng(seed)
    low = drawn.integers(-2, 6, (rows, columns)).astype(np.float32)
    high = low + drawn.integers(0, 3, low.shape).astype(np.float32) if wide else low
    value, side = drawn.integers(-2, 6, (50, columns)).astype(np.float32), drawn.integers(0, 4, (50, columns))
    least, most = np.where(side % 2, value, -np.inf), np.where(side >= 2, value, np.inf)
    touched = (low[None] <= most[:, None]) & (least[:, None] <= high[None])
    counts = Nearest(Boxes(low, high)).holds(Boxes(least.astype(np.float32), most.astype(np.float32)))
    assert counts.tolist() == np.minimum(touched.all(axis=2).sum(axis=1), 2).tolist()


def test_a_box_that_holds_the_point_is_at_no_distance():
    low = np.array([[0.2, 1.0], [0.6, 1.0]], np.float32)
    high = np.array([[0.4, 2.0], [0.9, 1.0]], np.float32)
    distance, index = Nearest(Boxes(low, high)).search(np.array([[0.3, 2.0]], np.float32))
    assert distance[0, 0] == 0 and index[0, 0] == 0


@pytest.mark.parametrize("rows", [1, 2, 5000])
def test_equal_records_are_all_found(rows):
    """A thousand copies of one record cannot be cut apart, and need not be."""
    same = np.ones((rows, 3), np.float32)
    distance, index = Nearest(Boxes(same, same)).search(same[:1], 3)
    assert (distance == 0).all() and index.shape == (1, min(3, rows))


def test_wide_equal_boxes_are_not_cut_for_their_rounding():
    """Centres are compared, not ends one by one: 0.5063291 + 1 − 0.5063291 − 1 is not 0 in single precision."""
    low, high = np.full((200, 1), 0.5063291, np.float32), np.ones((200, 1), np.float32)
    assert (Nearest(Boxes(low, high)).search(np.ones((3, 1), np.float32))[0] == 0).all()
