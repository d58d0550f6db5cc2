"""A share's interval is the exact one."""

import pytest
from scipy.stats import beta

from obverse.attack.interval import Rate, lower, upper

CASES = [(0, 1), (1, 1), (3, 7), (1, 1000), (999, 1000), (480_000, 480_189), (1, 10**6), (5 * 10**5, 10**6)]


@pytest.mark.parametrize(("right", "of"), CASES)
def test_clopper_pearson_interval_is_the_beta_quantile(right, of):
    """[CP34], against SciPy's inverse to eleven digits."""
    low = beta.ppf(0.025, right, of - right + 1) if right else 0
    high = beta.ppf(0.975, right + 1, of - right) if right < of else 1
    assert Rate(right, of).low == pytest.approx(low, rel=1e-11, abs=1e-15)
    assert Rate(right, of).high == pytest.approx(high, rel=1e-11)


def test_nothing_tried_is_nothing_known():
    assert (Rate(0, 0).share, Rate(0, 0).low, Rate(0, 0).high) == (0, 0, 1)


def test_one_sided_bounds_leave_the_doubt_asked_for():
    """All of n right: p ≥ doubt^(1/n), and none: p ≤ 1 − doubt^(1/n)."""
    assert lower(50, 50, 0.05) == pytest.approx(0.05 ** (1 / 50))
    assert upper(0, 50, 0.05) == pytest.approx(1 - 0.05 ** (1 / 50))
