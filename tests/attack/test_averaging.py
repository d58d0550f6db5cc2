"""Noise that is drawn anew, or anew for other words, is averaged away; Obverse charges for every answer."""

from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from tests.attack.servers import Exact, People

from obverse.attack.averaging import Averaging, respelt
from obverse.attack.base import Contest, Game, View, bound, judge, words
from obverse.errors import BadParameter
from obverse.noise.entropy import Keyed

PEOPLE = 24
CROWD = People(PEOPLE)


class Noisy(Exact):
    """Adds Laplace noise of scale 2, and keeps each answer by its text: the same text gets the same answer."""

    def __init__(self):
        super().__init__(CROWD)
        self.kept, self.draws = {}, np.random.default_rng(7)

    def ask(self, sql):
        if sql not in self.kept:
            exact = super().ask(sql).rows[0][0]
            self.kept[sql] = SimpleNamespace(rows=[(exact + self.draws.laplace(0, 2),)])
        return self.kept[sql]


class Fresh:
    """Noise drawn anew for every question; what is asked is the exact answer."""

    def __init__(self):
        self.draws = np.random.default_rng(8)

    def ask(self, sql):
        return SimpleNamespace(rows=[(float(sql) + self.draws.laplace(0, 2),)])


def questions():
    count = "SELECT COUNT(*) FROM people WHERE secret"
    return pa.table({"with": [count] * PEOPLE, "without": [f"{count} AND id <> {i}" for i in range(PEOPLE)]})


def contest(account, attack=None, **game):
    view = View(auxiliary={"questions": questions()}, account=account)
    return Contest(attack or Averaging("questions", 150), view, CROWD.coins(), game=Game(coins=True, **game))


PLANTED = {"Averaging": lambda: contest(Noisy())}
PRIVATE = {"Averaging": lambda: contest(CROWD.account(), Averaging("questions", 2), ledger=1.0)}


def test_a_cache_by_text_is_no_protection_against_other_words():
    told = contest(Noisy()).evidence()
    assert told.success.share > 0.9
    repeated = contest(Noisy(), Averaging("questions", 150, respelt=False)).evidence()
    assert repeated.success.low < 0.7 < told.success.low


def test_the_median_needs_half_the_questions_of_the_mean():
    """Laplace noise, 1,500 targets: 60 for the median are worth 120 for the mean, and more than 60; both within 3 points."""
    bits = words(1500, Keyed("median")) >> np.uint64(63) == 1
    asked = pa.table({"with": [str(7.0 + bit) for bit in bits], "without": ["7.0"] * 1500})

    def share(times, by):
        attack = Averaging("q", times, by=by, respelt=False)
        claims = attack.run(View(auxiliary={"q": asked}, account=Fresh()))
        return judge(attack, claims, bits).success.share

    assert share(60, "median") == pytest.approx(share(120, "mean"), abs=0.03)
    assert share(60, "median") > share(60, "mean") + 0.03


def test_obverse_gives_no_more_away_than_its_epsilon():
    evidence = contest(CROWD.account(), Averaging("questions", 2), ledger=1.0).evidence()
    assert evidence.claims and evidence.precision.low <= bound(1.0) and evidence.certified <= 1.0


def test_a_budget_that_ends_has_answered_both_questions():
    """The group with the person used it up, so that nothing was claimed and nothing was shown."""
    assert contest(CROWD.account(), Averaging("questions", 50), ledger=1.0).evidence().claims == 1


def test_respellings_differ_in_text_and_not_in_meaning():
    sql = "SELECT COUNT(*) FROM people WHERE secret AND id <> 3"
    texts = [respelt(sql, n) for n in range(50)]
    assert len(set(texts)) == 50
    assert {Exact(CROWD).ask(text).rows[0] for text in texts} == {Exact(CROWD).ask(sql).rows[0]}


def test_bad_parameters_are_refused():
    with pytest.raises(BadParameter, match="once or more"):
        Averaging("q", 0)
    with pytest.raises(BadParameter, match="median or mean"):
        Averaging("q", 3, by="mode")
