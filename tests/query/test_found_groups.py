"""Groups found in the data are named only where enough people are in them, and what naming costs is charged."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pyarrow.feather
import pytest

from obverse.data.schema import Column, Neighbours, Schema, Type, Unit
from obverse.engines.duckdb import DuckDB
from obverse.errors import BadQuestion
from obverse.mechanisms.weighted_names import WeightedNames
from obverse.noise.entropy import Keyed
from obverse.query.ask import Ask
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
def test_one_person_moves_each_number_of_people_by_one_in_so_many_groups(tmp_path: Path, unit: Unit) -> None:
    """Whatever was named before, each round's numbers or sums of weights move by no more than is charged."""
    crowd = [(5000, f"{k}", 7) for k in range(30)] + [(5000, "a", 7)] * 9
    alone = [(5001, "nobody else's", 7)]
    for more in [[BASE[0]]] if unit.column is None else [crowd, crowd[:3], alone, [(7, "z", 1)]]:
        gone = [row for row in BASE if row[0] != more[0][0]] if len(more) == 1 else BASE
        for named in ((), ("a",), ("a", "b", "3")):
            here, there = (weighed(tmp_path, rows, unit, named) for rows in (gone, [*gone, *more]))
            moved = [abs(here.get(key, 0) - there.get(key, 0)) for key in here.keys() | there.keys()]
            naming = planned(engine(tmp_path, BASE, unit)[0]).naming
            assert naming is not None
            assert not moved or max(moved) <= naming.sensitivity.most
            assert sum(moved) <= naming.sensitivity.l1
            assert sum(each * each for each in moved) <= naming.sensitivity.l2_squared


def weighed(
    folder: Path, rows: list[tuple[int, str | None, int]], unit: Unit, named: tuple[str, ...]
) -> dict[object, int]:
    """What a round goes by, of each group that is not named yet."""
    schema, tables = engine(folder, rows, unit)
    plan = planned(schema)
    assert plan.naming is not None
    keys = tuple(key.sql for key in plan.question.keys)
    select = plan.naming.select(plan.question.relation.rows, plan.question.where, keys, named)
    return {key: int(units or 0) for key, units in tables.run(select)}


def test_each_of_a_persons_groups_has_the_same_weight_and_all_of_them_a_length_of_one(tmp_path: Path) -> None:
    unit = Unit("id", rows=20)
    rows = [(1, "a", 1)] * 5 + [(2, key, 1) for key in "abcd"] + [(3, f"{k}", 1) for k in range(16)]
    weights = weighed(tmp_path, rows, unit, ())
    assert weights["a"] == 65536 + 65536 // 2 and weights["b"] == 65536 // 2 and weights["7"] == 65536 // 4
    assert weighed(tmp_path, rows, unit, ("a", "b", "c"))["d"] == 65536
    few = weighed(tmp_path, [(3, f"{k}", 1) for k in range(100)], Unit("id", rows=200, groups=9), ())
    assert sorted(few.values()) == [65536 // 3] * 9


def test_weights_name_more_than_as_many_counts(tmp_path: Path) -> None:
    """400 people, each in the ten known towns and one of eight others: what is named first leaves the rest its weight."""
    rows = [(i, f"{k}", 1) for i in range(400) for k in [*range(10), 10 + i % 8]]
    schema, tables = engine(tmp_path, rows, Unit("id", rows=20))
    answer = planned(schema).run(tables, Keyed("towns"))
    assert {row[0] for row in answer.rows} == {f"{k}" for k in range(18)}


def test_a_group_of_one_person_is_not_named_in_ten_thousand_runs(tmp_path: Path) -> None:
    """δ = 10⁻⁶: an honest rule shows it once in a hundred such tests."""
    schema, tables = engine(tmp_path, [(1, "Rumpelstiltskin", 40)], Unit("id", rows=5))
    naming = planned(schema).naming
    assert naming is not None
    assert not any(
        naming.named(at, [65536], Keyed(f"run {run}"))[0] for run in range(10_000) for at in naming.rounds
    )
    assert planned(schema).run(tables, Keyed("one")).rows == ()


def test_two_who_are_exchanged_move_the_weights_by_no_more_than_both(tmp_path: Path) -> None:
    unit = Unit("id", rows=20)
    one, other = [(5000, f"{k}", 7) for k in range(12)], [(5000, key, 7) for key in ("3", "a", "z")]
    for named in ((), ("3",)):
        here, there = (weighed(tmp_path, [*BASE, *rows], unit, named) for rows in (one, other))
        moved = [here.get(key, 0) - there.get(key, 0) for key in here.keys() | there.keys()]
        schema, _ = engine(tmp_path, BASE, unit)
        naming = planned(replace(schema, neighbours=Neighbours.REPLACE)).naming
        assert naming is not None and isinstance(naming.mechanism, WeightedNames)
        assert sum(each * each for each in moved) <= naming.sensitivity.l2_squared == 2 * 65536**2
        assert naming.loss.epsilon(1e-6) <= 1
