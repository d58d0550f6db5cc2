"""A ladder is a tree in which every label has one parent, whatever the labels are called."""

import pytest

from obverse.errors import BadParameter
from obverse.tables.dimension import Dimension

WORK = [("Private", "Business", "*"), ("Self", "Business", "*"), ("State", "State", "*")]


def test_a_label_that_stays_the_same_is_one_node():
    work = Dimension.from_rungs("work", WORK)
    assert work.labels == ("Private", "Self", "State", "(missing)", "(other)", "Business", "Total")
    assert work.parents == (5, 5, 6, 6, 6, 6, -1)
    assert work.places[1, "State"] == work.places[0, "State"] == 2


def test_the_nodes_of_ten_thousand_categories_are_found_at_once():
    wide = Dimension.from_rungs("n", [(str(n), str(n // 100)) for n in range(10_000)], closed=False)
    assert len(wide.labels) == 10_101 and wide.places[1, "99"] == 10_099


@pytest.mark.parametrize(
    "rungs",
    [
        [("a", "x"), ("b",)],
        [("a", "x"), ("a", "y")],
        [("a", "x", "p"), ("b", "x", "q")],
    ],
    ids=["uneven", "category twice", "two parents"],
)
def test_what_is_no_ladder_is_refused(rungs):
    with pytest.raises(BadParameter):
        Dimension.from_rungs("c", rungs)


def test_a_category_called_total_is_not_the_total():
    odd = Dimension.from_rungs("c", [("Total",), ("x",)], closed=False)
    assert odd.labels == ("‘Total’", "x", "Total") and odd.node("Total") == 2
