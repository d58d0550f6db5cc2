"""Whole questions recorded on a table and replayed on its neighbours, through the real engine.

With the same random bits both runs must do the same things in the same order, and what goes into each mechanism
must be no further apart than was charged. With no noise at all the answer is the engine's own.  [Re:cord-play]
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.feather
import pytest

from obverse.audit import replay
from obverse.audit.replay import COLUMNS, Given, Record, Recorder, apart, record, schema, tables
from obverse.data.schema import Neighbours, Schema, Unit
from obverse.engines.duckdb import DuckDB
from obverse.loss.loss import Sensitivity
from obverse.mechanisms.base import Mechanism
from obverse.mechanisms.permute_and_flip import PermuteAndFlip
from obverse.noise.entropy import Entropy, Keyed
from obverse.query.ask import Ask
from obverse.query.choose import NoisyChoice
from obverse.query.plan import AskPlan
from obverse.release import Terms

TYPES = pa.schema([("id", pa.int64()), ("age", pa.int64()), ("sex", pa.string()), ("pay", pa.float64())])
QUESTIONS = (
    *replay.QUESTIONS,
    "SELECT sex, COUNT(*), QUANTILE_CONT(pay, 0.9), MEDIAN(pay), MAX(age) FILTER (WHERE pay > 9) FROM t GROUP BY sex",
)


BASE = list(replay.BASE)
EXTREMES = [
    record(99, 2**62, "f", 1.7e308),
    record(99, -(2**62), "m", -1.7e308),
    record(0, 30, "f", float("nan")),
    record(0, 30, "m", float("inf")),
    record(None, None, None, None),
    record(99, 45, "a new key", 0.0),
    record(3, 120, "f", 1000 / 3),
]


def neighbours(unit: Unit) -> list[list[Record]]:
    """Tables one unit away from BASE."""
    if unit.column is None:
        return [BASE[1:], BASE[:7] + BASE[8:], *([*BASE, extreme] for extreme in EXTREMES)]
    crowd = [record(99, 5 * i, "fm"[i % 2], 1e9 * i) for i in range(40)]
    gone = [[row for row in BASE if row["id"] != person] for person in (0, 5)]
    return [*gone, [*BASE, *crowd], *([*BASE, extreme] for extreme in EXTREMES if extreme["id"] == 99)]


UNITS = (Unit(), Unit("id", rows=2), Unit("id", rows=30))
KINDS = [(unit, Neighbours.ADD_REMOVE) for unit in UNITS] + [(UNITS[0], Neighbours.REPLACE)]
FORMS = [(*each, "arrow") for each in KINDS] + [
    (unit, Neighbours.ADD_REMOVE, "parquet") for unit in UNITS[1:]
]


@pytest.mark.parametrize(("unit", "kind", "form"), FORMS)
def test_neighbours_differ_by_no_more_than_is_charged(
    tmp_path: Path, unit: Unit, kind: Neighbours, form: str
) -> None:
    """Of people in Arrow, which is copied, ranks bound the rows; in Parquet, which is not, totals are scaled."""
    known = schema(tmp_path, unit, kind, form)
    plans = [Ask(question).plan({"t": known}, Terms()) for question in QUESTIONS]
    pairs = [(BASE, other) for other in neighbours(unit)]
    if kind is Neighbours.REPLACE:
        swapped = [[extreme, *BASE[1:]] for extreme in EXTREMES]
        pairs = [(BASE, other) for other in swapped] + [(swapped[0], swapped[1])]
    recorded: dict[int, list[list[tuple[object, tuple[Given, ...]]]]] = {}
    for one, other in pairs:
        for rows in (one, other):
            if id(rows) not in recorded:
                engine = tables(rows, known)
                recorded[id(rows)] = [run(plan, engine) for plan in plans]
        for plan, here, there in zip(plans, recorded[id(one)], recorded[id(other)], strict=True):
            assert [mechanism for mechanism, _ in here] == [mechanism for mechanism, _ in there]
            for total, (mechanism, mine), (_, theirs) in zip(plan.noisy, here, there, strict=True):
                moved = apart(mine, theirs, mechanism)
                assert sum(moved) <= total.sensitivity.l1, plan.text
                assert sum(x * x for x in moved) <= total.sensitivity.l2_squared, plan.text
                assert max(moved) <= total.sensitivity.most, plan.text


def run(plan: AskPlan, engine: DuckDB) -> list[tuple[object, tuple[Given, ...]]]:
    recorder = Recorder()
    plan.run(engine, recorder)
    return recorder.seen


@dataclass(frozen=True)
class Silent(Mechanism[int, int]):
    """No noise: for comparing with the engine's own answer."""

    def draw(self, value: int, entropy: Entropy) -> int:
        return value

    def profile(self, epsilon: float, sensitivity: Sensitivity) -> float:
        return 1.0

    def interval_of_sum(self, confidence: float, parts: int) -> int:
        return 0


def silent(plan: AskPlan) -> AskPlan:
    """A choice is left to its mechanism, which chooses the best where the rate is such that all others are hopeless."""
    quiet = tuple(
        replace(each, mechanism=PermuteAndFlip(Fraction(10**6), one_way=True))
        if isinstance(each, NoisyChoice) and each.width == 1
        else replace(each, mechanism=Silent())  # type: ignore[arg-type]
        for each in plan.noisy
    )
    return replace(plan, noisy=quiet)


INSIDE = [record(i % 6, i % 120, "fm"[i % 2], (i * i % 300) / 8) for i in range(60)]
OWN = (
    "SELECT COUNT(*) FROM t",
    "SELECT COUNT(*), SUM(age), AVG(age), AVG(pay), SUM(pay) FROM t WHERE age BETWEEN 10 AND 90 OR sex = 'm'",
    "SELECT SUM(age * 2 - pay), SUM(ABS(pay - 20)), COUNT(DISTINCT age) FROM t WHERE NOT (sex LIKE 'f%')",
    "SELECT sex, COUNT(*), SUM(age) / COUNT(*) AS mean, AVG(pay) FROM t GROUP BY sex ORDER BY sex",
    "SELECT FLOOR(age / 40) AS k, COUNT(*) FILTER (WHERE pay > 9) AS n FROM t GROUP BY 1 HAVING COUNT(*) > 3 ORDER BY k",
    "SELECT sex, COUNT(*) AS n, COUNT(DISTINCT id) FROM t WHERE age // 7 > 2 AND age % 5 <> 1 GROUP BY sex ORDER BY n DESC",
    "SELECT CASE WHEN age < 50 THEN 'young' ELSE 'old' END AS k, ROUND(100.0 * SUM(pay) / SUM(age), 2) FROM t GROUP BY 1 ORDER BY 1",
    "SELECT COVAR_POP(pay, age), COVAR_SAMP(pay, age), CORR(age, pay), REGR_SLOPE(pay, age), REGR_R2(pay, age) FROM t",
    "SELECT sex, REGR_INTERCEPT(age, pay), REGR_COUNT(pay, age), REGR_AVGX(pay, age), REGR_AVGY(pay, age) FROM t GROUP BY sex ORDER BY 1",
    "SELECT REGR_SXX(pay, age), REGR_SYY(pay, age), REGR_SXY(pay, age) FROM t WHERE id > 1",
    "SELECT sex, age // 40 AS k, GROUPING(sex, k) AS g, COUNT(*), SUM(pay), AVG(age) FROM t GROUP BY ROLLUP (sex, k) HAVING COUNT(*) > 0 ORDER BY g, 1, 2",
    "SELECT COALESCE(sex, 'all'), COUNT(*), CORR(age, pay) FROM t GROUP BY CUBE (sex) HAVING COUNT(*) > 1 ORDER BY 1",
    "SELECT sex, id % 2 = 0 AS even, SUM(age) FROM t GROUP BY GROUPING SETS ((even), sex, ()) ORDER BY GROUPING(sex), GROUPING(even), 1, 2",
    "SELECT sex, age // 40 AS k, COUNT(*) FROM t GROUP BY ALL HAVING COUNT(*) > 0 ORDER BY 1, 2",
    "SELECT VAR_SAMP(pay), VARIANCE(age), STDDEV_SAMP(pay), VAR_POP(pay), STDDEV_POP(age) FROM t",
    "SELECT sex, MODE(age // 50), COUNT_IF(pay > 9) FROM t GROUP BY sex ORDER BY sex",
    "SELECT MODE() WITHIN GROUP (ORDER BY sex) FILTER (WHERE age > 20), MODE(id % 5 = 1) FROM t",
)


@pytest.mark.parametrize(
    ("unit", "form"),
    [(Unit(), "arrow"), (Unit("id", rows=30), "arrow"), (Unit("id", rows=30), "parquet")],
)
@pytest.mark.parametrize("question", OWN)
def test_without_noise_the_answer_is_the_engines_own(
    tmp_path: Path, unit: Unit, form: str, question: str
) -> None:
    known = schema(tmp_path, unit, form=form)
    engine = tables(INSIDE, known)
    answer = silent(Ask(question).plan({"t": known}, Terms())).run(engine, Keyed(""))
    with duckdb.connect() as raw:
        raw.register("t", pa.Table.from_pylist(INSIDE, TYPES))
        expected = raw.execute(question).fetchall()
    assert len(answer.rows) == len(expected)
    for mine, theirs in zip(answer.rows, expected, strict=True):
        for ours, engines in zip(mine, theirs, strict=True):
            assert ours == (engines if isinstance(engines, str | None) else pytest.approx(engines, rel=1e-6))


def test_a_question_costs_the_same_on_every_table() -> None:
    """The plan is made before a row is read: noise, charge and key cannot depend on rows."""
    known = Schema("t", "/nowhere/t.arrow", COLUMNS)
    assert Ask(QUESTIONS[6]).plan({"t": known}, Terms()).guarantee.epsilon() == 0.1
