"""EXPLAIN, DESCRIBE and SHOW BUDGET: all that is told comes from the settings, and costs nothing."""

from __future__ import annotations

import pytest

from obverse.data.schema import Schema
from obverse.errors import BadQuestion
from obverse.query.ask import Ask
from obverse.query.explain import describe, explain, statement
from obverse.release import Terms


def explained(sql: str, schemas: dict[str, Schema]) -> str:
    return explain(Ask(sql).plan(schemas, Terms()))


def test_a_plan_says_what_is_read_how_noisy_it_becomes_and_what_it_costs(schemas: dict[str, Schema]) -> None:
    said = explained("DP-SELECT 0.5 sex, COUNT(*) AS n, MEDIAN(age) FROM people GROUP BY sex", schemas)
    assert said.splitlines() == [
        "protects    one row of people added or removed",
        "bounds      numbers are clamped to their bounds, which no ± includes",
        "groups      2, each answered, empty ones too",
        'reads       SELECT "sex", COUNT(*) FROM "people" GROUP BY 1',
        'reads       SELECT "sex", CASE WHEN "age" >= 120 THEN 120 WHEN "age" > 0 THEN "age" WHEN "age" <= 0 THEN 0 END, '
        'COUNT(*) FROM "people" GROUP BY 1, 2',
        "statistic   COUNT(*): Laplace noise of scale 4; one unit moves it by 1 at most; cost ε = 0.25",
        "statistic   MEDIAN(age): chosen by rank from 0 to 120 in steps of 1, ε = 0.25 a value, 1 of one unit at most; "
        "cost ε = 0.25",
        "±           COUNT(*)  ± 12 in 95% of runs",
        "±           MEDIAN(age)  ± 174 in 95% of runs (ranks; how far its value is off depends on the values about it)",
        "cost        ε = 0.5; nothing was read, nothing charged",
    ]


def test_people_with_many_rows_gaussian_noise_and_found_groups_are_said(schemas: dict[str, Schema]) -> None:
    said = explained("SELECT COUNT(*) FROM visits WITH (delta = 1e-6)", schemas)
    assert "of one person 4 rows count" in said and "all rows of one id of visits" in said
    many = explained("SELECT sex, SUM(pay) FROM visits GROUP BY sex WITH (delta = 1e-2)", schemas)
    assert "Gaussian noise of standard deviation" in many
    found = explained("SELECT income, COUNT(*) FROM people GROUP BY 1 WITH (delta = 1e-6)", schemas)
    assert "groups      found in the data, named where enough people are in them; ε" in found


def test_a_table_is_described_by_what_was_declared(schemas: dict[str, Schema]) -> None:
    lines = describe('"PEOPLE"', schemas).splitlines()
    assert lines[0] == "people: protects one row of people added or removed"
    assert [line.split() for line in lines[2:5]] == [
        ["age", "integer", "plain", "0", "…", "120"],
        ["sex", "text", "plain", "one", "of", "Female,", "Male"],
        ["income", "real", "plain", "no", "bounds"],
    ]
    assert describe("visits", schemas).splitlines()[0].endswith("4 rows of one person count")
    with pytest.raises(BadQuestion, match="there is no table peopel: did you mean people"):
        describe("peopel", schemas)


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("explain  SELECT 1;", ("EXPLAIN", "SELECT 1")),
        ("EXPLAIN\nDP-SELECT 1 COUNT(*)", ("EXPLAIN", "DP-SELECT 1 COUNT(*)")),
        ("DESC people", ("DESCRIBE", "people")),
        ("-- how much?\n/* of */ EXPLAIN DP-SELECT 1 COUNT(*)", ("EXPLAIN", "DP-SELECT 1 COUNT(*)")),
        ("SHOW budget ; ", ("SHOW", "budget")),
        ("SELECT 1", None),
        ("explained", None),
        ("-- EXPLAIN\nSELECT 1", None),
    ],
)
def test_what_is_free_is_told_from_a_question(sql: str, said: tuple[str, str] | None) -> None:
    assert statement(sql) == said


@pytest.mark.parametrize(
    "sql", ["SHOW TABLES", "EXPLAIN ANALYZE SELECT 1", "EXPLAIN (FORMAT JSON) SELECT 1", "SHOW"]
)
def test_other_statements_of_an_engine_are_refused(sql: str) -> None:
    with pytest.raises(BadQuestion):
        statement(sql)
