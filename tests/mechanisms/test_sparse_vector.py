"""The sparse vector keeps its ε, stops after its hits, and is none of the four broken ones."""

from fractions import Fraction

import numpy as np
import pytest

from obverse.errors import BadParameter, Withheld
from obverse.loss.loss import Sensitivity
from obverse.mechanisms.score import Score
from obverse.mechanisms.sparse_vector import SparseVector, Watching
from obverse.noise.entropy import Keyed

ONE = Sensitivity.of(1)
COUNTS, GENERAL = Score.count("add-remove"), Score.count("replace-one")
CASES = [
    (SparseVector.at(Fraction(1), GENERAL, threshold=0, hits=1), (0, 0, 0, 1), (1, 1, 1, 0), ONE),
    (SparseVector.at(Fraction(1), COUNTS, threshold=0, hits=2), (0, 0, 0), (1, 1, 1), ONE),
]
CLAIMED = CASES[0][0]
PLANTED = [
    (SparseVector(0, 1, Fraction(1, 9), Fraction(1, 9)), CLAIMED, (-1, -1), (0, 0), ONE),
    # [LSL17, Algorithm 5]: no noise on the answers, nearly, and [Algorithm 6]: noise that hits do not widen
    (SparseVector(0, 1, Fraction(2), Fraction(1, 100)), CLAIMED, (0, 1), (1, 0), ONE),
    (
        SparseVector(0, 6, Fraction(1), Fraction(1, 3)),
        SparseVector.at(Fraction(1), GENERAL, threshold=0, hits=6),
        (-1, 0) * 3,
        (0, -1) * 3,
        ONE,
    ),
]


def test_epsilon_is_shared_as_stated():
    """[LSL17, Theorems 4 and 5, and Equation 12]"""
    for score in (COUNTS, GENERAL):
        vector = SparseVector.at(Fraction(1), score, threshold=5, hits=4)
        assert vector.pure(ONE) == 1
    assert SparseVector(0, 3, Fraction(2), Fraction(6)).pure(ONE) == Fraction(1, 2) + 1
    assert SparseVector(0, 3, Fraction(2), Fraction(6), one_way=True).pure(ONE) == Fraction(1, 2) + Fraction(
        1, 2
    )


def test_the_stated_share_is_about_the_best():
    """The comparison's variance, 2·(threshold_scale² + answer_scale²), is least near the ratio of [LSL17, Equation 12]."""
    vector = SparseVector.at(Fraction(1), GENERAL, threshold=0, hits=5)
    spread = vector.threshold_scale**2 + vector.answer_scale**2
    for share in np.linspace(0.02, 0.9, 80):
        assert spread <= (1 / share) ** 2 + (10 / (1 - share)) ** 2 + 1e-6


def test_nothing_is_said_after_the_last_hit():
    vector = Watching(SparseVector.at(Fraction(50), COUNTS, threshold=50, hits=1), Keyed("hits"))
    assert not vector.above(0) and vector.above(100)
    with pytest.raises(Withheld):
        vector.above(0)


def test_clear_answers_are_told_apart():
    vector = SparseVector.at(Fraction(10), COUNTS, threshold=500, hits=2)
    assert vector.release([0, 1000, 0, 0, 1000, 1000], Keyed("clear")) == (False, True, False, False, True)


@pytest.mark.parametrize(
    "make",
    [
        lambda: SparseVector(0, 0, Fraction(1), Fraction(1)),
        lambda: SparseVector(0, 1, 0, 1),
        lambda: SparseVector(0, 1, 1, float("nan")),
    ],
)
def test_bad_vectors_are_refused(make):
    with pytest.raises(BadParameter):
        make()


def test_clear_answers_are_all_told_right_as_often_as_stated():
    vector, entropy = SparseVector.at(Fraction(1), COUNTS, threshold=0, hits=1), Keyed("interval")
    far = vector.interval(0.9, 10)
    right = [
        vector.release((-far - 1,) * 9 + (far + 1,), entropy) == (False,) * 9 + (True,) for _ in range(400)
    ]
    assert np.mean(right) > 0.9
