"""Tables of the same people that leave one after the other are protected together, whoever asks for them when."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pytest

from obverse.curator.curator import open_settings
from obverse.data.hierarchy import from_rows
from obverse.data.schema import Column, Schema, Type
from obverse.errors import BadParameter, Withheld
from obverse.noise.entropy import Keyed
from obverse.release import Terms
from obverse.tables.audit import ranges
from obverse.tables.cellkey import CellKey
from obverse.tables.collapse import Collapse
from obverse.tables.cube import Reading, read
from obverse.tables.earlier import Note
from obverse.tables.hide import Suppress
from obverse.tables.private import Private
from obverse.tables.published import cells, knowledge
from obverse.tables.rounding import Round
from obverse.tables.tabulate import Tabulate

SETTINGS = """
ledger = "people.ledger"

[tables.people]
source = "people.csv"
unit = "row"

[tables.people.columns]
town = { type = "text" }
job = { type = "text" }
band = { type = "text" }
pet = { type = "text", categories = ["cat", "dog"] }

[policy]
epsilon = 1
"""
FIRST = Tabulate("people", by=("job", "band"), protect=Suppress(4))
SECOND = Tabulate("people", by=("job", "pet"), protect=Suppress(4))


def people(seed=1, rows=60):
    generator = np.random.default_rng(seed)
    return pa.table(
        {
            "town": generator.choice(["Bonn", "Köln", "Jena"], rows, p=[0.6, 0.3, 0.1]),
            "job": generator.choice(["cook", "nurse", "judge"], rows, p=[0.6, 0.37, 0.03]),
            "band": generator.choice(["0-30", "30-60", "60+"], rows, p=[0.2, 0.72, 0.08]),
            "pet": generator.choice(["cat", "dog"], rows),
        }
    )


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "people.toml").write_text(SETTINGS)
    pc.write_csv(people(), tmp_path / "people.csv")
    return tmp_path


@pytest.fixture
def door(folder):
    with open_settings(folder / "people.toml") as curator:
        yield curator


def known_cells(totals, *tables):
    """How many small cells of these tables an outsider who has them all cannot take for empty or large."""
    known = knowledge(totals.dimensions, ("",), [cells(table) for table in tables])
    low, high = (part.reshape(totals.rows.shape) for part in ranges(known.system))
    found = 0
    for table in tables:
        for line in table.to_pylist():
            cell = tuple(d.node(line.get(d.column, "Total")) for d in totals.dimensions)
            assert low[cell] <= totals.rows[cell] <= high[cell]
            found += 0 < totals.rows[cell] < 4 and (low[cell] > 0 or high[cell] < 4)
    return found


@pytest.mark.parametrize("requests", [(FIRST, SECOND), (SECOND, FIRST)], ids=["one way", "the other"])
def test_tables_one_after_the_other_cannot_be_differenced(folder, door, requests, memory):
    """Each alone keeps its promise; both as they would have been alone betray; both through the door do not."""
    plans = [request.plan(door.schemas, Terms()) for request in requests]
    wide = {d.column: d for plan in plans for d in plan.shape.dimensions}
    totals = read(Reading("people", tuple(wide.values())), memory(people=people()))
    alone = [plan.run(memory(people=people()), Keyed("alone")) for plan in plans]
    assert [known_cells(totals, table) for table in alone] == [0, 0] and known_cells(totals, *alone) > 0
    first = door.release(requests[0]).value
    second = door.release(requests[1])
    assert first.equals(alone[0]) and known_cells(totals, first, second.value) == 0
    assert len(second.plan.shape.published) == 1
    assert set(second.value.column_names) == {*requests[1].by, "value", "mark"}


def test_the_same_table_again_is_free_whatever_left_meanwhile(folder, door):
    first, second = door.release(FIRST), door.release(SECOND)
    for before, request in ((first, FIRST), (second, SECOND)):
        again = door.release(request)
        assert again.receipt.again and again.value.equals(before.value)
    door.close()
    with open_settings(folder / "people.toml") as later:
        assert later.release(SECOND).value.equals(second.value)


def test_other_data_and_other_columns_do_not_count(folder, door):
    door.release(FIRST)
    apart = door.release(Tabulate("people", by=("town",)))
    assert not apart.plan.shape.published
    joined = door.release(Tabulate("people", by=("town", "job")))
    assert len(joined.plan.shape.published) == 2
    pc.write_csv(people(seed=2), folder / "people.csv")
    assert not door.release(SECOND).plan.shape.published


def test_a_ladder_stays_what_it_was(door):
    towns = from_rows("town", [("Bonn", "West", "*"), ("Köln", "West", "*"), ("Jena", "East", "*")])
    other = from_rows("town", [("Bonn", "small", "*"), ("Köln", "large", "*"), ("Jena", "small", "*")])
    door.release(Tabulate("people", by=("town", "job"), ladders=(towns,)))
    assert "West" in door.release(Tabulate("people", by=("town", "pet"))).value["town"].to_pylist()
    with pytest.raises(BadParameter, match="another ladder"):
        door.release(Tabulate("people", by=("town", "band"), ladders=(other,)))


@pytest.mark.parametrize("way", [Collapse(2), Round(2, "random"), CellKey(Fraction(1, 4), 1, 0)], ids=str)
def test_what_would_tell_of_hidden_cells_is_withheld(folder, door, way):
    """Two judges, whom the first table hid."""
    pc.write_csv(people(seed=2), folder / "people.csv")
    door.release(FIRST)
    with pytest.raises(Withheld, match="earlier one hid"):
        door.release(Tabulate("people", by=("job",), protect=way))


@pytest.mark.parametrize("way", [Collapse(5), Round(5), CellKey()], ids=str)
def test_every_way_goes_on_after_the_others(door, way):
    """Tables that hide nothing stand in nobody's way, and a private one needs to look at none."""
    door.release(Tabulate("people", by=("pet",), protect=way))
    assert len(door.release(SECOND).plan.shape.published) == 1
    private = door.release(Tabulate("people", by=("pet",), protect=Private(Fraction(1, 2))))
    assert not private.plan.shape.published


def test_a_note_is_kept_and_does_not_leave(door):
    release = door.release(FIRST)
    (kept,) = door.ledger.answers(("people",), "table")
    note = Note.of(pa.ipc.open_file(kept).read_all())
    assert note is not None and note.within == 0 and Note.of(release.value) is None


def test_columns_that_tell_nothing_more_are_left_out(door):
    """Where the margins that tables share are shown in full, the other columns of the earlier ones need no cells."""
    door.release(Tabulate("people", by=("town", "pet"), protect=Suppress(2)))
    door.release(Tabulate("people", by=("pet", "band"), protect=Suppress(2)))
    (part,) = door.release(Tabulate("people", by=("band",), protect=Suppress(2))).plan.shape.published
    assert part.by == ("band",)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e12])
def test_amounts_of_any_size_are_protected_together(memory, scale):
    """Sums of floats differ in their last digits from table to table, and millions by more than a programme's grain."""
    generator = np.random.default_rng(0)
    rows = {
        name: generator.choice(list(values), 200)
        for name, values in (("a", "stuvwx"), ("b", "klmn"), ("c", "xyz"))
    }
    data = memory(firms=pa.table({**rows, "m": generator.pareto(1, 200) * scale}))
    columns = (*(Column(name, Type.TEXT) for name in rows), Column("m", Type.REAL, low=Fraction(0)))
    plans = [
        Tabulate("firms", by=by, measure="m", protect=Suppress(4)).plan(
            {"firms": Schema("firms", "none", columns)}, Terms()
        )
        for by in (("a", "b"), ("b", "c"))
    ]
    first = plans[0].run(data, Keyed("t"))
    second = plans[1].after([plans[0].pack(first)], "1").run(data, Keyed("t"))
    totals = read(Reading("firms", tuple(d for p in plans for d in p.shape.dimensions)[:2], "m"), data)
    low, high = ranges(knowledge(totals.dimensions, ("m",), [cells(first, "m")]).system)
    marks = [sum(map(bool, table["mark"].to_pylist())) for table in (first, second)]
    assert marks[0] > 0 and ((high - low).ravel() > 1e-3 * scale).sum() == marks[0]


def test_weighted_counts_are_no_whole_numbers(memory):
    """Rounded each by itself they would not add up, and no second table would agree with the first."""
    rows = pa.table({"a": ["x", "x", "y", "y"] * 5, "b": ["k", "l"] * 10, "w": [1.25, 2.25, 3.5, 0.3] * 5})
    columns = (Column("a", Type.TEXT), Column("b", Type.TEXT), Column("w", Type.REAL, low=Fraction(0)))
    plans = [
        Tabulate("t", by=by, weight="w").plan({"t": Schema("t", "none", columns)}, Terms())
        for by in (("a",), ("a", "b"))
    ]
    first = plans[0].run(memory(t=rows), Keyed("t"))
    second = plans[1].after([plans[0].pack(first)], "1").run(memory(t=rows), Keyed("t"))
    assert first["value"].to_pylist() == pytest.approx([17.5, 19.0, 36.5]) and second["value"].null_count == 0
