"""A model may give a column away, and usually tells no more of it than strangers do."""

import numpy as np
import pyarrow as pa
from sklearn.tree import DecisionTreeClassifier

from obverse.attack.base import Contest, Game, Rate, View, judge
from obverse.attack.inversion import Inversion, imputed
from obverse.attack.membership import matrix

DRAWN = np.random.default_rng(11)


def _people(rows, follows):
    """`dose` follows `gene` where the world is so; `age` is anything."""
    gene, age = DRAWN.integers(0, 2, rows), DRAWN.normal(size=rows)
    dose = np.where(DRAWN.random(rows) < follows, gene, DRAWN.integers(0, 2, rows))
    return pa.table({"age": age, "gene": gene, "dose": dose})


def _contest(follows, depth=None):
    people, others, strangers = (_people(400, follows) for _ in range(3))
    model = DecisionTreeClassifier(max_depth=depth).fit(
        matrix(people.drop_columns(["dose"])), people["dose"].to_numpy()
    )
    views = [
        View({"release": model}, {"targets": who.drop_columns(["gene"]), "population": strangers})
        for who in (people, others)
    ]
    attack = Inversion("dose", "gene")
    return Contest(
        attack, views[0], people["gene"].to_numpy(), views[1], others["gene"].to_numpy()
    ), strangers


PLANTED = {"Inversion": lambda: _contest(0.6)[0]}
PRIVATE = {"Inversion": lambda: _contest(0.0, depth=1)[0]}


def test_where_strangers_tell_as_much_the_model_tells_nothing_new():
    """The imputation baseline, which inversion usually loses to, is reported as the guess."""
    contest, strangers = _contest(0.9)
    claims = contest.attack.run(contest.view)
    guess = imputed(strangers, contest.view.table("targets"), "gene")
    share = Rate(int((guess.values == contest.truth).sum()), len(contest.truth)).share
    evidence = judge(contest.attack, claims, contest.truth, game=Game(baseline=share))
    assert share > 0.8 and not evidence.succeeded


def test_one_value_can_be_no_tie():
    table = pa.table({"age": [1.0, 2.0], "gene": [1, 1], "dose": [0, 1]})
    assert imputed(table, table.drop_columns(["gene"]), "gene").values.tolist() == [1, 1]
