"""The tight figure for thousands of charges, certified from both sides.  [AGAKSV23; ZDW22]

For independent losses with log-moments K and c > 0, z = c + it,

    δ(ε) = E[(1 − e^(ε − L))⁺] = (1/π)·∫₀^∞ Re[exp(K(z) − ε·z) / (z·(z + 1))] dt.

The integral is a sum at t = 0, h, 2h, …, N·h, and everything between the two is bounded:

*Aliasing.* By Poisson summation the infinite sum is Σ_k e^(Ak)·δ(ε + A·k/c), A = 2πc/h: too large, never too small.
The terms k < 0 are at most e^(−A|k|); those of k > 0 at most exp(K(2c) − 2cε − Ak), by Markov's inequality at 2c.
*Truncation.* On a rung t ∈ (R, R′] a charge whose period is at least R′ + T has |exp K(c + it)| ≤ |exp K(c + iT)|,
T = N·h, and any charge has |exp K(c + it)| ≤ exp K(c). As Σ_{n > N} h/t² ≤ 1/T, each rung adds at most
exp(K(c) − cε)·(its fall)·(1/R − 1/R′)/π.
*Padding.* One more Gaussian of standard deviation s in the loss can only raise δ, and falls as exp(−s²t²/2): the upper
figure may use it where the charges themselves do not fall; the lower figure never does.
*Floats.* Each factor exp K is within FLOAT = 2⁻⁴⁴ of its value, relative to exp K(c), so n charges are within n·FLOAT;
adding up logarithms of size up to k rounds n times by k·2⁻⁵², and is paid for beside it.

Charges are taken at fixed lines c = ¼ … 512, so they can be added one at a time and read at any ε and δ. The figure
is for charges fixed in advance; it is not a filter.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import expm1, inf, log, log1p, pi

import numpy as np
import numpy.typing as npt

from obverse.loss.moments import Moments

Floats = npt.NDArray[np.float64]

NODES = 36
ALIAS = 36.0
FLOAT = 2.0**-44
LINES: Floats = np.ldexp(1.0, np.arange(-2, 10))
MARKOV: Floats = LINES[:-1] * np.log(LINES[:-1]) - (1 + LINES[:-1]) * np.log1p(
    LINES[:-1]
)  # [CKS20, Proposition 12]
STEPS = 2 * pi * LINES / ALIAS
Z = LINES[:, None] + 1j * STEPS[:, None] * np.arange(NODES + 1)[None, :]
WEIGHTS = STEPS[:, None] / pi * np.where(np.arange(NODES + 1) == 0, 0.5, 1.0) / (Z * (Z + 1))
RUNGS: Floats = STEPS[:, None] * NODES * np.append(np.ldexp(1.0, 2 * np.arange(9)), inf)
REACHES: Floats = RUNGS[:, 1:] + RUNGS[:, :1]
FLAT = Z.ravel()
FIRST = np.arange(len(LINES)) * (NODES + 1)
EDGES = np.concatenate([FIRST, FIRST + NODES])
HELD = 16  # factors multiplied before their logarithm is taken
TINY = 1e-300


@dataclass(frozen=True)
class Bounds:
    """A figure that is certainly between two others."""

    low: float
    high: float


class Contour:
    """The total loss of charges fixed in advance; `add` one, then read `epsilon` or `delta`.

    >>> from obverse.loss.moments import Response
    >>> total = Contour()
    >>> total.add(Response(0.01), 1000)
    >>> round(total.epsilon(1e-6).high, 2)
    1.37
    """

    def __init__(self) -> None:
        self._logs = np.zeros(Z.shape, dtype=complex)
        self._flat = self._logs.reshape(-1)
        self._product = np.ones(Z.size, dtype=complex)
        self._held = 0
        self._falls = np.zeros((len(LINES), RUNGS.shape[1] - 1))
        self._alive = 0.0
        self._count = 0
        self._exact = True

    def add(self, loss: Moments, times: int = 1) -> None:
        """One more charge, or so many of the same."""
        logs, factors = loss.parts(FLAT)
        if loss.period:
            ends = logs[EDGES].real
            if len(factors) > 1:
                ends = ends + np.log(np.abs(factors[EDGES]) + TINY)
            fall = np.minimum(ends[len(LINES) :] - ends[: len(LINES)], 0.0)
            self._falls += times * fall[:, None] * (loss.period >= REACHES)
        if times == 1 and loss.exact:
            self._flat += logs
            self._product *= factors
            self._held += 1
        else:
            self._flat += times * (logs + np.log(factors + TINY))
        if self._held == HELD:
            self.settle()
        self._alive += times * log1p(-loss.infinite)
        self._count += times
        self._exact &= loss.exact

    def settle(self) -> None:
        """Takes the logarithm of the factors multiplied so far; at t = 0 each is at least ½, so none is lost."""
        if not self._held:
            return
        self._flat += np.log(self._product + TINY)
        self._product[:], self._held = 1, 0

    def delta(self, epsilon: float) -> Bounds:
        """Certain bounds on δ(ε)."""
        self.settle()
        at = np.array([epsilon])
        lines = range(len(LINES) - 1)
        low = max(self._low(line, at)[0] for line in lines) if self._exact else 0.0
        return Bounds(max(0.0, float(low)), min(1.0, *(float(self._high(line, at)[0]) for line in lines)))

    def epsilon(self, delta: float) -> Bounds:
        """Certain bounds on the least ε with δ(ε) ≤ delta."""
        self.settle()
        with np.errstate(over="ignore"):
            start = (self._logs[:-1, 0].real + MARKOV - log(delta)) / LINES[:-1]
        best, near = int(np.argmin(start)), float(np.min(start))
        lines = [line for line in (best - 1, best, best + 1) if 0 <= line < len(LINES) - 1]
        high = min(_crossing(partial(self._high, line), delta, near)[1] for line in lines)
        if not self._exact:
            return Bounds(0.0, high)
        low = max(_crossing(partial(self._low, line), delta, near)[0] for line in lines)
        return Bounds(min(low, high), high)

    def _high(self, line: int, epsilon: Floats) -> Floats:
        pad = self._padding(line)
        summed, peak = self._summed(epsilon, line, pad)
        return summed + peak * (self._tail(line, pad) + self._slack(line)) + self._dead

    def _low(self, line: int, epsilon: Floats) -> Floats:
        summed, peak = self._summed(epsilon, line, 0.0)
        with np.errstate(over="ignore", invalid="ignore"):
            beyond = np.exp(self._logs[line + 1, 0].real - LINES[line + 1] * epsilon)
            alias = (1 + beyond) / expm1(ALIAS)
            found: Floats = summed - peak * (self._tail(line, 0.0) + self._slack(line)) - alias + self._dead
        return np.where(np.isfinite(found), found, 0.0)

    def _summed(self, epsilon: Floats, line: int, pad: float) -> tuple[Floats, Floats]:
        """The sum over the nodes, and exp(K(c) − cε), with a Gaussian of standard deviation `pad`."""
        z = Z[line]
        logs = self._logs[line] + pad * pad / 2 * (z + z * z)
        with np.errstate(over="ignore", invalid="ignore"):
            terms = np.exp(logs[None, :] - epsilon[:, None] * z[None, :])
            return np.nan_to_num((terms @ WEIGHTS[line]).real, nan=inf), np.abs(terms[:, 0])

    def _tail(self, line: int, pad: float) -> float:
        """What the nodes left out can add, in units of the peak."""
        rungs = RUNGS[line]
        with np.errstate(under="ignore"):
            falls = np.exp(self._falls[line] - pad * pad * rungs[:-1] ** 2 / 2)
        return float(np.sum(falls * (1 / rungs[:-1] - 1 / rungs[1:])) / pi)

    def _padding(self, line: int) -> float:
        """The least padding that makes the nodes left out negligible."""
        for pad in (0.0, *(7 / RUNGS[line, -2::-1])):
            if self._tail(line, pad) <= 1e-4 / (1 + LINES[line]) ** 2:
                break
        return float(pad)

    def _slack(self, line: int) -> float:
        steps = (self._count + NODES) * (1 + float(np.max(np.abs(self._logs[line]))) / 256)
        return FLOAT * steps * float(np.sum(np.abs(WEIGHTS[line])))

    @property
    def _dead(self) -> float:
        """The chance that some loss is infinite."""
        return -expm1(self._alive)


def _crossing(curve: Callable[[Floats], Floats], delta: float, near: float) -> tuple[float, float]:
    """Two values of ε close together: where a falling curve is still above δ (or 0), and where it no longer is."""
    low, high = 0.0, max(near, 1e-9)
    if curve(np.array([0.0]))[0] <= delta:
        return 0.0, 0.0
    for _ in range(4):
        tried = np.linspace(low, high, 33)
        above = np.flatnonzero(~(curve(tried) <= delta))
        last = int(above[-1]) if len(above) else 0
        if last == len(tried) - 1:
            return high, inf
        low, high = float(tried[last]), float(tried[last + 1])
    return low, high
