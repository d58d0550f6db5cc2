"""Accuracy first: the least ε for a wanted ± at a confidence; and a sharper answer for the difference alone.

A count or a sum with Laplace noise has a closed tail, so the least ε follows. Under zCDP an answer of variance v₁ is
sharpened to v by another of variance 1/(1/v − 1/v₁): the two together cost ρ = Δ²/(2v), as one of variance v would,
and the weighted mean of them is as good. With Laplace noise that takes noises that belong together (`Gradual`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, exp, expm1, log
from statistics import NormalDist

from obverse.errors import BadParameter
from obverse.loss.loss import Sensitivity
from obverse.loss.number import chance, positive
from obverse.mechanisms.gaussian import Gaussian
from obverse.mechanisms.gradual import Gradual, Sharpening
from obverse.mechanisms.laplace import Laplace
from obverse.noise.entropy import Entropy

STEP = 1 << 40


def least_epsilon(margin: int, confidence: float, sensitivity: Sensitivity) -> Fraction:
    """The least ε, in multiples of 2⁻⁴⁰, whose Laplace noise stays within ± margin in this share of runs.

    2q^(margin+1)/(1 + q) ≤ α for q = exp(−ε/Δ); without the 1 + q that is ε = Δ·ln(1/α)/margin.

    >>> least_epsilon(100, 0.95, Sensitivity.of(1)) < Fraction(3, 100)
    True
    """
    if margin < 0:
        raise BadParameter(f"a margin is 0 or more, not {margin}")
    chance(confidence, "a confidence")
    low, high = 0, ceil(-log((1 - confidence) / 4) * STEP) + 1  # at margin 0 and ε = ln(4/α), 2q < α
    while low + 1 < high:
        middle = (low + high) // 2
        within = _inside(middle / STEP, margin) >= confidence
        low, high = (low, middle) if within else (middle, high)
    return Fraction(high, STEP) * sensitivity.l1


def _inside(rate: float, margin: int) -> float:
    """P(|x| ≤ margin) of a discrete Laplace of scale 1/rate: 1 − 2q^(margin+1)/(1 + q)."""
    return 1 - 2 * exp(-rate * (margin + 1)) / (2 + expm1(-rate))


def laplace_within(margin: int, confidence: float, sensitivity: Sensitivity) -> Laplace:
    """The Laplace mechanism that `least_epsilon` is the cost of."""
    return Laplace(sensitivity.l1 / least_epsilon(margin, confidence, sensitivity))


def least_rho(margin: int, confidence: float, sensitivity: Sensitivity) -> Fraction:
    """The least ρ, rounded up, whose Gaussian noise stays within ± margin in this share of runs: Δ²z²/(2·margin²)."""
    if margin < 1:
        raise BadParameter(f"a margin is 1 or more, not {margin}")
    z = NormalDist().inv_cdf((1 + float(chance(confidence, "a confidence"))) / 2)
    return (
        sensitivity.l2_squared * Fraction(ceil(z * z * (1 + 2.0**-40) * STEP), STEP) / (2 * margin * margin)
    )


@dataclass(frozen=True)
class Sharpened:
    """An answer with Gaussian noise of variance `had`, to be brought to variance `wanted`.

    >>> more = Sharpened(Fraction(100), Fraction(20))
    >>> more.mechanism.variance, more.combined(90, 110)
    (Fraction(25, 1), Fraction(106, 1))
    """

    had: Fraction
    wanted: Fraction

    def __post_init__(self) -> None:
        for name in ("had", "wanted"):
            object.__setattr__(self, name, positive(getattr(self, name), "a variance"))
        if not self.wanted < self.had:
            raise BadParameter("a sharper answer has a smaller variance than the one there is")

    @property
    def mechanism(self) -> Gaussian:
        """What is drawn now, and all that is charged: ρ = Δ²/(2·wanted) − Δ²/(2·had)."""
        return Gaussian(1 / (1 / self.wanted - 1 / self.had))

    def combined(self, earlier: int | Fraction, now: int) -> Fraction:
        """Both answers in one, each by its inverse variance; an earlier one may itself be such a mean."""
        return self.wanted * (Fraction(earlier) / self.had + Fraction(now) / self.mechanism.variance)


@dataclass(frozen=True)
class RelativeError:
    """Pay until the ± is this share of the answer: noise reduction with ex-post privacy.  [LNRWW17, Section 3]

    ε doubles from `first` to `last`; what was shown in the end is all that is paid, and that depends on the answer, so
    each step is charged before it is shown. Brownian noise reduction [WWRR22] is the same walk under zCDP: there each
    step is a `Sharpened` answer, and a zCDP filter holds at any time one stops [WRRW23].
    """

    share: Fraction
    first: Fraction
    last: Fraction
    confidence: float = 0.95

    def __post_init__(self) -> None:
        for name, what in (("share", "a share"), ("first", "ε"), ("last", "ε")):
            object.__setattr__(self, name, positive(getattr(self, name), what))
        chance(self.confidence, "a confidence")
        if not self.first <= self.last:
            raise BadParameter("ε grows from the first answer to the last")

    @property
    def epsilons(self) -> list[Fraction]:
        steps = [self.first]
        while steps[-1] < self.last:
            steps.append(min(2 * steps[-1], self.last))
        return steps

    def gradual(self, sensitivity: Sensitivity) -> Gradual:
        return Gradual(tuple(sensitivity.l1 / epsilon for epsilon in self.epsilons))

    def run(
        self, value: int, sensitivity: Sensitivity, pay: Callable[[Fraction], None], entropy: Entropy
    ) -> tuple[int, int]:
        """The first answer that is sharp enough, or the sharpest, and its ±."""
        gradual = self.gradual(sensitivity)
        walk = Sharpening(gradual, sensitivity, gradual.release(value, entropy), pay)
        while True:
            answer, margin = walk.sharpen(self.confidence)
            if margin <= self.share * (abs(answer) - margin) or walk.shown == len(gradual.scales):
                return answer, margin
