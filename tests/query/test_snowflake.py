"""DP_INTERVAL_LOW and DP_INTERVAL_HIGH: the ends of an answer's own interval as columns, for nothing."""

from __future__ import annotations

from fractions import Fraction

import pytest

from obverse.data.schema import Schema
from obverse.errors import BadQuestion
from obverse.query.ask import Ask
from obverse.query.plan import AskPlan
from obverse.release import Terms


def plan(sql: str, schemas: dict[str, Schema]) -> AskPlan:
    made = Ask(sql).plan(schemas, Terms())
    assert isinstance(made, AskPlan)
    return made


def test_the_ends_are_those_of_the_margin_and_cost_nothing(schemas: dict[str, Schema]) -> None:
    sql = "COUNT(*) AS n, SUM(age) AS s, AVG(pay) AS a FROM people"
    ends = ", ".join(f"DP_INTERVAL_{end}({name})" for name in ("n", "s", "a") for end in ("LOW", "high"))
    plain, asked = (
        plan(f"SELECT {sql}", schemas),
        plan(f"SELECT {sql.replace(' FROM', f', {ends} FROM')}", schemas),
    )
    assert plain.guarantee == asked.guarantee and plain.key == asked.key
    for confidence in (Fraction(95, 100), Fraction(1, 2)):
        steps = ((1000,) * len(asked.numbers),)
        shown = asked.present(((),), steps, confidence)
        assert shown.columns[3:5] == ("DP_INTERVAL_LOW(n)", "DP_INTERVAL_HIGH(n)")
        row, margins = shown.rows[0], shown.margins[0]
        for place in (0, 1):
            number, margin = row[place], margins[place]
            assert isinstance(number, int) and margin is not None
            assert row[3 + 2 * place : 5 + 2 * place] == pytest.approx((number - margin, number + margin))
        low, mean, high = row[7], row[2], row[8]
        assert (
            isinstance(low, int | float) and isinstance(mean, int | float) and isinstance(high, int | float)
        )
        assert -10 <= low <= mean <= high <= 1000, "an average stays within its bounds"
        assert margins[3:] == (None,) * 6


def test_an_interval_of_what_has_none_is_null(schemas: dict[str, Schema]) -> None:
    asked = plan(
        "SELECT sex, DP_INTERVAL_LOW(sex), DP_INTERVAL_LOW(1 / (COUNT(*) - 7)) FROM people GROUP BY sex",
        schemas,
    )
    shown = asked.present(asked.groups(), ((7,), (8,)), Fraction(95, 100))
    assert [row[1:] for row in shown.rows] == [(None, None), (None, None)]


def test_ends_are_numbers_to_sort_to_choose_and_to_compute_with(schemas: dict[str, Schema]) -> None:
    asked = plan(
        "SELECT sex, COUNT(*) AS n, DP_INTERVAL_LOW(n) AS low, DP_INTERVAL_HIGH(n) - DP_INTERVAL_LOW(n) AS wide, "
        "CASE WHEN DP_INTERVAL_LOW(n) > 100 THEN 'many' ELSE 'few' END AS how FROM people GROUP BY sex "
        "HAVING DP_INTERVAL_HIGH(n) > 0 ORDER BY DP_INTERVAL_LOW(n) DESC",
        schemas,
    )
    counts = ((200,), (1000,))
    shown = asked.present(asked.groups(), counts, Fraction(95, 100))
    assert [row[1] for row in shown.rows] == [1000, 200], "in the order of where they begin"
    for (_, n, low, wide, how), margins in zip(shown.rows, shown.margins, strict=True):
        assert (low, wide) == (n - margins[1], 2 * margins[1])
        assert how == ("many" if low > 100 else "few")
        assert margins[2:] == (None, None, None), "an end is known, whatever is made of it"
    fewer = asked.present(asked.groups(), ((-10_000,), (1000,)), Fraction(95, 100))
    assert len(fewer.rows) == 1, "HAVING goes by the end"


REFUSED = {
    "SELECT COUNT(*) AS n, DP_INTERVAL_LOW(DP_INTERVAL_LOW(n)) FROM people": "has none about it",
    "SELECT COUNT(*) AS n, DP_INTERVAL_LOW(n) AS low, DP_INTERVAL_HIGH(low) FROM people": "has none about it",
    "SELECT COUNT(*) AS n, DP_INTERVAL_LOW() FROM people": "as in SELECT COUNT",
    "SELECT COUNT(*) AS n, DP_INTERVAL_LOW(age) FROM people": "of single rows cannot be private",
    "SELECT DP_INTERVAL_LOW(n), COUNT(*) AS n FROM people": "has no column n",
}


@pytest.mark.parametrize("sql", REFUSED)
def test_an_interval_that_is_of_nothing_is_refused(sql: str, schemas: dict[str, Schema]) -> None:
    with pytest.raises(BadQuestion, match=REFUSED[sql]):
        Ask(sql).plan(schemas, Terms())
