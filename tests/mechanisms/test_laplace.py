"""The Laplace mechanism keeps its law and its ε."""

from fractions import Fraction

from obverse.loss.loss import Sensitivity
from obverse.mechanisms import Laplace

CASES = [(Laplace(Fraction(2)), 0, 1, Sensitivity.of(1))]
PLANTED = [(Laplace(Fraction(1)), Laplace(Fraction(2)), 0, 1, Sensitivity.of(1))]


def test_epsilon_is_sensitivity_over_scale():
    """[DR14, Theorem 3.6]"""
    assert Laplace(Fraction(2)).loss(Sensitivity.of(3)).epsilon() == 1.5
