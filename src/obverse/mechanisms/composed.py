"""δ(ε) of promises kept several times, and of zCDP: as curves that are convex in e^ε, as a true δ(ε) is."""

from __future__ import annotations

from functools import lru_cache
from math import exp, expm1, fsum, inf, lgamma, log, log1p

from obverse.loss.curves import least_at, zcdp_profile


def composed_profile(pure: float, delta: float, times: int, epsilon: float) -> float:
    """δ(ε) of `times` mechanisms of which each keeps (pure, delta), at most: 1 − (1 − delta)^times·(1 − δ′(ε)).

    δ′ is that of `times` coins with chances e^pure : 1: their loss is (times − 2·tails)·pure.
    [KOV15, Theorem 3.3; MV16]
    """
    kept = times * log1p(-delta) if delta < 1 else -inf
    return -expm1(kept) + exp(kept) * _coins(pure, times, epsilon)


def _coins(pure: float, times: int, epsilon: float) -> float:
    norm = times * log1p(exp(-pure))
    terms = []
    for tails in range(times + 1):
        loss = (times - 2 * tails) * pure
        if loss <= epsilon:
            break
        ways = lgamma(times + 1) - lgamma(tails + 1) - lgamma(times - tails + 1)
        terms.append(exp(ways - tails * pure - norm) * -expm1(epsilon - loss))
    return min(1.0, fsum(terms))


def concentrated_profile(rho: float, epsilon: float) -> float:
    """δ(ε) of any ρ-zCDP mechanism: the known bound, and below some ε₀ the line to δ = 1 at e^ε = 0.

    A true δ(ε) is convex in e^ε and ends there, so it is below the line; it is taken where the line is steepest.
    """
    start = _tangent(rho)
    if epsilon >= start:
        return zcdp_profile(rho, epsilon)
    return 1 - exp(epsilon - start) * (1 - zcdp_profile(rho, start))


@lru_cache(maxsize=256)
def _tangent(rho: float) -> float:
    """The ε₀ where (1 − δ(ε))/e^ε is most, by its logarithm; any is valid."""

    def flat(epsilon: float) -> float:
        rest = 1 - zcdp_profile(rho, epsilon)
        return epsilon - log(rest) if rest > 0 else inf

    return least_at(flat, 0.0, 4 * rho + 4, steps=60)
