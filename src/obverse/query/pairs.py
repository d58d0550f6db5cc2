"""COVAR, CORR and REGR_…: formulas over Σ1, Σx, Σy, Σx², Σy², Σxy of the pairs of which neither side is NULL.

Both sides are centred on the middle of their bounds: with z = x − m the moments about the mean are the same, sums have
half the sensitivity or less, and no digits are lost. A formula is written once, over ranges: a number is a range whose
ends are one, and what comes out as no number has no value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from obverse.query.ranges import Range, Scalar
from obverse.query.recipes import ONE, ZERO, root

SUMS = ("x", "y", "xx", "yy", "xy")


@dataclass(frozen=True)
class Moments:
    """Sums over pairs, centred; what a formula does not need is 0."""

    n: Range
    sums: dict[str, Range]
    middles: tuple[Fraction, Fraction]

    def s(self, one: str, other: str) -> Range:
        """Σ(x − x̄)(y − ȳ) = Σxy − Σx·Σy/n, about the means."""
        if one == other:
            about = self.sums[one + one] - self.sums[one].squared() / self.n
            return Range(max(about.low, ZERO), max(about.high, ZERO))
        return self.sums["xy"] - self.sums["x"] * self.sums["y"] / self.n

    def mean(self, which: str) -> Range:
        middle = self.middles["xy".index(which)]
        return Range(middle, middle) + self.sums[which] / self.n

    def slope(self) -> Range:
        return self.s("x", "y") / self.s("x", "x")

    def intercept(self) -> Range:
        return self.mean("y") - self.slope() * self.mean("x")

    def correlation(self) -> Range:
        found = self.s("x", "y") / (_root(self.s("x", "x")) * _root(self.s("y", "y")))
        return found.within(-ONE, ONE)

    def explained(self) -> Range:
        found = self.s("x", "y").squared() / (self.s("x", "x") * self.s("y", "y"))
        return found.within(ZERO, ONE)

    def less_one(self) -> Range:
        return Range(max(self.n.low - 1, ONE), max(self.n.high - 1, ONE))


FORMULAS: dict[str, tuple[tuple[str, ...], Callable[[Moments], Range]]] = {
    "REGR_COUNT": ((), lambda m: m.n),
    "REGR_AVGX": (("x",), lambda m: m.mean("x")),
    "REGR_AVGY": (("y",), lambda m: m.mean("y")),
    "REGR_SXX": (("x", "xx"), lambda m: m.s("x", "x")),
    "REGR_SYY": (("y", "yy"), lambda m: m.s("y", "y")),
    "REGR_SXY": (("x", "y", "xy"), lambda m: m.s("x", "y")),
    "COVAR_POP": (("x", "y", "xy"), lambda m: m.s("x", "y") / m.n),
    "COVAR_SAMP": (("x", "y", "xy"), lambda m: m.s("x", "y") / m.less_one()),
    "REGR_SLOPE": (("x", "y", "xx", "xy"), Moments.slope),
    "REGR_INTERCEPT": (("x", "y", "xx", "xy"), Moments.intercept),
    "REGR_R2": (SUMS, Moments.explained),
    "CORR": (SUMS, Moments.correlation),
}


@dataclass(frozen=True)
class OfPairs:
    """A formula over centred sums: `count` is the place of the number of pairs, `places` those of the sums it needs."""

    formula: str
    count: int
    places: tuple[tuple[str, int], ...]
    middles: tuple[Fraction, Fraction]
    note: str = "of its first sum, which goes into a formula with the others"

    @property
    def totals(self) -> tuple[int, ...]:
        return (*(place for _, place in reversed(self.places)), self.count)

    def value(self, numbers: Sequence[Fraction]) -> Scalar:
        exact = self.range([Range(number, number) for number in numbers])
        return exact.low if exact.low == exact.high else None

    def range(self, ranges: Sequence[Range]) -> Range:
        counted, formula = ranges[self.count], FORMULAS[self.formula][1]
        if not self.places:
            return counted
        n = Range(max(counted.low, ONE), max(counted.high, ONE))
        return formula(Moments(n, {name: ranges[place] for name, place in self.places}, self.middles))


def _root(x: Range) -> Range:
    return Range(root(x.low), root(x.high))
