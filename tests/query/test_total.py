"""Whatever is asked is refused in words or runs on every table: no accepted expression can fail on a row.

Questions are grown at random from all that the language has, and put to a table of traps: the largest and smallest
numbers, NaN, infinities, the first and last day, names that look like patterns.
"""

from __future__ import annotations

from datetime import date, datetime
from fractions import Fraction
from pathlib import Path
from random import Random
from time import process_time

import duckdb
import pyarrow as pa
import pyarrow.feather
import pytest

from obverse.data.schema import Column, Schema, Type, Unit
from obverse.engines.duckdb import DuckDB
from obverse.errors import Refusal
from obverse.noise.entropy import Keyed
from obverse.query.ask import Ask
from obverse.query.plan import AskPlan
from obverse.release import Terms

COLUMNS = (
    Column("id", Type.INTEGER),
    Column("age", Type.INTEGER, low=Fraction(0), high=Fraction(120)),
    Column("sex", Type.TEXT, categories=("f", "m")),
    Column("pay", Type.REAL, low=Fraction(-10), high=Fraction(1000, 3)),
    Column("born", Type.DATE),
    Column("at", Type.TIMESTAMP),
    Column("ok", Type.BOOLEAN, categories=(False, True)),
)
DAYS = [date(1, 1, 1), date(9999, 12, 31), None, date(2000, 2, 29), date(1970, 1, 1)]
TRAPS = {
    "id": pa.array([None, 1, 1, 2, 3] * 8, pa.int64()),
    "age": pa.array([2**62, -(2**62), None, 0, 120] * 8, pa.int64()),
    "sex": ["f", "m", None, "é%_'", "\\"] * 8,
    "pay": pa.array([1.7e308, -1.7e308, float("nan"), float("inf"), 0.0] * 8),
    "born": pa.array(DAYS * 8, pa.date32()),
    "at": pa.array(
        [None if d is None else datetime(d.year, d.month, d.day) for d in DAYS] * 8, pa.timestamp("us")
    ),
    "ok": [True, False, None, True, False] * 8,
}


class Grammar:
    """Questions at random, of all kinds."""

    def __init__(self, seed: int) -> None:
        self.luck = Random(seed)

    def one(self, *choices: str) -> str:
        return self.luck.choice(choices)

    def number(self, depth: int) -> str:
        if depth <= 0:
            return self.one("age", "pay", "id", "3", "0", "-2.5", "1e300", "0.1", "LENGTH(sex)")
        inner = self.number(depth - 1)
        match self.luck.randrange(7):
            case 0 | 1:
                return f"({inner} {self.one('+', '-', '*', '/', '//', '%')} {self.number(depth - 1)})"
            case 2:
                return f"CASE WHEN {self.condition(depth - 1)} THEN {inner} ELSE {self.number(depth - 1)} END"
            case 3:
                return f"COALESCE({inner}, {self.number(depth - 1)})"
            case 4:
                return f"EXTRACT({self.one('HOUR', 'MINUTE', 'MONTH', 'YEAR')} FROM {self.one('born', 'at')})"
            case 5:
                return f"CAST({inner} AS DOUBLE)"
            case _:
                return self.function(inner, depth)

    def function(self, inner: str, depth: int) -> str:
        name = self.one(
            "ABS", "FLOOR", "CEIL", "ROUND", "SQRT", "LN", "-", "EXP", "LOG10", "LOG2", "SIGN", "TRUNC"
        )
        return self.one(
            *(f"{name}({inner})", f"{name}({inner})", f"POWER({inner}, {self.one('2', '7', '0.5')})"),
            *(
                f"ROUND({inner}, {self.one('3', '-15', '15')})",
                f"GREATEST({inner}, {self.number(depth - 1)})",
            ),
            *(f"WIDTH_BUCKET({inner}, -1e300, 1e300, 9)", f"NULLIF({inner}, 0)", f"CAST({inner} AS INTEGER)"),
            f"DATE_DIFF('{self.one('day', 'month', 'year')}', born, at)",
            f"YEAR(born {self.one('+', '-')} INTERVAL {self.one('1', '36525')} DAY)",
            f"MONTH(DATE_TRUNC('{self.one('week', 'quarter')}', {self.one('at', 'born')}))",
            f"CAST({self.one('sex', 'CAST(id AS TEXT)')} AS {self.one('INTEGER', 'DOUBLE')})",
            *(
                "YEAR(CAST(sex AS DATE))",
                "LENGTH(REPLACE(sex || sex, '_', ''))",
                "POSITION('%' IN RIGHT(sex, 2))",
            ),
        )

    def condition(self, depth: int) -> str:
        match self.luck.randrange(8):
            case 0 | 1:
                test = self.one("<", "<=", "=", "<>", ">", ">=")
                return f"{self.number(depth - 1)} {test} {self.number(depth - 1)}"
            case 2:
                return f"sex {self.one('LIKE', 'ILIKE')} '{self.one('f%', '%', '_', 'a_b%', '%%%')}'"
            case 3:
                return f"{self.number(depth - 1)} IN (1, 2.5, 3)"
            case 4:
                return f"{self.number(depth - 1)} BETWEEN {self.number(depth - 1)} AND 7"
            case 5:
                return (
                    f"{self.one('age', 'sex', 'born', self.number(depth - 1))} IS {self.one('', 'NOT ')}NULL"
                )
            case 6 if depth > 0:
                return (
                    f"(NOT {self.condition(depth - 1)} {self.one('AND', 'OR')} {self.condition(depth - 1)})"
                )
            case _:
                return self.one("ok", "born < '2000-01-01'", "LOWER(sex) = 'f'", "TRIM(sex) >= 'm'")

    def question(self) -> str:
        function = self.one(
            *("COUNT(%s)", "SUM(%s)", "AVG(%s)", "COUNT(DISTINCT %s)", "STDDEV(%s)", "VAR_POP(%s)"),
            *("MIN(%s)", "MAX(%s)", "MEDIAN(%s)", "QUANTILE_CONT(%s, 0.25)"),
        )
        keys = self.one("", " GROUP BY sex", " GROUP BY ok, FLOOR(age / 40)")
        return f"SELECT {function % self.number(2)} AS a FROM t WHERE {self.condition(2)}{keys}"


@pytest.mark.parametrize("unit", [Unit(), Unit("id", rows=3)])
def test_what_is_accepted_runs_on_every_table(tmp_path: Path, unit: Unit) -> None:
    schema = Schema("t", str(tmp_path / "t.arrow"), COLUMNS, unit)
    pyarrow.feather.write_feather(pa.table(TRAPS), schema.source)
    engine, grammar, ran = DuckDB([schema]), Grammar(1), 0
    for _ in range(600):
        try:
            plan = Ask(grammar.question()).plan({"t": schema}, Terms())
        except Refusal:
            continue
        plan.run(engine, Keyed("any"))
        ran += 1
    assert ran > 200


GROWING = "REPLACE({inner}, 'Q', '" + 64 * "Q" + "')"


def nested(form: str, times: int, inner: str = "sex") -> str:
    for _ in range(times):
        inner = form.format(inner=inner)
    return inner


@pytest.mark.parametrize("text", [nested(GROWING, 40), nested("CONCAT({inner}, sex, {inner})", 6)])
def test_no_text_of_one_row_grows_until_it_fails_or_takes_long(tmp_path: Path, text: str) -> None:
    """64 letters for each, forty times over, would be 10^72 of them, and only where a row has that letter."""
    schema = Schema("t", str(tmp_path / "t.arrow"), COLUMNS)
    plan = Ask(f"SELECT COUNT(*) FROM t WHERE LENGTH({text}) > 0").plan({"t": schema}, Terms())
    assert isinstance(plan, AskPlan)
    for sexes in (["f"] * 8, ["f"] * 7 + ["Q"], ["f"] * 7 + ["Q" * 10**6]):
        table = pa.table({name: column[:8] for name, column in TRAPS.items()} | {"sex": sexes})
        pyarrow.feather.write_feather(table, schema.source)
        begun = process_time()
        assert DuckDB([schema]).run(plan.reads[0]) == [(8,)]
        assert process_time() - begun < 2


def test_short_texts_grow_as_the_engine_itself_has_them(tmp_path: Path) -> None:
    schema = Schema("t", str(tmp_path / "t.arrow"), COLUMNS)
    pyarrow.feather.write_feather(
        pa.table(TRAPS | {"sex": ["Q" * (i * 20) for i in range(40)]}), schema.source
    )
    engine, raw = DuckDB([schema]), pyarrow.feather.read_table(schema.source)
    for text in (GROWING.format(inner="sex || sex"), "CONCAT(sex, '-', sex) || CAST(age AS TEXT)"):
        for length in (0, 100, 900, 40_000):
            question = f"SELECT COUNT(*) FROM t WHERE LENGTH({text}) > {length}"
            plan = Ask(question).plan({"t": schema}, Terms())
            assert isinstance(plan, AskPlan)
            own = duckdb.query(question.replace("FROM t", "FROM raw")).fetchall()
            assert engine.run(plan.reads[0]) == own and len(raw) == 40


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("SELECT COUNT(REPLACE(sex, 'ab', '" + 129 * "x" + "')) FROM t", "at most 64 times as long"),
        (
            "SELECT COUNT(*) FROM "
            + nested(
                "(SELECT x || x || x || x || x || x || x || x AS x FROM {inner}) AS s",
                6,
                "(SELECT sex AS x FROM t) AS s",
            )
            + " WHERE x <> ''",
            "name it less often",
        ),
        (
            "SELECT SUM(x) FROM "
            + nested("(SELECT x * x / x + x AS x FROM {inner}) AS s", 12, "(SELECT age AS x FROM t) AS s"),
            "name it less often",
        ),
    ],
)
def test_what_grows_through_subqueries_is_refused(question: str, said: str) -> None:
    """An engine writes what a subquery computes wherever it is named: six times eight are a quarter of a million."""
    with pytest.raises(Refusal, match=said):
        Ask(question).plan({"t": Schema("t", "", COLUMNS)}, Terms())
