"""Local recoding opens the cheapest region of all, wherever in the lattice it lies."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import obverse
from obverse.anonymise.items import collect
from obverse.anonymise.measure import histograms
from obverse.anonymise.mondrian import Wish
from obverse.anonymise.regions import cheapest_first, local
from obverse.anonymise.search import boxed, prepare
from obverse.anonymise.settle import adopt

QUASI = ("age", "education", "marital-status", "native-country")
ADULT = Path(obverse.__file__).parent / "sample" / "adult.parquet"


def node_after_node(items, line, heights, least: int) -> np.ndarray:
    """The same greedy search with the nodes in the order of their mean price: what regions are compared with."""
    label, classes = np.full(len(items.rows), -1), 0
    steps = [range(height + 1) for height in heights]
    labels = [[line.up[s, line.start[j] + items.codes[:, j]] for s in each] for j, each in enumerate(steps)]
    mean = [
        [items.rows @ line.price[s, line.start[j] + items.codes[:, j]] for s in each]
        for j, each in enumerate(steps)
    ]
    for node in sorted(product(*steps), key=lambda node: sum(mean[j][s] for j, s in enumerate(node))):
        alive = np.flatnonzero(label < 0)
        seen = np.array([labels[j][s][alive] for j, s in enumerate(node)])
        which = np.unique(seen, axis=1, return_inverse=True)[1].reshape(-1)
        good = np.bincount(which, items.rows[alive])[which] >= least if len(alive) else alive.astype(bool)
        label[alive[good]] = classes + np.unique(which[good], return_inverse=True)[1]
        classes = int(label.max(initial=-1)) + 1
    return label


@pytest.mark.parametrize("k", [5, 50])
def test_regions_in_the_order_of_their_price_lose_less_than_nodes_in_the_order_of_theirs(k):
    """Adult, four columns; every class has k rows, and fewer than k rows are left for `adopt`."""
    table = pq.read_table(ADULT).drop_null()
    ready = prepare(table, QUASI, {}, {}, "hierarchy", [1.0] * len(QUASI))
    _, joint, rules = histograms(table, (), (), {}, False)
    items, item = collect(ready.codes, ready.domains, joint)
    heights = [ladder.height for ladder in ready.ladders if ladder]
    nodes, due, limits = cheapest_first(items, ready.line, heights)
    label, classes = local(items, ready.line, rules, nodes, due, limits, k)
    chosen = label >= 0
    assert items.rows[~chosen].sum() < k
    assert np.bincount(label[chosen], items.rows[chosen], minlength=classes).min() >= k
    lost = []
    for each in (label, node_after_node(items, ready.line, heights, k)):
        count = int(each.max()) + 1
        whole = adopt(items, ready.line, rules, Wish(k, 0.0), each, count)
        lost.append(boxed(ready, items, item, whole, count).loss)
    assert lost[0] < lost[1]
