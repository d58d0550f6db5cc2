"""Who was in: found out from a forest that remembers, not from a model that does not."""

import numpy as np
import pyarrow as pa
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from obverse.attack.anonymised import Minimality
from obverse.attack.base import Contest, Game, View, judge
from obverse.attack.marginals import Marginals
from obverse.attack.membership import Confidence, Membership, Nearness, dealt, matrix
from obverse.attack.sparse import Sparse
from obverse.errors import BadParameter
from obverse.noise.entropy import Keyed

RULES = ("loss", "gaussian", "relative", "conjugate", "quantile")


def _people(seed, rows):
    drawn = np.random.default_rng(seed)
    columns = {f"x{i}": drawn.normal(size=rows) for i in range(4)}
    odds = columns["x0"] + 1.5 * drawn.normal(size=rows)
    return pa.table(columns | {"ill": (odds > 0).astype(np.int64)})


MEMBERS, OTHERS, POPULATION = _people(0, 500), _people(1, 500), _people(2, 1000)


def forest(table, entropy):
    """Remembers: fully grown trees."""
    model = RandomForestClassifier(12, random_state=entropy.bits(31))
    return model.fit(matrix(table.drop_columns(["ill"])), table["ill"].to_numpy())


def stump(table, entropy):
    """Forgets: one question."""
    model = DecisionTreeClassifier(max_depth=1, random_state=entropy.bits(31))
    return model.fit(matrix(table.drop_columns(["ill"])), table["ill"].to_numpy())


def copier(table, entropy):
    """A synthesiser that hands out half of what it was given."""
    return table.slice(0, table.num_rows // 2)


def fresh(table, entropy):
    """A synthesiser that never looked."""
    return _people(entropy.bits(20), table.num_rows)


def _views(made):
    return [
        View({"release": made}, {"targets": people, "population": POPULATION}) for people in (MEMBERS, OTHERS)
    ]


def _contest(make, score, rule="conjugate", references=8):
    views = _views(make(MEMBERS, Keyed("target")))
    attack = Membership(make, score, rule, references)
    return Contest(attack, views[0], np.ones(MEMBERS.num_rows, bool), views[1])


PLANTED = {"Membership": lambda: _contest(forest, Confidence("ill"))}
PRIVATE = {"Membership": lambda: _contest(stump, Confidence("ill"))}


class Memory:
    """Surest of what it has seen before."""

    def __init__(self, rows):
        self.rows = rows

    def predict_proba(self, rows):
        near = np.array([np.abs(self.rows - row).sum(axis=1).min() for row in rows])
        return np.column_stack([1 / (2 + near), 1 / (2 + near)])


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule != "loss"])
def test_a_forest_that_remembers_is_found_out(rule):
    """TPR above FPR, beyond both intervals."""
    got = _contest(forest, Confidence("ill"), rule).evidence()
    assert got.succeeded and got.certified > 0


def test_the_score_alone_finds_members_where_no_stranger_ties_with_them():
    """[YGFJ18]; of a forest that is sure of strangers too, it says nothing, since a tie is no credit."""
    views = _views(Memory(matrix(MEMBERS.drop_columns(["ill"]))))
    attack = Membership(forest, Confidence("ill"), "loss")
    assert Contest(attack, views[0], np.ones(500, bool), views[1]).evidence().success.low > 0.9
    assert not _contest(forest, Confidence("ill"), "loss").evidence().succeeded


@pytest.mark.parametrize("rule", RULES)
def test_a_stump_keeps_its_members(rule):
    got = _contest(stump, Confidence("ill"), rule).evidence()
    assert not got.succeeded and got.certified == 0


class Constant:
    """Gives everybody the same chance."""

    def __init__(self, chance):
        self.chance = chance

    def predict_proba(self, rows):
        return np.full((len(rows), 2), self.chance)


@pytest.mark.parametrize("rule", RULES)
def test_a_model_that_says_the_same_of_everybody_names_no_more_than_one_in_a_hundred(rule):
    """Ties are no credit, even where rounding parts them; 3 % is five standard errors of 1,000 targets."""
    people = pa.concat_tables([MEMBERS, OTHERS])
    view = View({"release": Constant(0.7)}, {"targets": people, "population": OTHERS})
    claims = Membership(lambda *_: Constant(0.7), Confidence("ill"), rule, 6).run(view)
    assert claims.made.mean() <= 0.03


def test_any_synthesiser_can_be_attacked():
    assert _contest(copier, Nearness(), references=6).evidence().succeeded
    assert not _contest(fresh, Nearness(), references=6).evidence().succeeded


def test_members_by_independent_coins_are_told_no_better_than_the_ledger_allows():
    """Exactly half in would leak the answer; a coin each does not. A release that never looked has ε = 0."""
    mixed = pa.concat_tables([MEMBERS, OTHERS])
    coins = np.random.default_rng(5).random(mixed.num_rows) < 0.5
    made = stump(mixed.filter(pa.array(coins)), Keyed("target"))
    attack = Membership(stump, Confidence("ill"), "relative", 6)
    claims = attack.run(View({"release": made}, {"targets": mixed, "population": POPULATION}))
    ours, control = dealt(claims, coins)
    evidence = judge(attack, ours, np.ones(coins.sum(), bool), control, Game(ledger=1.0))
    assert evidence.certified <= 1.0


def test_an_order_of_labels_of_its_own_is_respected():
    table = pa.table({"x": [0.0, 1.0], "ill": [3, 7]})
    model = DecisionTreeClassifier().fit([[0.0], [1.0]], [3, 7])
    assert Confidence("ill", nearby=0)(model, table).tolist() == [[1.0, 1.0]]


def test_text_and_too_few_references_are_refused():
    with pytest.raises(BadParameter, match="encode job"):
        matrix(pa.table({"job": ["a"]}))
    with pytest.raises(BadParameter, match="at least 4"):
        _contest(stump, Confidence("ill"), "gaussian", 2).evidence()


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Membership(stump, Nearness(), "conjugal"),
        lambda: Sparse("ratings", "known", "likely"),
        lambda: Marginals("homeric"),
        lambda: Minimality(("age",), "ill", "flu", diversity=1),
    ],
)
def test_a_rule_that_is_none_is_refused_and_not_taken_for_another(wrong):
    with pytest.raises(BadParameter):
        wrong()
