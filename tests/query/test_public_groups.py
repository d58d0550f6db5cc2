"""Groups that a public table names are all answered, empty ones too, and cost no δ; a missing key may have a name."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pyarrow.feather
import pytest

from obverse.audit.replay import recorded, through_the_plan, too_far
from obverse.data.schema import Column, Neighbours, Schema, Type, Unit
from obverse.engines.duckdb import DuckDB
from obverse.errors import BadQuestion
from obverse.noise.entropy import Keyed
from obverse.query.ask import Ask
from obverse.query.explain import explain
from obverse.query.plan import AskPlan
from obverse.release import Terms

TOWNS = {
    "key": [1, 2, 3, 4, 5, 6],
    "region": ["north", "north", "south", "west", None, "east"],
    "size": [5, 5, 9, 9, 1, 2],
}
VISITS = [(i % 50, (1, 2, 3, 9, None, 5)[i % 6], i % 90) for i in range(600)]
UNITS = [Unit(), Unit("id", rows=3)]


def world(folder: Path, unit: Unit, visits: list[tuple[int, int | None, int]]) -> dict[str, Schema]:
    folder.mkdir(exist_ok=True)
    pyarrow.feather.write_feather(pa.table(TOWNS), folder / "towns.arrow")
    named = dict(
        zip(("id", "town", "age"), (pa.array(c, pa.int64()) for c in zip(*visits, strict=True)), strict=True)
    )
    pyarrow.feather.write_feather(pa.table(named), folder / "visits.arrow")
    towns = (Column("key", Type.INTEGER), Column("region", Type.TEXT), Column("size", Type.INTEGER))
    columns = (
        Column("id", Type.INTEGER),
        Column("town", Type.INTEGER, references="towns.key"),
        Column("age", Type.INTEGER, low=Fraction(0), high=Fraction(90)),
    )
    return {
        "towns": Schema("towns", str(folder / "towns.arrow"), towns, public=True),
        "visits": Schema("visits", str(folder / "visits.arrow"), columns, unit, Neighbours.ADD_REMOVE),
    }


def planned(question: str, schemas: dict[str, Schema]) -> AskPlan:
    plan = Ask(question).plan(schemas, Terms())
    assert isinstance(plan, AskPlan)
    return plan


JOINED = "FROM visits JOIN towns ON visits.town = towns.key"
TOTALS = f"SELECT region, COUNT(*), SUM(age) {JOINED} GROUP BY ROLLUP (region)"


@pytest.mark.parametrize("unit", UNITS)
def test_every_value_of_the_public_table_is_a_group(tmp_path: Path, unit: Unit) -> None:
    known = world(tmp_path / "a", unit, VISITS)
    plan = planned(f"DP-SELECT 100 region, COUNT(*) AS n, AVG(age) {JOINED} GROUP BY region", known)
    assert plan.naming is None and plan.guarantee.pure == 100
    assert "those of a public table" in explain(plan)
    answer = plan.run(DuckDB(known.values()), Keyed("towns"))
    assert [row[0] for row in answer.rows] == ["east", "north", "south", "west"]
    if unit.column is None:
        assert [row[1] for row in answer.rows] == pytest.approx([0, 200, 100, 0], abs=1)
    assert plan.unpack(plan.pack(answer)) == answer


@pytest.mark.parametrize(
    ("key", "groups"),
    [
        ("UPPER(region)", ["EAST", "NORTH", "SOUTH", "WEST"]),
        ("towns.size", [1, 2, 5, 9]),
        ("CASE WHEN size > 4 THEN region ELSE 'small' END", ["north", "small", "south", "west"]),
        ("region, age < 40", ["east", "east", "north", "north", "south", "south", "west", "west"]),
    ],
)
def test_what_is_computed_of_public_columns_is_public_too(
    tmp_path: Path, key: str, groups: list[object]
) -> None:
    known = world(tmp_path / "a", Unit(), VISITS)
    answer = planned(f"SELECT {key}, COUNT(*) {JOINED} GROUP BY {key}", known).run(
        DuckDB(known.values()), Keyed("towns")
    )
    assert [row[0] for row in answer.rows] == groups


def test_a_key_with_a_private_column_in_it_is_found_in_the_data(tmp_path: Path) -> None:
    known = world(tmp_path / "a", Unit(), VISITS)
    for key in ("visits.town", "size + visits.town", "visits.id"):
        with pytest.raises(BadQuestion, match="finds groups in the data"):
            planned(f"SELECT {key}, COUNT(*) {JOINED} GROUP BY {key}", known)


@pytest.mark.parametrize("unit", UNITS)
def test_neighbours_have_the_same_groups_and_move_as_charged(tmp_path: Path, unit: Unit) -> None:
    here = world(tmp_path / "a", unit, VISITS)
    plan = planned(TOTALS, here)
    base = recorded(plan, DuckDB(here.values()), through_the_plan)
    gone = [row for row in VISITS if row[0] != 7] if unit.column else VISITS[1:]
    for other in (gone, [*VISITS, (99, 4, 90)], [*VISITS, (99, 77, 3)], [*VISITS, (99, None, 3)]):
        there = world(tmp_path / "b", unit, other)
        moved = recorded(planned(TOTALS, there), DuckDB(there.values()), through_the_plan)
        assert too_far(plan, base, moved) == ""


def test_a_missing_key_may_be_given_a_name(tmp_path: Path) -> None:
    """COALESCE(x, 'unknown'): one group more, of the rows with no key."""
    known = Schema(
        "t",
        str(tmp_path / "t.arrow"),
        (Column("x", Type.TEXT, categories=("a", "b")), Column("n", Type.INTEGER)),
    )
    rows = {"x": ["a"] * 30 + ["b"] * 20 + ["c"] * 10 + [None] * 40, "n": list(range(100))}
    pyarrow.feather.write_feather(pa.table(rows), known.source)
    plan = planned("DP-SELECT 100 COALESCE(x, 'unknown') AS x, COUNT(*) FROM t GROUP BY 1", {"t": known})
    answer = plan.run(DuckDB([known]), Keyed("unknown"))
    assert [row[0] for row in answer.rows] == ["a", "b", "unknown"]
    assert [row[1] for row in answer.rows] == pytest.approx([30, 20, 40], abs=1)


def test_thousands_of_groups_cost_what_one_costs(tmp_path: Path) -> None:
    columns = (Column("n", Type.INTEGER, low=Fraction(0), high=Fraction(9998)), Column("id", Type.INTEGER))
    for unit in UNITS:
        known = Schema("t", str(tmp_path / "t.arrow"), columns, unit)
        pyarrow.feather.write_feather(pa.table({"n": [1, 2, 2], "id": [1, 2, 3]}), known.source)
        plan = planned("DP-SELECT 1 n, COUNT(*), SUM(n) FROM t GROUP BY n", {"t": known})
        assert len(plan.groups()) == 9999 and plan.guarantee.pure == 1
        assert len(plan.run(DuckDB([known]), Keyed("many")).rows) == 9999
