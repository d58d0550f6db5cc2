"""What every attack must keep: it wins on a planted leak, not on a private release, not on a permuted truth.

The test beside an attack (tests/attack/test_<module>.py) holds `PLANTED` and `PRIVATE`: for each class of the
module, by name, a function that makes a `Contest` (obverse.attack.base). No contest, no attack: the suite fails.
"""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import ModuleType

import numpy as np
import pyarrow as pa
import pytest

from obverse import catalogue
from obverse.attack.base import Attack, Claims, Controls, Evidence, bound, judge, shuffle
from obverse.noise.entropy import Keyed

ATTACKS = catalogue.classes("obverse.attack", Attack)


@cache
def beside(name: str) -> ModuleType:
    """The test module of an attack's module."""
    module = ATTACKS[name].__module__.rpartition(".")[2]
    path = Path(__file__).parent.parent / "attack" / f"test_{module}.py"
    spec = importlib.util.spec_from_file_location(f"attack_test_{module}", path)
    assert spec and spec.loader
    loaded = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = loaded
    spec.loader.exec_module(loaded)
    return loaded


@cache
def played(name: str, which: str):
    """The contest, and the claims of the attack on its targets and on its controls."""
    contest = getattr(beside(name), which)[name]()
    return contest, *contest.play()


def evidence(name: str, which: str) -> Evidence:
    contest, claims, control = played(name, which)
    return judge(contest.attack, claims, contest.truth, control, contest.game)


@pytest.mark.parametrize("name", ATTACKS)
def test_it_wins_on_a_planted_leak(name):
    assert isinstance(played(name, "PLANTED")[0].attack, ATTACKS[name])
    assert evidence(name, "PLANTED").succeeded


@pytest.mark.parametrize("name", ATTACKS)
def test_it_does_not_win_on_a_private_release(name):
    """Or wins no more fair coins than the ε of the release allows."""
    got, game = evidence(name, "PRIVATE"), played(name, "PRIVATE")[0].game
    allowed = game.coins and game.ledger is not None and got.success.low <= bound(game.ledger)
    assert not got.succeeded or allowed


@pytest.mark.parametrize("name", ATTACKS)
def test_a_permuted_truth_falls_to_the_baseline(name):
    """Fooled by chance once in forty; the keys are fixed."""
    contest, claims, control = played(name, "PLANTED")
    if len(np.unique(contest.truth)) == 1 and control is not None:
        claims, control = mixed(claims, control)
        got = judge(contest.attack, claims, contest.truth, control)
    else:
        truth = contest.truth[shuffle(len(contest.truth), Keyed("permuted"))]
        got = judge(contest.attack, claims, truth)
    assert got.success.low <= max(got.baseline, got.control.high if got.control else 0)


@pytest.mark.parametrize("name", [name for name, kind in ATTACKS.items() if not hasattr(kind, "truth")])
def test_the_order_of_released_rows_tells_it_nothing(name):
    """As much is right, within a twentieth, when the rows of what was released are shuffled."""
    contest, claims, _ = played(name, "PLANTED")
    released = contest.view.releases.get("release")
    if not isinstance(released, pa.Table) or "targets" not in contest.view.auxiliary:
        return
    rows = released.take(shuffle(released.num_rows, Keyed("rows")))
    shuffled = replace(contest.view, releases={**contest.view.releases, "release": rows})
    again = contest.attack.run(shuffled)
    right = [(each.made & (each.values == contest.truth)).mean() for each in (claims, again)]
    assert abs(right[0] - right[1]) <= 0.05


@pytest.mark.parametrize("name", ATTACKS)
def test_it_says_in_a_sentence_who_attacks(name):
    threat = played(name, "PLANTED")[0].attack.threat
    assert threat.endswith(".") and len(threat) > 40


def mixed(claims: Claims, control: Controls) -> tuple[Claims, Controls]:
    """Present and absent targets dealt out again at random, where the truth is presence itself."""
    order = shuffle(len(claims.made) + len(control.claims.made), Keyed("mixed"))
    values, scores, made = (
        np.concatenate([getattr(claims, part), getattr(control.claims, part)])[order]
        for part in ("values", "scores", "made")
    )
    inside = len(claims.made)
    dealt = [Claims(values[at], scores[at], made[at]) for at in (slice(inside), slice(inside, None))]
    return dealt[0], Controls(dealt[1])
