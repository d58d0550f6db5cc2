"""The mean of a number everybody has, from reports private before they are sent.  [DJW18; WXY+19]

Numbers are whole steps from −`steps` to `steps`; each device rounds its own to that grid. A report is whole numbers,
its law exact; `unbiased` makes of it a number whose mean is the true one.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import exp, expm1

import numpy as np
from numpy.typing import NDArray

from obverse.errors import BadParameter
from obverse.local.estimate import Estimate, Floats, mean
from obverse.loss.curves import pure_profile
from obverse.loss.loss import Sensitivity
from obverse.loss.number import positive
from obverse.mechanisms.base import Mechanism
from obverse.mechanisms.coins import coins, dice, odds
from obverse.mechanisms.lazily import Whole, whole
from obverse.noise.draws import laplaces
from obverse.noise.entropy import Entropy
from obverse.noise.exact import exp_bounds

CELLS = 1 << 16  # what a piecewise report is one of
MOST = 1 << 30


@dataclass(frozen=True)
class LocalMean(Mechanism[Sequence[int] | Whole, Whole]):
    """Numbers in −steps … steps, a report each; ε-private for each number, whatever it changes to."""

    epsilon: Fraction
    steps: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", positive(self.epsilon, "ε"))
        if not 1 <= self.steps <= MOST:
            raise BadParameter(f"a number has 1 to 2³⁰ steps on either side of 0, not {self.steps}")

    def clamped(self, value: Sequence[int] | Whole) -> Whole:
        return np.clip(whole(value), -self.steps, self.steps)

    def pure(self, sensitivity: Sensitivity) -> Fraction:
        """ε for each number a person gives, however far it moves."""
        return self.epsilon * -(-sensitivity.l1 // sensitivity.most)

    def profile(self, epsilon: float, sensitivity: Sensitivity) -> float:
        return pure_profile(float(self.pure(sensitivity)), epsilon)

    @abstractmethod
    def unbiased(self, reports: Whole) -> Floats:
        """Each report as a number whose mean is the true one."""

    def estimate(self, reports: Whole) -> Estimate:
        """The mean, in steps, and its standard error."""
        return mean(self.unbiased(reports))


@dataclass(frozen=True)
class LocalLaplace(LocalMean):
    """The number and discrete Laplace noise of scale 2·steps/ε: best of these only for small ε, and without bounds."""

    def draw(self, value: Sequence[int] | Whole, entropy: Entropy) -> Whole:
        given = self.clamped(value)
        return given + np.array(laplaces(2 * self.steps / self.epsilon, given.size, entropy), np.int64)

    def unbiased(self, reports: Whole) -> Floats:
        return reports.astype(np.float64)


@dataclass(frozen=True)
class Duchi(LocalMean):
    """One bit: the number rounded to an end, the nearer the likelier, then randomised response.  [DJW18, Section 4.2]

    P(+) = ½ + v·(e^ε − 1)/(2·(e^ε + 1)) for v in −1 … 1, since rounding to + has chance (1 + v)/2.
    """

    def draw(self, value: Sequence[int] | Whole, entropy: Entropy) -> Whole:
        given = self.clamped(value)
        up = dice(2 * self.steps, given.size, entropy) < given + self.steps
        truth = coins(odds(self.epsilon), given.size, entropy)
        return np.where(up == truth, 1, -1).astype(np.int64)

    def unbiased(self, reports: Whole) -> Floats:
        e = float(self.epsilon)
        return reports.astype(np.float64) * (self.steps * (1 + exp(-e)) / -expm1(-e))


@dataclass(frozen=True)
class Piecewise(LocalMean):
    """A cell of 2¹⁶: one of a window that the number shifts, e^ε as likely as one outside.  [WXY+19, Algorithm 2]

    The paper's window is 1/(e^(ε/2) + 1) of all; here it is that many whole cells, and a number is rounded at random
    to one of the window's places, without bias.
    """

    @property
    def window(self) -> int:
        return max(1, min(round(CELLS / (exp(min(float(self.epsilon) / 2, 700.0)) + 1)), CELLS // 2))

    def draw(self, value: Sequence[int] | Whole, entropy: Entropy) -> Whole:
        given, window = self.clamped(value), self.window
        start, rest = np.divmod((given + self.steps) * (CELLS - window), 2 * self.steps)
        start += dice(2 * self.steps, given.size, entropy) < rest
        inside = coins(odds(self.epsilon, Fraction(CELLS - window, window)), given.size, entropy)
        outside = dice(CELLS - window, given.size, entropy)
        outside += window * (outside >= start)
        return np.where(inside, start + dice(window, given.size, entropy), outside)

    def unbiased(self, reports: Whole) -> Floats:
        """E[cell] is linear in the window's place: p·(s + (w − 1)/2) + (1 − p)·(all − w·(s + (w − 1)/2))/(W − w)."""
        window, rest = self.window, CELLS - self.window
        p = 1 / (1 + rest / window * exp(-float(self.epsilon)))
        slope = p - (1 - p) * window / rest
        middle = (1 - p) * CELLS * (CELLS - 1) / 2 / rest
        place: Floats = (reports.astype(np.float64) - middle) / slope - (window - 1) / 2
        return place * (2 * self.steps / rest) - self.steps


@dataclass(frozen=True)
class Hybrid(LocalMean):
    """Piecewise with chance 1 − e^(−ε/2), Duchi otherwise; always Duchi for small ε.  [WXY+19, Section 3.3]

    A report is (0, sign) or (1, cell). Which of the two is drawn depends on no number.
    """

    def draw(self, value: Sequence[int] | Whole, entropy: Entropy) -> Whole:
        given = self.clamped(value)
        cell = self._piecewise(given.size, entropy)
        said = np.where(cell, self._parts[1].draw(given, entropy), self._parts[0].draw(given, entropy))
        return np.stack((cell.astype(np.int64), said), axis=1)

    def _piecewise(self, count: int, entropy: Entropy) -> NDArray[np.bool_]:
        if float(self.epsilon) <= 0.61:
            return np.zeros(count, np.bool_)
        return ~coins(lambda bits: exp_bounds(self.epsilon / 2, bits), count, entropy)

    @property
    def _parts(self) -> tuple[Duchi, Piecewise]:
        return Duchi(self.epsilon, self.steps), Piecewise(self.epsilon, self.steps)

    def unbiased(self, reports: Whole) -> Floats:
        duchi, piecewise = (part.unbiased(reports[:, 1]) for part in self._parts)
        return np.where(reports[:, 0] == 1, piecewise, duchi)
