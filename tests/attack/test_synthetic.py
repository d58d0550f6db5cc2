"""A copy of the people cannot hide; people nobody copied cannot be found."""

import datetime

import numpy as np
import pyarrow as pa
import pytest

from obverse.attack.base import Contest, View
from obverse.attack.synthetic import Closest, Inferring, Linking, SinglingOut, halves, plain, within
from obverse.errors import BadParameter, BadSource

COLUMNS = ["age", "weight", "income", "place", "trade", "ill"]
KNOWN = tuple(COLUMNS[:-1])
LEFT, RIGHT = halves(COLUMNS)


def _world(seed, rows):
    """People whose income follows age, whose illness follows place, loosely."""
    drawn = np.random.default_rng(seed)
    age, place = drawn.integers(18, 90, rows), drawn.integers(0, 8, rows)
    ill = np.where(drawn.random(rows) < 0.6, place % 3, drawn.integers(0, 3, rows))
    return pa.table(
        {
            "age": age,
            "weight": np.round(drawn.normal(70, 12, rows), 1),
            "income": np.round(age * 500 + drawn.exponential(20_000, rows)),
            "place": [f"place {i}" for i in place],
            "trade": [f"trade {i}" for i in drawn.integers(0, 12, rows)],
            "ill": [f"ill {i}" for i in ill],
        }
    )


PEOPLE, OTHERS, FRESH, STRANGERS = (_world(seed, 3000) for seed in range(4))


def _singling(release, size=3):
    attack = SinglingOut(size=size, count=500)
    view = View({"release": release})
    return Contest(attack, view, attack.truth(release, PEOPLE), view, attack.truth(release, OTHERS))


def _targets(release, people):
    return View({"release": release}, {"targets": people, "population": STRANGERS})


def _linking(release, neighbours=0):
    yes = np.ones(PEOPLE.num_rows, bool)
    views = [_targets(release, people) for people in (PEOPLE, OTHERS)]
    return Contest(Linking(LEFT, RIGHT, neighbours), views[0], yes, views[1], yes)


def _inferring(release, secret="ill", single=False):
    attack = Inferring(tuple(name for name in COLUMNS if name != secret), secret, single)
    views = [_targets(release, people.drop_columns([secret])) for people in (PEOPLE, OTHERS)]
    truths = [plain(people, secret) for people in (PEOPLE, OTHERS)]
    if secret == "income":
        truths = [within(attack.run(view), truth) for view, truth in zip(views, truths, strict=True)]
    return Contest(attack, views[0], truths[0], views[1], truths[1])


def _closest(release):
    yes = np.ones(PEOPLE.num_rows, bool)
    return Contest(Closest(), _targets(release, PEOPLE), yes, _targets(release, OTHERS))


def _each(release):
    return {
        "SinglingOut": lambda: _singling(release),
        "Linking": lambda: _linking(release),
        "Inferring": lambda: _inferring(release),
        "Closest": lambda: _closest(release),
    }


PLANTED, PRIVATE = _each(PEOPLE), _each(FRESH)
ASKED = [
    lambda release: _singling(release, 3),
    lambda release: _singling(release, 0),
    _linking,
    _inferring,
    lambda release: _inferring(release, "income"),
]


@pytest.mark.parametrize("ask", ASKED)
def test_a_copy_is_scored_at_least_95_percent(ask):
    assert ask(PEOPLE).evidence().risk >= 0.95


@pytest.mark.parametrize("ask", [*ASKED, _closest])
def test_people_whom_the_release_never_saw_are_at_no_risk(ask):
    """The release is of other people: what is right of ours is right of the controls."""
    low, _ = ask(FRESH).evidence().risk_interval
    assert low <= 0.02


def test_a_copy_betrays_its_members():
    """TPR at 1 % and 0.1 % false positives, and an ε from below that no small ledger could carry."""
    evidence = _closest(PEOPLE).evidence()
    assert evidence.success.low > 0.9 and evidence.control.high < 0.05 and evidence.certified > 2


@pytest.mark.parametrize("ask", [_inferring, lambda release: _inferring(release, single=True)])
def test_permuted_truth_falls_to_the_baseline(ask):
    """If the secret is shuffled among the released records, nothing above a guess is left."""
    drawn = np.random.default_rng(7)
    secret = PEOPLE.column("ill").take(drawn.permutation(PEOPLE.num_rows))
    shuffled = PEOPLE.set_column(COLUMNS.index("ill"), "ill", secret)
    assert not ask(shuffled).evidence().succeeded


def test_wrongly_matched_halves_are_claimed_once_in_a_hundred():
    """Five standard errors above 1 % of 3000."""
    wrong = PEOPLE.select(LEFT).slice(0, 2999)
    right = PEOPLE.select(RIGHT).slice(1)
    mixed = pa.table({name: (wrong if name in LEFT else right).column(name) for name in COLUMNS})
    claims = Linking(LEFT, RIGHT).run(View({"release": PEOPLE}, {"targets": mixed}))
    assert claims.made.mean() <= 0.01 + 5 * np.sqrt(0.01 / 2999)


def test_a_table_so_coarse_that_wrong_pairs_are_rows_tells_nothing():
    """Six places and twelve trades: to claim what fits would be to claim everybody."""
    assert Linking(("place",), ("trade",)).alarms(PEOPLE.select(["place", "trade"])) > 0.5
    assert Linking(LEFT, RIGHT).alarms(PEOPLE) < 0.05


def test_a_copy_is_linked_though_some_wrong_pairs_are_rows():
    """A quarter have the commonest right half, so one wrong pair in sixteen is a row of the copy."""
    common = PEOPLE.select(["weight", "income", "trade"])
    trade = np.where(np.arange(3000) % 4 == 0, "common", [f"trade {i % 40}" for i in range(3000)])
    release = common.set_column(2, "trade", pa.array(trade))
    attack = Linking(("weight", "income"), ("trade",))
    claims = attack.run(View({"release": release}, {"targets": release}))
    strangers = release.set_column(0, "weight", pa.array(np.arange(3000) + 200.0))
    assert attack.alarms(release) < 0.15 and claims.made.all()
    assert not attack.run(View({"release": release}, {"targets": strangers})).made.any()


def test_a_noisy_copy_is_linked_though_some_wrong_pairs_are_rows():
    """A bar of 0 let through exact rows alone, of which a copy with a little noise has none."""
    common = PEOPLE.select(["weight", "income", "ill"])
    noisy = common.set_column(0, "weight", pa.array(common["weight"].to_numpy() + 0.05))
    attack = Linking(("weight", "income"), ("ill",), near=True)
    claims = attack.run(View({"release": noisy}, {"targets": common}))
    assert 0.2 < attack.alarms(noisy) < 0.5 and claims.made.mean() > 0.9


def test_a_tie_is_no_claim():
    release = pa.table({"age": [30, 30], "ill": ["yes", "no"]})
    claims = Inferring(("age",), "ill").run(View({"release": release}, {"targets": pa.table({"age": [30]})}))
    assert not claims.made[0]


def test_the_order_of_released_rows_changes_no_inference():
    """Of hundreds of equal rows 64 were asked, and sorted by the secret these were of one mind."""
    known = ("place", "trade")
    orders = [PEOPLE.sort_by("ill"), PEOPLE.sort_by([("ill", "descending")]), PEOPLE]
    first, *others = (
        Inferring(known, "ill").run(View({"release": release}, {"targets": PEOPLE.select(known)}))
        for release in orders
    )
    for other in others:
        assert (first.values == other.values).all() and (first.scores == other.scores).all()


def test_all_equal_records_are_asked_and_not_some():
    few, many = [{"place": "a", "ill": "no"}] * 100, [{"place": "a", "ill": "yes"}] * 101
    release = pa.Table.from_pylist(few + many)
    claims = Inferring(("place",), "ill").run(
        View({"release": release}, {"targets": release.select(["place"])})
    )
    assert set(claims.values) == {"yes"} and claims.scores[0] == pytest.approx(101 / 201)


def test_a_description_fits_one_person_or_is_wrong():
    """Two people who fit are as wrong as none."""
    release = pa.table({"age": [90, 20, 20], "place": ["a", "b", "b"]})
    attack = SinglingOut(size=1, count=10)
    claims = attack.run(View({"release": release}))
    twice = pa.table({"age": [90, 90, 20], "place": ["c", "c", "b"]})
    right = attack.truth(release, twice) == claims.values
    assert attack.truth(release, release).tolist() == claims.values.tolist()
    assert right.sum() < len(claims.values)


def test_an_attacker_draws_until_he_has_the_descriptions_he_wants_or_draws_in_vain():
    """All that are wanted where they can be had; none where no description fits one record."""
    rare = PEOPLE.select(["age", "weight", "place", "trade"])
    assert SinglingOut(size=3, count=400).run(View({"release": rare})).made.sum() == 400
    alike = pa.table({"age": [30] * 50, "place": ["a"] * 50})
    in_vain = SinglingOut(size=2).run(View({"release": alike}))
    assert (
        len(in_vain.made) == 50 and not in_vain.made.any()
    )  # each that he did without is an attack that failed


def test_a_date_may_be_the_secret():
    """Dates and times are numbers to all attacks; this one was refused with a trace."""
    born = [datetime.date(1950, 1, 1) + datetime.timedelta(days=400 * n) for n in range(30)]
    table = pa.table({"age": range(30), "born": born})
    claims = Inferring(("age",), "born").run(View({"release": table}, {"targets": table}))
    assert claims.made.all() and (claims.values == plain(table, "born")).all()


def test_an_attacker_cannot_use_more_columns_than_there_are():
    with pytest.raises(BadParameter, match="columns"):
        SinglingOut(size=9).run(View({"release": PEOPLE}))


def test_an_empty_or_foreign_release_is_refused():
    with pytest.raises(BadSource, match="empty"):
        SinglingOut().run(View({"release": PEOPLE.slice(0, 0)}))
    with pytest.raises(BadSource, match="no column ill"):
        Inferring(KNOWN, "ill").run(View({"release": PEOPLE.drop_columns(["ill"])}, {"targets": PEOPLE}))


@pytest.mark.parametrize("cells", [[[1], [2]], [{"x": 1}, {"x": 2}], [b"a", b"\xff"]])
def test_lists_structures_and_bytes_are_refused_in_a_sentence(cells):
    table = pa.table({"age": [1, 2], "odd": cells})
    with pytest.raises(BadSource, match=r"odd is .*: attacks read numbers, dates, texts"):
        Inferring(("age",), "odd").run(View({"release": table}, {"targets": table}))
