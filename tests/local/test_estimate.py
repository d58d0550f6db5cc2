"""Estimates carry their errors."""

import numpy as np
import pytest

from obverse.local.estimate import Estimate, counts, mean


def test_a_margin_is_about_two_errors():
    assert Estimate(np.array([1.0]), np.array([2.0])).margin()[0] == pytest.approx(3.92, abs=0.01)


def test_counts_undo_the_chances():
    assert counts(np.array([0.75 * 30 + 0.25 * 70]), 100, 0.75, 0.25).values[0] == pytest.approx(30)


def test_one_report_has_no_error_to_show():
    assert mean(np.array([3.0])).errors[0] == float("inf")
