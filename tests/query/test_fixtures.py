"""Every pass of `query`, by what goes in and what comes out."""

import pytest

from obverse.data.schema import Schema
from obverse.errors import BadQuestion
from obverse.query.ask import Ask
from obverse.query.parse import parse
from obverse.release import Terms
from tests.query.conftest import pairs


@pytest.mark.parametrize(("question", "outcome"), pairs("parse.sql"))
def test_a_text_is_read_as_tokens_and_options(question: str, outcome: str) -> None:
    parsed = parse(question)
    said = [f"{name} = {value}" for name, value in vars(parsed.options).items() if value not in (None, False)]
    assert "\n".join([parsed.text, *said]) == outcome


@pytest.mark.parametrize(("question", "outcome"), pairs("bound.sql"))
def test_a_question_reads_bounded_whole_numbers(
    question: str, outcome: str, schemas: dict[str, Schema]
) -> None:
    plan = Ask(question).plan(schemas, Terms())
    lines = [select.sql(dialect="duckdb") for select in plan.reads]
    lines += [f"{total.mechanism} l1={total.sensitivity.l1} grid={total.grid}" for total in plan.noisy]
    assert "\n".join(lines) == outcome


@pytest.mark.parametrize(("question", "outcome"), pairs("refused.sql"))
def test_a_refusal_says_why_and_what_to_change(
    question: str, outcome: str, schemas: dict[str, Schema]
) -> None:
    with pytest.raises(BadQuestion) as refusal:
        Ask(question).plan(schemas, Terms())
    assert str(refusal.value) == outcome


def test_ten_megabytes_of_sql_are_refused(schemas: dict[str, Schema]) -> None:
    with pytest.raises(BadQuestion, match="at most 65,536 characters"):
        Ask("SELECT COUNT(*) FROM people WHERE age = 1" + " OR age = 1" * 1_000_000).plan(schemas, Terms())


def test_ten_thousand_brackets_are_refused(schemas: dict[str, Schema]) -> None:
    with pytest.raises(BadQuestion, match="nests at most"):
        Ask("SELECT COUNT(*) FROM people WHERE " + "(" * 10_000 + "smokes" + ")" * 10_000).plan(
            schemas, Terms()
        )


@pytest.mark.parametrize("function", ["SUM", "AVG", "STDDEV", "MEDIAN", "MIN"])
@pytest.mark.parametrize("factor", ["pay", "(pay * 0.0000000001)"])
def test_bounds_beyond_all_numbers_are_refused(
    function: str, factor: str, schemas: dict[str, Schema]
) -> None:
    with pytest.raises(BadQuestion, match="beyond 2\\^±400"):
        Ask(f"SELECT {function}({' * '.join([factor] * 100)}) FROM people").plan(schemas, Terms())
    Ask(f"SELECT {function}({' * '.join([factor] * 7)}) FROM people").plan(schemas, Terms())


def test_one_epsilon_is_for_the_whole_question(schemas: dict[str, Schema]) -> None:
    plan = Ask("DP-SELECT 0.5 COUNT(*), SUM(age), AVG(age), COUNT(*) AS again FROM people").plan(
        schemas, Terms()
    )
    assert plan.guarantee.epsilon() == 0.5
    assert len(plan.noisy) == 4, "the same aggregate twice is one release"
    twice = Ask("SELECT COUNT(1), COUNT(*), SUM(age * pay), SUM(pay * age) AS again FROM people").plan(
        schemas, Terms()
    )
    assert len(twice.noisy) == 2, "the same in other words too"


def test_a_total_that_nobody_can_change_costs_nothing_beside_others(schemas: dict[str, Schema]) -> None:
    sql = "SELECT SUM(x), AVG(pay) FROM (SELECT id, 0 * age AS x, pay FROM visits) AS s WITH (delta = 1e-2)"
    plan = Ask(sql).plan(schemas, Terms())
    assert 0 < plan.guarantee.epsilon(1e-2) <= 0.1
