"""The distance between two tables is a metric that counts people, not rows."""

from hypothesis import given
from hypothesis import strategies as st

from obverse.data.schema import Neighbours, Unit
from obverse.data.unit import distance

PERSON = Unit("id", rows=3)
tables = st.lists(
    st.fixed_dictionaries({"id": st.sampled_from([1, 2, 3, None]), "x": st.integers(0, 2)}), max_size=6
)
units = st.sampled_from([Unit(), PERSON])
kinds = st.sampled_from(list(Neighbours))


@given(tables, tables, tables, units, kinds)
def test_it_is_a_metric(a: list, b: list, c: list, unit: Unit, kind: Neighbours) -> None:
    assert distance(a, a[::-1], unit, kind) == 0
    assert distance(a, b, unit, kind) == distance(b, a, unit, kind)
    legs = distance(a, b, unit, kind), distance(b, c, unit, kind)
    if None not in legs:
        assert distance(a, c, unit, kind) <= sum(legs)


@given(tables, units)
def test_one_person_gone_is_one_step(table: list, unit: Unit) -> None:
    for row in table:
        person = (
            [row]
            if unit.column is None or row["id"] is None
            else [each for each in table if each["id"] == row["id"]]
        )
        rest = list(table)
        for each in person:
            rest.remove(each)
        assert distance(table, rest, unit) == 1
        assert distance(table, rest, unit, Neighbours.REPLACE) is None


def test_a_changed_row_is_two_steps_or_one_replacement() -> None:
    a, b = [{"id": 1, "x": 0}, {"id": 2, "x": 0}], [{"id": 1, "x": 0}, {"id": 2, "x": 1}]
    assert distance(a, b) == 2
    assert distance(a, b, PERSON, Neighbours.REPLACE) == 1
