"""Averages of a thousand columns name their members; averages with enough noise do not."""

import numpy as np
import pyarrow as pa
import pytest

from obverse.attack.base import Contest, View
from obverse.attack.marginals import Marginals, marginals
from obverse.errors import BadSource

DRAWN = np.random.default_rng(3)
SHARES = DRAWN.uniform(0.1, 0.9, 600)


def _people(rows):
    has = DRAWN.random((rows, len(SHARES))) < SHARES
    return pa.table({f"snp{i}": has[:, i] for i in range(len(SHARES))})


POOL, OTHERS, POPULATION = _people(60), _people(400), _people(600)


def _contest(release, rule="ratio"):
    views = [View({"release": release}, {"targets": who, "population": POPULATION}) for who in (POOL, OTHERS)]
    return Contest(Marginals(rule), views[0], np.ones(POOL.num_rows, bool), views[1])


def _noisy():
    exact = marginals(POOL)
    noise = DRAWN.laplace(scale=600 / 60, size=exact.num_rows)  # ε = 1 for a person, over all 600 columns
    return exact.set_column(2, "share", pa.array(exact["share"].to_numpy() + noise))


PLANTED = {"Marginals": lambda: _contest(marginals(POOL))}
PRIVATE = {"Marginals": lambda: _contest(_noisy())}


@pytest.mark.parametrize("rule", ["homer", "ratio"])
def test_members_of_exact_averages_are_told(rule):
    got = _contest(marginals(POOL), rule).evidence()
    assert got.success.low > 0.5 and got.control.high < 0.06


def test_the_likelihood_ratio_is_the_stronger():
    """[SOJH09]: no test beats it where columns are independent."""
    power = {rule: _contest(marginals(POOL), rule).evidence().success.share for rule in ("homer", "ratio")}
    assert power["ratio"] >= power["homer"] - 0.05


def test_a_table_without_shares_is_refused():
    with pytest.raises(BadSource, match="no column value, share"):
        Marginals().run(View({"release": pa.table({"column": ["a"]})}, {}))
    broken = pa.table({"column": ["snp0"], "value": ["true"], "share": [float("nan")]})
    with pytest.raises(BadSource, match="none may be missing"):
        _contest(broken).evidence()
