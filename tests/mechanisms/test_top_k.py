"""The best k keep their ε, and come out in order."""

from fractions import Fraction

import pytest

from obverse.errors import BadParameter
from obverse.loss.loss import Sensitivity
from obverse.mechanisms.score import Score
from obverse.mechanisms.top_k import TopK
from obverse.noise.entropy import Keyed

ONE = Sensitivity.of(1)
COUNTS, GENERAL = Score.count("add-remove"), Score.count("replace-one")
CASES = [
    (TopK.at(Fraction(1), COUNTS, 2), (3, 3, 3), (3, 4, 3), ONE),
    (TopK.at(Fraction(1), GENERAL, 2), (3, 4, 4), (4, 3, 3), ONE),
]
PLANTED = [
    (TopK(Fraction(2), 2), TopK(Fraction(1, 2), 2), (3, 4, 4), (4, 3, 3), ONE),
    (TopK(Fraction(1), 2), TopK.at(Fraction(1), GENERAL, 2), (3, 4, 4), (4, 3, 3), ONE),
]


def test_k_choices_cost_k_times_one():
    assert TopK(Fraction(1, 2), 3, one_way=True).pure(ONE) == Fraction(3, 2)
    assert TopK.at(Fraction(1), GENERAL, 5).loss(ONE).epsilon() == 1


def test_clear_winners_come_out_in_order():
    assert TopK.at(Fraction(3), COUNTS, 3).release([5, 900, 700, 0, 800], Keyed("clear")) == (1, 4, 2)


def test_all_may_be_chosen():
    assert sorted(TopK.at(Fraction(3), COUNTS, 3).release([5, 5, 5], Keyed("all"))) == [0, 1, 2]


@pytest.mark.parametrize(("scores", "count"), [([1, 2], 3), ([], 1)])
def test_no_more_than_there_are(scores, count):
    with pytest.raises(BadParameter):
        TopK(Fraction(1), count).release(scores, Keyed("bad"))


def test_the_best_none_is_refused():
    with pytest.raises(BadParameter, match="1 or more"):
        TopK(Fraction(1), 0)
