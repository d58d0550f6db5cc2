"""Floats only ever save time: where they might be wrong, the same uniform number is given more digits."""

from collections import Counter
from fractions import Fraction
from math import exp, isinf

import numpy as np
import pytest

from obverse.mechanisms import lazily
from obverse.noise.entropy import Keyed
from obverse.noise.exact import exp_bounds


def test_the_library_stays_within_the_margin():
    """NumPy's exp of a float product, beside rigorous bounds of the exact one: never further off than MARGIN/2."""
    bits, entropy = 1200, Keyed("libm")
    gaps = np.array([entropy.bits(1 + i % 40) for i in range(400)], np.uint64)
    for rate in (Fraction(1, 3), Fraction(7, 10**6), Fraction(1, 10**10), Fraction(5)):
        near = np.exp(gaps * -float(rate))
        for gap, value in zip(gaps.tolist(), near.tolist(), strict=True):
            low, high = exp_bounds(gap * rate, bits)
            error = max(abs(Fraction(value) * 2**bits - low), abs(Fraction(value) * 2**bits - high))
            assert error <= Fraction(lazily.MARGIN) / 2 * high + Fraction(lazily.TINY) * 2**bits


def test_the_exact_choice_has_the_same_law_as_the_fast_one():
    """The fallback alone, at five standard errors; it is almost never reached otherwise."""
    gaps, sizes, rate = [3, 0, 1, 7], [5, 1, 0, 900], Fraction(1, 2)
    weights = [size * exp(-gap / 2) for gap, size in zip(gaps, sizes, strict=True)]
    entropy, draws, found = Keyed("exact"), 2000, Counter()
    for _ in range(draws):
        found[lazily._choose_exactly(gaps, sizes, rate, entropy.bits(64), entropy)] += 1
    for place, weight in enumerate(weights):
        chance = weight / sum(weights)
        assert abs(found[place] - draws * chance) <= 5 * (draws * chance * (1 - chance)) ** 0.5


class Fixed(Keyed):
    """A source whose first bytes are given; the rest follow from a key."""

    def __init__(self, first: bytes) -> None:
        super().__init__("after")
        self._spare = first


@pytest.mark.parametrize("first", [0, 2**63 - 1, 2**63, 2**64 - 1])
def test_a_uniform_at_the_line_is_given_more_digits(first):
    """Two equal weights meet at ½: next to it the float is not believed, and the choice is still one of the two."""
    place = lazily.choose(np.zeros(2, np.uint64), Fraction(1), Fixed(first.to_bytes(8, "little")))
    assert place == (first >= 2**63)


def test_gaps_are_exact_where_floats_and_64_bits_are_not():
    gaps = lazily.gaps_below_best(np.array([-(2**63), 2**63 - 1, 2**63 - 2]))
    assert gaps.tolist() == [2**64 - 1, 0, 1]
    assert not isinf(float(gaps[0]))
