"""Totals by ROLLUP, CUBE and GROUPING SETS: each is the sum of its parts as they are shown, and costs nothing."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from obverse.data.schema import Schema, Unit
from obverse.errors import BadQuestion
from obverse.noise.entropy import Keyed
from obverse.query.answer import Answer
from obverse.query.ask import Ask
from obverse.release import Terms
from tests.contracts.test_questions import record, schema, tables

MANY = [record(i % 900, i * i % 130, "fm"[i % 3 == 0], i % 333 + 0.125) for i in range(2000)]
ASKED = "sex, age // 40 AS k, pay > 100 AS rich, COUNT(*) AS n, SUM(pay) AS s, COUNT(*) FILTER (WHERE age > 9) AS f"


def answered(question: str, known: Schema) -> Answer:
    plan = Ask(question).plan({"t": known}, Terms())
    answer = plan.run(tables(MANY, known), Keyed(question))
    assert plan.unpack(plan.pack(answer)) == answer
    return answer


@pytest.mark.parametrize("unit", [Unit(), Unit("id", rows=3)])
@pytest.mark.parametrize("by", ["ROLLUP (sex, k, rich)", "CUBE (1, 2, 3)", "sex, ROLLUP ((k, rich))"])
def test_every_total_is_the_sum_of_its_parts(tmp_path: Path, unit: Unit, by: str) -> None:
    """To the last bit but one: what is shown are the nearest DOUBLEs of exact sums."""
    answer = answered(
        f"DP-SELECT 1 {ASKED}, GROUPING(sex, k, rich) FROM t GROUP BY {by}", schema(tmp_path, unit)
    )
    finest = [row for row in answer.rows if row[6] == 0]
    assert len(finest) == 2 * 4 * 2
    for row in answer.rows:
        parts = [
            each
            for each in finest
            if all(total in (None, own) for total, own in zip(row[:3], each[:3], strict=True))
        ]
        for place in (3, 4, 5):
            total = sum(Fraction(each[place]) for each in parts)  # type: ignore[arg-type]
            assert row[place] == pytest.approx(float(total), rel=1e-14)
        assert bin(int(row[6])).count("1") == row[:3].count(None)  # type: ignore[arg-type]


def test_totals_cost_what_their_finest_groups_cost(tmp_path: Path) -> None:
    known = {"t": schema(tmp_path, Unit("id", rows=3))}
    plain = Ask(f"DP-SELECT 1 {ASKED} FROM t GROUP BY 1, 2, 3").plan(known, Terms())
    rolled = Ask(f"DP-SELECT 1 {ASKED} FROM t GROUP BY CUBE (1, 2, 3)").plan(known, Terms())
    assert plain.guarantee == rolled.guarantee and plain.noisy == rolled.noisy
    assert plain.key == rolled.key, "and nothing where the finest groups are known"


def test_a_totals_margin_grows_with_its_parts_and_holds(tmp_path: Path) -> None:
    """In 300 runs a ± of 95 % holds at least 266 times: 5 standard errors below what it promises."""
    known = schema(tmp_path, Unit())
    plan = Ask("DP-SELECT 1 age, COUNT(*) AS n FROM t GROUP BY ROLLUP (age)").plan({"t": known}, Terms())
    engine, true = tables(MANY, known), sum(0 <= int(row["age"]) <= 120 for row in MANY)  # type: ignore[call-overload]
    held = 0
    for run in range(300):
        answer = plan.run(engine, Keyed(f"margin {run}"))
        assert answer.rows[-1][0] is None
        one, total = answer.margins[0][1], answer.margins[-1][1]
        assert one is not None and total is not None and total / one == pytest.approx(121**0.5, rel=0.1)
        held += abs(answer.rows[-1][1] - true) <= total  # type: ignore[operator]
    assert held >= 266


def test_groups_that_were_found_have_totals_of_those_that_are_named(tmp_path: Path) -> None:
    known = schema(tmp_path, Unit())
    answer = answered(
        "DP-SELECT 9 id // 9 AS k, sex, COUNT(*) FROM t GROUP BY ROLLUP (k, sex) WITH (delta = 1e-6)", known
    )
    finest = [row for row in answer.rows if row[1] is not None]
    assert len(finest) > 20 and len({row[0] for row in finest}) < len(finest)
    assert answer.rows[-1][2] == sum(int(row[2]) for row in finest)  # type: ignore[arg-type]


@pytest.mark.parametrize("aggregate", ["MEDIAN(age)", "COUNT(DISTINCT age)", "MODE(age)", "MAX(pay)"])
def test_what_does_not_add_up_is_refused(tmp_path: Path, aggregate: str) -> None:
    with pytest.raises(BadQuestion, match="not made of those of its parts"):
        Ask(f"SELECT sex, {aggregate} FROM t GROUP BY CUBE (sex)").plan(
            {"t": schema(tmp_path, Unit())}, Terms()
        )


@pytest.mark.parametrize(
    ("by", "sets"),
    [
        ("ROLLUP (a, b)", [{0, 1}, {0}, set()]),
        ("ROLLUP (a, (b, c))", [{0, 1, 2}, {0}, set()]),
        ("CUBE (a, b)", [{0, 1}, {0}, {1}, set()]),
        ("a, CUBE (b)", [{0, 1}, {0}]),
        ("GROUPING SETS ((a, b), b, ())", [{0, 1}, {1}, set()]),
        ("GROUPING SETS (ROLLUP (a, b), c)", [{0, 1}, {0}, set(), {2}]),
        ("ROLLUP (a), ROLLUP (b)", [set(x) for x in ({0, 1}, {0}, {1}, set())]),
        ("a, b WITH ROLLUP", [{0, 1}, {0}, set()]),
        ("a, a", [{0}]),
    ],
)
def test_grouping_sets_are_those_of_sql(tmp_path: Path, by: str, sets: list[set[int]]) -> None:
    inner = "(SELECT sex AS a, age // 40 AS b, pay > 1 AS c FROM t) AS s"
    plan = Ask(f"SELECT COUNT(*) FROM {inner} GROUP BY {by}").plan({"t": schema(tmp_path, Unit())}, Terms())
    assert [set(kept) for kept in plan.question.sets] == sets
