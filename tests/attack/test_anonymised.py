"""Each promise about a table's form, and the attack that shows what it leaves out."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from obverse.attack.anonymised import (
    Background,
    Composition,
    Describing,
    Downcoding,
    Homogeneity,
    Matching,
    Minimality,
    Skewness,
    credibility,
)
from obverse.attack.base import Contest, View
from obverse.errors import BadParameter, BadSource

KNOWN = ("age", "place")
ILLS = ["flu", "asthma", "ulcer", "gout"]
CLINIC = pa.table(  # four people a class; the first has one illness only  [MKGV07]
    {
        "age": ["20-29"] * 4 + ["30-39"] * 4,
        "place": ["*"] * 8,
        "ill": ["flu"] * 4 + ["flu", "asthma", "asthma", "gout"],
    }
)
PERSON = pa.table({"age": [25, 35, 50], "place": ["Rome", "Oslo", "Rome"]})


def _people(seed, rows=400):
    drawn = np.random.default_rng(seed)
    age, place = drawn.integers(20, 60, rows), drawn.integers(0, 4, rows)
    return pa.table(
        {
            "age": age,
            "place": [f"place {i}" for i in place],
            "ill": [ILLS[i] for i in drawn.integers(0, 4, rows)],
        }
    )


def _banded(people, width, ill=None):
    """Ages in bands of one width, places hidden."""
    start = people["age"].to_numpy() // width * width
    cells = [f"{a}-{a + width - 1}" for a in start]
    secret = people["ill"] if ill is None else pa.array(ill)
    return pa.table({"age": cells, "place": ["*"] * people.num_rows, "ill": secret})


PEOPLE, OTHERS = _people(0), _people(1)
BY_AGE = [ILLS[age // 10 % 4] for age in PEOPLE["age"].to_pylist()]  # within ten years, one illness
APART = PEOPLE.set_column(0, "age", pa.array(range(PEOPLE.num_rows)))
SAME = PEOPLE.set_column(2, "ill", pa.array(BY_AGE))


def _inferring(attack, release, truth, **more):
    return Contest(attack, View({"release": release, **more}, {"targets": PEOPLE.select(KNOWN)}), truth)


def _matching(release, *lists):
    attack = Matching(KNOWN)
    views = [View({"release": release}, {"targets": who.select(KNOWN)}) for who in lists]
    truths = [attack.truth(attack.run(view), release, who) for view, who in zip(views, lists, strict=True)]
    return Contest(attack, views[0], truths[0], views[1], truths[1])


def _describing(release):
    attack, view = Describing(), View({"release": release})
    return Contest(attack, view, attack.truth(release, APART), view, attack.truth(release, OTHERS))


def _background(release, people):
    """Everybody is known not to have the next illness on the list."""
    denied = [ILLS[(ILLS.index(ill) + 1) % 4] for ill in people["ill"].to_pylist()]
    targets = people.select(KNOWN).append_column("denied", pa.array(denied))
    return Contest(
        Background(KNOWN, "ill"),
        View({"release": release}, {"targets": targets}),
        np.array(people["ill"].to_pylist()),
    )


def _two_ills():
    """In each decade two illnesses, so that one denied leaves one."""
    ills = [ILLS[(a // 10 + a % 2) % 4] for a in PEOPLE["age"].to_pylist()]
    people = PEOPLE.set_column(2, "ill", pa.array(ills))
    return _background(_banded(people, 10), people)


def _composed(wide):
    """Two bandings of the same people; their intersection is finer than either."""
    bands = [_banded(SAME, 20)] * 2 if wide else [_banded(SAME, 20), _shifted(SAME)]
    truth = np.array(SAME["ill"].to_pylist())
    return _inferring(Composition(KNOWN, "ill"), bands[0], truth, other=bands[1])


def _shifted(people):
    start = (people["age"].to_numpy() + 10) // 20 * 20 - 10
    cells = [f"{a}-{a + 19}" for a in start]
    return pa.table({"age": cells, "place": ["*"] * people.num_rows, "ill": people["ill"]})


def _minimal(merged):
    """Two people in one place, of whom more than half were ill, are hidden among four in another."""
    places = [name for i in range(40) for name in [f"{i:02}a"] * 2 + [f"{i:02}b"] * 4]
    ill = ["yes", "yes", "no", "no", "no", "no"] * 40
    cells = [f"{{{i:02}a, {i:02}b}}" for i in range(40) for _ in range(6)]
    release = pa.table({"place": cells if merged else places, "ill": ill})
    ours, others = (
        View(
            {"release": release},
            {
                "targets": pa.table({"place": [f"{i:02}{group}" for i in range(40)]}),
                "population": pa.table({"place": places}),
            },
        )
        for group in "ab"
    )
    return Contest(Minimality(("place",), "ill", "yes"), ours, np.array(["yes"] * 40), others)


def _narrowed(tight):
    """Ages of ten neighbours in order: from the least to the greatest, or in fixed bands."""
    age = np.sort(np.random.default_rng(2).choice(100_000, 400, replace=False))
    groups = age.reshape(-1, 10)
    ends = groups[:, [0, -1]] if tight else groups[:, [0, -1]] // 500 * 500 + [0, 499]
    release = pa.table({"age": [f"{a}-{b}" for a, b in ends for _ in range(10)]})
    people, others = pa.table({"age": age}), pa.table({"age": age + 50_000})
    attack, view = Downcoding(("age",)), View({"release": release})
    return Contest(attack, view, attack.truth(release, people), view, attack.truth(release, others))


ILL, SICK = np.array(PEOPLE["ill"].to_pylist()), np.array(BY_AGE)
PLANTED = {
    "Matching": lambda: _matching(APART, APART, OTHERS),
    "Describing": lambda: _describing(APART),
    "Homogeneity": lambda: _inferring(Homogeneity(KNOWN, "ill"), _banded(SAME, 10), SICK),
    "Background": _two_ills,
    "Skewness": lambda: _inferring(Skewness(KNOWN, "ill"), _banded(SAME, 10), SICK),
    "Composition": lambda: _composed(wide=False),
    "Minimality": lambda: _minimal(merged=True),
    "Downcoding": lambda: _narrowed(tight=True),
}
PRIVATE = {
    "Matching": lambda: _matching(_banded(PEOPLE, 40), PEOPLE, OTHERS),
    "Describing": lambda: _describing(OTHERS),
    "Homogeneity": lambda: _inferring(Homogeneity(KNOWN, "ill"), _banded(PEOPLE, 40), ILL),
    "Background": lambda: _background(_banded(PEOPLE, 40), PEOPLE),
    "Skewness": lambda: _inferring(Skewness(KNOWN, "ill"), _banded(PEOPLE, 40), ILL),
    "Composition": lambda: _composed(wide=True),
    "Minimality": lambda: _minimal(merged=False),
    "Downcoding": lambda: _narrowed(tight=False),
}


def _claimed(attack, targets=PERSON, **releases):
    claims = attack.run(View({"release": CLINIC, **releases}, {"targets": targets}))
    return [value if made else None for value, made in zip(claims.values.tolist(), claims.made, strict=True)]


def test_a_class_with_one_illness_hides_nobody():
    """4-anonymous, and the person in their twenties has flu; nobody of fifty is in it."""
    assert _claimed(Homogeneity(KNOWN, "ill")) == ["flu", None, None]


def test_two_illnesses_ruled_out_leave_the_third():
    table = pa.table({"age": ["30-39"] * 3, "place": ["*"] * 3, "ill": ["flu", "flu", "gout"]})
    targets = PERSON.append_column("denied", pa.array(["gout", "flu", "flu"]))
    view = View({"release": table}, {"targets": targets})
    claims = Background(KNOWN, "ill").run(view)
    assert claims.made.tolist() == [False, True, False] and claims.values[1] == "gout"


def test_what_is_far_likelier_is_learned_without_being_certain():
    """Asthma is 1 in 4 overall and 1 in 2 here: likelier, but not likelier than not."""
    assert _claimed(Skewness(KNOWN, "ill")) == ["flu", None, None]


def test_two_anonymous_tables_may_leave_one_value():
    other = pa.table({"age": ["35-45"] * 2, "place": ["*"] * 2, "ill": ["gout", "ulcer"]})
    assert _claimed(Composition(KNOWN, "ill"), other=other) == [None, "gout", None]


def test_two_releases_need_one_kind_of_secret():
    """Whole numbers here and fractions there are numbers; numbers here and words there are not."""
    targets = pa.table({"age": [30]})
    kinds = [pa.array([7, 8]), pa.array([7.0, 9.0]), pa.array(["7", "9"])]
    tables = [pa.table({"age": [30, 30], "ill": kind}) for kind in kinds]
    attack = Composition(("age",), "ill")
    views = [View({"release": tables[0], "other": other}, {"targets": targets}) for other in tables[1:]]
    assert attack.run(views[0]).values.tolist() == [7.0]
    with pytest.raises(BadSource, match="ill holds numbers in one release and text in the other"):
        attack.run(views[1])


def test_a_row_is_matched_only_where_it_is_alone():
    release = pa.table({"age": ["20-29", "30-39", "30-39"], "place": ["*", "Oslo", "*"]})
    assert _claimed(Matching(KNOWN), release=release) == [0, None, None]


@settings(deadline=None, max_examples=40)
@given(st.lists(st.integers(1, 4), min_size=2, max_size=3), st.data())
def test_credibility_counts_every_way(groups, data):
    """Against the enumeration of all assignments."""
    mine, diversity = data.draw(st.integers(0, len(groups) - 1)), data.draw(st.integers(2, 3))
    people = [group for group, size in enumerate(groups) for _ in range(size)]
    ill = data.draw(st.integers(0, len(people)))
    broken = hit = 0
    for chosen in combinations(range(len(people)), ill):
        sick = [sum(people[i] == group for i in chosen) for group in range(len(groups))]
        if any(count > size // diversity for count, size in zip(sick, groups, strict=True)):
            broken += 1
            hit += people.index(mine) in chosen
    expected = Fraction(hit, broken) if broken else 0
    assert credibility(groups, mine, ill, diversity) == pytest.approx(float(expected))


def test_nothing_to_narrow_is_said():
    with pytest.raises(BadParameter, match="nothing to narrow"):
        Downcoding(("age",)).run(View({"release": pa.table({"age": [1, 2]})}))
