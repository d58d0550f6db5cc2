"""Groups found in the data are named only where enough people are in them, and what naming costs is charged."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pyarrow.feather
import pytest

from obverse.data.schema import Column, Schema, Type, Unit
from obverse.engines.duckdb import DuckDB
from obverse.errors import BadQuestion
from obverse.noise.entropy import Keyed
from obverse.query.ask import Ask
from obverse.query.choose import Naming
from obverse.query.plan import AskPlan
from obverse.release import Terms

COLUMNS = (
    Column("id", Type.INTEGER),
    Column("town", Type.TEXT),
    Column("age", Type.INTEGER, low=Fraction(0), high=Fraction(99)),
)
QUESTION = "DP-SELECT 2 town, COUNT(*) AS n, AVG(age) AS age FROM t GROUP BY town ORDER BY n DESC WITH (delta = 1e-6)"
UNITS = (Unit(), Unit("id", rows=2), Unit("id", rows=20, groups=12))
BASE = [(i, "abc"[i % 3], 40) for i in range(900)] + [(i, "d", 20) for i in range(3)]


def engine(folder: Path, rows: list[tuple[int, str | None, int]], unit: Unit) -> tuple[Schema, DuckDB]:
    schema = Schema("t", str(folder / "t.arrow"), COLUMNS, unit)
    names = ("id", "town", "age")
    table = pa.table({name: [row[place] for row in rows] for place, name in enumerate(names)})
    pyarrow.feather.write_feather(table, schema.source)
    return schema, DuckDB([schema])


def planned(schema: Schema) -> AskPlan:
    return Ask(QUESTION).plan({"t": schema}, Terms())


@pytest.mark.parametrize("unit", UNITS)
def test_well_known_groups_are_named_and_rare_ones_are_not(tmp_path: Path, unit: Unit) -> None:
    schema, tables = engine(tmp_path, BASE, unit)
    plan = planned(schema)
    answer = plan.run(tables, Keyed("towns"))
    assert {row[0] for row in answer.rows} == {"a", "b", "c"}
    assert plan.unpack(plan.pack(answer)) == answer
    assert plan.guarantee.epsilon(1e-6) <= 2 * (1 + 1e-6)


def test_a_delta_is_needed_to_name_a_group(tmp_path: Path) -> None:
    schema, _ = engine(tmp_path, BASE, Unit())
    with pytest.raises(BadQuestion, match="a δ is needed"):
        Ask("SELECT town, COUNT(*) FROM t GROUP BY town").plan({"t": schema}, Terms())


class Seen(Keyed):
    """What goes into naming, by key."""

    def __init__(self) -> None:
        super().__init__("seen")
        self.units: dict[object, int] = {}


@pytest.mark.parametrize("unit", UNITS)
def test_one_person_moves_each_number_of_people_by_one_in_so_many_groups(
    tmp_path: Path, unit: Unit, monkeypatch: pytest.MonkeyPatch
) -> None:
    crowd = [(5000, f"{k}", 7) for k in range(30)] + [(5000, "a", 7)] * 9
    more = [BASE[0]] if unit.column is None else crowd
    seen: list[list[int]] = []
    monkeypatch.setattr(
        Naming, "named", lambda self, units, entropy: seen.append(units) or [True] * len(units)
    )
    groups = []
    for rows in (BASE, [*BASE, *more]):
        schema, tables = engine(tmp_path, rows, unit)
        plan = planned(schema)
        groups.append(plan.run(tables, Keyed("same")).groups)
    here, there = (dict(zip(names, units, strict=True)) for names, units in zip(groups, seen, strict=True))
    moved = [abs(here.get(key, 0) - there.get(key, 0)) for key in here.keys() | there.keys()]
    assert plan.naming is not None
    assert max(moved) <= 1 and sum(moved) <= plan.naming.sensitivity.l1


def test_a_group_of_one_person_is_not_named_in_ten_thousand_runs(tmp_path: Path) -> None:
    """δ = 10⁻⁶: an honest rule shows it once in a hundred such tests."""
    schema, tables = engine(tmp_path, [(1, "Rumpelstiltskin", 40)], Unit("id", rows=5))
    naming = planned(schema).naming
    assert naming is not None
    assert not any(naming.named([1], Keyed(f"run {run}"))[0] for run in range(10_000))
    assert planned(schema).run(tables, Keyed("one")).rows == ()
