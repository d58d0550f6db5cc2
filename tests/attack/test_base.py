"""The judge credits what is right and nothing else."""

import json
from dataclasses import dataclass
from math import exp

import numpy as np
import pyarrow as pa
import pytest

from obverse.attack.base import Attack, Claims, Controls, Game, View, bound, hide, judge, shuffle, words
from obverse.errors import BadParameter, BadSource, Broken
from obverse.noise.entropy import Keyed


@dataclass(frozen=True)
class Says(Attack):
    """Claims what it is told to, so that the judge can be judged."""

    harm = "membership"
    threat = "Somebody who says so."

    def claim(self, view):
        return view.release("says")


def scored(scores, bar=0.5, values=True):
    scores = np.asarray(scores, dtype=float)
    return Claims(np.full(len(scores), values), scores, scores > bar)


def uniform(count, key):
    return words(count, Keyed(key)) / 2.0**64


def test_risk_is_what_the_release_adds_to_the_control():
    claims = Claims(np.array([1, 2, 3, 4]), np.ones(4), np.array([True, True, True, False]))
    control = Controls(Claims(np.array([1, 1, 1, 1]), np.zeros(4), np.ones(4, bool)), np.array([1, 2, 2, 2]))
    evidence = judge(Says(), claims, np.array([1, 2, 9, 4]), control)
    assert (evidence.targets, evidence.claims, evidence.right) == (4, 3, 2)
    assert evidence.risk == (0.5 - 0.25) / (1 - 0.25)
    assert evidence.baseline == 0.25


def test_the_baseline_is_the_commonest_truth_of_any_kind():
    truth = np.array([None, "a", "a", ("b", 1)], dtype=object)
    assert judge(Says(), scored(np.zeros(4)), truth).baseline == 0.5


def test_absent_targets_count_against_the_attack():
    inside, outside = scored(np.ones(100)), scored(np.repeat([0.0, 1.0], [75, 25]))
    evidence = judge(Says(), inside, np.full(100, True), Controls(outside))
    assert evidence.control.share == evidence.baseline == 0.25
    assert evidence.risk == 1


def test_a_tie_with_the_controls_is_no_credit():
    evidence = judge(Says(), scored(np.ones(1000)), np.full(1000, True), Controls(scored(np.ones(1000))))
    assert [rate.right for _, rate in evidence.at_false_positives] == [0, 0]
    assert evidence.certified == 0


def test_true_positives_are_counted_above_the_bar_of_the_controls():
    inside, outside = np.linspace(0, 1, 1000), np.linspace(0, 0.5, 1000)
    evidence = judge(Says(), scored(inside), np.full(1000, True), Controls(scored(outside)))
    (_, at_one), (_, at_tenth) = evidence.at_false_positives
    assert at_one.right == (inside > outside[-11]).sum()
    assert at_tenth.right == (inside > outside[-2]).sum()


def test_epsilon_from_below_never_exceeds_a_true_epsilon():
    """Randomised response with ε = 1, fifty times: a bound at 95 % may be wrong 2.5 times, and seven is 1 in 100."""
    wrong = 0
    for trial in range(50):
        told = uniform(4000, f"coins {trial}") < bound(1.0)
        inside, outside = scored(told[:2000]), scored(~told[2000:])
        evidence = judge(Says(), inside, np.full(2000, True), Controls(outside))
        wrong += evidence.certified > 1
        assert evidence.certified > 0.7
    assert wrong < 7


def test_epsilon_of_coins_is_the_odds_of_being_right():
    told = uniform(20_000, "bits") < bound(2.0)
    evidence = judge(Says(), scored(np.ones(20_000)), told, game=Game(coins=True))
    assert 1.85 < evidence.certified <= 2.0


def test_coins_prove_nothing_where_the_release_may_fail_with_delta():
    evidence = judge(
        Says(), scored(np.ones(99)), np.full(99, True), game=Game(coins=True, ledger=1.0, delta=1e-6)
    )
    assert evidence.certified == 0


def test_a_release_that_leaks_more_than_its_ledger_says_fails_loudly():
    inside, outside = scored(np.ones(500)), scored(np.zeros(500))
    with pytest.raises(Broken, match="ledger"):
        judge(Says(), inside, np.full(500, True), Controls(outside), Game(ledger=1.0))


def test_an_attack_that_fails_says_the_smallest_risk_it_could_have_seen():
    none = scored(np.zeros(400))
    evidence = judge(Says(), none, np.full(400, True), Controls(none))
    assert not evidence.succeeded
    assert evidence.risk == 0 < evidence.smallest < 0.03


def test_evidence_is_json_with_its_intervals():
    evidence = judge(
        Says(), scored(np.ones(9)), np.full(9, True), Controls(scored(np.zeros(9))), Game(seed="s")
    )
    read = json.loads(evidence.json())
    assert read["success"]["right"] == 9 and read["success"]["low"] == pytest.approx(0.6637, abs=1e-4)
    assert read["seed"] == "s" and read["versions"][0][0] == "obverse"


def test_groups_stand_beside_the_whole():
    rare = np.array([True, False, False])
    evidence = judge(Says(), scored([1, 1, 0]), np.full(3, True), game=Game(groups={"rare": rare}))
    assert evidence.groups[0][1].share == 1 and evidence.success.share == pytest.approx(2 / 3)


def test_hidden_tables_lose_their_ids_and_their_order():
    table = pa.table({"id": range(1000), "x": range(1000)})
    hidden, order = hide(table, ["id"], Keyed("order"))
    assert hidden.column_names == ["x"]
    assert hidden["x"].to_pylist() == order.tolist() != list(range(1000))
    assert sorted(shuffle(1000, Keyed("order"))) == list(range(1000))


@pytest.mark.parametrize(
    ("view", "text"),
    [
        (View(), "no table people; the view has nothing"),
        (View({"people": pa.table({"a": [1]})}), "people has no column zip; it has a"),
        (View({"people": pa.table({"zip": pa.array([], pa.string())})}), "people is empty"),
    ],
)
def test_a_view_without_what_the_attack_needs_is_refused(view, text):
    with pytest.raises((BadParameter, BadSource), match=text):
        view.table("people", ["zip"])


def test_an_attack_that_asks_needs_an_account():
    with pytest.raises(BadParameter, match="account"):
        View().door()


def test_the_bound_is_that_of_a_fair_coin_through_randomised_response():
    assert bound(0) == 0.5 and bound(1) == pytest.approx(exp(1) / (1 + exp(1)))
