"""What every mechanism must keep; found by its place, so that no mechanism goes without.

A test module beside it gives CASES, (mechanism, value, neighbour, sensitivity), and PLANTED, (what it does, what it
claims, value, neighbour, sensitivity). A module may also give `feature(output)`, a number or a hashable that an event is
made of; without one it is the output itself. Chance fools "no event exceeds the profile" once in 10⁹ runs, and the key of
the draws is fixed.
"""

from __future__ import annotations

import dataclasses
import importlib.util
from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from fractions import Fraction
from functools import cache
from math import exp
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from scipy.stats import beta

from obverse import catalogue
from obverse.ledger.codec import decode, encode
from obverse.loss.loss import Sensitivity
from obverse.mechanisms.base import Mechanism
from obverse.noise.entropy import Keyed

HERE = Path(__file__).parent.parent
FOUND = catalogue.classes("obverse.mechanisms", Mechanism) | catalogue.classes("obverse.local", Mechanism)
DRAWS = 3000
CHANCE = 1e-9
EPSILONS = (-0.5, 0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0, 1.5, 2.0, 3.0, 5.0)


def place_of_proofs(name: str) -> Path:
    _, package, module = FOUND[name].__module__.split(".")
    return HERE / package / f"test_{module}.py"


@cache
def proofs_of(name: str) -> ModuleType:
    """The test module of the mechanism of this name, empty where there is none."""
    path = place_of_proofs(name)
    if not path.exists():
        return ModuleType(path.stem)
    spec = importlib.util.spec_from_file_location(f"proofs_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def listed(name: str, what: str, place: int) -> list[tuple]:
    return [case for case in getattr(proofs_of(name), what, []) if type(case[place]).__name__ == name]


def of_all(what: str, place: int) -> list:
    return [
        pytest.param(name, case, id=f"{name}-{number}")
        for name in FOUND
        for number, case in enumerate(listed(name, what, place))
    ]


def as_feature(output: object) -> Hashable:
    """The output as something that can be counted."""
    return tuple(output.tolist()) if isinstance(output, np.ndarray) else output


def sampled(
    mechanism: Mechanism, value: object, feature: Callable[[object], Hashable], key: str
) -> list[Hashable]:
    entropy = Keyed(key)
    return [feature(mechanism.release(value, entropy)) for _ in range(DRAWS)]


def events(ours: list, theirs: list, epsilon: float) -> Iterable[Callable[[Hashable], bool]]:
    """Events that are likelier for us than exp(ε) times for them: single outputs together, and both tails."""
    here, there = Counter(ours), Counter(theirs)
    likely = {output for output, count in here.items() if count > exp(epsilon) * there[output] and count > 1}
    yield likely.__contains__
    if all(isinstance(output, int | float) for output in ours):
        us, them = np.array(ours, float), np.array(theirs, float)
        steps = np.quantile([*us, *them], np.linspace(0.01, 0.99, 40))[:, None]
        for side in (1, -1):
            gain = (side * us >= side * steps).sum(1) - exp(epsilon) * (side * them >= side * steps).sum(1)
            most = float(steps[int(np.argmax(gain)), 0])
            yield lambda output, most=most, side=side: side * output >= side * most


def exceeds(ours: list, theirs: list, epsilon: float, delta: float) -> bool:
    """Whether some event, chosen on one half of the draws, exceeds (ε, δ) on the other half beyond doubt."""
    half = len(ours) // 2
    for event in events(ours[:half], theirs[:half], epsilon):
        hits, misses = (sum(map(event, draws[half:])) for draws in (ours, theirs))
        least = beta.ppf(CHANCE, hits, half - hits + 1) if hits else 0.0
        most = beta.ppf(1 - CHANCE, misses + 1, half - misses) if misses < half else 1.0
        if least > exp(epsilon) * most + delta:
            return True
    return False


def breaks_its_word(
    does: Mechanism, claims: Mechanism, value: object, neighbour: object, sensitivity: Sensitivity, feature
) -> bool:
    ours, theirs = (
        sampled(does, data, feature, key) for data, key in ((value, "here"), (neighbour, "there"))
    )
    pure = claims.pure(sensitivity)
    epsilons = {*EPSILONS, *([float(pure), float(pure) / 2] if pure is not None else [])}
    return any(
        exceeds(a, b, epsilon, claims.profile(epsilon, sensitivity))
        for a, b in ((ours, theirs), (theirs, ours))
        for epsilon in epsilons
    )


@pytest.mark.parametrize("name", FOUND)
def test_has_cases_and_a_planted_bug(name):
    """No test module, no mechanism."""
    assert listed(name, "CASES", 0), f"{name} has no case: write {place_of_proofs(name)}"
    assert listed(name, "PLANTED", 1), f"{name} has no planted bug: write {place_of_proofs(name)}"


@pytest.mark.parametrize(("name", "case"), of_all("CASES", 0))
def test_no_event_exceeds_the_profile(name, case):
    mechanism, value, neighbour, sensitivity = case
    feature = getattr(proofs_of(name), "feature", as_feature)
    assert not breaks_its_word(mechanism, mechanism, value, neighbour, sensitivity, feature)


@pytest.mark.parametrize(("name", "case"), of_all("PLANTED", 1))
def test_too_little_noise_is_caught(name, case):
    does, claims, value, neighbour, sensitivity = case
    feature = getattr(proofs_of(name), "feature", as_feature)
    assert breaks_its_word(does, claims, value, neighbour, sensitivity, feature)


@pytest.mark.parametrize(("name", "case"), of_all("CASES", 0))
def test_the_profile_is_a_profile(name, case):
    """Between 0 and 1, at least 1 − exp(ε), falling, and convex in exp(ε)."""
    mechanism, _, _, sensitivity = case
    odds = np.linspace(0.05, 20, 400)
    deltas = np.array([mechanism.profile(float(np.log(odd)), sensitivity) for odd in odds])
    assert (deltas >= np.maximum(0, 1 - odds) - 1e-12).all() and (deltas <= 1).all()
    assert (np.diff(deltas) <= 1e-12).all()
    assert (np.diff(deltas, 2) >= -1e-9).all()


@pytest.mark.parametrize(("name", "case"), of_all("CASES", 0))
def test_pure_rho_and_renyi_agree_with_the_profile(name, case):
    """At the pure ε nothing is left, and no closed form claims less than the profile shows."""
    mechanism, _, _, sensitivity = case
    if (pure := mechanism.pure(sensitivity)) is not None:
        assert mechanism.profile(float(pure) * (1 + 1e-12), sensitivity) < 1e-12
        assert mechanism.renyi(3.0, sensitivity) <= float(pure)
    if (rho := mechanism.rho(sensitivity)) is not None:
        assert mechanism.renyi(3.0, sensitivity) <= 3 * float(rho) * (1 + 1e-12)


@pytest.mark.parametrize(("name", "case"), of_all("CASES", 0))
def test_is_made_of_plain_public_fields(name, case):
    """So that the ledger can write it down: whole numbers, fractions, truth values, texts and tuples of these."""
    mechanism = case[0]
    fields = {field.name: getattr(mechanism, field.name) for field in dataclasses.fields(mechanism)}
    assert all(plain(value) for value in fields.values())
    assert type(mechanism)(**fields) == mechanism and hash(type(mechanism)(**fields)) == hash(mechanism)


@pytest.mark.parametrize(("name", "case"), of_all("CASES", 0))
def test_survives_the_ledgers_json(name, case):
    """What was charged comes back the same; a respondent's own mechanism is never charged to a ledger."""
    loss = case[0].loss(case[3])
    if type(case[0]).__module__.startswith("obverse.mechanisms."):
        assert decode(encode(loss)) == loss


def plain(value: object) -> bool:
    return (
        all(map(plain, value)) if isinstance(value, tuple) else isinstance(value, int | Fraction | bool | str)
    )
