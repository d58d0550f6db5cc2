"""A table request plans from the schema alone, and what leaves keeps its promise."""

from dataclasses import replace
from datetime import date
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from obverse.data.hierarchy import from_rows
from obverse.data.schema import Column, Schema, Type, Unit
from obverse.errors import BadParameter, Forbidden
from obverse.loss.loss import Loss
from obverse.noise.entropy import Keyed
from obverse.release import Syntactic, Terms
from obverse.tables.audit import ranges
from obverse.tables.cellkey import CellKey
from obverse.tables.collapse import Collapse
from obverse.tables.cube import read
from obverse.tables.hide import Suppress
from obverse.tables.private import Private
from obverse.tables.published import Fact, Published, cells, knowledge
from obverse.tables.rounding import Round
from obverse.tables.tabulate import Tabulate

TOWNS = from_rows(
    "town", [("Bonn", "West", "*"), ("Köln", "West", "*"), ("Jena", "East", "*"), ("Gera", "East", "*")]
)
PEOPLE = Schema(
    "people",
    "none",
    (
        Column("id", Type.INTEGER),
        Column("town", Type.TEXT),
        Column("job", Type.TEXT, categories=("cook", "nurse", "judge")),
        Column("age band", Type.TEXT),
        Column("income", Type.INTEGER, low=Fraction(0), high=Fraction(1000)),
    ),
)
PROTECTIONS = [
    Suppress(),
    Suppress(5, full=True),
    Round(),
    Round(3, "random"),
    CellKey(),
    Private(Fraction(1)),
    Collapse(5),
]


def people(seed=1, rows=300):
    generator = np.random.default_rng(seed)
    towns = generator.choice(["Bonn", "Köln", "Jena", "Gera"], rows, p=[0.6, 0.3, 0.07, 0.03])
    jobs = generator.choice(["cook", "nurse", "judge"], rows, p=[0.6, 0.35, 0.05])
    bands = generator.choice(["0-30", "30-60", "60+"], rows, p=[0.2, 0.7, 0.1])
    incomes = np.minimum(generator.pareto(1.2, rows) * 20, 1000).astype(int)
    return pa.table({"id": range(rows), "town": towns, "job": jobs, "age band": bands, "income": incomes})


def table(memory, request, rows=None, secret=b"curator"):
    plan = request.plan({"people": PEOPLE}, Terms())
    return plan.run(memory(people=rows if rows is not None else people()), Keyed("t"), secret)


OTHER = Published(("job",), (Fact((("income", ("cook",), 1.0),), 5, 5),))
REQUEST = Tabulate("people", by=("town", "job"), ladders=(TOWNS,))


@pytest.mark.parametrize("protection", PROTECTIONS, ids=str)
def test_a_plan_is_public_and_survives_storage(memory, protection):
    plan = replace(REQUEST, protect=protection).plan({"people": PEOPLE}, Terms())
    same = replace(REQUEST, protect=protection).plan({"people": PEOPLE}, Terms())
    assert plan == same and hash(plan) == hash(same) and plan.key == same.key
    assert plan.key != replace(REQUEST, by=("job",), ladders=()).plan({"people": PEOPLE}, Terms()).key
    value = plan.run(memory(people=people()), Keyed("t"), b"curator")
    assert plan.unpack(plan.pack(value)).equals(value)
    assert value.column_names == ["town", "job", "value", "mark"]


@pytest.mark.parametrize("protection", PROTECTIONS, ids=str)
def test_row_order_does_not_matter(memory, protection):
    rows = people()
    order = np.random.default_rng(2).permutation(len(rows))
    request = replace(REQUEST, protect=protection)
    assert table(memory, request).equals(table(memory, request, rows.take(order)))


def test_hidden_cells_have_no_value_and_no_way_back(memory):
    value = table(memory, replace(REQUEST, protect=Suppress(5)))
    hidden = np.array(value["mark"].to_pylist()) == "c"
    assert hidden.any() and value["value"].is_null().to_numpy().tolist() == hidden.tolist()
    dimensions = REQUEST.plan({"people": PEOPLE}, Terms()).shape.dimensions
    low, high = ranges(knowledge(dimensions, ("",), [cells(value)]).system)
    assert (high - low)[low < high].min() >= 5
    assert (low < high).sum() >= hidden.sum()


def test_what_was_published_before_is_counted_in(memory):
    """A table by job and age shows who a hidden cell of town and job cannot be; both together keep the promise."""
    first = table(memory, Tabulate("people", by=("job", "age band"), protect=Suppress(4)))
    request = Tabulate(
        "people", by=("town", "age band"), protect=Suppress(4), ladders=(TOWNS,), published=(cells(first),)
    )
    plan = request.plan({"people": PEOPLE}, Terms())
    second = plan.run(memory(people=people()), Keyed("t"), b"curator")
    assert second.column_names == ["town", "age band", "value", "mark"]
    totals = read(plan._reading(Keyed("t"), None), memory(people=people()))
    known = knowledge(totals.dimensions, ("",), [cells(first), cells(second)])
    low, high = (part.reshape(totals.rows.shape) for part in ranges(known.system))
    small = 0
    for line in (*first.to_pylist(), *second.to_pylist()):
        cell = tuple(d.node(line.get(d.column, "Total")) for d in totals.dimensions)
        assert low[cell] <= totals.rows[cell] <= high[cell]
        if 0 < totals.rows[cell] < 4:
            assert line["mark"] == "c" and low[cell] == 0 and high[cell] >= 4
            small += 1
    assert small > 1


def test_dominance_hides_what_one_person_mostly_owns(memory):
    rows = people()
    incomes = rows["income"].to_numpy().copy()
    judges = np.flatnonzero(rows["job"].to_numpy(zero_copy_only=False) == "judge")
    incomes[judges] = 1
    incomes[judges[0]] = 999
    rows = rows.set_column(4, "income", pa.array(incomes))
    for rule in (Suppress(3, p=Fraction(1, 10)), Suppress(3, dominance=(1, Fraction(3, 4)))):
        value = table(memory, Tabulate("people", by=("job",), measure="income", protect=rule), rows)
        marks = dict(zip(value["job"].to_pylist(), value["mark"].to_pylist(), strict=True))
        assert marks["judge"] == "c" and list(marks.values()).count("c") >= 2


def test_people_are_counted_not_rows(memory):
    """Four rows of one person are one contributor."""
    rows = pa.table({"id": [1, 1, 1, 1, 2, 3, 4, 5], "job": ["judge"] * 4 + ["cook"] * 4})
    schema = Schema("people", "none", PEOPLE.columns, unit=Unit("id", 4))
    plan = Tabulate("people", by=("job",)).plan({"people": schema}, Terms())
    value = plan.run(memory(people=rows), Keyed("t"))
    assert dict(zip(value["job"].to_pylist(), value["mark"].to_pylist(), strict=True))["judge"] == "c"


def test_the_same_people_get_the_same_noise_in_every_table(memory):
    one = table(memory, Tabulate("people", by=("town", "job"), protect=CellKey()))
    two = table(memory, Tabulate("people", by=("town",), protect=CellKey()))
    margins = {
        t: v
        for t, j, v in zip(*(one[c].to_pylist() for c in ("town", "job", "value")), strict=True)
        if j == "Total"
    }
    assert margins == dict(zip(two["town"].to_pylist(), two["value"].to_pylist(), strict=True))


def test_other_people_get_other_noise(memory):
    """One person more, and the cell's noise is fresh: else the difference of two releases would be exact."""
    request = Tabulate("people", by=("job",), protect=CellKey(Fraction(8), 10))
    before = table(memory, request, people(rows=300))["value"].to_pylist()
    steps = {
        (before[-1] - table(memory, request, people().slice(0, n))["value"].to_pylist()[-1]) - (300 - n)
        for n in range(288, 300)
    }
    assert len(steps) > 4


def test_a_private_table_adds_up_and_costs_what_it_says(memory):
    request = replace(REQUEST, protect=Private(Fraction(1, 2)))
    plan = request.plan({"people": PEOPLE}, Terms())
    assert isinstance(plan.guarantee, Loss) and plan.guarantee.pure == Fraction(1, 2)
    value = table(memory, request)
    known = knowledge(plan.shape.dimensions, ("",), [cells(value)])
    low, high = ranges(known.system)
    assert (low == high).all() and (low >= 0).all()


def test_a_person_with_many_rows_is_protected_as_a_person(memory):
    """Of 40 rows of one person 2 count: noise for two, and the person moves the table by no more."""
    schema = Schema("people", "none", PEOPLE.columns, unit=Unit("id", 2))
    request = Tabulate("people", by=("job",), protect=Private(Fraction(100)))
    plan = request.plan({"people": schema}, Terms())
    assert plan.guarantee.pure == 100
    rows = pa.table({"id": [1] * 40 + [2, 3], "job": ["judge"] * 20 + ["cook"] * 22})
    value = plan.run(memory(people=rows), Keyed("t"))
    assert value["value"].to_pylist()[-1] == 4


@pytest.mark.parametrize(
    "request_, error",
    [
        (Tabulate("nobody", by=("job",)), BadParameter),
        (Tabulate("people", by=()), BadParameter),
        (Tabulate("people", by=("job", "job")), BadParameter),
        (Tabulate("people", by=("job",), measure="town"), BadParameter),
        (Tabulate("people", by=("job",), ladders=(TOWNS,)), BadParameter),
        (Tabulate("people", by=("job",), protect=Suppress(0)), BadParameter),
        (Tabulate("people", by=("job",), protect=Suppress(p=Fraction(1, 10))), BadParameter),
        (Tabulate("people", by=("job",), measure="id", protect=Suppress()), BadParameter),
        (Tabulate("people", by=("town",), protect=Private()), BadParameter),
        (Tabulate("people", by=("job",), protect=Private(Fraction(0))), BadParameter),
        (Tabulate("people", by=("job",), protect=Suppress(), published=(OTHER,)), BadParameter),
        (Tabulate("people", by=("job",), measure="income", protect=CellKey()), BadParameter),
    ],
    ids=lambda x: x.__name__ if isinstance(x, type) else "",
)
def test_what_cannot_be_tabulated_is_refused_before_anything_is_read(request_, error):
    with pytest.raises(error):
        request_.plan({"people": PEOPLE}, Terms())


def test_the_policy_sets_the_smallest_group():
    plan = REQUEST.plan({"people": PEOPLE}, Terms(smallest_group=10))
    assert isinstance(plan.guarantee, Syntactic) and plan.guarantee.terms[0] == ("threshold", "10")
    with pytest.raises(Forbidden):
        replace(REQUEST, protect=Suppress(5)).plan({"people": PEOPLE}, Terms(smallest_group=10))


@pytest.mark.parametrize("rows", [0, 1, 2])
@pytest.mark.parametrize("protection", PROTECTIONS, ids=str)
def test_tiny_tables_keep_their_promise(memory, rows, protection):
    value = table(memory, replace(REQUEST, protect=protection), people(rows=300).slice(0, rows))
    if isinstance(protection, Suppress):
        assert all(v is None or v == 0 for v in value["value"].to_pylist())


def test_days_are_collapsed_to_months_and_years(memory):
    """Between declared days, months and years stand above them without a ladder; a day beyond is `(other)`."""
    seen = Column("seen", Type.DATE, low=date(2023, 11, 1), high=date(2024, 2, 29))
    schema = Schema("visits", "none", (seen,))
    days = [date(2023, 11, 5)] * 9 + [date(2023, 12, day) for day in range(1, 9)] + [date(2024, 2, 29)] * 6
    rows = pa.table({"seen": [*days, *[date(2025, 1, 1)] * 7]})
    request = Tabulate("visits", by=("seen",), protect=Collapse(5))
    value = request.plan({"visits": schema}, Terms()).run(memory(visits=rows), Keyed("days"))
    told = dict(zip(value["seen"].to_pylist(), value["value"].to_pylist(), strict=True))
    assert told["2023-12"] == 8 and told["2023"] == 17 and told["2024"] == 6 and told["Total"] == 30
    assert "2023-12-03" not in told and all(not 0 < number < 5 for number in told.values())


def test_a_collapsed_table_shows_no_small_cell_and_joins_no_more_than_it_must(memory):
    value = table(memory, replace(REQUEST, protect=Collapse(5)))
    counts = value["value"].to_numpy()
    assert not ((counts > 0) & (counts < 5)).any() and not any(value["mark"].to_pylist())
    towns = set(value["town"].to_pylist())
    assert "Total" in towns and ({"East", "West"} & towns or set(value["job"].to_pylist()) == {"Total"})


def test_a_cell_that_holds_everybody_of_a_margin_is_hidden(memory):
    """All of Bonn are cooks: the margin of Bonn would tell it of each of them."""
    rows = pa.table({"town": ["Bonn"] * 20 + ["Jena"] * 40, "job": ["cook"] * 40 + ["judge"] * 20})
    request = Tabulate(
        "people", by=("town", "job"), protect=Suppress(3, full=True, zeros=True), ladders=(TOWNS,)
    )
    lines = table(memory, request, rows).to_pylist()
    marks = {(line["town"], line["job"]): line["mark"] for line in lines}
    assert marks["Bonn", "cook"] == "c"


def test_a_private_table_needs_to_know_how_many_rows_of_a_person_count():
    untold = replace(PEOPLE, unit=Unit("id", told=False))
    with pytest.raises(BadParameter, match="how many rows of one id count: add rows to the unit of people"):
        Tabulate("people", by=("job",), protect=Private(Fraction(1))).plan({"people": untold}, Terms())


def test_missing_values_have_a_line_only_where_somebody_lacks_one(memory):
    rows = pa.table({"town": pa.array([None] * 9, pa.string()), "job": ["cook"] * 9})
    value = table(memory, Tabulate("people", by=("town", "job")), rows)
    assert set(value["town"].to_pylist()) == {"(missing)", "Total"}
    assert set(value["job"].to_pylist()) == {"cook", "nurse", "judge", "Total"}
