"""What sampling and shuffling take off a loss.  [BBG18; FMT21]"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import exp, expm1, log, log1p, sqrt

from obverse.errors import BadParameter
from obverse.loss.curves import ROUNDING, pure_renyi
from obverse.loss.loss import Loss
from obverse.loss.number import chance, positive


@dataclass(frozen=True)
class Sampled(Loss):
    """A release that reads each person with chance `rate`, and whose sample is not known to the adversary.

    δ'(log(1 + rate·(e^ε − 1))) ≤ rate·δ(ε): for Poisson sampling when neighbours add or remove a person [BBG18,
    Theorem 8], and for m of n without replacement, rate = m/n, when they replace one [BBG18, Theorem 9].

    >>> from obverse.loss.loss import Sensitivity
    >>> from obverse.mechanisms import Laplace
    >>> round(sampled(Laplace(Fraction(1)).loss(Sensitivity.of(1)), Fraction(1, 100)).epsilon(), 4)
    0.017
    """

    loss: Loss
    rate: Fraction

    @property
    def pure(self) -> Fraction | None:
        pure = self.loss.pure
        if pure is None or pure > 500:
            return pure
        return min(pure, Fraction(log1p(float(self.rate) * expm1(float(pure))) * ROUNDING))

    @property
    def rho(self) -> Fraction | None:
        """A mixture loses no more than its parts, as Rényi divergence is quasi-convex.  [BS16, Lemma 2.2]"""
        pure, rho = self.pure, self.loss.rho
        if pure is None:
            return rho
        return pure * pure / 2 if rho is None else min(rho, pure * pure / 2)

    def renyi(self, order: float) -> float:
        pure = self.pure
        base = self.loss.renyi(order)
        return base if pure is None else min(base, pure_renyi(float(pure), order))

    def delta(self, epsilon: float) -> float:
        if epsilon < 0:
            return min(1.0, -expm1(epsilon) + exp(epsilon) * self.delta(-epsilon))
        rate = float(self.rate)
        inner = log1p(expm1(epsilon) / rate) if epsilon < 500 else epsilon
        return min(1.0, rate * self.loss.delta(inner / ROUNDING) * ROUNDING)


def sampled(loss: Loss, rate: object) -> Loss:
    """The loss of a release on a secret sample: all of it at rate 1."""
    share = positive(rate, "a sampling rate")
    if share > 1:
        raise BadParameter("a sampling rate is at most 1")
    return loss if share == 1 else Sampled(loss, share)


def shuffled(local: object, people: int, delta: object) -> float:
    """ε at δ of reports that each are ε₀-private where made, and are shuffled before anybody sees them.

    ε ≤ log(1 + (e^ε₀ − 1)/(e^ε₀ + 1)·(8·√(e^ε₀·log(4/δ)/n) + 8·e^ε₀/n)), for ε₀ ≤ log(n/(16·log(2/δ))); else ε₀.
    [FMT21, Theorem 3.1]

    >>> round(shuffled(1, 100_000, 1e-6), 3)
    0.073
    """
    epsilon, allowed = float(positive(local, "ε", Fraction(500))), float(chance(delta, "δ"))
    if people < 1:
        raise BadParameter("shuffling needs at least one report")
    if epsilon > log(max(people / (16 * log(2 / allowed)), exp(-500))):
        return epsilon
    grown = exp(epsilon)
    factor = 8 * sqrt(grown * log(4 / allowed) / people) + 8 * grown / people
    return min(epsilon, log1p((grown - 1) / (grown + 1) * factor) * ROUNDING)
