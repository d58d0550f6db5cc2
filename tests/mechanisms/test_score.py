"""The factor 2 comes from what is counted and which tables are neighbours, not from a flag."""

from fractions import Fraction

import pytest

from obverse.data.schema import Neighbours
from obverse.errors import BadParameter
from obverse.mechanisms.score import Score


def test_counts_move_one_way_when_people_come_or_go():
    """[DR14, Remark 3.1]: another row raises every count or leaves it, so weight exp(εu/Δ) is enough."""
    assert Score.count(Neighbours.ADD_REMOVE.value).rate(Fraction(1)) == 1
    assert Score.count(Neighbours.ADD_REMOVE.value, most=4).rate(Fraction(1)) == Fraction(1, 4)


def test_counts_move_both_ways_when_people_are_replaced():
    """One count falls, another rises: exp(εu/(2Δ))."""
    assert Score.count(Neighbours.REPLACE.value).rate(Fraction(1)) == Fraction(1, 2)


def test_any_other_score_moves_both_ways():
    assert Score(Fraction(3)).rate(Fraction(1)) == Fraction(1, 6)


def test_a_score_that_cannot_move_is_refused():
    with pytest.raises(BadParameter):
        Score(Fraction(0))
