"""Every world that fits published tables is found, and what holds in all of them is claimed."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from obverse.attack.base import Claims, Contest, View
from obverse.attack.tables import Published, Statistic, Suppressed, Tables, aligned, records, sums
from obverse.errors import BadParameter, BadSource

TOY = json.loads((Path(__file__).parent.parent / "fixtures" / "attacks" / "acmqueue_block.json").read_text())
COLUMNS = {"sex": "FM", "age": range(126), "race": "BW", "marital": "MS"}
CHILDREN_ARE_SINGLE = ({"marital": "M", "age": range(15)},)
PEOPLE = [(text[-3], int(text[:-3]), text[-2], text[-1]) for text in TOY["expected"]["all"]["records"]]


def where(group):
    """The file's groups as the columns and values they mean."""
    ages = {"adult": lambda _: range(18, 126), "age_lt": range, "age_ge": lambda age: range(age, 126)}
    return {
        ("age" if key in ages else key): (ages[key](value) if key in ages else value)
        for key, value in group.items()
    }


PUBLISHED = tuple(
    Statistic(line["id"], where(line["group"]), line["count"], "age", line["median"], line["mean"])
    for line in TOY["published"]
)
SUPPRESSED = tuple(Suppressed(line["id"], where(line["group"])) for line in TOY["suppressed"])


def block(lines=PUBLISHED):
    return Published(COLUMNS, tuple(lines), CHILDREN_ARE_SINGLE)


def contest(lines=PUBLISHED):
    attack, view = Tables("block", tuple(COLUMNS)), View({"block": block(lines)})
    return Contest(attack, view, aligned(attack.run(view), PEOPLE)[1])


def twin():
    """Tables of seven other people: what a private release of a small block comes to."""
    others = (
        Statistic("everybody", {}, 7, "age", median=41, mean=45.0),
        Statistic("women", {"sex": "F"}, 3, "age", median=41, mean=40.0),
        Statistic("whites", {"race": "W"}, 5, "age", median=50, mean=48.0),
        Statistic("single", {"marital": "S"}, 3, "age", median=20, mean=30.0),
    )
    return contest(others)


PLANTED = {"Tables": contest}
PRIVATE = {"Tables": twin}


@pytest.mark.parametrize(("name", "expected"), TOY["expected"].items())
def test_the_published_variants_have_their_number_of_worlds(name, expected):
    """[GAM18]: all lines, or without one or two of them."""
    dropped = name.removeprefix("drop ").split(",")
    found = block(line for line in PUBLISHED if line.name not in dropped).worlds()
    assert len(found) == expected["solutions"]
    if name == "all":
        assert found == [dict.fromkeys(sorted(PEOPLE, key=lambda person: person[1]), 1)]


def test_what_is_common_to_all_worlds_is_claimed_and_nothing_else():
    lines = [line for line in PUBLISHED if line.name not in ("2A", "2B")]
    claims = Tables("block", tuple(COLUMNS)).run(View({"block": block(lines)}))
    sure = [
        (text[-3], int(text[:-3]), text[-2], text[-1]) for text in TOY["expected"]["drop 2A,2B"]["common"]
    ]
    assert sorted(claims.values[claims.made]) == sorted(sure)


def test_suppressed_lines_help_the_attacker():
    """They say fewer than three: eight worlds become six."""
    lines = [line for line in PUBLISHED + SUPPRESSED if line.name not in ("2A", "2B")]
    assert len(block(lines).worlds()) == 6


def test_worlds_too_many_to_list_are_asked_of_each_claim():
    """The first thousand worlds agreed on people who are not in all of them, and these were claimed."""
    lines = (Statistic("all", {}, 8, "age", median=30, mean=35.0), Statistic("men", {"sex": "M"}, 4))
    many = Published({"sex": "FM", "age": range(100)}, lines)
    claims = Tables("b", ("sex", "age")).run(View({"b": many}))
    assert len(many.worlds()) == 1000 and not claims.made.any()
    sexes = Tables("b", ("sex",)).run(View({"b": many}))
    assert sexes.made.all() and sorted(sexes.values) == [("F",)] * 4 + [("M",)] * 4


def test_what_every_one_of_too_many_worlds_has_is_claimed():
    lines = (
        Statistic("all", {}, 8, "age", median=30, mean=35.0),
        Statistic("men", {"sex": "M"}, 1, "age", mean=41.0),
    )
    many = Published({"sex": "FM", "age": range(100)}, lines)
    claims = Tables("b", ("sex", "age")).run(View({"b": many}))
    assert len(many.worlds()) == 1000 and claims.values[claims.made].tolist() == [("M", 41)]


def test_a_claim_on_fewer_columns_needs_less():
    """Sexes are open in eight worlds, ages in none."""
    lines = [line for line in PUBLISHED if line.name not in ("2A", "2B")]
    claims = Tables("block", ("age",)).run(View({"block": block(lines)}))
    assert claims.made.all() and sorted(claims.values) == [
        (age,) for _, age, _, _ in sorted(PEOPLE, key=lambda p: p[1])
    ]


def test_worlds_are_those_that_a_count_of_all_worlds_finds():
    """Three people over 2 × 6 kinds, against every multiset."""
    from itertools import combinations_with_replacement as multisets

    kinds = [(sex, age) for sex in "FM" for age in range(6)]
    lines = (
        Statistic("all", {}, 3, "age", median=3, mean=2.7),
        Statistic("women", {"sex": "F"}, 2, "age", median=2.5),
        Suppressed("young", {"age": range(2)}, below=2),
    )
    found = Published({"sex": "FM", "age": range(6)}, lines).worlds()
    fits = [
        people
        for people in multisets(kinds, 3)
        if np.median([age for _, age in people]) == 3
        and round(np.mean([age for _, age in people]), 1) == 2.7
        and len(women := [age for sex, age in people if sex == "F"]) == 2
        and np.median(women) == 2.5
        and sum(age < 2 for _, age in people) < 2
    ]
    assert sorted(sorted(world.items()) for world in found) == sorted(
        sorted({kind: people.count(kind) for kind in people}.items()) for people in fits
    )


def test_tables_that_no_world_fits_name_the_two_that_disagree():
    wrong = tuple(replace(line, count=5) if line.name == "2C" else line for line in PUBLISHED)
    lines = [replace(line, median=None, mean=None) if isinstance(line, Statistic) else line for line in wrong]
    lines += [Statistic("6A", {"race": "W"}, 3)]
    with pytest.raises(BadSource, match="2C and 2D disagree"):
        block(lines).worlds()


def test_aligned_truth_counts_nobody_twice():
    claims = Claims(records([("a",), ("a",), ("b",)]), np.ones(3), np.array([False, True, True]))
    every, truth = aligned(claims, [("a",), ("c",), ("b",), ("d",)])
    assert truth.tolist() == [("c",), ("a",), ("b",), ("d",)]
    assert every.made.tolist() == [False, True, True, False]


def test_sums_finds_all_whole_numbers():
    assert sorted(sums([2, 2], [(np.array([0, 1]), 3)], 10)) == [[1, 2], [2, 1]]


@pytest.mark.parametrize(
    ("published", "text"),
    [
        (lambda: Published({"age": range(9)}, (Statistic("x", {"sex": "F"}, 1),)), "no column sex"),
        (
            lambda: Published({"age": range(9)}, (Statistic("x", {}, 1, "sex", mean=1.0),)),
            "column of whole numbers",
        ),
        (
            lambda: Published({"age": range(9)}, (Statistic("x", {}, 0, "age", mean=1.0),)),
            "nobody has no median",
        ),
        (lambda: Published({"age": range(9)}, (Statistic("x", {}, -1),)), "whole number, 0 or more"),
        (lambda: Published({"age": range(9)}, (Statistic("x", {}, 2.5),)), "whole number, 0 or more"),
        (lambda: Published({"age": range(9)}, (Statistic("x", {"age": 12}, 1),)), "x: age has no value 12"),
        (lambda: Published({"sex": "FM"}, (Statistic("x", {"sex": ("F", "W")}, 1),)), "sex has no value W"),
        (lambda: Published({"age": range(9)}, (Statistic("x", {}, 2, "age", median=3.25),)), "half-way"),
        (
            lambda: Published({"age": range(9)}, (Statistic("x", {}, 2, "age", mean=float("nan")),)),
            "is a number",
        ),
        (lambda: Published({"age": ()}, (Statistic("x", {}, 2),)), "age has no possible value"),
        (
            lambda: Tables("b", ("zip",)).run(
                View({"b": Published({"age": range(9)}, (Statistic("x", {}, 1),))})
            ),
            "no column zip",
        ),
        (
            lambda: Published({"age": range(9)}, (Suppressed("x", {"age": 3}),)).worlds(),
            "no line counts everybody",
        ),
    ],
)
def test_lines_without_meaning_are_refused(published, text):
    with pytest.raises(BadParameter, match=text):
        published()
