"""MIN, MAX and quantiles: near the engine's own where ε is ample, each charged once, bounded to declared rows."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from obverse.data.schema import Neighbours, Schema, Unit
from obverse.errors import BadQuestion
from obverse.noise.entropy import Keyed
from obverse.query.ask import Ask
from obverse.query.choose import NoisyQuantile
from obverse.release import Terms
from tests.contracts.test_questions import BASE, TYPES, Record, record, run, schema, tables

MANY = [record(i, i * i % 97, "fm"[i % 3 == 0], (i * 37 % 3000) / 10) for i in range(3000)]
SPELT = (
    "MEDIAN(age)",
    "QUANTILE_CONT(age, 0.5)",
    "APPROX_QUANTILE(age, .5)",
    "PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY age)",
    "PERCENTILE_DISC(0.50) WITHIN GROUP (ORDER BY age DESC)",
)


@pytest.mark.parametrize("unit", [Unit(), Unit("id", rows=2)])
@pytest.mark.parametrize(
    "asked",
    [
        "MEDIAN(age)",
        "MIN(pay)",
        "MAX(pay)",
        "QUANTILE_CONT(pay, 0.9)",
        "MEDIAN(pay * age - 40)",
        "MEDIAN(-age)",
    ],
)
def test_with_ample_epsilon_the_answer_is_nearly_the_engines_own(
    tmp_path: Path, unit: Unit, asked: str
) -> None:
    known = schema(tmp_path, unit)
    question = f"sex, {asked} AS found, COUNT(*) FROM t WHERE age > 3 GROUP BY sex ORDER BY sex"
    plan = Ask(f"DP-SELECT 100 {question}").plan({"t": known}, Terms())
    answer = plan.run(tables(MANY, known), Keyed("ample"))
    with duckdb.connect() as raw:
        raw.register("t", pa.Table.from_pylist(MANY, TYPES))
        expected = raw.execute(f"SELECT {question}").fetchall()
    grid = float(plan.noisy[0].grid)
    for mine, theirs in zip(answer.rows, expected, strict=True):
        assert mine[1] == pytest.approx(float(theirs[1]), rel=0.05, abs=2 * grid + 1)


def test_one_spelling_is_as_good_as_another_and_all_are_one_release() -> None:
    known = schema(Path("/nowhere"), Unit())
    plan = Ask(f"DP-SELECT 0.5 {', '.join(SPELT)} FROM t").plan({"t": known}, Terms())
    assert len(plan.noisy) == 1 and plan.guarantee.epsilon() == 0.5


@pytest.mark.parametrize("kind", Neighbours)
@pytest.mark.parametrize("unit", [Unit(), Unit("id", rows=3)])
def test_quantiles_and_totals_share_one_epsilon(unit: Unit, kind: Neighbours) -> None:
    known = schema(Path("/nowhere"), unit, kind)
    question = "DP-SELECT 0.6 sex, MIN(age), MAX(age), MEDIAN(pay), SUM(pay) FROM t GROUP BY sex"
    plan = Ask(question).plan({"t": known}, Terms())
    assert plan.guarantee.pure == Fraction(6, 10)
    assert {total.loss.pure for total in plan.noisy} == {Fraction(15, 100)}
    with_delta = Ask(f"{question} WITH (delta = 1e-6)").plan({"t": known}, Terms())
    assert with_delta.guarantee.delta(0.6) <= 1e-6


def test_a_value_stays_within_its_bounds_and_states_no_margin(tmp_path: Path) -> None:
    known = schema(tmp_path, Unit())
    engine = tables([], known)
    plan = Ask("SELECT MIN(pay) AS low, MAX(pay) - MIN(pay), COUNT(*) FROM t").plan({"t": known}, Terms())
    for turn in range(20):
        answer = plan.run(engine, Keyed(f"empty {turn}"))
        assert -10 <= answer.rows[0][0] <= 1000 / 3  # type: ignore[operator]
        assert answer.margins[0][:2] == (None, None) and answer.margins[0][2] is not None
        assert plan.unpack(plan.pack(answer)) == answer
    assert [stated.note[:5] for stated in plan.accuracy] == ["ranks", "ranks", ""]


def test_a_person_has_no_more_than_their_rows_among_the_values(tmp_path: Path) -> None:
    crowd: list[Record] = [record(7, i % 100, "f", 1.0) for i in range(500)]
    known = schema(tmp_path, Unit("id", rows=4))
    plan = Ask("SELECT sex, MEDIAN(age), MAX(age) FROM t GROUP BY sex").plan({"t": known}, Terms())
    assert len(plan.histograms) == 1, "one reading serves both"
    rows = tables([*BASE, *crowd], known).run(plan.histograms[0][1])
    own = tables(BASE, known).run(plan.histograms[0][1])
    assert sum(int(row[-1] or 0) for row in rows) == sum(int(row[-1] or 0) for row in own) + 4  # type: ignore[arg-type]


@pytest.mark.parametrize("form", ["arrow", "parquet"])
@pytest.mark.parametrize("asked", ["MEDIAN(age)", "COUNT(*)", "COUNT(DISTINCT id)", "COUNT(DISTINCT age)"])
def test_rows_of_nobody_count_for_nothing_whoever_else_is_there(
    tmp_path: Path, form: str, asked: str
) -> None:
    """NULL is in no list and not in none: an anti-join written carelessly counts such rows twice, or by what others do."""
    known = schema(tmp_path, Unit("id", rows=3), form=form)
    plan = Ask(f"SELECT sex, {asked} FROM t GROUP BY sex").plan({"t": known}, Terms())
    nobody: list[Record] = [record(None, age, "f", 1.0) for age in range(9)]
    few: list[Record] = [record(1, 50, "m", 1.0)]

    def given(rows: list[Record]) -> list[object]:
        """What goes into the noise; values in no order, since an engine has none."""
        seen = run(plan, tables(rows, known))
        return [(m, [sorted(v) if isinstance(v, tuple) else v for v in values]) for m, values in seen]

    for others in (few, [*few, *(record(2, 60, "m", 1.0) for _ in range(8))], []):
        assert given([*nobody, *others]) == given(others)


@pytest.mark.parametrize("name", ["held", "many", "read", "kept", "u", "v"])
def test_a_table_may_have_any_name(tmp_path: Path, name: str) -> None:
    known = replace(schema(tmp_path, Unit("id", rows=3)), name=name)
    plan = Ask(f"SELECT MEDIAN(age) FROM {name} GROUP BY sex").plan({name: known}, Terms())
    assert len(plan.run(tables(BASE, known), Keyed("named")).rows) == 2


def test_a_histogram_has_at_most_4096_steps() -> None:
    known = {"t": schema(Path("/nowhere"), Unit())}
    for asked in (
        "pay",
        "age",
        "pay * 1e18",
        "age * 10000001",
        "pay / 1e9",
        "age - age",
        "age * 0.001 + 10000000",
    ):
        noisy = Ask(f"SELECT MEDIAN({asked}) FROM t").plan(known, Terms()).noisy[0]
        assert isinstance(noisy, NoisyQuantile)
        assert 1 <= noisy.measure.high - noisy.measure.low <= 4096, asked


def test_too_little_epsilon_for_a_value_is_refused_before_a_row_is_read() -> None:
    known = Schema("t", "/nowhere/t.arrow", schema(Path(), Unit()).columns, Unit("id", rows=10**9))
    with pytest.raises(BadQuestion, match="less than ε = 2⁻⁴⁰"):
        Ask("DP-SELECT 1e-6 MEDIAN(age) FROM t").plan({"t": known}, Terms())


@pytest.mark.parametrize("asked", ["1e18 + age", "1e18 * 1e18 * (1 + age)", "pay - 1e18 * 1e18"])
def test_far_from_zero_a_quantile_fails_on_no_row(tmp_path: Path, asked: str) -> None:
    """Its steps are as coarse as a DOUBLE is there, and stay within 64 bits."""
    known = schema(tmp_path, Unit())
    plan = Ask(f"SELECT MEDIAN({asked}), MIN({asked}) FROM t").plan({"t": known}, Terms())
    assert len(plan.run(tables(MANY, known), Keyed("far")).rows) == 1
