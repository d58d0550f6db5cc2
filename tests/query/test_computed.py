"""Expressions over released numbers: what they come to, and that each ± holds what the noise hid."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import exp, log, log2, sqrt

import pytest
from sqlglot import parse_one

from obverse.data.schema import Schema
from obverse.errors import BadQuestion
from obverse.noise.entropy import Keyed
from obverse.query.answer import Answer
from obverse.query.ask import Ask
from obverse.query.plan import AskPlan
from obverse.query.ranges import Range
from obverse.query.released import Row, reach, value
from obverse.release import Terms

VALUES = [
    ("n // 7", 14),
    ("n % 7", 2),
    ("-n % 7", -2),
    ("n % 0", None),
    ("n // 0", None),
    ("POWER(n, 2)", 10_000),
    ("POWER(n, 0.5)", 10),
    ("POWER(0 - n, 0.5)", None),
    ("POWER(0, -1)", None),
    ("SQRT(n)", 10),
    ("SQRT(0 - n)", None),
    ("LN(n)", log(100)),
    ("LN(0)", None),
    ("LOG(n)", 2),
    ("LOG10(n)", 2),
    ("LOG2(n)", log2(100)),
    ("EXP(n / 100)", exp(1)),
    ("EXP(n * n)", None),
    ("POWER(n, 64)", 1e128),
    ("POWER(POWER(n, 64), 64)", None),
    ("POWER(1 / n, 2)", 1e-4),
    ("SIGN(n)", 1),
    ("SIGN(0 - n)", -1),
    ("TRUNC(n / 7)", 14),
    ("TRUNC((0 - n) / 7)", -14),
    ("TRUNC(n / 7, 2)", 14.28),
    ("ROUND(n / 7, -1)", 10),
    ("GREATEST(n, 200, NULL)", 200),
    ("LEAST(n, 20)", 20),
    ("CAST(n / 8 AS INTEGER)", 12),
    ("(n / 8)::DECIMAL(10, 1)", 12.5),
    ("CAST(n AS DOUBLE) / 8", 12.5),
    ("CAST(n > 3 AS INT)", 1),
    ("IF(n > 3, 1, 2)", 1),
    ("IF(n < 3, 1)", None),
    ("n IN (1, NULL)", None),
    ("n IN (100, NULL)", 1),
]


@pytest.mark.parametrize(("text", "expected"), VALUES)
def test_what_a_function_comes_to(text: str, expected: float | None) -> None:
    found = value(_over_n(text), Row((), (Fraction(100),)))
    assert found == expected if expected is None else float(found) == pytest.approx(expected)  # type: ignore[arg-type]


RANGED: dict[str, Callable[[float], float]] = {
    "SQRT(ABS(n))": lambda n: sqrt(abs(n)),
    "POWER(n, 3) - POWER(n, 2)": lambda n: n**3 - n**2,
    "LN(ABS(n) + 1)": lambda n: log(abs(n) + 1),
    "LOG2(ABS(n) + 1)": lambda n: log2(abs(n) + 1),
    "EXP(n / 50)": lambda n: exp(n / 50),
    "ROUND(n, -2)": lambda n: n,
    "TRUNC(n / 10) * 10": lambda n: n,
    "n // 10 * 10": lambda n: n,
    "CAST(n / 3 AS INT) * 3": lambda n: n,
    "(n / 3)::DECIMAL(9, 1)": lambda n: n / 3,
    "CASE WHEN n > 0 THEN n ELSE 2 * n END": lambda n: n if n > 0 else 2 * n,
    "IF(n > 0, n, -n)": abs,
    "COALESCE(n, 0)": lambda n: n,
    "GREATEST(n, 0)": lambda n: max(n, 0),
    "LEAST(n, 10, n / 2)": lambda n: min(n, 10, n / 2),
    "NULLIF(n, 1000)": lambda n: n,
}


@pytest.mark.parametrize("text", RANGED)
def test_a_range_holds_what_any_number_in_it_comes_to(text: str) -> None:
    tree, luck = _over_n(text), Keyed(text)
    for _ in range(200):
        low = Fraction(luck.bits(9) - 256)
        high = low + luck.bits(7)
        found = reach(tree, Row((), (low,)), [Range(low, high)])
        assert found is not None
        for part in range(5):
            inside = float(low + (high - low) * part / 4)
            assert float(found.low) - 1e-9 <= RANGED[text](inside) <= float(found.high) + 1e-9


def _over_n(text: str):  # type: ignore[no-untyped-def]
    tree = parse_one(text, dialect="duckdb")
    for column in list(tree.find_all(type(parse_one("n")))):
        column.replace(parse_one('"§aggregate"."0"'))
    return parse_one('"§aggregate"."0"') if tree.sql() == "n" else tree


ASKED = [
    ("SELECT VAR(age) FROM people", "VARIANCE(age)"),
    ("SELECT MEAN(age) FROM people", "AVG(age)"),
    ("SELECT COUNT() FROM people", "COUNT(*)"),
    ("SELECT people.sex, COUNT(*) FROM people GROUP BY sex", "sex"),
    ('SELECT "sex", COUNT(*) FROM people GROUP BY sex', "sex"),
    ("SELECT sex AS s, COUNT(*) FROM people GROUP BY s", "s"),
    ("SELECT IF(age > 50, 'old', 'young') AS how, COUNT(*) FROM people GROUP BY how", "how"),
]


@pytest.mark.parametrize(("sql", "column"), ASKED)
def test_columns_are_called_as_in_sql(sql: str, column: str, schemas: dict[str, Schema]) -> None:
    assert _shown(sql, schemas).columns[0] == column


def test_group_by_means_the_column_where_one_is_called_like_an_alias(schemas: dict[str, Schema]) -> None:
    sql = "SELECT COALESCE(sex, 'all') AS sex, COUNT(*) FROM people GROUP BY ROLLUP (sex)"
    assert [row[0] for row in _shown(sql, schemas).rows] == ["Female", "Male", "all"]


def test_numbers_beyond_64_bits_are_floats_and_beyond_a_double_null(schemas: dict[str, Schema]) -> None:
    terms = " * ".join(["COUNT(*)"] * 80)
    sql = f"SELECT POWER(COUNT(*), 10) AS wide, {terms} / 7 AS wider, POWER(POWER(COUNT(*), 64), 64) AS widest FROM people"
    plan = Ask(sql).plan(schemas, Terms())
    assert isinstance(plan, AskPlan)
    answer = plan.present(((),), ((10**6,),), plan.confidence)
    assert answer.rows == ((1e60, None, None),) and isinstance(answer.rows[0][0], float)


MOMENTS = [
    ("born > 20200101", "compares a date with a whole number"),
    ("born > '20200101'", "is no date: write it as 2024-12-31"),
    ("born > '2020-W01-1'", "is no date"),
    ("born > TIMESTAMP '2020-01-01 12:00:00'", "compares a date with a timestamp"),
    ("born > DATE '2020-02-30'", "is no date"),
    (
        "TIMESTAMP '2020-01-01 12:00:00+05:00' > TIMESTAMP '2020-01-01'",
        "no timestamp: write it as 2024-12-31 23",
    ),
]


@pytest.mark.parametrize(("where", "why"), MOMENTS)
def test_a_date_is_written_in_one_way(where: str, why: str, schemas: dict[str, Schema]) -> None:
    with pytest.raises(BadQuestion, match=why.replace("+", "\\+")):
        Ask(f"SELECT COUNT(*) FROM people WHERE {where}").plan(schemas, Terms())
    assert Ask("SELECT COUNT(*) FROM people WHERE born > DATE '2020-02-29'").plan(schemas, Terms()).key


def _shown(sql: str, schemas: dict[str, Schema]) -> Answer:
    plan = Ask(sql).plan(schemas, Terms())
    assert isinstance(plan, AskPlan)
    steps = (100,) * len(plan.numbers)
    return plan.present(plan.groups(), (steps,) * len(plan.groups()), plan.confidence)
