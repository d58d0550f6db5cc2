"""Names go on rows that one person of the list fits, however the row was generalised, and on no others."""

import numpy as np
import pyarrow as pa
import pytest

from obverse.attack.base import Contest, View
from obverse.attack.linkage import Key, Linkage
from obverse.attack.naming import Naming, true_names
from obverse.errors import BadSource

KNOWN = ("age", "zip", "sex")


def _people(seed, rows):
    drawn = np.random.default_rng(seed)
    return pa.table(
        {
            "name": [f"{seed}-{i}" for i in range(rows)],
            "age": drawn.integers(18, 90, rows),
            "zip": [f"0{i}" for i in drawn.integers(0, 40, rows)],
            "sex": np.array(["F", "M"])[drawn.integers(0, 2, rows)],
        }
    )


LIST, OTHERS = _people(0, 2000), _people(1, 500)


def banded(people, years):
    start = people["age"].to_numpy() // years * years
    age = pa.array([f"{a}-{a + years - 1}" for a in start]) if years > 1 else people["age"]
    return pa.table({"age": age, "zip": people["zip"], "sex": people["sex"]})


def contest(years):
    """Half of the list is released; as controls, rows of people who are not on it."""
    some = LIST.slice(0, 1000)
    views = [View({"release": banded(who, years)}, {"population": LIST}) for who in (some, OTHERS)]
    return Contest(Naming(KNOWN, "name"), views[0], np.array(some["name"].to_pylist(), object), views[1])


PLANTED = {"Naming": lambda: contest(1)}
PRIVATE = {"Naming": lambda: contest(100)}


def test_on_exact_cells_it_claims_what_the_join_claims():
    view = contest(1).view
    exact = Linkage("release", "population", "name", tuple(map(Key, KNOWN))).run(view)
    boxes = Naming(KNOWN, "name").run(view)
    assert (exact.made == boxes.made).all() and (exact.values == boxes.values).all() and exact.made.any()


def test_every_name_is_right_where_the_list_is_whole():
    for years in (1, 2, 5):
        game = contest(years)
        claims = game.attack.run(game.view)
        assert (claims.values == game.truth)[claims.made].all() and claims.made.any()


def test_a_row_that_two_people_of_the_list_fit_is_not_named():
    roll = pa.table({"name": ["Ada", "Eve"], "age": [31, 38]})
    claims = Naming(("age",), "name").run(
        View({"release": pa.table({"age": ["30-39"]})}, {"population": roll})
    )
    assert not claims.made.any() and claims.values.tolist() == [None] and claims.scores.tolist() == [0.5]


def test_missing_cells_name_nobody_and_stars_do_not_help():
    roll = pa.table({"name": ["Ada", "Eve"], "zip": ["a", None], "sex": ["F", "M"]})
    rows = pa.table(
        {"zip": [None, "*"], "sex": ["M", "F"]},
        schema=pa.schema([("zip", pa.string()), ("sex", pa.string())]),
    )
    claims = Naming(("zip", "sex"), "name").run(View({"release": rows}, {"population": roll}))
    assert claims.values.tolist() == [None, "Ada"]


def test_the_judge_asks_whether_the_whole_row_is_the_named_persons():
    """One named Ada is right only where the illness on the row is Ada's."""
    release = pa.table({"age": [30, 40], "ill": ["flu", "gout"]})
    people, names = pa.table({"age": [30, 40], "ill": ["flu", "flu"]}), np.array(["Ada", "Bob"], object)
    attack = Naming(("age",), "name")
    claims = attack.run(
        View({"release": release}, {"population": pa.table({"name": ["Ada", "Bob"], "age": [30, 40]})})
    )
    assert true_names(claims, release, people, names).tolist() == ["Ada", None]


def test_a_list_that_contradicts_itself_is_refused_and_one_that_repeats_itself_is_not():
    release = pa.table({"age": [30]})
    for ages, refused in (([30, 31], True), ([30, 30], False)):
        view = View({"release": release}, {"population": pa.table({"name": ["Ada", "Ada"], "age": ages})})
        if refused:
            with pytest.raises(
                BadSource, match=r"^the list contradicts itself: one name has different values"
            ):
                Naming(("age",), "name").run(view)
        else:
            assert Naming(("age",), "name").run(view).values.tolist() == ["Ada"]


def test_a_column_of_numbers_here_and_of_words_there_is_refused():
    roll = pa.table({"name": ["Ada"], "age": ["thirty"]})
    with pytest.raises(BadSource, match="age holds numbers in one table, and in another text"):
        Naming(("age",), "name").run(View({"release": pa.table({"age": [30]})}, {"population": roll}))
