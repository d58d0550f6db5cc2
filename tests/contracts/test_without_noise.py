"""Without noise random questions on bounded data are answered as the engine answers them itself."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from tests.contracts.test_questions import INSIDE, TYPES, silent

from obverse.audit.replay import schema, tables
from obverse.data.schema import Unit
from obverse.noise.entropy import Keyed
from obverse.query.ask import Ask
from obverse.release import Terms

QUESTIONS = 300
GRAMMAR: dict[str, tuple[str, ...]] = {
    "number": (
        *("age", "pay", "age * 2 - pay", "ABS(pay - 20)", "FLOOR(pay / 3)", "-age", "pay * pay / 7"),
        *("CASE WHEN {test} THEN age ELSE 3 END", "COALESCE(age, 0) + {number}"),
    ),
    "test": (
        *(
            "age BETWEEN 10 AND 90",
            "sex = 'f'",
            "pay > 9",
            "NOT sex LIKE 'm%'",
            "age % 5 <> 1",
            "id IN (1, 2, 5)",
        ),
        *("({test} OR {test})", "NOT {test}", "{number} < {number}", "sex IS NOT NULL"),
    ),
    "aggregate": (
        *(
            "COUNT({number})",
            "COUNT(*) FILTER (WHERE {test})",
            "SUM({number})",
            "AVG({number})",
            "COUNT_IF({test})",
        ),
        *(
            "SUM(CASE WHEN {test} THEN {number} END)",
            "COUNT(DISTINCT id)",
            "VAR_POP(pay)",
            "COVAR_POP(pay, age)",
        ),
        *("SUM(age) / COUNT(*)", "SUM(pay) - 2 * SUM(age)"),
    ),
    "key": (
        *(
            "sex",
            "FLOOR(age / 40)",
            "ROUND(age / 50)",
            "CASE WHEN {test} THEN 'low' ELSE 'high' END",
            "{test}",
        ),
        "FLOOR(ABS(pay) / 9)",
    ),
    "source": (
        *(
            "t",
            "t",
            "(SELECT * FROM t WHERE {test}) AS s",
            "(SELECT id, {number} AS age, sex, pay FROM t) AS s",
        ),
    ),
    "of people": (
        *("(SELECT * FROM t UNION ALL SELECT * FROM t WHERE {test}) AS s", "(SELECT DISTINCT * FROM t) AS s"),
        "(SELECT o.id, o.age, i.sex, i.pay FROM t AS o JOIN t AS i ON o.id = i.id WHERE o.age < i.age) AS s",
        "(SELECT o.id, o.age, i.sex, o.pay FROM t AS o LEFT JOIN t AS i ON o.id = i.id AND i.age < 20) AS s",
        "(SELECT id, sex, SUM(pay) AS pay, MAX(age) AS age FROM t WHERE {test} GROUP BY id, sex) AS s",
    ),
    "question": (
        "SELECT COUNT(*), {aggregate}, {aggregate} FROM {source} WHERE {test}",
        "SELECT {key} AS k, COUNT(*), {aggregate} FROM {source} GROUP BY 1 HAVING COUNT(*) > 0 ORDER BY 1",
        "SELECT {key} AS k, {aggregate}, COUNT(*) FROM {source} WHERE {test} GROUP BY 1 HAVING COUNT(*) > 1 ORDER BY 1",
    ),
}


def made(what: str, luck: Keyed, people: bool) -> str:
    """One of its forms, filled in."""
    forms = GRAMMAR[what] + (GRAMMAR["of people"] if people and what == "source" else ())
    form = forms[luck.bits(16) % len(forms)]
    return re.sub(r"{(\w+)}", lambda part: made(part[1], luck, people), form)


@pytest.mark.parametrize("unit", [Unit(), Unit("id", rows=30)])
def test_random_questions_without_noise_are_the_engines_own(tmp_path: Path, unit: Unit) -> None:
    known, luck = schema(tmp_path, unit), Keyed("own")
    engine = tables(INSIDE, known)
    with duckdb.connect() as raw:
        raw.register("held", pa.Table.from_pylist(INSIDE, TYPES))
        raw.execute("CREATE TABLE t AS SELECT * FROM held")
        for _ in range(QUESTIONS):
            question = made("question", luck, unit.column is not None)
            answer = silent(Ask(question).plan({"t": known}, Terms())).run(engine, Keyed(""))
            expected = raw.execute(question).fetchall()
            assert len(answer.rows) == len(expected), question
            for mine, theirs in zip(answer.rows, expected, strict=True):
                for ours, engines in zip(mine, theirs, strict=True):
                    assert same(ours, engines), (question, mine, theirs)


def same(ours: object, engines: object) -> bool:
    """The same text or truth, or numbers to the grid they are counted on; of no rows there is no average to compare."""
    if engines is None:
        return True
    if isinstance(engines, str | bool):
        return ours == engines
    return ours == pytest.approx(float(str(engines)), rel=1e-5, abs=1e-4)  # squares lie on a grid of 2⁻¹⁵
