"""A declared curve that is none is refused by the mechanism's name, before anything is drawn or charged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import exp, inf, nan

import pytest

from obverse.errors import BadParameter
from obverse.loss.curve import a_curve
from obverse.loss.loss import Sensitivity
from obverse.mechanisms import Laplace
from obverse.mechanisms.base import Mechanism
from obverse.noise.entropy import Entropy

ONE = Sensitivity.of(1)
NONE: dict[str, Callable[[float], float]] = {
    "below 1 − e": lambda epsilon: 0.0,
    "rises": lambda epsilon: max(0.0, 1 - exp(epsilon)) if epsilon < 2 else 0.1,
    "convex": lambda epsilon: 1.0 if epsilon < 1 else 0.0,
    "no number": lambda epsilon: nan,
    "from 0 to 1": lambda epsilon: 1.5,
}


@pytest.mark.parametrize(("why", "curve"), NONE.items())
def test_what_no_curve_does_is_named(why: str, curve: Callable[[float], float]) -> None:
    with pytest.raises(BadParameter, match=f"Mine declares no privacy curve.*{why}"):
        a_curve("Mine", curve)


@pytest.mark.parametrize("pure", [0.1, 1.0, 5.0])
def test_true_curves_pass(pure: float) -> None:
    laplace = Laplace(1 / pure)  # type: ignore[arg-type]
    a_curve("Laplace", lambda epsilon: laplace.profile(epsilon, ONE))
    a_curve("coin", lambda e: max(0.0, 1 - exp(e), (exp(pure) - exp(e)) / (1 + exp(pure))))


@dataclass(frozen=True)
class Boastful(Mechanism[int, int]):
    """Claims that nothing is ever lost."""

    def draw(self, value: int, entropy: Entropy) -> int:
        raise AssertionError("nothing may be drawn")

    def profile(self, epsilon: float, sensitivity: Sensitivity) -> float:
        return -inf


def test_a_mechanism_of_somebody_elses_is_looked_at_before_it_is_charged() -> None:
    with pytest.raises(BadParameter, match="Boastful declares no privacy curve"):
        Boastful().loss(ONE)
