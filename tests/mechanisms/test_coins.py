"""Coins and dice have exactly their chances, whatever bits they start from."""

from collections import Counter
from fractions import Fraction
from math import exp

import numpy as np
import pytest

from obverse.mechanisms.coins import against, coins, dice, exactly, odds
from obverse.noise.entropy import Keyed


@pytest.mark.parametrize("bits", [8, 16, 40, 200])
@pytest.mark.parametrize(("epsilon", "others"), [(Fraction(1), 1), (Fraction(1, 100), 63), (Fraction(30), 5)])
def test_chances_are_enclosed(bits, epsilon, others):
    low, high = odds(epsilon, others)(bits)
    true = 1 / (1 + others * exp(-epsilon))
    assert low <= true * 2.0**bits * (1 + 1e-12) and high >= true * 2.0**bits * (1 - 1e-12)
    assert high - low <= 3
    assert against(odds(epsilon, others))(bits) == (2**bits - high, 2**bits - low)


@pytest.mark.parametrize("first", [8, 16])
@pytest.mark.parametrize(
    "chance", [odds(Fraction(1), 1), exactly(Fraction(1, 3)), against(odds(Fraction(6), 3))]
)
def test_coins_fall_as_often_as_they_say(first, chance):
    """At five standard errors; a third is undecided by any 8 bits, so one coin in 256 is looked at again."""
    draws = 200_000
    p = chance(60)[0] * 2.0**-60
    heads = coins(chance, draws, Keyed(f"coins {first}"), first=first).sum()
    assert abs(heads - draws * p) < 5 * (draws * p * (1 - p)) ** 0.5


def test_a_tie_is_settled_by_more_bits_of_the_same_coin():
    class Tied(Keyed):
        taken = 0

        def bytes(self, count):
            self.taken += 1
            return {1: b"\x55", 2: b"\x55" * 4}[self.taken]

        def bits(self, count):
            return self.last

    for last, up in ((0, True), (2**64 - 1, False)):
        entropy = Tied("tie")
        entropy.last = last
        assert coins(exactly(Fraction(1, 3)), 1, entropy, first=8).tolist() == [up]


def test_dice_are_even():
    draws = 60_000
    rolled = Counter(dice(6, draws, Keyed("dice")).tolist())
    assert set(rolled) == set(range(6))
    assert max(abs(count - draws / 6) for count in rolled.values()) < 5 * (draws * 5 / 36) ** 0.5
    assert (dice(1, 10, Keyed("one")) == np.zeros(10)).all()
