"""BigQuery's clause means what its documentation says, and only ever tightens what the curator declared."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

import obverse
from obverse.data.schema import Schema
from obverse.errors import BadQuestion
from obverse.query.ask import Ask
from obverse.query.plan import AskPlan
from obverse.release import Terms

OPTIONS = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1000, privacy_unit_column = id, {more}) "
SAME = {
    "AVG(pay, contribution_bounds_per_group => (0, 20)) FROM t": "SELECT AVG(LEAST(a, 20)) FROM "
    "(SELECT AVG(pay) AS a FROM t GROUP BY id)",
    "AVG(pay) FROM t WHERE pay > 3": "SELECT AVG(a) FROM (SELECT AVG(pay) AS a FROM t WHERE pay > 3 GROUP BY id)",
    "item, AVG(pay) FROM t GROUP BY item ORDER BY item": "SELECT item, AVG(a) FROM (SELECT item, AVG(pay) AS a FROM t "
    "GROUP BY id, item) GROUP BY item ORDER BY item",
    "item, COUNT(*, contribution_bounds_per_group => (0, 2)), SUM(pay, contribution_bounds_per_group => (0, 50)) "
    "FROM t GROUP BY item ORDER BY item": "SELECT item, SUM(LEAST(n, 2)), SUM(LEAST(s, 50)) FROM "
    "(SELECT item, COUNT(*) AS n, SUM(pay) AS s FROM t GROUP BY id, item) GROUP BY item ORDER BY item",
    "COUNT(*), SUM(pay, contribution_bounds_per_row => (0, 9)) FROM t": "SELECT COUNT(*), SUM(LEAST(pay, 9)) FROM t",
    "item AS what, COUNT(pay, contribution_bounds_per_group => (1, 1)) AS people FROM t GROUP BY item "
    "HAVING people > 100 ORDER BY item LIMIT 1": "SELECT item, COUNT(DISTINCT id) FROM t GROUP BY 1 ORDER BY 1 "
    "LIMIT 1",
}


@pytest.mark.parametrize("question", SAME)
def test_with_ample_epsilon_it_is_what_bigquery_says(question: str, tmp_path: Path) -> None:
    """At ε = 1,000 noise is below one in a hundred of each number; nobody has more rows or groups than count."""
    made = (
        "SELECT i % 300 AS id, i % 41 AS pay, 'abc'[1 + (i // 300 + i) % 3] AS item FROM range(1500) AS t(i)"
    )
    with duckdb.connect() as raw:
        raw.execute(f"CREATE TABLE t AS {made}")
        raw.execute(f"COPY t TO '{tmp_path}/t.parquet'")
        expected = raw.execute(SAME[question]).fetchall()
    (tmp_path / "t.toml").write_text("""
        [tables.t]
        source = "t.parquet"
        unit = { column = "id", rows = 5 }
        [tables.t.columns]
        id = { type = "integer" }
        pay = { type = "integer", low = 0, high = 60 }
        item = { type = "text", categories = ["a", "b", "c"] }
        [policy]
        epsilon = 100_000
    """)
    with obverse.open(tmp_path / "t.toml") as curator:
        answer = curator.ask(OPTIONS.format(more="delta = 1e-9") + question)
        assert answer.plan.guarantee.epsilon(1e-9) <= 1000
    for row, real in zip(answer.rows, expected, strict=True):
        for said, wanted in zip(row, real, strict=True):
            assert said == (wanted if isinstance(wanted, str) else pytest.approx(wanted, rel=0.01))


@pytest.mark.parametrize(
    ("more", "rows", "moved"),
    [
        ("max_groups_contributed = 3", 3, 3 * 2),
        ("max_groups_contributed = 1", 1, 1 * 2),
        ("delta = 1e-9", 4, 4 * 2),
    ],
)
def test_one_person_moves_as_many_groups_as_the_clause_allows(
    more: str, rows: int, moved: int, schemas: dict[str, Schema]
) -> None:
    count = "sex, COUNT(*, contribution_bounds_per_group => (0, 2)) FROM visits GROUP BY sex"
    plan = Ask(OPTIONS.format(more=more) + count).plan(schemas, Terms())
    assert isinstance(plan, AskPlan) and plan.question.relation.rows.unit.rows == rows
    assert plan.noisy[0].sensitivity.l1 * plan.noisy[0].grid == moved


REFUSED = {
    OPTIONS.format(more="max_rows_contributed = 5") + "COUNT(*) FROM visits": "4 of one person count here",
    OPTIONS.format(more="max_groups_contributed = 5") + "AVG(age) FROM visits": "4 of one person count here",
    OPTIONS.format(more="max_rows_contributed = 2") + "AVG(age) FROM visits": "say max_groups_contributed",
    OPTIONS.format(more="max_rows_contributed = 2, max_groups_contributed = 2")
    + "AVG(age) FROM visits": "leave one out",
    OPTIONS.format(more="delta = 0.1").replace("= id", "= sex")
    + "COUNT(*) FROM visits": "declared to be protected is id",
    OPTIONS.format(more="delta = 0.1") + "COUNT(*) FROM people": "leave privacy_unit_column out",
    OPTIONS.format(more="kappa = 1") + "COUNT(*) FROM visits": "no option kappa",
    OPTIONS.format(more="group_selection_strategy = X")
    + "COUNT(*) FROM visits": "LAPLACE_THRESHOLD or PUBLIC_GROUPS",
    OPTIONS.format(more="group_selection_strategy = PUBLIC_GROUPS")
    + "income, COUNT(*) FROM visits GROUP BY 1": "known in public",
    OPTIONS.format(more="group_selection_strategy = LAPLACE_THRESHOLD")
    + "sex, COUNT(*) FROM visits GROUP BY 1": "a δ is needed",
    OPTIONS.format(more="delta = 0.1")
    + "SUM(age, contribution_bounds_per_row => (0, 500)) FROM visits": "0 … 120 as declared",
    OPTIONS.format(more="delta = 0.1")
    + "COUNT(*, contribution_bounds_per_group => (0, 9)) FROM visits": "0 … 4 as declared",
    OPTIONS.format(more="delta = 0.1")
    + "SUM(age, contribution_bounds_per_row => (9, 5)) FROM visits": "smaller first",
    OPTIONS.format(more="delta = 0.1")
    + "SUM(age, contribution_bounds_per_group => 9) FROM visits": "are two numbers",
    OPTIONS.format(more="delta = 0.1") + "VAR_POP(age), AVG(age) FROM visits": "ask for it by itself",
    OPTIONS.format(more="delta = 0.1")
    + "AVG(age) FILTER (WHERE smokes) FROM visits": "put the condition inside",
    OPTIONS.format(more="delta = 0.1") + "* FROM visits": "is of aggregates",
    "SELECT SUM(age, contribution_bounds_per_row => (0, 50)) FROM visits": "a part of BigQuery's clause",
    "SELECT contribution_bounds_per_row(SUM(age), 0, 50) FROM visits": "a part of BigQuery's clause",
}


@pytest.mark.parametrize("sql", REFUSED)
def test_what_would_widen_the_policy_or_is_no_part_of_the_clause_is_refused(
    sql: str, schemas: dict[str, Schema]
) -> None:
    with pytest.raises(BadQuestion, match=REFUSED[sql]):
        Ask(sql).plan(schemas, Terms())


def test_groups_are_found_where_a_threshold_is_asked_for(schemas: dict[str, Schema]) -> None:
    sql = OPTIONS.format(
        more="delta = 1e-6, group_selection_strategy = LAPLACE_THRESHOLD, max_groups_contributed = 1"
    )
    plan = Ask(sql + "sex, COUNT(*) FROM visits GROUP BY sex").plan(schemas, Terms())
    assert isinstance(plan, AskPlan) and plan.naming is not None and plan.naming.sensitivity.l1 == 1
    assert plan.delta * 10**6 == 1
