"""Budgets that stay valid when each question depends on the answers before it.  [RRUV16; FZ21; WRRW23]

A filter says yes or no to one more question from what was spent before. Whatever the analyst does with the answers,
all that was admitted together is (ε, δ)-differentially private, with the filter's own ε and δ.

*pure*: the ε of all questions add up to at most ε.  [RRUV16, Theorem 5.1 with δ = 0; sums of δ beside it]
*zcdp*: the ρ add up to at most the ρ that [CKS20, Corollary 13] turns into (ε, δ′); what questions have of δ
themselves adds up to at most δ − δ′.  [WRRW23, Theorem 1]
*renyi*: at one of eight fixed orders the divergences add up to at most what turns into (ε, δ′/8).  [FZ21, Theorem 4.3]

Which order it is may depend on the path, and where no question has a δ a path may instead keep Σ pure ≤ ε: with A_i
the paths that end within bound i, and each bound kept along the whole path because sums only grow,
E[(1 − e^(ε−L))⁺] ≤ Σ_i E[(1 − e^(ε−L))⁺; A_i] ≤ Σ_i δ_i, and the pure bound's δ_i is 0.

Composing whole loss distributions is no filter when questions adapt (arXiv 2602.06756), so none is used here.
Amounts are whole multiples of 10⁻¹² (a little above 2⁻⁴⁰, so that ten tenths are one), δ of 10⁻¹⁸, rounded up;
limits are rounded down. Both fit a signed 64-bit number.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil, floor, inf, isqrt
from typing import Literal

from obverse.errors import BadParameter
from obverse.loss.curves import ROUNDING, pure_renyi, renyi_delta, zcdp_profile
from obverse.loss.loss import Loss, Sum
from obverse.loss.number import chance, positive

Notion = Literal["pure", "zcdp", "renyi"]
NOTIONS: tuple[Notion, ...] = ("pure", "zcdp", "renyi")
ORDERS = (3, 5, 8, 12, 20, 32, 64, 128)
GRAIN = 10**12
DELTA_GRAIN = 10**18
OUTRIGHT = Fraction(1, 10)  # the share of δ kept for questions that have a δ of their own
LARGEST = Fraction(1 << 20)


@dataclass(frozen=True)
class Amount:
    """So much of one notion, in grains of 10⁻¹² (None: not bounded by it), and the δ given up beside it (10⁻¹⁸)."""

    size: int | None
    delta: int = 0

    def __add__(self, other: Amount) -> Amount:
        size = None if self.size is None or other.size is None else self.size + other.size
        return Amount(size, self.delta + other.delta)


@dataclass(frozen=True)
class Amounts:
    """What a loss takes from a budget, under every notion: `spent + more` is again such an amount.

    >>> from obverse.loss.loss import FREE
    >>> Amounts.of(FREE) == NOTHING
    True
    """

    pure: Amount
    rho: Amount
    renyi: tuple[Amount, ...]

    @classmethod
    def of(cls, loss: Loss, delta: Fraction = Fraction(0)) -> Amounts:
        """The amounts of a loss; `delta` may be given up where a part of it has no ε, ρ or divergence otherwise."""
        chance(delta, "δ", zero=True)
        return cls(
            _amount(loss, delta, lambda part: part.pure, lambda epsilon: epsilon),
            _amount(loss, delta, lambda part: part.rho, lambda epsilon: epsilon * epsilon / 2),
            tuple(_amount(loss, delta, _at_order(a), _pure_at_order(a)) for a in ORDERS),
        )

    def __add__(self, other: Amounts) -> Amounts:
        orders = tuple(a + b for a, b in zip(self.renyi, other.renyi, strict=True))
        return Amounts(self.pure + other.pure, self.rho + other.rho, orders)


NOTHING = Amounts(Amount(0), Amount(0), (Amount(0),) * len(ORDERS))


@dataclass(frozen=True)
class Filter:
    """A budget of (ε, δ), kept by one notion of privacy.

    >>> from obverse.mechanisms import Laplace
    >>> from obverse.loss.loss import Sensitivity
    >>> tenth = Amounts.of(Laplace(Fraction(10)).loss(Sensitivity.of(1)))
    >>> Filter("pure", Fraction(1, 4)).admits(NOTHING + tenth, tenth)
    True
    >>> Filter("pure", Fraction(1, 4)).admits(NOTHING + tenth + tenth, tenth)
    False
    """

    notion: Notion
    epsilon: Fraction
    delta: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        if self.notion not in NOTIONS:
            raise BadParameter(f"a budget is kept as {', '.join(NOTIONS)}, not {self.notion!r}")
        object.__setattr__(self, "epsilon", positive(self.epsilon, "a budget's ε", LARGEST))
        object.__setattr__(self, "delta", chance(self.delta, "a budget's δ", zero=True))
        if self.notion != "pure" and not self.delta:
            raise BadParameter(f"a {self.notion} budget needs a δ above 0")

    def admits(self, spent: Amounts, more: Amounts) -> bool:
        """Whether one more question keeps the promise."""
        return self.holds(spent + more)

    def holds(self, total: Amounts) -> bool:
        """Whether the promise is kept when this is all that was ever spent."""
        if total.pure.delta == 0 and _within(total.pure, self._limits.pure):
            return True
        match self.notion:
            case "pure":
                return _within(total.pure, self._limits.pure)
            case "zcdp":
                return _within(total.rho, self._limits.rho)
            case "renyi":
                return any(map(_within, total.renyi, self._limits.renyi))

    def remaining(self, spent: Amounts) -> Fraction:
        """The largest pure ε that one more question may cost, rounded down."""
        left = [self._left(spent.pure, self._limits.pure)] if not spent.pure.delta else []
        match self.notion:
            case "pure":
                left.append(self._left(spent.pure, self._limits.pure))
            case "zcdp":
                left.append(isqrt(2 * GRAIN * self._left(spent.rho, self._limits.rho)))
            case "renyi":
                left += [
                    _pure_within(a, self._left(amount, limit))
                    for a, amount, limit in zip(ORDERS, spent.renyi, self._limits.renyi, strict=True)
                ]
        return Fraction(max(0, *left), GRAIN)

    @staticmethod
    def _left(spent: Amount, limit: Amount) -> int:
        if spent.size is None or limit.size is None or spent.delta > limit.delta:
            return 0
        return max(0, limit.size - spent.size)

    @property
    def _limits(self) -> Amounts:
        return _limits(self.notion, self.epsilon, self.delta)


def _within(total: Amount, limit: Amount) -> bool:
    known = total.size is not None and limit.size is not None
    return known and total.size <= limit.size and total.delta <= limit.delta  # type: ignore[operator]


@lru_cache(maxsize=256)
def _limits(notion: Notion, epsilon: Fraction, delta: Fraction) -> Amounts:
    """The most that may be spent under each notion; a pure budget gives all of its δ to questions that have one."""
    outright = floor((delta if notion == "pure" else delta * OUTRIGHT) * DELTA_GRAIN)
    kept, wanted = float(delta * (1 - OUTRIGHT)) / ROUNDING, float(epsilon) / ROUNDING
    each = kept / len(ORDERS)
    return Amounts(
        Amount(floor(epsilon * GRAIN), outright),
        Amount(_largest(lambda rho: zcdp_profile(rho, wanted) <= kept), outright),
        tuple(
            Amount(_largest(lambda d, a=a: renyi_delta(d, a, wanted) <= each), outright)  # type: ignore[misc]
            for a in ORDERS
        ),
    )


def _largest(enough: Callable[[float], bool]) -> int | None:
    """The largest whole number of grains that is still enough, or None where not even 0 is."""
    if not enough(0.0):
        return None
    low, high = 0, GRAIN << 21
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if enough(middle / GRAIN) else (low, middle)
    return low


def _pure_within(order: float, grains: int) -> int:
    """The largest pure ε, in grains, whose divergence at this order is within so many grains."""
    low, high = 0, GRAIN << 20
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (
            (middle, high)
            if _pure_at_order(order)(Fraction(middle, GRAIN)) * GRAIN <= grains
            else (low, middle)
        )
    return low


def _amount(
    loss: Loss,
    delta: Fraction,
    read: Callable[[Loss], Fraction | None],
    from_pure: Callable[[Fraction], Fraction],
) -> Amount:
    """One notion's figure of a loss; a part without one is read as its (ε, δ), an equal share of `delta` each:
    but for an event of chance δ it is no worse than randomised response with this ε.  [KOV15, Theorem 3.1]"""
    figure = read(loss)
    if figure is not None:
        return Amount(ceil(figure * GRAIN))
    if isinstance(loss, Sum):
        lacking = sum(n for part, n in loss.parts if read(part) is None)
        parts = [(_amount(part, delta / lacking, read, from_pure), n) for part, n in loss.parts]
        sizes = [None if amount.size is None else n * amount.size for amount, n in parts]
        deltas = sum(n * amount.delta for amount, n in parts)
        return Amount(None if None in sizes else sum(size or 0 for size in sizes), deltas)
    epsilon = _epsilon(loss, delta) if delta else inf
    if epsilon == inf:
        return Amount(None)
    return Amount(ceil(from_pure(Fraction(epsilon)) * GRAIN), ceil(delta * DELTA_GRAIN))


@lru_cache(maxsize=256)
def _epsilon(loss: Loss, delta: Fraction) -> float:
    """The ε of a loss at this δ, which every notion asks for."""
    return loss.epsilon(float(delta))


def _at_order(order: float) -> Callable[[Loss], Fraction | None]:
    def read(loss: Loss) -> Fraction | None:
        divergence = loss.renyi(order)
        return None if divergence == inf else Fraction(divergence * ROUNDING)

    return read


def _pure_at_order(order: float) -> Callable[[Fraction], Fraction]:
    return lambda epsilon: Fraction(pure_renyi(float(epsilon), order) * ROUNDING)
