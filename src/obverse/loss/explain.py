"""What each theorem says of the same loss: basic, advanced, zCDP, Rényi, and the tight figure."""

from __future__ import annotations

from dataclasses import dataclass
from math import e, exp, inf, lgamma, log, log1p, sqrt, tanh

from obverse.loss.curves import pure_profile, renyi_epsilon, zcdp_profile
from obverse.loss.loss import ORDERS, Loss, Sum, least_epsilon


@dataclass(frozen=True)
class Explained:
    """ε at one δ, by each way of adding up; infinite where a way does not apply. All of them hold; the least is charged
    least, but only `basic`, `zcdp` and `renyi` can be enforced while questions adapt."""

    delta: float
    basic: float
    advanced: float
    zcdp: float
    renyi: float
    tight: float

    @property
    def lines(self) -> tuple[tuple[str, float, str], ...]:
        """Name, ε and theorem, one a line."""
        return (
            ("basic", self.basic, "ε adds up [DR14, Theorem 3.16]"),
            ("advanced", self.advanced, "ε grows with the root [KOV15, Theorem 3.5]"),
            ("zCDP", self.zcdp, "ρ adds up [CKS20, Corollary 13]"),
            ("Rényi", self.renyi, "divergences add up [CKS20, Proposition 12]"),
            (
                "tight",
                self.tight,
                "whole curves add up, for what is fixed in advance [ZDW22; AGAKSV23; DGKKM22]",
            ),
        )


def explain(loss: Loss, delta: float) -> Explained:
    """Each figure for one loss, at δ above 0."""
    parts = loss.parts if isinstance(loss, Sum) else ((loss, 1),)
    lacking = sum(n for part, n in parts if part.pure is None)
    basic = _pures(parts, delta / lacking if lacking else 0.0)
    half = _pures(parts, delta / (2 * lacking) if lacking else 0.0)
    rho = loss.rho
    return Explained(
        delta,
        basic=sum(n * pure for pure, n in basic),
        advanced=advanced(half, delta / 2 if lacking else delta),
        zcdp=inf if rho is None else least_epsilon(lambda epsilon: zcdp_profile(float(rho), epsilon), delta),
        renyi=min(renyi_epsilon(loss.renyi(order), order, delta) for order in ORDERS),
        tight=loss.epsilon(delta),
    )


def _pures(parts: tuple[tuple[Loss, int], ...], share: float) -> list[tuple[float, int]]:
    """(ε, times) of each part; one without a pure ε is read at its share of δ."""
    return [(part.epsilon(share) if part.pure is None else float(part.pure), n) for part, n in parts]


def advanced(pures: list[tuple[float, int]], delta: float) -> float:
    """ε of a sequence of pure losses, each so many times: exact where all are equal, else [KOV15, Theorem 3.5].

    >>> round(advanced([(0.1, 100)], 1e-6), 2), round(advanced([(0.1, 99), (0.2, 1)], 1e-6), 2)
    (4.77, 5.85)
    """
    used = [(pure, n) for pure, n in pures if pure and n]
    if not used or any(pure == inf for pure, _ in used):
        return inf if used else 0.0
    total = sum(n * pure for pure, n in used)
    if len({pure for pure, _ in used}) == 1:
        pure, times = used[0][0], sum(n for _, n in used)
        return min(total, least_epsilon(lambda epsilon: equal(pure, times, epsilon), delta))
    mean = sum(n * pure * tanh(pure / 2) for pure, n in used)
    squares = sum(n * pure * pure for pure, n in used)
    root = min(log(e + sqrt(squares) / delta), log(1 / delta))
    return min(total, mean + sqrt(2 * squares * root))


def equal(pure: float, times: int, epsilon: float) -> float:
    """δ(ε) of so many equal pure losses, exactly.  [KOV15, Theorem 3.3; MV16]

    δ = Σ_k C(times, k)·(e^((times − k)·pure) − e^(ε + k·pure))⁺ / (1 + e^pure)^times.
    """
    if times == 1:
        return pure_profile(pure, epsilon)
    whole, delta = times * (pure + log1p(exp(-pure))), 0.0
    for k in range(times + 1):
        level = (times - 2 * k) * pure
        if level <= epsilon:
            break
        count = lgamma(times + 1) - lgamma(k + 1) - lgamma(times - k + 1)
        delta += exp(count + (times - k) * pure - whole) * -(exp(epsilon - level) - 1)
    return delta * (1 + 1e-9)


def belief(prior: float, epsilon: float) -> float:
    """The most a belief can become when odds grow by at most e^ε."""
    return 1 / (1 + (1 - prior) / prior * exp(-epsilon)) if epsilon < inf else 1.0


def tail(loss: Loss, chance: float) -> float:
    """ε that the loss of a run exceeds at most with this chance: P(L > ε) ≤ δ(ε′)/(1 − e^(ε′ − ε)) for ε′ < ε."""
    if not chance:
        return inf if loss.pure is None else float(loss.pure)
    gaps = [2.0**k for k in range(-7, 3)]
    found = min(loss.epsilon(chance * (1 - exp(-gap))) + gap for gap in gaps)
    return found if loss.pure is None else min(found, float(loss.pure))
