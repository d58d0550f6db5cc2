"""The verdict follows from the attacks: a copy is stopped, people nobody saw are not in danger."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from obverse.attack.interval import Rate
from obverse.errors import BadParameter, BadSource, Broken
from obverse.evaluate.held import Held
from obverse.evaluate.risk import QUESTIONS, Tried, assess

from .conftest import QUASI, SENSITIVE, world

PEOPLE, OTHERS, FRESH = (world(seed) for seed in range(3))


def _held(control=OTHERS, sensitive=SENSITIVE, **more):
    return Held("people", PEOPLE, QUASI, sensitive, control=control, **more)


@pytest.fixture(scope="module")
def copy():
    return assess(PEOPLE, _held())


@pytest.fixture(scope="module")
def fresh():
    return assess(FRESH, _held())


def test_a_copy_is_stopped(copy):
    verdict, rule = copy.verdict
    assert verdict == "Do not release" and "9 %" in rule
    assert set(copy.worst) == set(QUESTIONS)


def test_every_attack_finds_its_planted_copy(copy):
    assert all(each.evidence.positive.low > 0.9 for each in copy.tried if each.evidence.positive)


def test_people_whom_the_release_never_saw_are_not_in_danger(fresh):
    """No interval lies wholly above the threshold; nothing is certified of membership."""
    assert all(each.word() != "high" for each in fresh.tried)
    assert fresh.worst["membership"].evidence.certified < 1


def test_a_table_does_not_hide_its_people_by_holding_each_row_twice(copy):
    """No row was like no other, so nothing was claimed, and a copy of everybody was of no risk."""
    twice = pa.concat_tables([PEOPLE, PEOPLE])
    got = {each.evidence.attack: each.evidence for each in assess(twice, _held(control=None)).tried}
    single = {each.evidence.attack: each.evidence for each in copy.tried}
    assert got["Describing"].success.share == pytest.approx(single["Describing"].success.share, abs=0.02)
    assert assess(twice, _held(control=None)).verdict[0] == "Do not release"


def test_a_control_can_be_made_by_taking_rows_out(copy):
    """Without a list of others, the release without some people's rows stands in, and agrees with the list."""
    alone = assess(PEOPLE, _held(control=None))
    assert "taken out" in alone.control and "membership" in dict(alone.untried)
    theirs, ours = (found.worst["inference"].evidence.control for found in (copy, alone))
    assert ours.low <= theirs.high and theirs.low <= ours.high


def test_a_release_of_nobody_known_has_no_control_and_says_so():
    found = assess(
        FRESH.set_column(2, "income", pa.array(np.arange(2500) * 31 + 10_001)), _held(control=None)
    )
    assert found.control == "" and "a control" in dict(found.untried)


def test_vulnerable_people_stand_beside_the_whole_population(copy):
    """A share of everybody never stands alone: those alone with their age and town are all rebuilt."""
    who, rate = copy.vulnerable
    assert "age, town" in who and 0 < rate.of == rate.right


def test_a_lucky_attack_on_one_target_does_not_hide_one_that_surely_got_through(copy):
    attack = copy.worst["singling out"]
    lucky, sure = (
        Tried(replace(attack.evidence, targets=of, claims=of, right=right, baseline=0.0, control=None))
        for right, of in ((1, 1), (4_000, 10_000))
    )
    assert lucky.evidence.risk > sure.evidence.risk and lucky.word() == "unclear"
    for tried in ((lucky, sure), (sure, lucky)):
        assert replace(copy, tried=tried).verdict[0] == "Do not release"


def test_an_attack_that_misses_a_planted_copy_shows_nothing_and_hides_nothing(copy, fresh):
    """One blind attack: nothing is shown where no risk is seen; where one is, it is not for release all the same."""
    for found, verdict in ((copy, "Do not release"), (fresh, "Not shown")):
        first, *rest = found.tried
        blind = Tried(replace(first.evidence, positive=Rate(1, 50)))
        assert replace(found, tried=(blind, *rest)).verdict[0] == verdict


def test_linkage_to_a_list_of_names_is_said_to_be_untested(copy):
    assert "needs --population" in dict(copy.untried)["linkage to a list with names"]


def test_a_ledger_that_claims_too_little_is_a_bug_somewhere():
    with pytest.raises(Broken, match="above the ledger"):
        assess(PEOPLE, _held(), epsilon=0.1)


def test_two_releases_that_each_leave_two_secrets_may_leave_one_together():
    """[GKS08] Everybody is one of two alike in each table, with another illness, and with another person."""
    rows = np.arange(1200)
    ill = (rows % 2 + 2 * (rows // 2 % 2)).astype(str)
    people = pa.table({"place": rows, "ill": ill})
    spans = [
        [f"{n // 2 * 2}-{n // 2 * 2 + 1}" for n in rows],
        [f"{(n + 1) // 2 * 2 - 1}-{(n + 1) // 2 * 2}" for n in rows],
    ]
    one, other = (pa.table({"place": span, "ill": ill}) for span in spans)
    known = Held("people", people, ("place",), ("ill",))
    alone = assess(one, known)
    both = assess(one, replace(known, earlier=other))
    (composed,) = [each for each in both.tried if each.evidence.attack == "Composition"]
    assert (
        composed.evidence.success.share > 0.95
        and composed.word() == "high"
        and "sure of 600" in composed.note
    )
    assert alone.worst["inference"].evidence.success.share < 0.6
    assert "--earlier" in dict(alone.untried)["other releases"]


def test_an_attack_that_is_rarely_sure_is_held_against_guessing_and_not_against_silence():
    """Of strangers it is sure of nobody; to say nothing is no worse than a guess, and no gain over it."""

    def rare(table):
        town = table["town"].to_numpy(zero_copy_only=False)
        return table.set_column(3, "ill", pa.array(np.where(town == "town 0", "rare", "common")))

    people = rare(PEOPLE)
    release = people.set_column(
        0, "age", pa.array([f"{a // 30 * 30}-{a // 30 * 30 + 29}" for a in people["age"].to_pylist()])
    )
    found = assess(release, Held("people", people, ("age",), ("ill",), control=rare(OTHERS)))
    (sure,) = [each for each in found.tried if each.evidence.attack == "Homogeneity"]
    assert "sure of 0, 0 rightly" in sure.note
    assert sure.evidence.success.share == pytest.approx(sure.evidence.baseline, abs=0.02)
    assert sure.evidence.risk_interval[0] == 0 and not sure.evidence.succeeded


def test_a_guessed_number_is_right_as_often_as_the_best_number_for_everybody():
    """The guess was of the commonest exact number, though a claim that is near counts as right."""
    got = next(t for t in assess(FRESH, _held(sensitive=("income",))).tried if t.about == "income")
    income = PEOPLE["income"].to_numpy()
    best = max(np.mean(np.abs(income - c) <= 0.05 * c) for c in range(1000, 99_000, 100))
    assert got.evidence.baseline == pytest.approx(best, abs=0.02)


def test_texts_that_are_none_of_the_peoples_hide_nothing():
    """A blank before every town made all attacks miss, and a copy was told to have got through none."""
    blank = PEOPLE.set_column(1, "town", pa.array([f" {town}" for town in PEOPLE["town"].to_pylist()]))
    found = assess(blank, _held())
    assert found.verdict[0] == "Do not release" and found.worst["singling out"].word() == "high"
    assert found.unread == ("town",) and "what town tells" in dict(found.untried)
    fresh = FRESH.set_column(1, "town", pa.array([town.upper() for town in FRESH["town"].to_pylist()]))
    assert assess(fresh, _held()).verdict == (
        "Not shown",
        "the texts of town are none of the people's: nothing is shown about them",
    )
    with pytest.raises(BadSource, match="no text of the release is one of the people's, in town"):
        assess(blank.select(["town"]), _held())


def test_labels_of_a_ladder_sets_and_intervals_are_read():
    ladder = {"town": [[f"town {i}", "north" if i < 3 else "south"] for i in range(6)]}
    north = [ladder["town"][int(town[-1])][1] for town in PEOPLE["town"].to_pylist()]
    coarse = PEOPLE.set_column(1, "town", pa.array(north))
    assert assess(coarse, _held(ladders=ladder)).unread == ()
    assert assess(coarse, _held()).unread == ("town",)


def test_a_column_that_the_people_lack_is_said_to_be_untested():
    found = assess(FRESH.append_column("Age", FRESH["age"]), _held())
    assert dict(found.untried)["what Age tells"] == "the people have no such column"


def test_a_copy_with_a_little_noise_is_linked():
    noisy = PEOPLE.set_column(2, "income", pa.array(PEOPLE["income"].to_numpy() + 1))
    linked = [t for t in assess(noisy, _held(control=None)).tried if t.evidence.attack == "Linking"]
    assert "high" in [each.word() for each in linked]


@pytest.mark.parametrize("every", [50, 3])
def test_cells_suppressed_here_and_there_do_not_hide_a_noisy_copy(every):
    """One star made a table generalised, and of a generalised table only exact copies were found."""
    noisy = PEOPLE.set_column(2, "income", pa.array(PEOPLE["income"].to_numpy() + 1))
    ages = ["*" if n % every == 0 else str(age) for n, age in enumerate(PEOPLE["age"].to_pylist())]
    found = assess(noisy.set_column(0, "age", pa.array(ages)), _held(control=None))
    assert found.verdict[0] == "Do not release"
    assert {"Linking", "SinglingOut"} <= {each.evidence.attack for each in found.tried}


def test_what_could_not_be_inferred_is_said_to_be_untested():
    bands = pa.array([f"{n // 9000 * 9000}-{n // 9000 * 9000 + 8999}" for n in PEOPLE["income"].to_pylist()])
    coarse = assess(PEOPLE.set_column(2, "income", bands), _held(sensitive=("income",)))
    assert "intervals" in dict(coarse.untried)["inference of income"]
    wide = pa.table({f"c{i}": np.arange(40) % (i + 2) for i in range(9)})
    untried = dict(assess(wide, Held("wide", wide)).untried)
    assert "inference of c0, c1, c2" in untried


def test_risks_of_few_rows_among_many_people_are_said_to_be_shared_out(copy):
    """Someone who knows that a person is in it is not stopped by the many who are not."""
    what = "somebody who knows that a person is in it"
    assert what in dict(assess(PEOPLE.slice(0, 500), _held()).untried) and what not in dict(copy.untried)


@pytest.mark.parametrize("rows", [1, 2, 9, 11])
def test_very_few_rows_are_attacked_without_a_warning(rows, recwarn):
    few = PEOPLE.slice(0, rows)
    found = assess(few, Held("few", few, QUASI, SENSITIVE))
    assert found.verdict[0] != "No attack tried got through" and not recwarn.list


def test_shuffled_secrets_are_not_inferred():
    """Permuted truth falls to the baseline."""
    order = np.random.default_rng(9).permutation(PEOPLE.num_rows)
    shuffled = PEOPLE.set_column(3, "ill", PEOPLE["ill"].take(order))
    inference = assess(shuffled, _held()).worst["inference"].evidence
    assert not inference.succeeded


def test_a_control_of_the_very_people_is_refused():
    """Whatever was right of them was right of it, so a copy of everybody was of no risk."""
    half = pa.concat_tables([PEOPLE.slice(0, 1250), OTHERS.slice(0, 1250)])
    for control, count in ((PEOPLE, "2,500 of the 2,500"), (half, "1,288 of the 2,500")):
        with pytest.raises(BadSource, match=f"{count} rows of the control are rows of the people too"):
            assess(PEOPLE, _held(control=control))


def test_a_control_that_is_like_the_people_as_they_are_like_each_other_is_none_of_them():
    coarse = [table.select(["town", "ill"]) for table in (PEOPLE, OTHERS)]
    assess(coarse[0], Held("people", coarse[0], ("town",), SENSITIVE, control=coarse[1]))


def test_bad_input_is_refused_in_a_sentence():
    with pytest.raises(BadSource, match="shares no column"):
        assess(pa.table({"x": [1]}), _held())
    with pytest.raises(BadSource, match="release is empty"):
        assess(PEOPLE.slice(0, 0), _held())
    thousands = PEOPLE.set_column(2, "income", pa.array(PEOPLE["income"].to_numpy() / 1000))
    with pytest.raises(BadSource, match="income is in another unit, or is something else, in the release"):
        assess(thousands, _held())
    with pytest.raises(
        BadSource, match="age holds numbers in one table, and in another text that is neither"
    ):
        assess(PEOPLE.set_column(0, "age", pa.array(["old"] * PEOPLE.num_rows)), _held())
    with pytest.raises(BadParameter, match="between 0 and 1"):
        assess(PEOPLE, _held(), threshold=9.0)
    with pytest.raises(BadParameter, match="has no column salary"):
        Held("people", PEOPLE, ("salary",))
    with pytest.raises(BadSource, match="control has no column town"):
        Held("people", PEOPLE, control=OTHERS.drop_columns(["town"]))
