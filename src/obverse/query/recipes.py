"""How an aggregate is made of noisy totals: a formula over their numbers, and over the ranges they lie in.

With m the middle of the bounds and z = x − m, the mean is m + Σz/n and the variance Σz²/n − (Σz/n)²: sums of centred
numbers have half the sensitivity or less, and lose no digits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf, isqrt
from typing import Protocol

from obverse.data.schema import Category
from obverse.query.ranges import Number, Range, Scalar

ONE, ZERO = Fraction(1), Fraction(0)
DIGITS = 2**40


class Recipe(Protocol):
    """What an aggregate comes to."""

    @property
    def note(self) -> str:
        """What the ± of its first total means."""
        ...

    @property
    def totals(self) -> tuple[int, ...]:
        """The places of the totals it needs, that of its own sum first."""
        ...

    def value(self, numbers: Sequence[Fraction]) -> Scalar:
        """From the numbers; NULL where they make no value."""
        ...

    def range(self, ranges: Sequence[Range]) -> Range:
        """From the ranges they lie in."""
        ...


@dataclass(frozen=True)
class Total:
    """A total as it is."""

    total: int
    note: str = ""

    @property
    def totals(self) -> tuple[int, ...]:
        return (self.total,)

    def value(self, numbers: Sequence[Fraction]) -> Fraction:
        return numbers[self.total]

    def range(self, ranges: Sequence[Range]) -> Range:
        return ranges[self.total]


@dataclass(frozen=True)
class Value:
    """A value found by its rank, within the bounds, or several; of how far off they are only the rank is known."""

    totals: tuple[int, ...]
    low: Fraction
    high: Fraction
    listed: bool = False
    note: str = "ranks; how far its value is off depends on the values about it"

    def value(self, numbers: Sequence[Fraction]) -> Scalar:
        found = tuple(min(max(numbers[place], self.low), self.high) for place in self.totals)
        return found if self.listed else found[0]

    def range(self, ranges: Sequence[Range]) -> Range:
        return Range(self.low, self.high)


@dataclass(frozen=True)
class Chosen:
    """One of the values that are known in public, or several, by their places among them."""

    totals: tuple[int, ...]
    domain: tuple[Category, ...]
    listed: bool = False
    note: str = "rows; so many fewer may have it than have the commonest"

    def value(self, numbers: Sequence[Fraction]) -> Scalar:
        found = tuple(self.domain[int(numbers[place])] for place in self.totals)
        return found if self.listed else found[0]

    def range(self, ranges: Sequence[Range]) -> Range:
        return Range(-inf, inf)


@dataclass(frozen=True)
class Mean:
    """`middle` + total/count, within the bounds; a count below one is taken for one."""

    total: int
    count: int
    middle: Fraction
    low: Fraction
    high: Fraction
    note: str = "of the centred sum, to be divided by the count"

    @property
    def totals(self) -> tuple[int, ...]:
        return self.total, self.count

    def value(self, numbers: Sequence[Fraction]) -> Fraction:
        mean = self.middle + numbers[self.total] / max(numbers[self.count], ONE)
        return min(max(mean, self.low), self.high)

    def range(self, ranges: Sequence[Range]) -> Range:
        mean = Range(self.middle, self.middle) + _quotient(ranges[self.total], ranges[self.count])
        return mean.within(self.low, self.high)


@dataclass(frozen=True)
class Variance:
    """Σz²/n − (Σz/n)², at least 0 and at most what the bounds allow; of a sample times n/(n − 1); or its root."""

    total: int
    square: int
    count: int
    most: Fraction
    sample: bool
    root: bool
    note: str = "of the centred sum, to be divided by the count"

    @property
    def totals(self) -> tuple[int, ...]:
        return self.total, self.square, self.count

    def value(self, numbers: Sequence[Fraction]) -> Fraction:
        count = max(numbers[self.count], ONE)
        mean = numbers[self.total] / count
        spread = min(max(numbers[self.square] / count - mean * mean, ZERO), self.most)
        return self._shown(spread, count)

    def range(self, ranges: Sequence[Range]) -> Range:
        counted = ranges[self.count]
        mean = _quotient(ranges[self.total], counted)
        bends = mean.squared()
        spread = (_quotient(ranges[self.square], counted) - bends).within(ZERO, self.most)
        least = max(Fraction(counted.low), ONE)
        return Range(
            self._shown(Fraction(spread.low), max(Fraction(counted.high), ONE)),
            self._shown(Fraction(spread.high), least),
        )

    def _shown(self, spread: Fraction, count: Fraction) -> Fraction:
        if self.sample:
            spread *= count / max(count - 1, ONE)
        return Fraction(root(spread)) if self.root else spread


def root(x: Number) -> Number:
    """√x, to 40 binary digits downwards."""
    return inf if x == inf else Fraction(isqrt(int(x * DIGITS * DIGITS)), DIGITS)


def _quotient(total: Range, count: Range) -> Range:
    """total/count for counts of one or more."""
    high = max(count.high, ONE)
    return total / Range(max(count.low, ONE), high)
