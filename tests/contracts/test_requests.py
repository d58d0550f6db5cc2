"""What every request must keep; found by its place, so that none goes without.

A request is a frozen value. Its plan is made from public facts alone and is the same whenever it is made; through the
door it is charged before it runs, kept, and free to ask again; what cannot be done is refused and charged nothing.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterator
from fractions import Fraction
from importlib import import_module
from pathlib import Path

import pytest

from obverse import catalogue
from obverse.anonymise.recode import Recoding
from obverse.anonymise.recode import Test as Label
from obverse.cli.demo import unpack
from obverse.curator.curator import Curator, open_settings
from obverse.errors import Refusal
from obverse.query.publish import Cut
from obverse.release import KINDS, Terms

PACKAGES = ("query", "anonymise", "tables", "local", "validate")


def requests() -> dict[str, type]:
    """Every class of these packages that can be planned."""
    found = {}
    for package in PACKAGES:
        for module in catalogue.modules(f"obverse.{package}"):
            for name, member in inspect.getmembers(import_module(module), inspect.isclass):
                planned = (
                    inspect.signature(member.plan).parameters
                    if callable(getattr(member, "plan", None))
                    else ()
                )
                if member.__module__ == module and list(planned) == ["self", "schemas", "terms"]:
                    found[name] = member
    return found


SEX = Recoding(("sex",), ((Label("F", among=("Female",)), Label("M", among=("Male",))),))
EXAMPLES = {
    "Ask": (
        {"sql": "DP-SELECT 0.25 sex, AVG(age) FROM people GROUP BY sex"},
        {"sql": "SELECT nosuch FROM people"},
    ),
    "Anonymise": ({"table": "people", "k": 50, "quasi": ("sex", "race")}, {"table": "nowhere"}),
    "Recode": ({"table": "people", "recoding": SEX, "k": 50}, {"table": "nowhere", "recoding": SEX}),
    "SafeAnonymise": (
        {"table": "people", "epsilon": Fraction(1), "delta": 1e-6, "steps": (("age", 2), ("sex", 0))},
        {"table": "people", "epsilon": Fraction(1), "delta": 1e-6, "steps": (("nosuch", 0),)},
    ),
    "Register": (
        {"table": "people", "epsilon": Fraction(1, 4)},
        {"table": "nowhere", "epsilon": Fraction(1)},
    ),
    "Publish": (
        {"name": "ages", "table": "people", "cuts": (Cut("age", "hats"), Cut("sex", "total"))},
        {"name": "ages", "table": "people", "cuts": (Cut("nosuch"),)},
    ),
    "Tabulate": ({"table": "people", "by": ("sex", "race")}, {"table": "nowhere", "by": ("sex",)}),
}


@pytest.fixture(scope="module")
def census(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Curator]:
    folder = tmp_path_factory.mktemp("census")
    unpack(folder)
    settings = Path(folder) / "census.toml"
    settings.write_text(
        settings.read_text()
        .replace("[policy]", '[policy]\nfilter = "pure"\ndelta = 1e-5\ndefault_delta = 1e-6')
        .replace(", low = 0, high = 1_500_000", "")
    )
    with open_settings(Path(folder) / "census.toml") as curator:
        yield curator


def test_every_request_has_an_example() -> None:
    assert set(requests()) == set(EXAMPLES)


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_request_is_a_frozen_value(name: str) -> None:
    good, _ = EXAMPLES[name]
    one, other = requests()[name](**good), requests()[name](**good)
    assert one == other and hash(one) == hash(other)
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(one, next(iter(good)), None)


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_plan_follows_from_public_facts(name: str, census: Curator) -> None:
    """No table is handed in; the same request is the same plan, under another policy's terms too it has a kind."""
    request = requests()[name](**EXAMPLES[name][0])
    one, other = (request.plan(census.schemas, Terms()) for _ in range(2))
    assert one.key == other.key and one.guarantee == other.guarantee
    assert one.kind in KINDS and set(one.tables) <= set(census.schemas)
    assert hash(one) == hash(other)


@pytest.mark.parametrize("name", EXAMPLES)
def test_through_the_door_it_is_charged_once_and_says_the_same(name: str, census: Curator) -> None:
    request = requests()[name](**EXAMPLES[name][0])
    first, again = census.release(request), census.release(request)
    assert not first.receipt.again and again.receipt.again
    assert first.plan.pack(first.value) == again.plan.pack(again.value)
    assert first.receipt.number == again.receipt.number


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_refusal_is_charged_nothing(name: str, census: Curator) -> None:
    before = census.ledger.spent(table="people")
    with pytest.raises(Refusal):
        census.release(requests()[name](**EXAMPLES[name][1]))
    assert census.ledger.spent(table="people") == before
