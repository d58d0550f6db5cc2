"""A holdout stays honest however often it is asked: the story of [DFHPRR15, Section 4], in small."""

from fractions import Fraction

import numpy as np
import pytest

from obverse.errors import BadParameter
from obverse.noise.entropy import Keyed
from obverse.validate.holdout import Holdout


def pieces(rows, columns, key):
    """Rows of ±1 with a label of ±1, all by chance: nothing can be learned."""
    drawn = (
        np.frombuffer(Keyed(key).bytes(rows * (columns + 1)), np.uint8).reshape(rows, -1).astype(int) % 2 * 2
        - 1
    )
    return [tuple(row) for row in drawn.tolist()]


def test_choosing_what_fits_best_does_not_fool_the_holdout():
    """Of 200 columns without meaning the 40 that fit best make a rule: 65 % right on the part that was seen and on a
    holdout that was looked at, and about half on one that was asked through Thresholdout."""
    seen, held = pieces(600, 200, "seen"), pieces(600, 200, "held")
    holdout = Holdout(
        seen, held, threshold=Fraction(1, 10), noise=Fraction(1, 500), hits=10, entropy=Keyed("ask")
    )
    scores = [holdout.mean(lambda row, c=c: row[c] == row[-1]) for c in range(200)]
    chosen = sorted(range(200), key=lambda c: -abs(scores[c] - 0.5))[:40]

    def right(row):
        return float(sum(row[c] * (1 if scores[c] > 0.5 else -1) for c in chosen) * row[-1] > 0)

    assert np.mean([right(row) for row in seen]) > 0.6
    assert abs(holdout.mean(right) - 0.5) < 0.1


def test_what_it_costs_falls_with_the_size_of_the_holdout():
    rows = [0.0, 1.0] * 500
    holdout = Holdout(
        rows, rows, threshold=Fraction(1, 10), noise=Fraction(1, 100), hits=5, entropy=Keyed("cost")
    )
    assert holdout.loss.epsilon() == 2 * 5 / (0.01 * 1000)
    assert holdout.left == 5


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -5.0, 1e300])
def test_a_wild_function_moves_no_more_than_a_row(value):
    holdout = Holdout(
        [1.0], [1.0] * 9, threshold=Fraction(1, 10), noise=Fraction(1, 100), hits=5, entropy=Keyed("wild")
    )
    assert -3 <= holdout.mean(lambda row: value) <= 4


def test_an_empty_part_is_refused():
    with pytest.raises(BadParameter):
        Holdout([], [1], threshold=Fraction(1), noise=Fraction(1), hits=1, entropy=Keyed("bad"))
