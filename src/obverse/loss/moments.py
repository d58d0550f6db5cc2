"""The log-moment transform K(z) = log E[exp(z·L)] of a privacy loss L, at complex z: what the contour method adds up.

L is the loss of the worst pair of neighbours, in either order, as both orders have the same law here. Where the law of
L sits on a lattice, |exp K(c + it)| falls from t = 0 to half a period and is symmetric about it; `period` says so.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import exp, expm1, inf, pi, sqrt
from typing import Protocol

import numpy as np
import numpy.typing as npt

Line = npt.NDArray[np.complex128]
ONE: Line = np.ones(1, dtype=complex)


class Moments(Protocol):
    """One loss, seen through its moments."""

    @property
    def exact(self) -> bool:
        """Whether this is the loss itself; otherwise one that dominates it."""
        ...

    @property
    def infinite(self) -> float:
        """The chance that the loss is infinite; the moments are of the rest."""
        ...

    @property
    def period(self) -> float:
        """See above; 0 where nothing of the kind is known."""
        ...

    def parts(self, z: Line) -> tuple[Line, Line]:
        """(a, f) with E[exp(z·L)] = exp(a)·f and f of ordinary size: factors are multiplied before they are logged."""
        ...


@dataclass(frozen=True)
class Response:
    """Randomised response: L = ±pure, the first with probability 1/(1 + exp(−pure)).

    |exp K(c + it)| = |A + B·exp(2·i·pure·t)|, A, B > 0.
    """

    pure: float
    exact = True
    infinite = 0.0

    @property
    def period(self) -> float:
        return pi / self.pure if self.pure else inf

    def parts(self, z: Line) -> tuple[Line, Line]:
        factor: Line = np.exp(-2 * self.pure * z)
        less = exp(-self.pure)
        factor *= less / (1 + less)
        factor += 1 / (1 + less)
        return z * self.pure, factor


@dataclass(frozen=True)
class LaplaceShift:
    """Discrete Laplace noise of this scale, inputs `shift` apart.

    L = (shift − 2x)/scale with x the noise clamped to 0 … shift, so a geometric sum with r = exp(−(2z + 1)/scale).
    """

    scale: float
    shift: int
    exact = True
    infinite = 0.0

    @property
    def period(self) -> float:
        return pi * self.scale if self.shift == 1 else 0.0

    def parts(self, z: Line) -> tuple[Line, Line]:
        less = expm1(-1 / self.scale)
        step: Line = z * (-2 / self.scale)
        step -= 1 / self.scale
        far: Line = np.exp(step * self.shift)
        if self.shift == 1:
            factor = 1 + far
        else:
            between: Line = np.expm1(step)
            np.divide(less, between, out=between)
            factor = 1 + far + less + (1 - far) * between
        factor /= 2 + less
        return z * (self.shift / self.scale), factor


@dataclass(frozen=True)
class GaussianShift:
    """Discrete Gaussian noise, inputs `shift` apart: L = (shift² + 2·shift·x)/(2·variance).

    exp K(z) = exp((z + z²)·shift²/(2·variance))·Θ(z·shift)/Θ(0), Θ(w) = Σ_x exp(−(x − w)²/(2·variance)). By the triple
    product |exp K(c + it)| is a product of |1 + ρ·exp(±iω)|, ω = t·shift/variance, ρ > 0: falling until ω = π.
    """

    variance: float
    shift: int
    exact = True
    infinite = 0.0

    @property
    def period(self) -> float:
        return 2 * pi * self.variance / self.shift

    def parts(self, z: Line) -> tuple[Line, Line]:
        logs: Line = z + 1
        logs *= z
        logs *= self.shift * self.shift / self.variance / 2
        # Elsewhere Θ(z·shift)/Θ(0) is 1 within exp(−45), by Poisson summation.
        bent = 2 * pi * (pi * self.variance - self.shift * z.imag) < 45
        if bent.any():
            logs[bent] = self._bent(z[bent])
        return logs, ONE

    def _bent(self, z: Line) -> Line:
        """K(z) where Θ matters: e^a·Σ_x exp((−(x − near)² + 2i·turn·(x − near))/(2·variance))/Θ(0).

        z·shift is brought to near + i·turn, |near| ≤ ½, as Θ(w + 1) = Θ(w); terms in turn² cancel before rounding.
        """
        x = self._support[:, None] - (z.real * self.shift - np.round(z.real * self.shift))
        turn = z.imag * self.shift
        summed = np.sum(np.exp((-x * x / 2 + 1j * turn * x) / self.variance), axis=0)
        total = np.sum(np.exp(-self._support * self._support / (2 * self.variance)))
        half = self.shift * self.shift / self.variance / 2
        smooth = half * (z.real + z.real**2) + 1j * half * (z.imag + 2 * z.real * z.imag)
        return np.asarray(smooth + np.log(summed / total + 1e-300), dtype=complex)

    @cached_property
    def _support(self) -> npt.NDArray[np.float64]:
        far = np.ceil(9 * sqrt(self.variance)) + 2
        return np.arange(-far, far + 1)


@dataclass(frozen=True, eq=False)
class Atoms:
    """A loss with these values and chances, such as one found by connecting the dots."""

    losses: npt.NDArray[np.float64]
    chances: npt.NDArray[np.float64]
    infinite: float
    exact = False
    period = 0.0

    def parts(self, z: Line) -> tuple[Line, Line]:
        """The largest loss is taken out first, so that nothing overflows."""
        top = float(self.losses[-1])
        summed = np.array([np.sum(self.chances * np.exp(each * (self.losses - top))) for each in z])
        return z * top, summed
