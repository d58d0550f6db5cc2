"""Numbers between two ends, computed with as one number: how far noise may have moved what is made of noisy totals."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import inf, isinf

from obverse.data.schema import Category

Number = Fraction | float
Single = Category | Fraction | float | None
Scalar = Single | tuple[Single, ...]


@dataclass(frozen=True)
class Range:
    """All the numbers between two ends, as a number that can be computed with."""

    low: Number
    high: Number

    def __add__(self, other: Range) -> Range:
        return Range(self.low + other.low, self.high + other.high)

    def __sub__(self, other: Range) -> Range:
        return Range(self.low - other.high, self.high - other.low)

    def __neg__(self) -> Range:
        return Range(-self.high, -self.low)

    def __mul__(self, other: Range) -> Range:
        corners = [_product(x, y) for x in (self.low, self.high) for y in (other.low, other.high)]
        return Range(min(corners), max(corners))

    def __truediv__(self, other: Range) -> Range:
        if other.low <= 0 <= other.high:
            return Range(-inf, inf)
        return self * Range(_inverse(other.high), _inverse(other.low))

    def __abs__(self) -> Range:
        return Range(max(self.low, -self.high, Fraction(0)), max(-self.low, self.high))

    def squared(self) -> Range:
        """x², which is not x·y: it is nowhere below 0."""
        size = abs(self)
        return Range(_product(size.low, size.low), _product(size.high, size.high))

    def within(self, low: Fraction, high: Fraction) -> Range:
        """Cut to low … high."""
        return Range(min(max(self.low, low), high), max(min(self.high, high), low))

    def rounded(self, half: Fraction) -> Range:
        """Wide enough for what rounding may move."""
        return Range(self.low - half, self.high + half)


def _product(x: Number, y: Number) -> Number:
    return Fraction(0) if x == 0 or y == 0 else x * y


def _inverse(x: Number) -> Number:
    return Fraction(0) if isinstance(x, float) and isinf(x) else 1 / Fraction(x)
