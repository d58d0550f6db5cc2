"""Anything that can be run twice: draws on two neighbours, and the ε that an event proves.  [JUO20; DWWZK18]

Draws are doubled until a lie is proved or the last round ends; round k may be wrong with half the doubt of the one
before, so that all rounds together are wrong less often than `DOUBT`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import exp, inf
from time import perf_counter
from typing import Any

from obverse.audit.cases import Case
from obverse.audit.finding import Finding
from obverse.audit.witness import DOUBT, Witness, witness
from obverse.loss.loss import Sensitivity
from obverse.mechanisms.base import Mechanism
from obverse.mechanisms.gaussian import Gaussian
from obverse.mechanisms.laplace import Laplace
from obverse.noise.entropy import Entropy

Sample = Callable[[int], Sequence[object]]
EPSILONS = (-0.5, 0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0, 1.5, 2.0, 3.0, 5.0)
FIRST, ROUNDS, SECONDS = 4_000, 3, 1.0
AT = 0.05  # the δ at which a mechanism that is not pure is looked at


def black_box(
    name: str,
    here: Sample,
    there: Sample,
    profile: Callable[[float], float],
    charged: tuple[float, float],
    *,
    first: int = FIRST,
    rounds: int = ROUNDS,
    epsilons: Sequence[float] = EPSILONS,
    seconds: float = SECONDS,
) -> Finding:
    """Whether what is drawn on two neighbours breaks δ(ε); `charged` is an (ε, δ) to show beside what is seen."""
    epsilon, delta = charged
    seen, event = 0.0, ""
    wanted = [*epsilons, epsilon, epsilon / 2]
    start = perf_counter()
    for step in range(rounds):
        if perf_counter() - start > seconds:
            break
        draws, hopeful = first << 2 * step, False
        for ours, theirs in ((here, there), (there, here)):
            found = witness(ours(draws), theirs(draws), DOUBT / (4 << step))
            if found.epsilon(delta) >= seen:
                seen, event = found.epsilon(delta), found.event
            if found.exceeds(profile, wanted):
                return _finding(name, found, seen, charged, lies=True)
            hopeful |= _worth_more(found, profile, wanted)
        if not hopeful:
            break
    return Finding("black box", name, False, seen, epsilon, f"by {event}" if event else "")


def _finding(name: str, found: Witness, seen: float, charged: tuple[float, float], *, lies: bool) -> Finding:
    epsilon, delta = charged
    note = f"by {found.event}: {found.here} and {found.there} of {found.of}" + (
        f", δ = {delta:g}" if delta else ""
    )
    return Finding("black box", name, lies, max(seen, found.epsilon(delta)), epsilon, note)


def _worth_more(found: Witness, profile: Callable[[float], float], epsilons: Sequence[float]) -> bool:
    """Whether the counts as they are would break the promise, or nearly: then more draws may prove it."""
    here, there = found.here / found.of, (found.there + 1) / found.of
    return any(here > 0.85 * (exp(epsilon) * there + profile(epsilon)) for epsilon in epsilons)


def of_case(case: Case, entropy: Entropy, does: Mechanism[Any, Any] | None = None) -> Finding:
    """A mechanism against what it is charged; `does` is what really runs, if that is another."""
    mechanism, sensitivity = does or case.mechanism, case.sensitivity
    pure = case.mechanism.pure(sensitivity)
    charged = (float(pure), 0.0) if pure is not None else (case.mechanism.loss(sensitivity).epsilon(AT), AT)
    first = FIRST * 8 if isinstance(mechanism, Laplace | Gaussian) else FIRST
    return black_box(
        case.name,
        lambda draws: sampled(mechanism, case.value, draws, entropy),
        lambda draws: sampled(mechanism, case.neighbour, draws, entropy),
        lambda epsilon: case.mechanism.profile(epsilon, sensitivity),
        charged,
        first=first,
    )


def sampled(mechanism: Mechanism[Any, Any], value: object, draws: int, entropy: Entropy) -> Sequence[object]:
    """Independent releases of one value."""
    if isinstance(mechanism, Laplace | Gaussian):
        assert isinstance(value, int)
        return mechanism.release_many([value] * draws, entropy)
    return [mechanism.release(value, entropy) for _ in range(draws)]


def of_callable(
    name: str,
    mechanism: Callable[[Any], object],
    neighbours: tuple[object, object],
    epsilon: float,
    delta: float,
    *,
    draws: int = FIRST,
    rounds: int = 5,
    seconds: float = 20.0,
) -> Finding:
    """Any function of a table, against the (ε, δ) that it claims; it draws its noise itself."""

    def profile(at: float) -> float:
        return delta if at >= epsilon else inf

    one, other = neighbours
    return black_box(
        name,
        lambda times: [_tried(mechanism, one) for _ in range(times)],
        lambda times: [_tried(mechanism, other) for _ in range(times)],
        profile,
        (epsilon, delta),
        first=draws,
        rounds=rounds,
        epsilons=(),
        seconds=seconds,
    )


FAILURES = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
)


def _tried(mechanism: Callable[[Any], object], table: object) -> object:
    """What comes out; a failure is an answer too, and so is its text."""
    try:
        return mechanism(table)
    except FAILURES as error:
        return f"{type(error).__name__}: {error}"


def promised(mechanism: Mechanism[Any, Any], sensitivity: Sensitivity) -> float:
    """The ε that is shown beside what is seen."""
    pure = mechanism.pure(sensitivity)
    return float(pure) if pure is not None else mechanism.loss(sensitivity).epsilon(AT)
