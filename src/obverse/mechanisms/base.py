"""What every mechanism is: a public description that can add noise, and knows what that costs and how wrong it is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Generic, TypeVar

from obverse.loss.curve import a_curve
from obverse.loss.loss import Loss, Sensitivity, Spend
from obverse.noise.entropy import Entropy

if TYPE_CHECKING:
    from obverse.loss.moments import Moments

In = TypeVar("In")
Out = TypeVar("Out")

OWN = "obverse.mechanisms."


class Mechanism(ABC, Generic[In, Out]):
    """A way for one value to leave."""

    def release(self, value: In, entropy: Entropy) -> Out:
        """The value with noise; `entropy` is told first what goes in, so that an audit can compare runs."""
        entropy.watch(self, value)
        return self.draw(value, entropy)

    def release_many(self, values: Sequence[In], entropy: Entropy) -> list[Out]:
        """Each value with noise of its own; `entropy` is told of them once, together."""
        entropy.watch(self, tuple(values))
        return self.draw_many(values, entropy)

    @abstractmethod
    def draw(self, value: In, entropy: Entropy) -> Out:
        """The value with noise."""

    def draw_many(self, values: Sequence[In], entropy: Entropy) -> list[Out]:
        """Each value with noise of its own."""
        return [self.draw(value, entropy) for value in values]

    @abstractmethod
    def profile(self, epsilon: float, sensitivity: Sensitivity) -> float:
        """δ(ε): how far any event's chance can exceed exp(ε) times its chance on a neighbour."""

    def pure(self, sensitivity: Sensitivity) -> Fraction | None:
        """ε where δ = 0, or None."""
        return None

    def rho(self, sensitivity: Sensitivity) -> Fraction | None:
        """ρ of zCDP, or None; a pure mechanism has ε²/2.  [BS16, Proposition 1.4]"""
        pure = self.pure(sensitivity)
        return None if pure is None else pure * pure / 2

    def renyi(self, order: float, sensitivity: Sensitivity) -> float:
        """Rényi divergence of this order, at most.  [BS16, Definition 1.1]"""
        rho = self.rho(sensitivity)
        pure = self.pure(sensitivity)
        bounds = [float(order * rho)] if rho is not None else []
        bounds += [float(pure)] if pure is not None else []
        return min(bounds, default=float("inf"))

    def moments(self, sensitivity: Sensitivity) -> Moments | None:
        """The log-moment transform of the loss where it is known exactly; else the profile's dots stand in for it."""
        return None

    def loss(self, sensitivity: Sensitivity) -> Loss:
        """What one release costs when neighbours' inputs are this far apart.

        The curves of Obverse's own mechanisms are held to what a curve is by their contract; another's is looked at
        here, before anything is drawn or charged.
        """
        if not type(self).__module__.startswith(OWN):
            a_curve(type(self).__name__, lambda epsilon: self.profile(epsilon, sensitivity))
        return Spend(self, sensitivity)
