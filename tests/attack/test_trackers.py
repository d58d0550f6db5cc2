"""A limit on the size of groups stops nobody who pads; Obverse does not rest on one."""

import tempfile
from pathlib import Path
from types import SimpleNamespace

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import obverse
from obverse.attack.base import Contest, Game, View, bound, words
from obverse.attack.differencing import number
from obverse.attack.trackers import Tracker
from obverse.errors import BadQuestion, BadSource
from obverse.noise.entropy import Keyed

PEOPLE = 200
SETTINGS = """
[tables.people]
source = "people.csv"
[tables.people.columns]
id = { type = "integer", low = 0, high = 200 }
secret = { type = "boolean" }
[policy]
epsilon = 1
[accounts.adversary]
epsilon = 1
"""


def coins():
    """Everybody's secret: an independent fair coin each."""
    return words(PEOPLE, Keyed("secrets")) >> np.uint64(63) == 1


def people():
    return pa.table({"id": range(PEOPLE), "secret": coins()})


class Exact:
    """A server that answers exactly."""

    def __init__(self):
        self.database = duckdb.connect()
        self.database.register("people", people())

    def ask(self, sql):
        return SimpleNamespace(rows=self.database.execute(sql).fetchall())


def obverse_account():
    """The same people behind Obverse, with ε = 1 in all."""
    folder = Path(tempfile.mkdtemp())
    (folder / "people.toml").write_text(SETTINGS)
    rows = "".join(f"{i},{str(secret).lower()}\n" for i, secret in enumerate(coins()))
    (folder / "people.csv").write_text("id,secret\n" + rows)
    return obverse.open(folder / "people.toml").account("adversary")


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
    return Contest(Tracker("people", "targets", "id < 100"), view, coins(), game=Game(coins=True, **game))


PLANTED = {"Tracker": lambda: contest(Limited())}
PRIVATE = {"Tracker": lambda: contest(obverse_account(), ledger=1.0)}


def test_a_tracker_is_right_about_all_200_whom_the_limit_protects():
    """[DDS79]: all 200 direct questions are refused; all 200 answers are got."""
    assert all(np.isnan(number(Limited(), f"SELECT COUNT(*) FROM people WHERE {c}")) for c in CONDITIONS)
    evidence = contest(Limited()).evidence()
    assert (evidence.right, evidence.targets) == (200, 200)


def test_obverse_gives_no_more_away_than_its_epsilon():
    evidence = contest(obverse_account(), ledger=1.0).evidence()
    assert evidence.precision.low <= bound(1.0) and evidence.certified <= 1.0


def test_conditions_must_be_text():
    with pytest.raises(BadSource, match="as text"):
        Tracker("p", "t", "x").run(View(auxiliary={"t": pa.table({"condition": [1]})}, account=Exact()))
