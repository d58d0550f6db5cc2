"""Numbers as a user may write them, made exact or refused by name."""

from __future__ import annotations

from fractions import Fraction
from math import isfinite
from numbers import Rational

from obverse.errors import BadParameter

LARGEST = Fraction(2) ** 200
SMALLEST = 1 / LARGEST


def positive(value: object, what: str, largest: Fraction = LARGEST) -> Fraction:
    """The exact value of a number above 0.

    >>> positive(0.5, "ε")
    Fraction(1, 2)
    >>> positive(float("nan"), "ε")
    Traceback (most recent call last):
    obverse.errors.BadParameter: ε is a finite number above 0, not nan
    """
    exact = _exact(value)
    if exact is None or exact <= 0:
        raise BadParameter(f"{what} is a finite number above 0, not {_shown(value)}")
    if not SMALLEST <= exact <= largest:
        raise BadParameter(f"{what} is out of reach: {_shown(value)}")
    return exact


def chance(value: object, what: str, *, zero: bool = False) -> Fraction:
    """The exact value of a number above 0 (or from 0) and below 1."""
    exact = _exact(value)
    if exact is None or not (exact >= 0 if zero else exact > 0) or exact >= 1:
        least = "at least 0" if zero else "above 0"
        raise BadParameter(f"{what} is a number {least} and below 1, not {_shown(value)}")
    return exact


def _exact(value: object) -> Fraction | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, Rational):
        return Fraction(value)
    if isinstance(value, float) and isfinite(value):
        return Fraction(value)
    return None


def _shown(value: object) -> str:
    """Short enough for an error text, whatever was given."""
    if isinstance(value, Rational) and not isinstance(value, bool):
        size = abs(Fraction(value))
        if not SMALLEST <= size <= LARGEST and size:
            return "a number of hundreds of digits"
    text = repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= 40 else text[:37] + "…"
