"""Ranges over many cells: the same least squares as the matrices', in linear time."""

from fractions import Fraction

import numpy as np
import pytest

from obverse.errors import BadParameter
from obverse.loss.loss import Sensitivity
from obverse.mechanisms.long_ranges import LongRanges, _least_squares, _sizes
from obverse.mechanisms.strategy import STEP, hat
from obverse.noise.entropy import Keyed

ONE = Sensitivity.of(1)
E = Fraction(1)
CASES = [(LongRanges(46, E), (0,) * 46, (1,) + (0,) * 45, ONE)]
PLANTED = [(LongRanges(46, 6 * E), LongRanges(46, E), (0,) * 46, (1,) + (0,) * 45, ONE)]


def feature(output):
    return float(output[0])


def levels(size):
    made = [np.eye(size)]
    for count in _sizes(size)[:-1]:
        made.append(hat(count, STEP) / STEP @ made[-1])
    return made


@pytest.mark.parametrize("size", [46, 300, 977, 1000])
def test_least_squares_by_levels_is_least_squares(size):
    """[LHMMR10, Definition 7], against the normal equations."""
    variances = tuple(2.0 + level for level in range(len(_sizes(size))))
    entropy = Keyed("levels")
    measured = [np.frombuffer(entropy.bytes(len(level)), np.uint8).astype(float) for level in levels(size)]
    squares = sum(level.T @ level / variance for level, variance in zip(levels(size), variances, strict=True))
    sums = sum(
        level.T @ mine / variance
        for level, mine, variance in zip(levels(size), measured, variances, strict=True)
    )
    assert _least_squares(measured, variances) == pytest.approx(np.linalg.solve(squares, sums), abs=1e-9)


def test_one_person_moves_each_level_by_one():
    """Every hat's weights sum to 1 over its level, so that the shares sum to ε."""
    for level in levels(1000):
        assert level.sum(0) == pytest.approx(np.ones(1000))
    assert sum(LongRanges(1000, E).shares) == E


def test_errors_are_as_small_as_the_issue_asks():
    """65,536 cells at ε = 1: average variance at most 520 (OpenDP 896), over 300 ranges and 6 releases."""
    mechanism, entropy, size = LongRanges(65_536, E), Keyed("long"), 65_536
    cells = np.arange(size) % 50
    edges = np.sort(np.frombuffer(entropy.bytes(2400), np.uint32).reshape(-1, 2) % (size + 1), axis=1).astype(
        int
    )
    true, squares = np.append(0, cells.cumsum()), []
    for _ in range(6):
        found = np.append(0, mechanism.release(cells, entropy).cumsum())
        squares.append((found[edges] - true[edges]) @ [-1, 1])
    assert np.mean(np.square(squares)) < 560  # five standard errors above 490


@pytest.mark.parametrize(
    "make",
    [
        lambda: LongRanges(45, E),
        lambda: LongRanges(2**25, E),
        lambda: LongRanges(100, 0),
        lambda: LongRanges(100, E).release([1, 2], Keyed("bad")),
    ],
)
def test_bad_ranges_are_refused(make):
    with pytest.raises(BadParameter):
        make()


def test_errors_have_the_variance_stated():
    mechanism, entropy, cells = LongRanges(300, E), Keyed("variance"), np.arange(300)
    off = [mechanism.release(cells, entropy)[40:200].sum() - cells[40:200].sum() for _ in range(600)]
    assert np.var(off) == pytest.approx(mechanism.variance(40, 200), rel=0.25)
    middle = [mechanism.release(cells, entropy)[75:225].sum() - cells[75:225].sum() for _ in range(400)]
    assert np.mean(np.abs(middle) <= mechanism.interval(0.9)) == pytest.approx(0.9, abs=0.06)
