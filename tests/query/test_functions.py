"""Functions of a row: what they come to is what DuckDB says, or what is documented; derived bounds and groups hold."""

from __future__ import annotations

from datetime import date, datetime
from fractions import Fraction
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.feather
import pytest

from obverse.data.schema import Column, Schema, Type
from obverse.engines.duckdb import DuckDB
from obverse.errors import BadQuestion
from obverse.query.ask import Ask
from obverse.query.plan import AskPlan
from obverse.release import Terms

COLUMNS = (
    Column("n", Type.INTEGER, low=Fraction(-3), high=Fraction(9)),
    Column("x", Type.REAL, low=Fraction(-10), high=Fraction(250)),
    Column("wild", Type.REAL),
    Column("word", Type.TEXT),
    Column("born", Type.DATE, low=date(1999, 11, 30), high=date(2001, 2, 10)),
    Column("seen", Type.TIMESTAMP, low=datetime(2000, 1, 1), high=datetime(2000, 12, 31, 23)),
    Column("ok", Type.BOOLEAN, categories=(False, True)),
)
DATA = {
    "n": pa.array([-3, -1, 0, 2, 7, 9, None, 4], pa.int64()),
    "x": pa.array([2.5, -2.5, 0.125, 249.95, -10.0, 0.0, 3.5, None]),
    "wild": pa.array([1e300, -4.0, 0.5, None, 100.0, 9.0, -0.5, 2.0]),
    "word": ["12", "-7", "Ångström", "a,b", "2000-02-29", "2001-02-29", None, "straße"],
    "born": pa.array(
        [date(2000, 2, 29), date(1999, 11, 30), date(2001, 2, 10), None, *[date(2000, 12, 31)] * 4],
        pa.date32(),
    ),
    "seen": pa.array([datetime(2000, month, 28, 7, 8, 9) for month in range(1, 9)], pa.timestamp("us")),
    "ok": [True, False, None, True, False, True, False, None],
}


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> Schema:
    path = tmp_path_factory.mktemp("functions") / "t.arrow"
    pyarrow.feather.write_feather(pa.table(DATA), path)
    return Schema("t", str(path), COLUMNS)


@pytest.fixture(scope="module")
def engine(known: Schema) -> DuckDB:
    return DuckDB([known])


def planned(question: str, known: Schema) -> AskPlan:
    plan = Ask(question).plan({"t": known}, Terms())
    assert isinstance(plan, AskPlan)
    return plan


AS_DUCKDB = (
    *(
        "POWER(x, 2)",
        "POWER(x, 3)",
        "n ** 4",
        "POWER(ABS(x), 0.5)",
        "EXP(x / 100)",
        "LOG10(x + 11)",
        "LOG2(x + 11)",
    ),
    *(
        "LN(x + 11)",
        "SIGN(x)",
        "ROUND(x)",
        "ROUND(x, 1)",
        "ROUND(x, -1)",
        "TRUNC(x)",
        "TRUNC(-x)",
        "MOD(n, 4)",
    ),
    *("GREATEST(n, 2)", "LEAST(x, n)", "LEAST(GREATEST(wild, 0), 50)", "NULLIF(n, 2)", "IFNULL(n, 5)"),
    *("IF(ok, 1, 2)", "CAST(ok AS INTEGER)", "CAST(x AS INTEGER)", "x::DOUBLE", "CAST(n AS BIGINT)"),
    *("born - DATE '2000-01-01'", "DATE_DIFF('day', born, seen)", "DATE_DIFF('month', born, seen)"),
    *("DATE_DIFF('year', born, seen)", "YEAR(born + INTERVAL 2 MONTH)", "DAY(born - INTERVAL 3 MONTH)"),
    *("DAY(born + 60)", "MONTH(DATE_TRUNC('quarter', born))", "DAY(DATE_TRUNC('week', born))", "WEEK(born)"),
    *(
        "ISODOW(born)",
        "DAYOFWEEK(born)",
        "DAYOFYEAR(born)",
        "EXTRACT(DOW FROM seen)",
        "HOUR(seen)",
        "SECOND(seen)",
    ),
    *(
        "CASE WHEN STARTS_WITH(word, 'Å') THEN 1 ELSE 0 END",
        "CASE WHEN ENDS_WITH(word, 'b') THEN 1 ELSE 0 END",
    ),
    *("CASE WHEN CONTAINS(word, 'ß') THEN 1 ELSE 0 END", "CASE WHEN n IS DISTINCT FROM 2 THEN 1 ELSE 0 END"),
    *("CASE WHEN n IS NOT DISTINCT FROM NULLIF(n, 2) THEN 1 ELSE 0 END", "LEAST(LENGTH(word), 9)"),
    *(f"LEAST(LENGTH({text}), 99)" for text in ("LEFT(word, 2)", "RIGHT(word, 3)", "SUBSTRING(word, 2, 4)")),
    *(f"LEAST(LENGTH({text}), 99)" for text in ("word || 'é'", "CONCAT(word, 'x', word)", "LTRIM(word)")),
    *(
        "LEAST(LENGTH(REPLACE(word, 'ß', 'ss')), 99)",
        "LEAST(POSITION('t' IN word), 9)",
        "LEAST(INSTR(word, '-'), 9)",
    ),
    "LEAST(GREATEST(TRY_CAST(word AS INTEGER), -9), 99)",
)


@pytest.mark.parametrize("asked", AS_DUCKDB)
def test_a_function_comes_to_what_duckdb_says(known: Schema, engine: DuckDB, asked: str) -> None:
    """Row by row: the clamped whole steps that would be added up are within a step of DuckDB's own value."""
    plan = planned(f"SELECT SUM({asked}) FROM t", known)
    measure = plan.noisy[0].measure
    assert measure.value is not None
    with duckdb.connect() as raw:
        raw.register("t", pa.table(DATA))
        for place in range(len(DATA["ok"])):
            mine = engine.run(plan.reads[0].copy().where(f"wild IS NOT DISTINCT FROM {_literal(place)}"))[0][
                0
            ]
            (theirs,) = raw.execute(f"SELECT {asked} FROM t LIMIT 1 OFFSET {place}").fetchall()[0]
            if theirs is None:
                assert mine is None
            else:
                assert mine is not None
                assert float(Fraction(int(mine)) * plan.noisy[0].grid) == pytest.approx(
                    float(theirs), rel=1e-8, abs=float(plan.noisy[0].grid) + 1e-9
                )
                assert measure.low <= int(mine) <= measure.high


def _literal(place: int) -> str:
    value = DATA["wild"][place].as_py()  # type: ignore[attr-defined]
    return "NULL" if value is None else repr(value)


@pytest.mark.parametrize(
    ("text", "whole", "real", "day"),
    [
        ("12", 12, 12.0, None),
        ("-007", -7, -7.0, None),
        ("12.50", None, 12.5, None),
        ("1e3", None, 1000.0, None),
        ("2000-02-29", None, None, date(2000, 2, 29)),
        ("1900-02-29", None, None, None),
        ("2001-04-31", None, None, None),
        ("2001-12-31", None, None, date(2001, 12, 31)),
        ("0000-01-01", None, None, None),
        *(
            (text, None, None, None)
            for text in ("+5", " 12", "12\n", "0x1F", "1_000", "९", "", "1e400", "NaN")
        ),
    ],
)
def test_a_text_is_read_as_documented_or_is_null(
    tmp_path: Path, text: str, whole: int | None, real: float | None, day: date | None
) -> None:
    path = tmp_path / "t.arrow"
    pyarrow.feather.write_feather(pa.table({"word": [text]}), path)
    known = Schema("t", str(path), (Column("word", Type.TEXT),))
    engine = DuckDB([known])
    for kind, expected in (("INTEGER", whole), ("DOUBLE", real), ("DATE", day)):
        plan = planned(f"SELECT COUNT(*) FROM t GROUP BY CAST(word AS {kind}) WITH (delta = 1e-6)", known)
        ((found, _),) = engine.run(plan.reads[0])
        assert found == expected, kind


@pytest.mark.parametrize(
    ("key", "groups"),
    [
        ("WIDTH_BUCKET(n, 0, 8, 4)", (0, 1, 2, 3, 4, 5)),
        ("WIDTH_BUCKET(x, -20, 300, 2)", (1, 2)),
        ("SIGN(x)", (-1, 0, 1)),
        ("GREATEST(n, 7)", (7, 8, 9)),
        ("TRUNC(n / 4)", (0, 1, 2)),
        ("DATE_TRUNC('year', born)", ("1999-01-01", "2000-01-01", "2001-01-01")),
        ("DATE_TRUNC('quarter', seen)", ("2000-01-01", "2000-04-01", "2000-07-01", "2000-10-01")),
        ("DATE_TRUNC('month', born + INTERVAL 12 MONTH)", 16),
        ("DATE_TRUNC('week', born)", 63),
        ("born", 439),
        ("YEAR(born)", (1999, 2000, 2001)),
        ("DATE_DIFF('year', born, seen)", (-1, 0, 1)),
        ("CAST(n AS TEXT)", 13),
        ("STARTS_WITH(word, 'a')", (False, True)),
        ("CAST(ok AS INTEGER)", (0, 1)),
    ],
)
def test_groups_follow_from_declared_bounds_and_hold_every_row(
    known: Schema, engine: DuckDB, key: str, groups: tuple[object, ...] | int
) -> None:
    plan = planned(f"SELECT {key}, COUNT(*) FROM t GROUP BY 1", known)
    made = tuple(group[0] for group in plan.groups())
    assert (len(made) if isinstance(groups, int) else made) == groups
    held = {None if row[0] is None else str(row[0]).removesuffix(".0") for row in engine.run(plan.reads[0])}
    assert held - {None, "-0"} <= {str(group) for group in made} | {str(group).lower() for group in made}


@pytest.mark.parametrize(
    "asked",
    [
        *(
            "POWER(x, n)",
            "POWER(x, -1)",
            "LOG(n, x)",
            "ROUND(x, n)",
            "WIDTH_BUCKET(x, 0, 10)",
            "WIDTH_BUCKET(x, 5, 5, 2)",
        ),
        *(
            "REPLACE(word, '', 'x')",
            "REPLACE(word, word, 'x')",
            "LEFT(word, n)",
            "SUBSTRING(word, 0, 3)",
            "LEFT(word, -1)",
        ),
        *(
            "POSITION(word IN word)",
            "word ~ 'a*'",
            "word SIMILAR TO 'a'",
            "TRIM(LEADING 'x' FROM word)",
            "REVERSE(word)",
        ),
        *(
            "born + INTERVAL 1 HOUR",
            "seen + INTERVAL 1 DAY",
            "born + INTERVAL (n) DAY",
            "born + n",
            "DATE_TRUNC('hour', seen)",
        ),
        *(
            "DATE_DIFF('hour', seen, born)",
            "AGE(born, born)",
            "CURRENT_DATE",
            "CAST(word AS BOOLEAN)",
            "CAST(x AS TEXT)",
        ),
        *(
            "DATE '9999-12-31' + INTERVAL 1 DAY",
            "CONCAT(n, 'x')",
            "n || 'x'",
            "GREATEST(n, word)",
            "SIN(x)",
            "REPEAT(word, 9)",
        ),
    ],
)
def test_what_no_rule_makes_total_or_alike_is_refused(known: Schema, asked: str) -> None:
    with pytest.raises(BadQuestion):
        planned(f"SELECT COUNT({asked}) FROM t", known)


def test_deep_nesting_is_planned_quickly_or_refused(known: Schema) -> None:
    for wrap in ("GREATEST({}, 1)", "NULLIF({}, 1)", "POWER({}, 2)", "CAST({} AS INTEGER)", "ROUND({}, 1)"):
        asked = "x"
        for _ in range(30):
            asked = wrap.format(asked)
        try:
            planned(f"SELECT COUNT({asked}) FROM t", known)
        except BadQuestion:
            continue


def test_the_first_and_last_days_that_an_engine_holds_fail_no_question(tmp_path: Path) -> None:
    """Found by trying: DuckDB has no week for the first days it can hold, and says so with the day."""
    days = pa.array([-(2**31) + 2, -2147483647, 2**31 - 3, 2**31 - 1, 0, None], pa.int32()).cast(pa.date32())
    times = pa.array([-(2**63) + 3, -(2**63 - 1), 2**63 - 2, 2**63 - 1, 0, None], pa.int64()).cast(
        pa.timestamp("us")
    )
    path = tmp_path / "t.arrow"
    pyarrow.feather.write_feather(pa.table({"d": days, "s": times}), path)
    known = Schema("t", str(path), (Column("d", Type.DATE), Column("s", Type.TIMESTAMP)))
    engine = DuckDB([known])
    parts = ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "DOY", "DOW", "ISODOW", "HOUR", "MINUTE", "SECOND")
    asked = [f"EXTRACT({part} FROM {when})" for part in parts for when in ("d", "s")]
    asked += [f"YEAR(DATE_TRUNC('{unit}', {when}))" for unit in ("week", "quarter") for when in ("d", "s")]
    asked += [
        "DATE_DIFF('day', d, s)",
        "DATE_DIFF('month', s, d)",
        "YEAR(d + INTERVAL 36525 DAY)",
        "YEAR(CAST(s AS DATE))",
    ]
    asked += ["YEAR(d - INTERVAL 1200 MONTH)", "DAY(GREATEST(d, CAST(s AS DATE)))", "d - CAST(s AS DATE)"]
    for each in asked:
        engine.run(planned(f"SELECT COUNT({each}) FROM t", known).reads[0])
        engine.run(planned(f"SELECT COUNT(*) FROM t WHERE {each} > 3", known).reads[0])
