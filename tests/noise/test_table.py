"""Draws from a table have exactly the law of the others."""

from fractions import Fraction
from math import exp

import numpy as np
import pytest

from obverse.noise.entropy import Keyed
from obverse.noise.table import MARGIN, UNSURE, _height, _settled, _tables, laplace

SCALES = [Fraction(1, 10), Fraction(1), Fraction(37, 10), Fraction(78)]


@pytest.mark.parametrize("scale", SCALES)
def test_exact_distribution(scale):
    """Counts against the formula at five standard errors, 400,000 draws; and the tails together."""
    draws, q = 400_000, exp(-1 / scale)
    found = laplace(scale, draws, Keyed(f"table {scale}"))
    for x in range(-5, 6):
        law = (1 - q) / (1 + q) * q ** abs(x)
        assert abs((found == x).sum() - draws * law) <= 5 * (draws * law * (1 - law)) ** 0.5
    far = int(4 * scale) + 1
    law = q**far * 2 / (1 + q)
    assert abs((np.abs(found) >= far).sum() - draws * law) <= 5 * (draws * law) ** 0.5 + 1


@pytest.mark.parametrize("scale", SCALES)
def test_every_cell_is_right_or_unsure(scale):
    """Against whole-number bounds of F: all of a decided cell gives its x, and the heights are within the margin."""
    table, heights = _tables(scale)
    middle, bits = heights.size // 2, 80
    for cell in [*range(0, 1 << 16, 997), (1 << 16) - 1]:
        x = int(table[cell])
        if x != UNSURE:
            assert _height(scale, x - 1, bits)[1] <= cell << bits - 16
            assert (cell + 1) << bits - 16 <= _height(scale, x, bits)[0]
    for x in range(-middle, middle + 1, max(1, middle // 50)):
        low, high = _height(scale, x, bits)
        assert low * 2.0**-bits - MARGIN / 4 <= heights[x + middle] <= high * 2.0**-bits + MARGIN / 4


@pytest.mark.parametrize("guess", [-40, 0, 3, 40])
def test_a_bad_guess_is_walked_from(guess):
    """Whole numbers decide alone, from wherever they start; the tails are reached too."""
    scale, entropy = Fraction(2), Keyed("walk")
    q = exp(-0.5)
    for known in (0, 1 << 20, 1 << 46, 1 << 47, (1 << 48) - 1):
        x = _settled(scale, known, guess, entropy)
        below = q ** (1 - x) / (1 + q) if x - 1 < 0 else 1 - q**x / (1 + q)
        upto = q**-x / (1 + q) if x < 0 else 1 - q ** (x + 1) / (1 + q)
        assert below * (1 - 1e-9) <= (known + 1) / 2**48 and known / 2**48 <= upto * (1 + 1e-9)


def test_a_tie_is_settled_by_more_bits_of_the_same_uniform():
    """U right at F(−1) for scale 2: one bit more decides between −1 and 0."""
    line = _height(Fraction(2), -1, 48)[0]

    class Fixed(Keyed):
        def bits(self, count):
            return self.rest

    for rest, x in ((0, -1), ((1 << 32) - 1, 0)):
        entropy = Fixed("tie")
        entropy.rest = rest
        assert _settled(Fraction(2), line, 0, entropy) == x
