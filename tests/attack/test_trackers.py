"""A limit on the size of groups stops nobody who pads; Obverse does not rest on one."""

import numpy as np
import pyarrow as pa
import pytest
from tests.attack.servers import Exact, People

from obverse.attack.base import Contest, Game, View, bound
from obverse.attack.differencing import number
from obverse.attack.trackers import Tracker
from obverse.errors import BadQuestion, BadSource

PEOPLE = 200
CROWD = People(PEOPLE)


class Limited(Exact):
    """Answers exactly, but refuses counts of fewer than ten people and of all but fewer than ten."""

    def ask(self, sql):
        answer = super().ask(sql)
        if not 10 <= answer.rows[0][0] <= PEOPLE - 10:
            raise BadQuestion("too few people, or too many")
        return answer


CONDITIONS = [f"id = {i} AND secret" for i in range(PEOPLE)]


def contest(account, **game):
    view = View(auxiliary={"targets": pa.table({"condition": CONDITIONS})}, account=account)
    return Contest(
        Tracker("people", "targets", "id < 100"), view, CROWD.coins(), game=Game(coins=True, **game)
    )


PLANTED = {"Tracker": lambda: contest(Limited(CROWD))}
PRIVATE = {"Tracker": lambda: contest(CROWD.account(), ledger=1.0)}


def test_a_tracker_is_right_about_all_200_whom_the_limit_protects():
    """[DDS79]: all 200 direct questions are refused; all 200 answers are got."""
    assert all(np.isnan(number(Limited(CROWD), f"SELECT COUNT(*) FROM people WHERE {c}")) for c in CONDITIONS)
    evidence = contest(Limited(CROWD)).evidence()
    assert (evidence.right, evidence.targets) == (200, 200)


def test_obverse_gives_no_more_away_than_its_epsilon():
    evidence = contest(CROWD.account(), ledger=1.0).evidence()
    assert evidence.claims and evidence.precision.low <= bound(1.0) and evidence.certified <= 1.0


def test_conditions_must_be_text():
    with pytest.raises(BadSource, match="as text"):
        Tracker("p", "t", "x").run(View(auxiliary={"t": pa.table({"condition": [1]})}, account=Exact(CROWD)))
