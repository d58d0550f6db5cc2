"""What a release costs, as a value: `a + b`, `24 * a`, `a | b` for disjoint people.

A loss keeps the mechanisms it is made of, so that any figure (pure ε, zCDP, Rényi, δ at ε) can be asked of it
later; no figure is stored that could disagree with another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from math import inf
from operator import itemgetter
from typing import TYPE_CHECKING, Protocol

from obverse.errors import BadParameter
from obverse.loss.curves import pure_epsilon
from obverse.loss.number import chance

if TYPE_CHECKING:
    from obverse.loss.explain import Explained
    from obverse.loss.moments import Moments


class Curve(Protocol):
    """What a loss asks of a mechanism: how private it is, for inputs as far apart as `sensitivity`."""

    def profile(self, epsilon: float, sensitivity: Sensitivity) -> float: ...
    def pure(self, sensitivity: Sensitivity) -> Fraction | None: ...
    def rho(self, sensitivity: Sensitivity) -> Fraction | None: ...
    def renyi(self, order: float, sensitivity: Sensitivity) -> float: ...
    def moments(self, sensitivity: Sensitivity) -> Moments | None: ...


@dataclass(frozen=True)
class Sensitivity:
    """How far apart the inputs of two neighbouring tables can be, in whole steps of the grid.

    `l1` bounds the sum of the changes, `l2_squared` the sum of their squares, `most` the largest one.

    >>> Sensitivity.of(3)
    Sensitivity(l1=Fraction(3, 1), l2_squared=Fraction(9, 1), most=Fraction(3, 1))
    >>> Sensitivity.of(1, numbers=4).l2_squared
    Fraction(4, 1)
    """

    l1: Fraction
    l2_squared: Fraction
    most: Fraction

    @classmethod
    def of(cls, each: int | Fraction, numbers: int = 1) -> Sensitivity:
        """At most `numbers` numbers change, each by at most `each`."""
        each = Fraction(each)
        return cls(each * numbers, each * each * numbers, each)


class Loss:
    """The privacy lost by one release or by many."""

    @property
    def pure(self) -> Fraction | None:
        """ε with δ = 0, or None where no ε bounds it."""
        raise NotImplementedError

    @property
    def rho(self) -> Fraction | None:
        """ρ of zero-concentrated differential privacy, or None.  [BS16]"""
        raise NotImplementedError

    def renyi(self, order: float) -> float:
        """Rényi divergence of this order, at most.  [Mir17]"""
        raise NotImplementedError

    def epsilon(self, delta: float = 0) -> float:
        """The least ε we can prove with this δ."""
        pure = inf if self.pure is None else float(self.pure)
        if chance(delta, "δ", zero=True) == 0 or pure == 0:
            return pure
        return min(pure, self._epsilon(float(delta)))

    def _epsilon(self, delta: float) -> float:
        return least_epsilon(self.delta, delta)

    def delta(self, epsilon: float) -> float:
        """The least δ we can prove with this ε."""
        raise NotImplementedError

    def explain(self, delta: float) -> Explained:
        """What basic, advanced, zCDP, Rényi and tight accounting each say of this loss, at δ above 0."""
        from obverse.loss.explain import explain

        return explain(self, float(chance(delta, "δ")))

    def posterior(self, prior: float, failing: float = 0) -> float:
        """The surest somebody can become of what they held with chance `prior`, but in `failing` of all runs.

        >>> from obverse.mechanisms import Laplace
        >>> round(Laplace(Fraction(1)).loss(Sensitivity.of(1)).posterior(0.5), 3)
        0.731
        """
        from obverse.loss.explain import belief, tail

        return belief(
            float(chance(prior, "a prior")), tail(self, float(chance(failing, "a chance", zero=True)))
        )

    def deniability(self, prior: float, failing: float = 0) -> float:
        """The doubt that is left at least: one less the posterior."""
        return 1 - self.posterior(prior, failing)

    def guess(self) -> float:
        """How often the best guess between two neighbouring tables is right, at most; ½ is a blind one.  [KOV15]"""
        return (1 + self.delta(0.0)) / 2

    def __add__(self, other: Loss) -> Loss:
        return _sum([*_parts(self), *_parts(other)])

    def __mul__(self, times: int) -> Loss:
        if times < 0:
            raise BadParameter(f"a release happens 0 times or more, not {times}")
        return _sum([(part, n * times) for part, n in _parts(self)])

    __rmul__ = __mul__

    def __or__(self, other: Loss) -> Loss:
        parts = {*_beside(self), *_beside(other)} - {FREE}
        return Parallel(tuple(sorted(parts, key=repr))) if len(parts) > 1 else parts.pop() if parts else FREE


ORDERS = (1.25, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0, 64.0, 128.0, 256.0, 1024.0)


@dataclass(frozen=True)
class Spend(Loss):
    """One use of one mechanism."""

    mechanism: Curve
    sensitivity: Sensitivity

    @property
    def pure(self) -> Fraction | None:
        return self.mechanism.pure(self.sensitivity)

    @property
    def rho(self) -> Fraction | None:
        return self.mechanism.rho(self.sensitivity)

    def renyi(self, order: float) -> float:
        return self.mechanism.renyi(order, self.sensitivity)

    def _epsilon(self, delta: float) -> float:
        """What the pure ε alone proves, where that is within a thousandth; else by search."""
        if self.pure is not None:
            near = pure_epsilon(float(self.pure), delta)
            if self.delta(near * 0.999) > delta:
                return near
        return least_epsilon(self.delta, delta)

    def delta(self, epsilon: float) -> float:
        return self.mechanism.profile(epsilon, self.sensitivity)


@dataclass(frozen=True)
class Sum(Loss):
    """Several releases about the same people; each with how often it happened."""

    parts: tuple[tuple[Loss, int], ...] = ()

    @property
    def pure(self) -> Fraction | None:
        return _total([(part.pure, n) for part, n in self.parts])

    @property
    def rho(self) -> Fraction | None:
        return _total([(part.rho, n) for part, n in self.parts])

    def renyi(self, order: float) -> float:
        return sum(n * part.renyi(order) for part, n in self.parts)

    def _epsilon(self, delta: float) -> float:
        from obverse.loss import tight

        return min(tight.epsilon(self, delta), self._basic(delta))

    def _basic(self, delta: float) -> float:
        """All of δ for the one part that needs some; the others' ε added, which no grid rounds. [DR14, Theorem 3.16]"""
        pure = [(part.pure, n) for part, n in self.parts]
        needing = [(part, n) for part, n in self.parts if part.pure is None]
        if len(needing) != 1 or needing[0][1] != 1:
            return inf
        return needing[0][0].epsilon(delta) + float(sum(n * each for each, n in pure if each is not None))

    def delta(self, epsilon: float) -> float:
        from obverse.loss import tight

        if self.pure is not None and epsilon >= self.pure:
            return 0.0
        return tight.delta(self, epsilon)


@dataclass(frozen=True)
class Parallel(Loss):
    """Releases about disjoint people: nobody loses more than the worst of them."""

    parts: tuple[Loss, ...]

    @property
    def pure(self) -> Fraction | None:
        return _largest([part.pure for part in self.parts])

    @property
    def rho(self) -> Fraction | None:
        return _largest([part.rho for part in self.parts])

    def renyi(self, order: float) -> float:
        return max(part.renyi(order) for part in self.parts)

    def delta(self, epsilon: float) -> float:
        return max(part.delta(epsilon) for part in self.parts)

    def _epsilon(self, delta: float) -> float:
        return max(part.epsilon(delta) for part in self.parts)


FREE = Sum()


def total(losses: Iterable[Loss]) -> Loss:
    """All of these losses together: `a + b + …`, for any number of them."""
    return _sum([part for loss in losses for part in _parts(loss)])


def _parts(loss: Loss) -> tuple[tuple[Loss, int], ...]:
    return loss.parts if isinstance(loss, Sum) else ((loss, 1),)


def _beside(loss: Loss) -> tuple[Loss, ...]:
    return loss.parts if isinstance(loss, Parallel) else (loss,)


def _sum(parts: list[tuple[Loss, int]]) -> Loss:
    """Equal parts counted together, in an order that does not depend on how they came."""
    named = sorted(((repr(part), part, n) for part, n in parts if n), key=itemgetter(0))
    groups = [list(group) for _, group in groupby(named, key=itemgetter(0))]
    kept = tuple((group[0][1], sum(n for _, _, n in group)) for group in groups)
    return kept[0][0] if len(kept) == 1 and kept[0][1] == 1 else Sum(kept)


def _total(figures: list[tuple[Fraction | None, int]]) -> Fraction | None:
    known = [figure * n for figure, n in figures if figure is not None]
    return sum(known, Fraction(0)) if len(known) == len(figures) else None


def _largest(figures: list[Fraction | None]) -> Fraction | None:
    known = [figure for figure in figures if figure is not None]
    return max(known) if len(known) == len(figures) else None


def least_epsilon(curve: Callable[[float], float], delta: float) -> float:
    """The least ε, to 32 halvings and rounded up, where a falling curve δ(ε) is at most `delta`; or infinity."""
    if curve(0.0) <= delta:
        return 0.0
    low, high = 0.0, 1.0
    while curve(high) > delta:
        low, high = high, 2 * high
        if high > 1 << 20:
            return inf
    for _ in range(32):
        middle = (low + high) / 2
        low, high = (low, middle) if curve(middle) <= delta else (middle, high)
    return high
