"""What is charged beside what the law of the mechanism gives, and the draws beside the law."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from obverse.audit.black_box import promised, sampled
from obverse.audit.cases import Case
from obverse.audit.finding import Finding
from obverse.audit.laws import delta, law, misfit
from obverse.loss.loss import Sensitivity
from obverse.mechanisms.base import Mechanism
from obverse.mechanisms.gaussian import Gaussian
from obverse.mechanisms.laplace import Laplace
from obverse.noise.entropy import Entropy
from obverse.noise.exact import below

SLACK = 1e-9
RAREST = 1e-9
EPSILONS = tuple(k / 8 for k in range(-8, 41))
PARAMETERS = 40


def recomputed(case: Case) -> Finding | None:
    """δ(ε) summed from the law, at many ε, against the profile that is charged."""
    ours, theirs = law(case.mechanism, case.value), law(case.mechanism, case.neighbour)
    if ours is None or theirs is None:
        return None
    for epsilon in EPSILONS:
        exact = max(delta(ours, theirs, epsilon), delta(theirs, ours, epsilon))
        if exact > case.mechanism.profile(epsilon, case.sensitivity) * (1 + SLACK) + 1e-12:
            note = f"δ({epsilon:g}) is {exact:.3g}, charged {case.mechanism.profile(epsilon, case.sensitivity):.3g}"
            return Finding("analytic", case.name, True, note=note)
    return Finding("analytic", case.name, False, note=f"δ(ε) holds at {len(EPSILONS)} ε")


def at_random(entropy: Entropy) -> list[Finding]:
    """The same for Laplace and Gaussian noise at parameters that nobody chose."""
    findings = []
    for kind in (Laplace, Gaussian):
        lies = None
        for _ in range(PARAMETERS):
            size = Fraction(below(1 << 10, entropy) + 8, below(60, entropy) + 2)
            shift = below(5, entropy) + 1
            found = recomputed(Case(kind(size), 0, shift, Sensitivity.of(shift)))
            if found is not None and found.lies:
                lies = found
        note = f"at {PARAMETERS} random scales and shifts" if lies is None else lies.note
        findings.append(Finding("analytic", f"{kind.__name__} at random", lies is not None, note=note))
    return findings


def fitted(
    case: Case, entropy: Entropy, draws: int = 0, does: Mechanism[Any, Any] | None = None
) -> Finding | None:
    """Draws beside the law, by χ²; `does` is what really runs, if that is another."""
    if (chances := law(case.mechanism, case.value)) is None:
        return None
    draws = draws or (1_000_000 if isinstance(case.mechanism, Laplace | Gaussian) else 20_000)
    p = misfit(sampled(does or case.mechanism, case.value, draws, entropy), chances)
    charged = promised(case.mechanism, case.sensitivity)
    return Finding(
        "fit", case.name, p < RAREST, note=f"χ² of {draws:,} draws: p = {p:.2g} (ε = {charged:.3g})"
    )
