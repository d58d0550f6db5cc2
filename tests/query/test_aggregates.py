"""MODE, the commonest values, lists of quantiles, CORR and REGR_…: right where ε is ample, honest where it is not."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from obverse.audit.replay import BASE, CROWD, recorded, through_the_plan, too_far
from obverse.data.schema import Neighbours, Unit
from obverse.loss.loss import Sensitivity
from obverse.mechanisms.laplace import Laplace
from obverse.mechanisms.permute_and_flip import PermuteAndFlip
from obverse.noise.entropy import Keyed
from obverse.query.ask import Ask
from obverse.query.choose import NoisyChoice
from obverse.release import Terms
from tests.contracts.test_questions import TYPES, record, schema, tables

MANY = [record(i, (i * i % 97) // 9 * 9, "fm"[i % 3 == 0], (i * i % 97) * 2.0 + i % 50) for i in range(3000)]


@pytest.mark.parametrize("unit", [Unit(), Unit("id", rows=2)])
def test_with_ample_epsilon_the_commonest_are_found_and_lists_keep_their_order(
    tmp_path: Path, unit: Unit
) -> None:
    known = schema(tmp_path, unit)
    asked = (
        "sex, MODE(age), APPROX_TOP_K(age % 4, 3), QUANTILE_CONT(pay, [0.9, 0.1]), APPROX_QUANTILES(pay, 2)"
    )
    answer = (
        Ask(f"DP-SELECT 1000 {asked} FROM t GROUP BY sex")
        .plan({"t": known}, Terms())
        .run(tables(MANY, known), Keyed("ample"))
    )
    own = (
        "SELECT sex, MODE(age), (SELECT LIST(k ORDER BY n DESC) FROM (SELECT age % 4 k, COUNT(*) n FROM t AS i "
        "WHERE i.sex = t.sex GROUP BY 1 ORDER BY n DESC LIMIT 3)), QUANTILE_CONT(pay, [0.9, 0.1]), "
        "[MIN(pay), MEDIAN(pay), MAX(pay)] FROM t GROUP BY sex ORDER BY sex"
    )
    with duckdb.connect() as raw:
        raw.register("t", pa.Table.from_pylist(MANY, TYPES))
        expected = raw.execute(own).fetchall()
    for mine, theirs in zip(answer.rows, expected, strict=True):
        assert (mine[0], mine[1], mine[2]) == (theirs[0], theirs[1], tuple(theirs[2]))
        assert mine[3] == pytest.approx(tuple(theirs[3]), abs=3)
        assert mine[4] == pytest.approx(tuple(theirs[4]), abs=12)


@pytest.mark.parametrize("kind", Neighbours)
@pytest.mark.parametrize("unit", [Unit(), Unit("id", rows=3)])
def test_a_choice_costs_its_share_and_no_more(unit: Unit, kind: Neighbours) -> None:
    known = schema(Path("/nowhere"), unit, kind)
    question = "DP-SELECT 0.6 sex, MODE(age), APPROX_TOP_K(age, 9), COUNT(*) FROM t GROUP BY sex"
    plan = Ask(question).plan({"t": known}, Terms())
    assert plan.guarantee.pure == Fraction(6, 10)
    assert {each.loss.pure for each in plan.noisy} == {Fraction(2, 10)}
    chosen = [each.mechanism for each in plan.noisy if isinstance(each, NoisyChoice)]
    assert [type(each) for each in chosen] == [PermuteAndFlip, Laplace]


@pytest.mark.parametrize("asked", ["MODE(age < 500)", "APPROX_TOP_K(age, 2)", "CORR(age, pay)"])
def test_a_sensitivity_of_one_row_for_a_person_with_two_is_caught(tmp_path: Path, asked: str) -> None:
    """The planted bug: a statistic that is charged for one row where a person may have two."""
    known = schema(tmp_path, Unit("id", rows=2), form="parquet")
    plan = Ask(f"SELECT sex, {asked} FROM t GROUP BY sex").plan({"t": known}, Terms())
    lying = replace(
        plan,
        noisy=tuple(
            replace(each, sensitivity=Sensitivity.of(each.sensitivity.l1 / 2)) for each in plan.noisy
        ),
    )
    here = recorded(plan, tables(list(BASE), known), through_the_plan)
    there = recorded(plan, tables([*BASE, *CROWD], known), through_the_plan)
    assert too_far(plan, here, there) == ""
    assert "charged" in too_far(lying, here, there)


def test_stated_intervals_hold_the_noise_free_figure(tmp_path: Path) -> None:
    """In 150 runs each ± of 95 % holds at least 125 times: 5 standard errors below what it promises."""
    known = schema(tmp_path, Unit())
    asked = (
        "CORR(age, pay) AS r, REGR_SLOPE(pay, age), REGR_INTERCEPT(pay, age), COVAR_SAMP(pay, age), "
        "REGR_R2(pay, age), REGR_AVGX(pay, age) * 2"
    )
    with duckdb.connect() as raw:
        raw.register("t", pa.Table.from_pylist(MANY, TYPES))
        (truth,) = raw.execute(f"SELECT {asked} FROM t").fetchall()
    plan, engine = Ask(f"DP-SELECT 8 {asked} FROM t").plan({"t": known}, Terms()), tables(MANY, known)
    held = [0] * len(truth)
    for run in range(150):
        answer = plan.run(engine, Keyed(f"interval {run}"))
        for place, (found, margin, true) in enumerate(
            zip(answer.rows[0], answer.margins[0], truth, strict=True)
        ):
            assert isinstance(found, float | int) and margin is not None
            held[place] += abs(found - true) <= margin
    assert min(held) >= 125


def test_what_the_noise_leaves_no_number_is_null(tmp_path: Path) -> None:
    """Of nobody there is no slope: the sum of squares is noise, and below 0 as often as not."""
    known = schema(tmp_path, Unit())
    plan = Ask("DP-SELECT 1 CORR(age, pay), REGR_SLOPE(pay, age), COUNT(*) FROM t").plan(
        {"t": known}, Terms()
    )
    engine = tables([], known)
    answers = [plan.run(engine, Keyed(f"nobody {run}")) for run in range(40)]
    empty = [answer for answer in answers if answer.rows[0][1] is None]
    assert 5 <= len(empty) <= 35
    assert all(answer.margins[0][1] is None and answer.rows[0][0] is None for answer in empty)
    assert all(plan.unpack(plan.pack(answer)) == answer for answer in answers)


def test_a_list_prints_and_converts(tmp_path: Path) -> None:
    known = schema(tmp_path, Unit())
    plan = Ask("DP-SELECT 50 APPROX_TOP_K(sex, 2) AS top, MODE(sex) AS mode FROM t").plan(
        {"t": known}, Terms()
    )
    answer = plan.run(tables(MANY, known), Keyed("list"))
    assert answer.rows == ((("f", "m"), "f"),) and answer.margins == ((None, None),)
    assert [stated.note[:4] for stated in plan.accuracy] == ["rows", "rows"]
