"""A shown number says no more than its ±, and a shown ± never says less than it is."""

from fractions import Fraction
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from obverse.data.schema import Column, Neighbours, Schema, Type, Unit
from obverse.loss.loss import Sensitivity
from obverse.mechanisms.gaussian import Gaussian
from obverse.mechanisms.laplace import Laplace
from obverse.query.answer import Answer, Answered
from obverse.query.ask import Ask
from obverse.query.show import cost, html, table, text
from obverse.release import Charge, Receipt, Terms

SCHEMA = Schema(
    "people",
    "p.csv",
    (
        Column("sex", Type.TEXT, categories=("F", "M")),
        Column("age", Type.INTEGER, low=Fraction(0), high=Fraction(100)),
    ),
)
ANSWER = Answer(
    ("sex", "n", "mean", "<x>"),
    (("F", 10771, 36.98765, None), ("M\x1b[2J", -3, 39.4, True)),
    ((None, 29.2, 0.0812, None), (None, 29.2, inf, None)),
    (),
)


def answered(again: bool = False) -> Answered:
    plan = Ask("DP-SELECT 0.5 sex, COUNT(*) FROM people GROUP BY sex").plan({"people": SCHEMA}, Terms())
    charge = Charge("research", plan.tables, plan.kind, plan.key, plan.guarantee)
    return Answered(ANSWER, plan, Receipt(7, charge, "seal", again))


def test_a_table_has_its_margins_beside_its_numbers() -> None:
    assert table(ANSWER) == [
        "sex         n   ±    mean      ±   <x>",
        "F      10,771  30  36.988  0.082     –",
        "M�[2J      -3  30  39.400    any  true",
    ]


def test_the_cost_who_is_protected_and_the_receipt_stand_below() -> None:
    assert text(answered()).endswith(
        "\n\ncost ε = 0.5, for one row of people added or removed\neach ± holds in 95 % of runs; receipt 7"
    )
    assert "asked before: the same answer, free" in text(answered(again=True))
    assert repr(answered()) == str(answered()) == text(answered())


def test_a_notebook_shows_the_same_and_names_cannot_hold_html() -> None:
    shown = html(answered())
    assert "&lt;x&gt;" in shown and "<x>" not in shown
    assert all(word in shown for word in ("10,771", "36.988", "0.082", "cost ε = 0.5"))


@given(st.floats(1e-9, 1e9), st.floats(-1e6, 1e6))
def test_a_shown_margin_is_no_smaller_than_it_is(margin: float, number: float) -> None:
    shown = table(Answer(("x",), ((number,),), ((margin,),), ()))[1].split()[-1]
    assert float(shown.replace(",", "")) >= margin * (1 - 1e-12)


def test_colour_is_put_on_and_moves_nothing() -> None:
    painted = table(ANSWER, lambda style, text: f"<{style}>{text}</{style}>")
    assert painted[1].count("<margin>") == 2
    assert "".join(painted).replace("<margin>", "").replace("</margin>", "").count("<head>") == 6


@pytest.mark.parametrize(
    ("loss", "shown"),
    [
        (Laplace(Fraction(8)).loss(Sensitivity.of(1)), "ε = 0.125"),
        (Laplace(Fraction(3)).loss(Sensitivity.of(1)), "ε ≈ 0.3333333"),
        (Gaussian(Fraction(100)).loss(Sensitivity.of(1)), "ρ = 0.005 (zCDP"),
    ],
)
def test_a_cost_is_its_plainest_figure(loss: object, shown: str) -> None:
    assert cost(loss).startswith(shown)


def test_what_is_protected_says_whose_rows_and_which_neighbours() -> None:
    person = Schema("visits", "v.csv", (), Unit("patient", 3), Neighbours.REPLACE)
    assert person.protects == "all rows of one patient of visits replaced"
    assert Schema("codes", "c.csv", (), public=True).protects == "a public table"


def test_a_long_table_is_cut_and_says_so() -> None:
    many = table(Answer(("x",), ((1,),) * 2345, ((None,),) * 2345, ()))
    assert len(many) == 102 and many[-1] == "… and 2,245 rows more"
