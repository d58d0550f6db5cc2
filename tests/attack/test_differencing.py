"""A person who is in one count and not in the other is found out; through Obverse he is not."""

import pyarrow as pa
import pytest
from tests.attack.servers import Exact, People

from obverse.attack.base import Contest, Game, View, bound
from obverse.attack.differencing import Differencing
from obverse.errors import BadParameter, BadSource

PEOPLE = 120
CROWD = People(PEOPLE)


def questions():
    count = "SELECT COUNT(*) FROM people WHERE secret"
    return pa.table({"with": [count] * PEOPLE, "without": [f"{count} AND id <> {i}" for i in range(PEOPLE)]})


def contest(account, **game):
    view = View(auxiliary={"questions": questions()}, account=account)
    return Contest(Differencing("questions"), view, CROWD.coins(), game=Game(coins=True, **game))


PLANTED = {"Differencing": lambda: contest(Exact(CROWD))}
PRIVATE = {"Differencing": lambda: contest(CROWD.account(), ledger=1.0)}


def test_an_exact_server_gives_every_secret_away():
    evidence = contest(Exact(CROWD)).evidence()
    assert evidence.right == evidence.targets == PEOPLE


def test_obverse_gives_no_more_away_than_its_epsilon():
    """Right no more often than e^ε/(1 + e^ε) of the claims: most questions are refused for want of budget."""
    evidence = contest(CROWD.account(), ledger=1.0).evidence()
    assert 0 < evidence.claims < PEOPLE / 4
    assert evidence.precision.low <= bound(1.0) and evidence.certified <= 1.0


def test_freddie_is_found_by_the_month_he_left():
    """202 of 3,005 first-year students in March and 201 of 3,004 in April come from rich families.  [WAB+18]"""
    march = pa.table({"student": range(3005), "rich": [n < 202 for n in range(3005)]})
    server = Exact(CROWD)
    server.database.register("march", march)
    server.database.register("april", march.slice(1))
    count = "SELECT COUNT(*) FROM {} WHERE rich"
    asked = pa.table({"with": [count.format("march")], "without": [count.format("april")]})
    assert [server.ask(asked[when][0].as_py()).rows[0][0] for when in ("with", "without")] == [202, 201]
    claims = Differencing("q").run(View(auxiliary={"q": asked}, account=server))
    assert claims.values.tolist() == [True] and claims.made.all()


def test_a_salary_is_the_sum_before_a_move_less_the_sum_after():
    server = Exact(CROWD)
    server.database.execute(
        "CREATE TABLE before_move AS SELECT i AS id, 1000 + 17 * i AS salary FROM range(50) r(i)"
    )
    server.database.execute("CREATE TABLE after_move AS FROM before_move WHERE id <> 33")
    asked = pa.table(
        {"with": ["SELECT SUM(salary) FROM before_move"], "without": ["SELECT SUM(salary) FROM after_move"]}
    )
    claims = Differencing("q", numbers=True).run(View(auxiliary={"q": asked}, account=server))
    assert claims.values.tolist() == [1000 + 17 * 33]


def test_a_number_is_not_read_off_two_sums_through_obverse():
    """Each sum has noise of two thousand: that one of five differences is right has a chance below 1 in 300."""
    total = "SELECT SUM(id) FROM people"
    asked = pa.table({"with": [total] * 5, "without": [f"{total} WHERE id <> {i}" for i in range(100, 105)]})
    door = CROWD.account()
    claims = Differencing("q", numbers=True).run(View(auxiliary={"q": asked}, account=door))
    assert claims.made.any() and not (claims.values == range(100, 105))[claims.made].any()


def test_an_adversary_without_an_account_or_without_questions_is_refused():
    with pytest.raises(BadParameter, match="account"):
        Differencing("q").run(View(auxiliary={"q": questions()}))
    with pytest.raises(BadSource, match="no column without"):
        Differencing("q").run(View(auxiliary={"q": pa.table({"with": ["a"]})}, account=Exact(CROWD)))
    with pytest.raises(BadSource, match="two questions as text"):
        Differencing("q").run(
            View(auxiliary={"q": pa.table({"with": [1], "without": [2]})}, account=Exact(CROWD))
        )
