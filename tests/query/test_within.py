"""Asked by accuracy: no more ε than a ± takes, all of it charged before it is read, and the answer says if it was enough."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pyarrow.feather
import pytest

import obverse
from obverse.curator.curator import Curator
from obverse.data.schema import Column, Schema, Type, Unit
from obverse.engines.duckdb import DuckDB
from obverse.errors import BadQuestion, OverBudget
from obverse.noise.entropy import Keyed
from obverse.query.ask import Ask
from obverse.query.parse import parse
from obverse.query.plan import AskPlan
from obverse.query.within import reached, wide
from obverse.release import Terms

ALONE = (
    "COUNT(*) FROM people WITHIN 5",
    "COUNT(*), SUM(age) / 100 - 3 FROM people WITHIN 20 CONFIDENCE 0.9",
    "sex, COUNT(*) FROM people GROUP BY ROLLUP (sex) WITHIN 12.5",
    "COUNT(*) * 2 + SUM(pay) AS both FROM visits WITHIN 12000 CONFIDENCE 0.99 WITH (delta = 1e-5)",
    "income, COUNT(*) FROM visits GROUP BY 1 WITHIN 99 WITH (delta = 1e-6)",
)


def plan(sql: str, schemas: dict[str, Schema]) -> AskPlan:
    made = Ask(f"DP-SELECT 4 {sql}").plan(schemas, Terms())
    assert isinstance(made, AskPlan)
    return made


@pytest.mark.parametrize("sql", ALONE)
def test_the_least_epsilon_is_spent_that_keeps_every_number_within(
    sql: str, schemas: dict[str, Schema]
) -> None:
    made = plan(sql, schemas)
    assert made.aim is not None and not made.aim.steps
    widest = wide(made)
    assert widest is not None and widest <= made.aim.within.margin
    spent = made.guarantee.epsilon(float(made.delta) or 1e-9)
    bare = sql.partition(" WITHIN ")[0]
    options = f"WITH (confidence = {float(made.confidence)}, delta = {float(made.delta) or 1e-300})"
    less = Ask(f"DP-SELECT {spent * 0.999:.12f} {bare} {options}").plan(schemas, Terms())
    assert isinstance(less, AskPlan)
    found = wide(less)
    assert found is not None and found > made.aim.within.margin, "a thousandth less is not enough"


REFUSED = {
    "SELECT COUNT(*) FROM people WITHIN 5": "± 5 takes ε = 0.539, and this question may spend 0.1, for ± 30",
    "DP-SELECT 1 MEDIAN(age) FROM people WITHIN 5": "has no ±",
    "DP-SELECT 1 SUM(pay) FROM people WITHIN 0.0000001": "no ε brings the ± down",
    "DP-SELECT 1 * FROM people WITHIN 5": "have no ±",
    "DP-SELECT 1 income, COUNT(*) FROM people GROUP BY 1 WITHIN 5 PERCENT WITH (delta = 1e-6)": "named twice",
}


@pytest.mark.parametrize("sql", REFUSED)
def test_what_cannot_be_within_is_refused_before_it_costs_anything(
    sql: str, schemas: dict[str, Schema]
) -> None:
    with pytest.raises(BadQuestion, match=REFUSED[sql]):
        Ask(sql).plan(schemas, Terms())


@pytest.fixture
def curator(tmp_path: Path) -> Curator:
    (tmp_path / "t.csv").write_text(
        "age,sex\n" + "".join(f"{i % 80},{'fm'[i % 3 % 2]}\n" for i in range(9000))
    )
    (tmp_path / "t.toml").write_text("""
        [tables.t]
        source = "t.csv"
        [tables.t.columns]
        age = { type = "integer", low = 0, high = 100 }
        sex = { type = "text", categories = ["f", "m", "x"] }
        [policy]
        epsilon = 10
    """)
    opened = obverse.open(tmp_path / "t.toml")
    opened._entropy = Keyed("within")  # so that whether it is enough is no matter of luck
    return opened


@pytest.mark.parametrize(
    ("sql", "enough"),
    [
        (
            "sex, COUNT(*) FROM t WHERE sex <> 'x' AND age < 40 GROUP BY sex HAVING COUNT(*) > 100 WITHIN 5 PERCENT",
            True,
        ),
        ("AVG(age) FROM t WITHIN 0.5 CONFIDENCE 0.9", True),
        ("SUM(age) / COUNT(*) FROM t WITHIN 4 PERCENT", True),
        ("sex, COUNT(*) FROM t GROUP BY sex WITHIN 5 PERCENT", False),
    ],
)
def test_a_second_question_spends_what_the_first_one_shows_it_takes(
    curator: Curator, sql: str, enough: bool
) -> None:
    with curator:
        asked = curator.ask(f"DP-SELECT 2 {sql}")
        spent = asked.loss.epsilon()
        assert ("every ± is within" in str(asked)) == enough and ("not reached" in str(asked)) != enough
        if enough:
            assert spent < 1.5, "less than all that it might have spent"
        else:
            assert spent == pytest.approx(2), "nobody is x, so that no ± is small beside their number"
        left = str(curator.budget())
        again = curator.ask(f"DP-SELECT 2 {sql}")
        assert again.receipt.again and again.rows == asked.rows
        assert str(curator.budget()) == left
        charged = sum(
            each.guarantee.epsilon() for each in (curator.preview(Ask(f"DP-SELECT 2 {sql}")), asked.plan)
        )
        assert charged == pytest.approx(spent), "both steps are charged"
        assert "up to ε = 2 in all" in curator.explain(f"DP-SELECT 2 {sql}")
        assert "up to ε = 2 in all" in str(curator.preview(Ask(f"DP-SELECT 2 {sql}")))


def test_a_first_step_that_is_paid_stays_paid_where_the_second_is_over_budget(curator: Curator) -> None:
    with curator:
        with pytest.raises(OverBudget):
            curator.ask(
                "DP-SELECT 12 sex, COUNT(*) FROM t GROUP BY sex WITHIN 1 PERCENT CONFIDENCE 0.9999999"
            )
        spent = str(curator.budget())
        with pytest.raises(OverBudget):
            curator.ask(
                "DP-SELECT 12 sex, COUNT(*) FROM t GROUP BY sex WITHIN 1 PERCENT CONFIDENCE 0.9999999"
            )
        assert str(curator.budget()) == spent, "asked again, the first step is free and shows the same"


def test_a_reached_share_is_kept_as_often_as_is_stated(tmp_path: Path) -> None:
    """Of 120 runs at 90 %, fewer than 12 + 5·√10.8 = 29 may say that it was reached and be off by more."""
    source = str(tmp_path / "t.arrow")
    pyarrow.feather.write_feather(
        pa.table({"id": [i % 500 for i in range(1500)], "x": [i % 9 for i in range(1500)]}), source
    )
    columns = (Column("id", Type.INTEGER), Column("x", Type.INTEGER, low=Fraction(0), high=Fraction(10)))
    known = {"t": Schema("t", source, columns, Unit("id", rows=3))}
    ask, wrong, said = Ask("DP-SELECT 1 COUNT(*), SUM(x) FROM t WITHIN 8 PERCENT CONFIDENCE 0.9"), 0, 0
    tables = DuckDB(known.values())
    first = ask.plan(known, Terms())
    assert isinstance(first, AskPlan)
    for run in range(120):
        entropy = Keyed(f"within {run}")
        second = ask.after(first, first.run(tables, entropy), known, Terms())
        assert second is not None
        plan = second.plan(known, Terms())
        assert isinstance(plan, AskPlan) and plan.aim is not None
        assert plan.guarantee.epsilon() + first.guarantee.epsilon() <= 1 + 1e-9
        answer = plan.run(tables, entropy)
        if reached(answer, plan.aim.within):
            said += 1
            truth = (1500, sum(i % 9 for i in range(1500)))
            wrong += any(
                abs(cell - true) > 0.08 * true for cell, true in zip(answer.rows[0], truth, strict=True)
            )  # type: ignore[operator]
    tables.close()
    assert said > 90 and wrong < 29


def test_options_stand_before_or_behind_within() -> None:
    told = [
        parse(f"DP-SELECT 3 COUNT(*) FROM people {end}").options
        for end in ("WITHIN 5 WITH (delta = 1e-6)", "WITH (delta = 1e-6) WITHIN 5")
    ]
    assert told[0] == told[1] and told[0].within is not None and told[0].delta is not None
