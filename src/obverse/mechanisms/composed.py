"""δ(ε) of the same (ε₀, δ₀) promise kept several times, exactly.  [KOV15, Theorem 3.3; MV16]"""

from __future__ import annotations

from math import exp, expm1, fsum, inf, lgamma, log1p


def composed_profile(pure: float, delta: float, times: int, epsilon: float) -> float:
    """δ(ε) of `times` mechanisms of which each keeps (pure, delta), at most: 1 − (1 − delta)^times·(1 − δ′(ε)).

    δ′ is that of `times` coins with chances e^pure : 1, whose loss is (times − 2·tails)·pure.
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
