"""The closed curves δ(ε) of randomised response, Laplace and Gaussian noise on the whole numbers.

Each is at least the true δ: float rounding is paid for by `ROUNDING`. Neighbours' inputs are whole numbers, or
lists of them, at most `shift` apart in L1. One number moved by the whole shift is the worst of these lists:

*Lemma.* Let P be noise on the whole numbers, symmetric and log-concave, with the loss of a shift linear between its
ends (Laplace) or everywhere (Gaussian). For a + b = s, the pair (P, P+s) dominates (P×P, (P+a)×(P+b)).
*Gaussian.* Say a ≥ b. The best event is {x ≤ h(y)} with h(y) = ⌊(c − b·y)/a⌋, so h(y+b) ≥ h(y) − b, and
δ₂ = Σ_y P(y)·[F(h(y)) − e^ε·F(h(y+b) − a)] ≤ Σ_y P(y)·[F(h(y)) − e^ε·F(h(y) − s)] ≤ δ₁.
*Laplace.* Both sides are piecewise linear in e^ε with kinks where ε·scale = s − 2j, j whole, and by symmetry ε ≥ 0
is enough. There δ₁ = 1 − q^j, q = exp(−1/scale). Given y, with t = clamp(y, 0, b) and j ≤ s/2 ≤ a, the left over δ
is (1 − q^(j−t))⁺ ≤ 1 − q^j.  ∎  More numbers follow one at a time, smaller shifts from δ = max_m F(m) − e^ε·F(m − s).
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from math import ceil, erfc, exp, expm1, floor, inf, log, log1p, pi, sqrt

ROUNDING = 1 + 1e-11
TINY = sys.float_info.min
GOLDEN = (sqrt(5) - 1) / 2
SUMMED = 1_000  # standard deviations up to here are summed term by term


def pure_profile(pure: float, epsilon: float) -> float:
    """δ(ε) of randomised response, which no mechanism with this pure ε exceeds.  [KOV15, Theorem 3.1]"""
    if epsilon >= pure:
        return 0.0
    if epsilon < 0:
        return _mirrored(epsilon, pure_profile(pure, -epsilon))
    return min(1.0, -expm1(epsilon - pure) / (1 + exp(-pure)) * ROUNDING)


def pure_epsilon(pure: float, delta: float) -> float:
    """The least ε with this δ, where nothing but the pure ε is known: the inverse of `pure_profile`, δ < 1."""
    return min(pure, max(0.0, pure + log1p(-min(delta * (1 + exp(-pure)), 1 - 1e-16))) * ROUNDING)


def pure_renyi(pure: float, order: float) -> float:
    """Rényi divergence of randomised response, which no mechanism with this pure ε exceeds: [KOV15, Theorem 3.1]
    and the data-processing inequality. It is (log cosh((α−½)ε) − log cosh(ε/2))/(α−1)."""
    return (_log_cosh((order - 0.5) * pure) - _log_cosh(pure / 2)) / (order - 1) * ROUNDING


def laplace_profile(scale: Fraction, shift: int, epsilon: float) -> float:
    """δ(ε) of discrete Laplace noise, tight for one number.

    Where j = (shift − ε·scale)/2 is whole, δ = 1 − q^j with q = exp(−1/scale); in between δ is linear in e^ε.

    >>> round(laplace_profile(Fraction(2), 1, 0.0), 6) == round(pure_profile(0.5, 0.0), 6)
    True
    """
    if epsilon < 0:
        return _mirrored(epsilon, laplace_profile(scale, shift, -epsilon))
    if epsilon == inf or (j := (shift - Fraction(epsilon) * scale) / 2) <= 0:
        return 0.0
    whole = floor(j)
    q, low, high = -1 / scale, -whole / scale, (whole - 2 * j) / scale
    raised = -exp(q) * expm1(low) - expm1(high)
    return min(1.0, raised / (1 + exp(q)) * ROUNDING)


def gaussian_profile(variance: Fraction, shift: int, epsilon: float) -> float:
    """δ(ε) of discrete Gaussian noise, tight for one number.  [CKS20, Theorem 7]

    δ = Σ P(x)·(1 − e^(ε − L(x))) over the whole x with L(x) = (shift² + 2·shift·x)/(2·variance) > ε.
    """
    if shift == 0 or epsilon == inf:
        return max(0.0, -expm1(epsilon)) if shift == 0 else 0.0
    if epsilon < 0:
        return _mirrored(epsilon, gaussian_profile(variance, shift, -epsilon))
    start = floor(Fraction(epsilon) * variance / shift - Fraction(shift, 2)) + 1
    deviation = sqrt(variance)
    near = _summed if deviation <= SUMMED else _integrated
    return min(1.0, near(deviation, shift, epsilon, start) * ROUNDING + TINY)


def gaussian_profile_many(variance: Fraction, l1: Fraction, l2_squared: Fraction, epsilon: float) -> float:
    """δ(ε) for several numbers: what their L1 distance proves by the lemma, and their L2 distance through zCDP.

    The δ of continuous noise would be a little less, and is not proven of the discrete.
    """
    one = gaussian_profile(variance, floor(l1), epsilon)
    return (
        one if l2_squared == l1 * l1 else min(one, zcdp_profile(float(l2_squared / (2 * variance)), epsilon))
    )


def _summed(deviation: float, shift: int, epsilon: float, start: int) -> float:
    """The sum of [CKS20, Theorem 7], its tail beyond e⁻⁴⁰ of the first term bounded by a geometric series."""
    import numpy as np

    if start > 38 * deviation:
        return _tail(deviation, start)
    start = max(start, -ceil(38 * deviation))
    variance = deviation * deviation
    end = ceil(sqrt(max(start, 0) ** 2 + 80 * variance)) + 1
    x = np.arange(start, end, dtype=np.float64)
    loss = (shift * shift + 2.0 * shift * x) / (2 * variance)
    terms = np.exp(-x * x / (2 * variance)) * -np.expm1(np.minimum(epsilon - loss, 0.0))
    return float(np.sum(terms)) / _total(deviation) + _tail(deviation, end)


def _tail(deviation: float, start: int) -> float:
    """P(x ≥ start) at most, start > 0: each term is below e^(−start/variance) times the one before."""
    variance = deviation * deviation
    first = exp(max(-700.0, -start * start / (2 * variance)))
    return first / -expm1(-start / variance) / _total(deviation)


@lru_cache(maxsize=1024)
def _total(deviation: float) -> float:
    """Σ exp(−x²/(2σ²)) at least: √(2π)·σ, by Poisson summation; for small σ the first terms."""
    if deviation > 4:
        return sqrt(2 * pi) * deviation
    return 1 + 2 * sum(exp(-x * x / (2 * deviation * deviation)) for x in range(1, 60))


def _integrated(deviation: float, shift: int, epsilon: float, start: int) -> float:
    """The same sum where there are too many terms: at most the continuous δ and the error of the midpoint rule.

    With g(x) = f(x) − e^ε·f(x + shift), f(x) = exp(−x²/(2σ²)): Σ_{x ≥ start} g(x) ≤ ∫_u^∞ g + ⅛·∫_u^∞ |g″|,
    u = start − ½ (Peano kernel ½(½ − |s|)² ≤ ⅛), and ∫_u^∞ g is at most the δ of [BW18, Theorem 8].
    """
    ratio = shift / deviation
    first = _normal_above(epsilon / ratio - ratio / 2)
    second = _normal_above(epsilon / ratio + ratio / 2)
    smooth = first - exp(min(epsilon, 700.0)) * second + 1e-13 * first
    error = _bend(deviation, start - 0.5, 0.0) + _bend(deviation, start - 0.5 + shift, epsilon)
    return smooth + error / (8 * sqrt(2 * pi) * deviation)


def _bend(deviation: float, u: float, epsilon: float) -> float:
    """e^ε·∫_u^∞ |f″| at most: −f′(u) beyond the inflection, the whole variation of f′ before it."""
    if u < deviation:
        return 4 * exp(epsilon - 0.5) / deviation
    return u / deviation**2 * exp(epsilon - (u / deviation) ** 2 / 2)


def _normal_above(x: float) -> float:
    return erfc(x / sqrt(2)) / 2


def renyi_delta(divergence: float, order: float, epsilon: float) -> float:
    """δ(ε) from a Rényi divergence.  [CKS20, Proposition 12]"""
    exponent = (order - 1) * (divergence - epsilon + log1p(-1 / order)) - log(order)
    return exp(exponent) * ROUNDING if exponent < 0 else 1.0


def renyi_epsilon(divergence: float, order: float, delta: float) -> float:
    """ε(δ) from a Rényi divergence.  [CKS20, Proposition 12], the other way round"""
    return max(0.0, divergence + log1p(-1 / order) - (log(delta) + log(order)) / (order - 1)) * ROUNDING


def zcdp_profile(rho: float, epsilon: float) -> float:
    """δ(ε) of any ρ-zCDP mechanism, at the best order.  [CKS20, Corollary 13]

    δ = exp((α−1)(αρ − ε) + α·log(1 − 1/α))/(α − 1); any order is valid, so the search need not be exact.
    """
    if rho <= 0:
        return 0.0
    if epsilon < 0:
        return 1.0

    def exponent(gap: float) -> float:
        order = 1 + gap
        return gap * (order * rho - epsilon) + order * (log(gap) - log1p(gap)) - log(gap)

    furthest = log(max(4.0, 4 * (epsilon + 1) / rho))
    best = least_at(lambda gap: exponent(exp(gap)), log(1e-6), furthest, steps=40)
    return min(1.0, exp(min(0.0, exponent(exp(best)))) * ROUNDING + TINY)


def least_at(f: Callable[[float], float], low: float, high: float, *, steps: int) -> float:
    """Where a function that falls and then rises is least, by golden sections: one value of it a step."""
    left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    at_left, at_right = f(left), f(right)
    for _ in range(steps):
        if at_left < at_right:
            high, right, at_right = right, left, at_left
            left = high - GOLDEN * (high - low)
            at_left = f(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + GOLDEN * (high - low)
            at_right = f(right)
    return (low + high) / 2


def _mirrored(epsilon: float, delta: float) -> float:
    """δ at ε < 0 from δ at −ε, as neighbours come in both orders: H_γ(P‖Q) = 1 − γ + γ·H_{1/γ}(Q‖P)."""
    return min(1.0, -expm1(epsilon) + exp(epsilon) * delta)


def _log_cosh(x: float) -> float:
    x = abs(x)
    return x + log1p(exp(-2 * x)) - log(2)
