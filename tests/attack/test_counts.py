"""Census tables give their people back; tables protected by differential privacy do not."""

from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

from obverse.attack import census
from obverse.attack.base import Contest, Game, View, judge, shuffle
from obverse.attack.counts import Counts
from obverse.attack.tables import aligned
from obverse.errors import BadParameter, BadSource
from obverse.noise.entropy import Keyed

DATA = Path(__file__).parent.parent / "fixtures" / "attacks"
ATTACK = Counts(tuple(census.TABLES), "kinds", census.RECORD, "block", "places")


def people(which):
    text = pa.csv.ConvertOptions(column_types={"block": pa.string()})
    return census.records(pa.csv.read_csv(DATA / f"census_{which}_2010_blocks.csv.gz", convert_options=text))


def view(table):
    places = table.select(["block", "tract"])
    return View(census.published(table), {"kinds": census.kinds(), "places": places})


def rows(table):
    return list(zip(*(table[name].to_pylist() for name in ("block", *census.RECORD)), strict=True))


def not_modal(truth):
    """People whose races and ethnicity are not the commonest of their block."""
    by_block = {}
    for block, *_, race, hispanic in truth:
        by_block.setdefault(block, Counter())[race, hispanic] += 1
    mode = {block: counted.most_common(1)[0][0] for block, counted in by_block.items()}
    return np.array([(race, hispanic) != mode[block] for block, *_, race, hispanic in truth])


def judged(released, real):
    claims, truth = aligned(ATTACK.run(view(released)), rows(real))
    here = np.array([person is not None for person in truth])
    rare = np.zeros(len(truth), dtype=bool)
    rare[here] = not_modal([person for person in truth if person is not None])
    claims.made[:] = True  # also where it only guesses among the worlds that fit
    return judge(ATTACK, claims, truth, game=Game(groups={"not modal": rare}))


@pytest.fixture(scope="module")
def real():
    return people("rhdf")


def one_tract(table):
    return table.filter(pa.compute.equal(table["tract"], table["tract"][0]))


def contest(moved):
    """One tract; `moved` deals its people out to its blocks at random before tables are made."""
    real = one_tract(people("rhdf"))
    blocks = real["block"].take(shuffle(real.num_rows, Keyed("moved")))
    dealt = real.set_column(real.column_names.index("block"), "block", blocks)
    shown = dealt if moved else real
    claims = ATTACK.run(view(shown))
    by_chance = sum((Counter(rows(dealt)) & Counter(rows(real))).values()) / real.num_rows
    return Contest(ATTACK, view(shown), aligned(claims, rows(real))[1], game=Game(baseline=by_chance))


PLANTED = {"Counts": lambda: contest(moved=False)}
PRIVATE = {"Counts": lambda: contest(moved=True)}


def test_census_tables_give_everybody_back(real):
    """4,558 blocks, 32,300 people: exact ≥ 0.9990, not modal ≥ 0.981, proved unique ≥ 0.995 of blocks."""
    evidence = judged(real, real)
    claims = ATTACK.run(view(real))
    open_blocks = {person[0] for person in claims.values[~claims.made]}
    assert evidence.targets == 32_300 and len(set(real["block"].to_pylist())) == 4558
    assert evidence.success.share >= 0.9990
    assert dict(evidence.groups)["not modal"].share >= 0.981
    assert 1 - len(open_blocks) / 4558 >= 0.995


def test_their_differentially_private_twin_does_not(real):
    evidence = judged(people("rmdf"), real)
    assert evidence.success.share <= 0.22
    assert dict(evidence.groups)["not modal"].share <= 0.065


def test_block_tables_alone_settle_all_but_a_few_blocks_and_claims_are_right_by_proof(real):
    """Without the tracts some people stay open; those who are claimed are there."""
    attack = Counts(
        tuple(name for name in census.TABLES if not name.startswith("PCT")), "kinds", census.RECORD, "block"
    )
    claims = attack.run(view(real))
    made = Counter(claims.values[claims.made].tolist())
    assert sum(made.values()) == 32_216
    assert not made - Counter(rows(real))


def test_ages_are_told_in_38_bins():
    assert len(census.AGES) == 38 and census.kinds().num_rows == 2 * 38 * 63 * 2
    assert set(census.GROUPS) <= set(census.AGES) and len(census.GROUPS) == 23


KINDS = pa.table({"sex": ["F", "F", "M", "M"], "adult": [True, False, True, False]})


@pytest.mark.parametrize(
    ("adults", "text"),
    [
        ({"block": [1], "adult": [True], "count": [4]}, "sexes and adults disagree"),
        ({"block": [1], "adult": [True], "count": [-3]}, "whole numbers, 0 or more"),
        (
            {"block": [1, 1], "adult": [True, True], "count": [1, 2]},
            "adults lists a class of one place twice",
        ),
        ({"adult": [True], "count": [3]}, "adults needs one column that says where: block"),
    ],
)
def test_tables_that_cannot_be_are_refused(adults, text):
    sexes = pa.table({"block": [1, 1], "sex": ["F", "M"], "count": [1, 2]})
    attack = Counts(("sexes", "adults"), "kinds", ("sex", "adult"), "block")
    with pytest.raises(BadSource, match=text):
        attack.run(View({"sexes": sexes, "adults": pa.table(adults)}, {"kinds": KINDS}))


def test_totals_alone_say_how_many_and_where_and_no_more():
    totals = pa.table({"block": [1, 2], "count": [2, 1]})
    claims = Counts(("totals",), "kinds", ("sex", "adult"), "block").run(
        View({"totals": totals}, {"kinds": KINDS})
    )
    assert [person[0] for person in claims.values] == [1, 1, 2] and not claims.made.any()


def test_an_attack_without_tables_is_refused():
    with pytest.raises(BadParameter, match="at least one table"):
        Counts((), "kinds", ("sex",), "block").run(View(auxiliary={"kinds": KINDS}))
