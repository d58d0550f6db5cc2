"""Names go back on rows that are alone in the population, and on no others."""

import datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pytest

from obverse.attack.base import Contest, View, hide, shuffle, words
from obverse.attack.linkage import Key, Linkage, chain, uniqueness
from obverse.errors import BadParameter, BadSource
from obverse.noise.entropy import Keyed

DATA = Path(__file__).parent.parent / "fixtures" / "attacks"
KEYS = (Key("zip"), Key("birth_date"), Key("sex"))


def people(count, key):
    """A made list: `count` people over 5 ZIP codes, 60 years of birth dates, two sexes."""
    drawn = [
        words(count, Keyed(f"{key} {column}")).astype(np.int64) >> 1 for column in ("zip", "date", "sex")
    ]
    first = datetime.date(1930, 1, 1).toordinal()
    dates = [datetime.date.fromordinal(first + int(day)) for day in drawn[1] % 21915]
    zips = [f"0213{digit}" for digit in drawn[0] % 5]
    return pa.table(
        {"id": range(count), "zip": zips, "birth_date": dates, "sex": np.array(["F", "M"])[drawn[2] % 2]}
    )


def contest(recode=lambda table: table):
    """Half the people of a list are released; as many who are not on it are controls."""
    listed, others = people(4000, "list"), people(1000, "others")
    released, order = hide(listed.slice(0, 2000), ["id"], Keyed("order"))
    view = View({"visits": recode(released)}, {"list": listed})
    absent = View({"visits": recode(others.drop_columns(["id"]))}, {"list": listed})
    return Contest(Linkage("visits", "list", "id", KEYS), view, order.astype(object), absent)


def five_alike(table):
    """A release with k ≥ 5: dates and ZIP codes withheld."""
    hidden = pa.array(["*"] * table.num_rows)
    return pa.table({"zip": hidden, "birth_date": hidden, "sex": table["sex"]})


PLANTED = {"Linkage": contest}
PRIVATE = {"Linkage": lambda: contest(five_alike)}


@pytest.fixture(scope="module")
def weld():
    """The synthetic roll and hospital visits, and whose each visit is."""
    text = pa.csv.ConvertOptions(column_types={"zip": pa.string()})
    visits, truth, roll = (
        pa.csv.read_csv(DATA / f"weld_{name}.csv.gz", convert_options=text)
        for name in ("hospital", "truth", "voters")
    )
    voter = dict(zip(truth["visit"].to_pylist(), truth["voter_id"].to_pylist(), strict=True))
    return visits, roll, np.array([voter[visit] for visit in visits["visit"].to_pylist()], dtype=object)


@pytest.mark.parametrize(("keep", "claims"), [(None, 7454), (7, 404), (4, 7)])
def test_claims_on_the_shared_roll_are_all_right(weld, keep, claims):
    """Exact dates, then months, then years of birth."""
    visits, roll, truth = weld
    keys = (Key("zip"), Key("birth_date", keep=keep), Key("sex"))
    got = Contest(
        Linkage("visits", "roll", "voter_id", keys), View({"visits": visits}, {"roll": roll}), truth
    )
    evidence = got.evidence()
    assert (evidence.claims, evidence.right) == (claims, claims)


def test_a_release_with_five_of_each_kind_is_not_linked(weld):
    """k ≥ 5 by generalising until every class has five: nobody is alone any more."""
    visits, roll, _ = weld
    years = pc.strftime(roll["birth_date"], format="%Y")
    decades = pc.binary_join_element_wise(pc.utf8_slice_codeunits(years, 0, 3), "0s", "")
    coarse = roll.set_column(2, "birth_date", decades).set_column(
        1, "zip", pa.array(["021**"] * roll.num_rows)
    )
    seen = visits.set_column(1, "zip", pa.array(["021**"] * visits.num_rows))
    keys = (Key("zip"), Key("birth_date", keep=3), Key("sex"))
    assert all(one.under_five == 0 for one in uniqueness(coarse, ["zip", "birth_date", "sex"]))
    assert (
        not Linkage("visits", "roll", "voter_id", keys)
        .run(View({"visits": seen}, {"roll": coarse}))
        .made.any()
    )


def test_the_governor_is_one_of_six_then_three_then_alone(weld):
    """[Swe02, section 2]"""
    known = {"birth_date": datetime.date(1945, 7, 31), "sex": "M", "zip": "02138"}
    assert chain(weld[1], known) == [("birth_date", 6), ("sex", 3), ("zip", 1)]


def test_a_row_alone_in_the_release_is_not_claimed_when_two_people_fit():
    roll = pa.table({"id": [1, 2], "zip": ["a", "a"]})
    claims = Linkage("rows", "roll", "id", (Key("zip"),)).run(
        View({"rows": pa.table({"zip": ["a"]})}, {"roll": roll})
    )
    assert not claims.made.any() and claims.scores.tolist() == [0.5]


def test_missing_values_claim_nothing():
    roll = pa.table({"id": [1, 2], "zip": ["a", None]})
    rows = pa.table({"zip": [None, "a"]}, schema=pa.schema([("zip", pa.string())]))
    assert Linkage("rows", "roll", "id", (Key("zip"),)).run(
        View({"rows": rows}, {"roll": roll})
    ).made.tolist() == [False, True]


def test_uniqueness_counts_every_combination():
    table = people(500, "u")
    found = {one.columns: one for one in uniqueness(table, ["zip", "birth_date", "sex"])}
    assert len(found) == 7
    for columns, one in found.items():
        sizes = table.group_by(list(columns)).aggregate([([], "count_all")])["count_all"].to_numpy()
        assert (one.unique, one.classes, one.rows) == ((sizes == 1).sum(), len(sizes), 500)
        assert one.under_five == sizes[sizes < 5].sum()


def test_the_order_of_rows_changes_nothing(weld):
    visits, roll, _ = weld
    attack, order = Linkage("visits", "roll", "voter_id", KEYS), shuffle(visits.num_rows, Keyed("rows"))
    straight = attack.run(View({"visits": visits}, {"roll": roll}))
    mixed = attack.run(View({"visits": visits.take(order)}, {"roll": roll}))
    assert (straight.made[order] == mixed.made).all() and (straight.values[order] == mixed.values).all()


@pytest.mark.parametrize(
    ("rows", "roll", "text"),
    [
        ({"zap": ["a"]}, {"id": [1], "zip": ["a"]}, "visits has no column zip; it has zap"),
        ({"zip": [2138]}, {"id": [1], "zip": ["02138"]}, "zip is int64 in visits and zip is string in list"),
        ({"zip": ["a"]}, {"id": [1, 1], "zip": ["a", "b"]}, "list contradicts itself: one id"),
        ({"zip": pa.array([], pa.string())}, {"id": [1], "zip": ["a"]}, "visits is empty"),
    ],
)
def test_what_cannot_be_joined_is_refused(rows, roll, text):
    with pytest.raises(BadSource, match=text):
        Linkage("visits", "list", "id", (Key("zip"),)).run(
            View({"visits": pa.table(rows)}, {"list": pa.table(roll)})
        )


def test_bad_parameters_are_refused():
    with pytest.raises(BadParameter, match="at least one column"):
        Linkage("a", "b", "id", ()).run(View())
    with pytest.raises(BadParameter, match="at least one character"):
        Key("zip", keep=0)
    with pytest.raises(BadParameter, match="no column nope"):
        uniqueness(pa.table({"a": [1]}), ["nope"])


def test_a_chain_of_facts_that_the_list_cannot_have_is_refused():
    roll = pa.table({"born": [1, 1, 2]})
    for known, text in (
        ({"name": "Ada"}, "no column name; there are born"),
        ({"born": "x"}, "born is int64"),
    ):
        with pytest.raises(BadParameter, match=text):
            chain(roll, known)
