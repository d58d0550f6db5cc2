"""Sampling before k-anonymity has an ε; without enough of either it has not."""

from collections import Counter
from fractions import Fraction
from math import comb, exp

import pytest

from obverse.errors import BadParameter
from obverse.loss.loss import Sensitivity
from obverse.mechanisms.sampled_classes import SampledClasses, spill
from obverse.noise.entropy import Keyed

ONE = Sensitivity.of(1)
HALF = SampledClasses(Fraction(1, 2), 6, Fraction(1))
CASES = [(HALF, (0,) * 8 + (1,) * 3, (0,) * 7 + (1,) * 3, ONE)]
PLANTED = [
    (
        SampledClasses(Fraction(99, 100), 1, Fraction(5)),
        SampledClasses(Fraction(1, 10), 20, Fraction(1, 2)),
        (0,) * 3,
        (0,) * 2,
        ONE,
    )
]


def test_delta_is_no_less_than_the_exact_one():
    """[LQS12, Theorem 5]: worked out for every class size up to 60, in both directions."""
    share, least, epsilon = 0.4, 5, 0.8

    def law(n):
        shown = {j: comb(n, j) * share**j * (1 - share) ** (n - j) for j in range(least, n + 1)}
        return shown | {0: 1 - sum(shown.values())}

    worst = 0.0
    for n in range(60):
        a, b = law(n), law(n + 1)
        for p, q in ((a, b), (b, a)):
            worst = max(worst, sum(max(0.0, p.get(j, 0) - exp(epsilon) * q.get(j, 0)) for j in {*p, *q}))
    claimed = spill(least, Fraction(2, 5), epsilon)
    assert worst <= claimed <= 3 * worst + 0.1


def test_only_large_classes_show():
    kept = HALF.release((0,) * 40 + (1,) * 5, Keyed("k"))
    assert set(Counter(kept)) == {0} and Counter(kept)[0] >= 6


def test_a_share_needs_its_epsilon():
    with pytest.raises(BadParameter):
        SampledClasses(Fraction(1, 2), 5, Fraction(1, 2))
    assert spill(50, Fraction(1, 5), 1.0) < spill(20, Fraction(1, 5), 1.0) < spill(5, Fraction(1, 5), 1.0)
