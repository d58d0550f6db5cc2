"""What was learnt is expected in people, and the tail of it from how it fell before."""

from __future__ import annotations

from fractions import Fraction
from math import log

import numpy as np
import pytest

from obverse.data.learnt import Binned, Learnt, Sizes, given

SCALE = Fraction(10)


def binned(*counts: int) -> Binned:
    return Binned(0, (*counts, *[0] * (41 - len(counts))), SCALE, whole=True)


@pytest.mark.parametrize("count", [-40.0, 0.0, 3.0, 60.0])
@pytest.mark.parametrize("likely", [0.2, 2.0, 9.999999, 10.0, 400.0])
def test_what_to_expect_is_the_mean_of_what_the_noisy_number_leaves_likely(
    count: float, likely: float
) -> None:
    x = np.linspace(0, max(count, 0) + 400, 4_000_001)
    chance = np.exp(-x / likely - np.abs(count - x) / 10)
    assert given(count, likely, 10.0) == pytest.approx(float(x @ chance / chance.sum()), rel=1e-3)


def test_a_tail_falls_on_as_it_fell_and_a_sudden_end_is_an_end() -> None:
    falling = binned(*(round(20_000 * 0.4**k) for k in range(20)))
    assert sum(falling.expected[7:]) == pytest.approx(sum(20_000 * 0.4**k for k in range(7, 20)), rel=0.2)
    ended = binned(20_000, 20_000, 20_000)
    assert sum(ended.expected[3:]) < 30 and ended.beyond(8) < 300


def test_noise_alone_is_nobody_and_moves_no_sum() -> None:
    """41 numbers of Laplace noise: one of them stands out of it once in two thousand registrations."""
    noise = np.random.default_rng(5)
    for _ in range(200):
        counts = [round(x) for x in noise.laplace(0, 10, 41)]
        assert Binned(0, tuple(counts), SCALE, whole=True).expected == ()
        assert binned(*(5000 + counts[0], 3000 + counts[1])).total == pytest.approx(12_500, rel=0.1)


def test_robots_far_above_everybody_are_seen() -> None:
    counts = [3000, 2000, 500, *[0] * 12, 400, *[0] * 25]
    robots = Binned(0, tuple(counts), SCALE, whole=True)
    assert robots.beyond(2.0**14) == pytest.approx(400 * (2**15 / log(2) - 2**14), rel=0.1)


def test_it_survives_its_bytes() -> None:
    three = (Binned(-30, (1, -2, 3), Fraction(7, 3), whole=False),) * 3
    learnt = Learnt("t", "id", Fraction(1, 10), binned(4, 5), (Sizes("päy", *three),), "a version")
    assert Learnt.unpack(learnt.pack()) == learnt and Learnt.unpack(learnt.pack()).version == "a version"
    assert "a version" not in repr(learnt)
