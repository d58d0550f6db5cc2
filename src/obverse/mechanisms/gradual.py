"""One answer, noisy at first and sharper as more is paid, at the price of the sharpest one shown.  [KHP17; LNRWW17]

The noises are made from the finest to the coarsest: each coarser one is the one before plus something independent, so
that all answers up to one of them say no more than that one does. In discrete form, a Laplace of scale b₁ > b₂ is one
of scale b₂ plus W₁ − W₂, where each W is 0 or geometric: a geometric draw k ≥ 1 of q₁ = exp(−1/b₁) is kept with
probability 1 − q₂/q₁, and 0 always. For the generating function (1 − q₂z)/(1 − q₁z) of W is that of Geometric(q₁)
over that of Geometric(q₂), and its terms are to those of Geometric(q₁) as 1 : 1 − q₂/q₁ : 1 − q₂/q₁ : …
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from obverse.errors import BadParameter, Withheld
from obverse.loss.curves import pure_profile
from obverse.loss.loss import Sensitivity
from obverse.loss.number import positive
from obverse.mechanisms.base import Mechanism
from obverse.mechanisms.laplace import Laplace
from obverse.noise.draws import add_laplace
from obverse.noise.entropy import Entropy
from obverse.noise.exact import bernoulli_exp, discrete_laplace


@dataclass(frozen=True)
class Gradual(Mechanism[int, tuple[int, ...]]):
    """The value with Laplace noise of each scale, from the coarsest to the finest, which alone is what they all cost.

    >>> from obverse.noise.entropy import Keyed
    >>> gradual = Gradual((Fraction(100), Fraction(10), Fraction(1)))
    >>> len(gradual.release(5000, Keyed("example"))), gradual.pure(Sensitivity.of(1))
    (3, Fraction(1, 1))
    """

    scales: tuple[Fraction, ...]

    def __post_init__(self) -> None:
        exact = tuple(positive(scale, "a Laplace scale") for scale in self.scales)
        if not exact or any(coarse <= fine for coarse, fine in pairwise(exact)):
            raise BadParameter("scales fall from one answer to the next, and there is at least one")
        object.__setattr__(self, "scales", exact)

    def draw(self, value: int, entropy: Entropy) -> tuple[int, ...]:
        answers = [add_laplace(value, self.scales[-1], entropy)]
        for coarse, fine in reversed(list(pairwise(self.scales))):
            answers.append(answers[-1] + _step(coarse, fine, entropy) - _step(coarse, fine, entropy))
        return tuple(reversed(answers))

    def pure(self, sensitivity: Sensitivity) -> Fraction:
        """The finest answer's; the others are made of it.  [KHP17, Theorem 9]"""
        return sensitivity.l1 / self.scales[-1]

    def profile(self, epsilon: float, sensitivity: Sensitivity) -> float:
        return pure_profile(float(self.pure(sensitivity)), epsilon)

    def interval(self, confidence: float) -> int:
        """How far the sharpest answer is off, at most, in this share of runs."""
        return Laplace(self.scales[-1]).interval(confidence)


class Sharpening:
    """A gradual answer at work: the secret rest stays here, and each step shows one more, once it is paid for.

    `pay` is told, before anything is shown, what the next answer costs beyond what was paid; what was shown in the end
    costs what its own noise says, whatever made the analyst stop.  [LNRWW17, Theorem 3.1]
    """

    def __init__(
        self,
        gradual: Gradual,
        sensitivity: Sensitivity,
        answers: tuple[int, ...],
        pay: Callable[[Fraction], None],
    ) -> None:
        self._gradual, self._sensitivity, self._pay = gradual, sensitivity, pay
        self.__answers = answers
        self.paid, self.shown = Fraction(0), 0

    def sharpen(self, confidence: float = 0.95) -> tuple[int, int]:
        """The next answer and its ± at this confidence."""
        if self.shown == len(self._gradual.scales):
            raise Withheld("the sharpest answer that was prepared is out")
        scale = self._gradual.scales[self.shown]
        price = self._sensitivity.l1 / scale
        self._pay(price - self.paid)
        self.paid, self.shown = price, self.shown + 1
        return self.__answers[self.shown - 1], Laplace(scale).interval(confidence)


def _step(coarse: Fraction, fine: Fraction, entropy: Entropy) -> int:
    """W, with Geometric(exp(−1/fine)) + W as Geometric(exp(−1/coarse))."""
    while True:
        k = _geometric(coarse, entropy)
        if k == 0 or not bernoulli_exp(1 / fine - 1 / coarse, entropy):
            return k


def _geometric(scale: Fraction, entropy: Entropy) -> int:
    """k ≥ 0 with probability proportional to exp(−k/scale): the size of a Laplace, whose sizes above 0 come twice."""
    while (x := discrete_laplace(scale, entropy)) < 0:
        pass
    return x
