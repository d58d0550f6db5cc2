"""A policy is read exactly, or refused at the line to mend."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from obverse.data.schema import Neighbours, Schema
from obverse.data.toml import read
from obverse.errors import BadParameter, BadSchema, Forbidden
from obverse.ledger.policy import Account, Policy, limits
from obverse.release import Charge, Syntactic, Terms

FULL = """
[policy]
epsilon = 3
delta = 1e-6
filter = "renyi"
default_epsilon = 0.2
default_delta = 1e-9
smallest_group = 10

[policy.tables.visits]
epsilon = 0.1

[accounts.research]
epsilon = 1.5
questions = 100
kinds = ["answer", "model"]
smallest_group = 5

[accounts."the press"]
"""


def policy(text: str, tmp_path: Path, *schemas: Schema) -> Policy:
    file = tmp_path / "x.toml"
    file.write_text(text)
    top = read(file)
    return Policy.read(top.section("policy"), top.section("accounts"), schemas)


def test_every_setting_is_read_exactly(tmp_path: Path) -> None:
    schema = Schema("visits", "visits.csv", (), neighbours=Neighbours.REPLACE)
    found = policy(FULL, tmp_path, schema)
    assert found.table("people") == limits(3, "1e-6", "renyi")
    assert found.table("visits") == limits("0.1", "1e-6", "renyi")
    assert found.account("research") == Account(
        "research", limits("1.5", "1e-6", "renyi"), 100, ("answer", "model"), 5
    )
    assert found.account("the press") == Account("the press")
    assert found.neighbours == {"visits": Neighbours.REPLACE}
    assert found.terms("research") == Terms(Fraction(1, 5), Fraction(1, 10**9), 10)


def test_the_stricter_smallest_group_holds() -> None:
    both = Policy(limits(1), accounts=(Account("a", smallest_group=20), Account("b")), smallest_group=10)
    assert both.terms("a").smallest_group == 20
    assert both.terms("b").smallest_group == 10
    assert Policy(limits(1), accounts=(Account("a"),)).terms("a").smallest_group is None


@pytest.mark.parametrize(
    "change, message",
    [
        (("epsilon = 3\n", ""), r"x\.toml:2: policy needs epsilon"),
        (("epsilon = 3\n", "epsilon = 0\n"), r"x\.toml:2: a budget's ε is a finite number above 0, not 0"),
        (("epsilon = 3\n", "epsilon = nan\n"), r"x\.toml:3: "),
        (("epsilon = 3\n", "epsilon = 1e400\n"), r"x\.toml:3: "),
        (("delta = 1e-6", "delta = 2"), r"x\.toml:2: a budget's δ is a number at least 0 and below 1, not 2"),
        (("delta = 1e-6\n", ""), r"a renyi budget needs a δ above 0"),
        (('"renyi"', '"pld"'), r"a budget is kept as pure, zcdp, renyi, not 'pld'"),
        (
            ("default_epsilon = 0.2", "default_epsilon = -1"),
            r"x\.toml:2: default_epsilon is a finite number above 0, not -1",
        ),
        (("default_delta = 1e-9", "default_delta = 1"), "default_delta is a number at least 0 and below 1"),
        (
            ("smallest_group = 10", "smallest_group = 0"),
            r"x\.toml:8: smallest_group is a whole number, 1 or more",
        ),
        (("tables.visits", "tables.visit"), r"x\.toml:10: no table is called visit"),
        (("questions = 100", "questions = -1"), r"x\.toml:15: questions is a whole number, 0 or more"),
        (("questions = 100", "question = 1"), r"x\.toml:15: unknown key question: did you mean questions\?"),
        (
            ('["answer", "model"]', '["answers"]'),
            "a kind of release is one of answer, table, synthetic, model",
        ),
        (('["answer", "model"]', "[1]"), "a kind of release is one of"),
        (('"the press"', '""'), "an account's name is not empty"),
    ],
)
def test_what_has_no_meaning_is_refused_at_its_line(
    tmp_path: Path, change: tuple[str, str], message: str
) -> None:
    assert change[0] in FULL
    with pytest.raises(BadSchema, match=message):
        policy(FULL.replace(*change), tmp_path, Schema("visits", "visits.csv", ()))


@pytest.mark.parametrize(
    "number", [0.1, "a tenth", "1/0", "nan", "-1", 0, "1e400", True, Fraction(1, 10**200)]
)
def test_a_limit_is_a_number_above_0_and_never_a_float(number: object) -> None:
    with pytest.raises(BadParameter):
        limits(number)  # type: ignore[arg-type]


def test_accounts_are_told_apart() -> None:
    with pytest.raises(BadParameter, match="same name"):
        Policy(limits(1), accounts=(Account("a"), Account("a")))
    with pytest.raises(BadParameter, match="control character"):
        Account("a\nb")
    with pytest.raises(BadParameter, match="a number of questions"):
        Account("a", questions=-1)


def test_a_form_without_epsilon_must_be_allowed_by_name() -> None:
    """Answers are allowed where nothing else is said; a table that promises no ε is not."""
    masked = Charge("a", ("people",), "table", "k", Syntactic((("k", "5"),)))
    with pytest.raises(Forbidden, match="a may not be given a release of kind table, only answer"):
        Policy(limits(1), accounts=(Account("a"),)).allow(masked)
    assert Policy(limits(1), accounts=(Account("a", kinds=("table",)),)).allow(masked).name == "a"
