"""What an analyst converts to loses no column."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from obverse.data.schema import Schema
from obverse.query.answer import Answered, distinct
from obverse.query.ask import Ask
from obverse.release import Charge, Receipt, Terms


@given(st.lists(st.sampled_from(["n", "n_2", "n ±", "n ±_2", "m"]), max_size=8))
def test_all_columns_and_their_margins_have_names_of_their_own(names: list[str]) -> None:
    found = distinct(names)
    keys = [key for name in found for key in (name, f"{name} ±")]
    assert len(found) == len(names) and len(set(keys)) == 2 * len(names)
    assert all(new.startswith(old) for old, new in zip(names, found, strict=True))


@pytest.mark.parametrize(
    ("asked", "columns"),
    [
        ("COUNT(*), COUNT(*)", ["COUNT(*)", "COUNT(*) ±", "COUNT(*)_2", "COUNT(*)_2 ±"]),
        ('COUNT(*) AS n, SUM(age) AS "n ±"', ["n", "n ±", "n ±_2", "n ±_2 ±"]),
    ],
)
def test_equal_names_are_told_apart(asked: str, columns: list[str], schemas: dict[str, Schema]) -> None:
    plan = Ask(f"SELECT {asked} FROM people").plan(schemas, Terms())
    answer = plan.present(((),), ((5,) * len(plan.noisy),), Fraction(19, 20))
    receipt = Receipt(1, Charge("a", ("people",), "answer", "", plan.guarantee), "")
    answered = Answered(answer, plan, receipt)
    assert list(answered.to_dict()) == columns
    assert answered.to_arrow().column_names == columns
