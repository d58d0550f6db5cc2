"""Every guarantee comes back from the ledger as it went in, whatever mechanism it is made of."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction
from importlib import import_module

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from obverse.catalogue import classes, modules
from obverse.errors import BadParameter
from obverse.ledger.codec import decode, encode
from obverse.ledger.journal import Adopted, Charged, Kept, read, terms, write
from obverse.loss.loss import FREE, Loss, Parallel, Sensitivity, Spend
from obverse.mechanisms import Gaussian, Laplace
from obverse.mechanisms.base import Mechanism
from obverse.release import Syntactic

FRACTIONS = st.fractions(Fraction(1, 10**6), 10**9)
SENSITIVITIES = st.builds(Sensitivity, FRACTIONS, FRACTIONS, FRACTIONS)
SPENDS = st.builds(Spend, st.builds(Laplace, FRACTIONS) | st.builds(Gaussian, FRACTIONS), SENSITIVITIES)
LOSSES = st.recursive(
    SPENDS,
    lambda inner: (
        st.builds(lambda a, b: a + b, inner, inner)
        | st.builds(lambda a, n: a * n, inner, st.integers(2, 9))
        | st.builds(lambda parts: Parallel(tuple(parts)), st.lists(inner, min_size=1, max_size=3))
    ),
    max_leaves=6,
)


@settings(deadline=None)
@given(LOSSES)
def test_any_loss_comes_back(loss: Loss) -> None:
    line = encode(loss)
    assert decode(line) == loss
    assert encode(decode(line)) == line
    assert "\n" not in line


@given(st.lists(st.tuples(st.text(), st.text()), max_size=4))
def test_any_promise_of_form_comes_back(terms: list[tuple[str, str]]) -> None:
    assert decode(encode(Syntactic(tuple(terms)))) == Syntactic(tuple(terms))


def test_nothing_spent_comes_back() -> None:
    assert decode(encode(FREE)) == FREE


def test_every_mechanism_and_loss_is_known_by_its_name() -> None:
    """The codec finds the class of any of them, so that what is charged can be read back by name alone."""
    found = classes("obverse.mechanisms", Mechanism)
    assert len(found) >= 2
    for kind in found.values():
        assert is_dataclass(kind)
        with pytest.raises((BadParameter, TypeError, ValueError, AttributeError)):
            decode(json.dumps({kind.__name__: {"no_such_field": 1}}))
    for name in modules("obverse.loss"):
        for member in vars(import_module(name)).values():
            if isinstance(member, type) and issubclass(member, Loss) and is_dataclass(member):
                assert fields(member)


@dataclass(frozen=True)
class Foreign(Loss):
    """A loss that another installation would not know."""


@pytest.mark.parametrize(
    "loss",
    [Foreign(), Syntactic((("k", 0.5),)), Syntactic((("k", object()),))],  # type: ignore[arg-type]
    ids=["foreign class", "float", "object"],
)
def test_what_could_not_be_read_back_is_not_charged(loss: Loss) -> None:
    with pytest.raises(BadParameter, match="could not read it back"):
        encode(loss)


@pytest.mark.parametrize("line", ['{"Foreign":{}}', '{"Popen":{"args":"ls"}}', '{"loads":{}}'])
def test_an_unknown_name_is_refused(line: str) -> None:
    with pytest.raises(BadParameter, match="does not know"):
        decode(line)


TEXTS = st.text(st.characters(exclude_categories=["Cs"]))


@given(TEXTS, TEXTS, st.lists(TEXTS).map(tuple), TEXTS, st.lists(st.integers() | st.none()).map(tuple))
def test_a_line_of_the_journal_comes_back(
    account: str, about: str, tables: tuple[str, ...], key: str, cost: tuple[int | None, ...]
) -> None:
    """Whatever is written in it; two accounts' lines for one question share all that follows the tables' mark."""
    guarantee = encode(Laplace(Fraction(10)).loss(Sensitivity.of(1)))
    line = Charged("2026-01-01", account, about, cost, tables, "answer", key, guarantee)
    assert read(write(line)) == line
    other = Charged("2027-01-01", account + "x", "", cost, tables, "answer", key, guarantee)
    assert terms(write(other)) == terms(write(line)) != ""
    assert read(write(Kept(key, "00", 3))) == Kept(key, "00", 3)
    assert read(write(Adopted("2026", key))) == Adopted("2026", key)
