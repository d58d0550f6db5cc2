"""What every privacy curve δ(ε) is, and a refusal of one that is none.  [DR14, Definition 2.4; ZDW22, Section 2]

δ(ε) = Σ max(0, P − e^ε·Q) lies between max(0, 1 − e^ε) and 1, falls with ε, and is convex in e^ε. A declared curve
that is not all of this belongs to no mechanism, and whatever is charged by it means nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite, log

from obverse.errors import BadParameter

ODDS = tuple(k / 8 for k in range(1, 81))
SLACK = 1e-9


def a_curve(name: str, profile: Callable[[float], float]) -> None:
    """Pass, or BadParameter with the mechanism's name and what its δ(ε) does that none can.

    >>> a_curve("Mine", lambda epsilon: 0.5)
    Traceback (most recent call last):
    obverse.errors.BadParameter: Mine declares no privacy curve: δ(-2.08) = 0.5 is below 1 − e^ε
    """
    deltas = [_delta(name, profile, log(odds)) for odds in ODDS]
    for odds, delta in zip(ODDS, deltas, strict=True):
        if delta < 1 - odds - SLACK:
            _refuse(name, f"δ({log(odds):.3g}) = {delta:.3g} is below 1 − e^ε")
    for at in range(1, len(ODDS) - 1):
        if deltas[at + 1] > deltas[at] + SLACK:
            _refuse(name, f"δ rises at ε = {log(ODDS[at]):.3g}")
        if deltas[at + 1] - 2 * deltas[at] + deltas[at - 1] < -SLACK:
            _refuse(name, f"δ is not convex in e^ε at ε = {log(ODDS[at]):.3g}")


def _delta(name: str, profile: Callable[[float], float], epsilon: float) -> float:
    found = profile(epsilon)
    if not isinstance(found, int | float) or not isfinite(found) or not -SLACK <= found <= 1 + SLACK:
        _refuse(name, f"δ({epsilon:.3g}) is no number from 0 to 1")
    return float(found)


def _refuse(name: str, why: str) -> None:
    raise BadParameter(f"{name} declares no privacy curve: {why}")
