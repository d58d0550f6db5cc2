"""Groups that follow from values known in public: all of what an expression may come to, and nothing that it may not."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from obverse.audit.replay import schema, tables
from obverse.data.schema import Schema, Unit
from obverse.errors import BadQuestion
from obverse.noise.entropy import Keyed
from obverse.query.ask import Ask
from obverse.query.plan import AskPlan
from obverse.release import Terms
from tests.contracts.test_questions import INSIDE, TYPES, silent

KEYS = {
    "FLOOR(age / 40) * 40": [0, 40, 80, 120],
    "age - age % 40": [0, 40, 80, 120],
    "(age // 40 + 1) * -1": [-4, -3, -2, -1],
    "age % 4": [0, 1, 2, 3],
    "ABS(age // 40 - 2)": [0, 1, 2],
    "CEIL(FLOOR(age / 60))": [0, 1, 2],
    "ROUND(pay, -1)": list(range(-10, 350, 10)),
    "UPPER(sex)": ["F", "M"],
    "LEFT(UPPER(sex), 1)": ["F", "M"],
    "sex || '-' || LOWER(sex)": ["f-f", "m-m"],
    "CONCAT(sex, '!')": ["f!", "m!", "!"],
    "REPLACE(sex, 'f', 'w')": ["w", "m"],
    "LENGTH(sex)": [1],
    "TRIM(' ' || sex || ' ')": ["f", "m"],
    "RIGHT(sex, 0)": [""],
}


@pytest.mark.parametrize("key", KEYS)
def test_every_value_of_an_expression_is_a_group(tmp_path: Path, key: str) -> None:
    known = schema(tmp_path, Unit())
    plan = Ask(f"SELECT {key} AS k, COUNT(*) AS n FROM t GROUP BY k").plan({"t": known}, Terms())
    assert isinstance(plan, AskPlan) and plan.naming is None
    assert sorted(group[0] for group in plan.groups()) == sorted(KEYS[key])  # type: ignore[type-var]
    answer = silent(plan).run(tables(INSIDE, known), Keyed(""))
    with duckdb.connect() as raw:
        raw.register("t", pa.Table.from_pylist(INSIDE, TYPES))
        expected = dict(raw.execute(f"SELECT {key} AS k, COUNT(*) FROM t GROUP BY k").fetchall())
    assert {k: n for k, n in answer.rows if n} == expected


def test_two_columns_of_one_name_are_two(tmp_path: Path) -> None:
    known = schema(tmp_path, Unit("id", rows=4))
    sql = "SELECT a.age // 60 - b.age // 60 AS k, COUNT(*) FROM t AS a JOIN t AS b ON a.id = b.id GROUP BY k"
    plan = Ask(sql).plan({"t": known}, Terms())
    assert isinstance(plan, AskPlan)
    assert [group[0] for group in plan.groups()] == [-2, -1, 0, 1, 2]


def test_other_letters_are_not_derived(schemas: dict[str, Schema]) -> None:
    from dataclasses import replace

    people = schemas["people"]
    columns = tuple(
        replace(column, categories=("groß", "klein")) if column.name == "sex" else column
        for column in people.columns
    )
    with pytest.raises(BadQuestion, match="to name one a δ is needed"):
        Ask("SELECT UPPER(sex) AS k, COUNT(*) FROM people GROUP BY k").plan(
            {"people": replace(people, columns=columns)}, Terms()
        )


def test_what_is_derived_keeps_its_bounds(schemas: dict[str, Schema]) -> None:
    plan = Ask("SELECT SUM(age % 7 + 1) AS s, SUM(ABS(age - 60)), SUM(LENGTH(sex)) FROM people").plan(
        schemas, Terms()
    )
    assert isinstance(plan, AskPlan)
    assert [each.sensitivity.l1 * each.grid for each in plan.noisy] == [
        Fraction(8),
        Fraction(60),
        Fraction(6),
    ]
