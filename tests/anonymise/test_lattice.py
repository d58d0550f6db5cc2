"""The full-domain optimum is the optimum: every node is tried again, in plain Python."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import product
from math import exp, log

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.anonymise.test_anonymise import QUASI, sample

from obverse.anonymise import folded
from obverse.anonymise.items import collect
from obverse.anonymise.lattice import Search, classes_at
from obverse.anonymise.measure import histograms
from obverse.anonymise.rules import Rule
from obverse.anonymise.search import prepare
from obverse.data.hierarchy import from_toml

LADDERS = {
    "a": from_toml("a", {str(i): [f"{i // 2}x", "0-3" if i < 4 else "4-5"] for i in range(6)}),
    "b": from_toml("b", {"p": ["pq"], "q": ["pq"], "r": ["r"]}),
}
MODELS = {
    "k": (),
    "distinct": (Rule("distinct", "s", 2),),
    "entropy": (Rule("entropy", "s", 1.7),),
    "t": (Rule("t", "s", 0.25),),
}


def good(name: str, counts: Counter, overall: Counter) -> bool:
    n, total = sum(counts.values()), sum(overall.values())
    if name == "distinct":
        return len(counts) >= 2
    if name == "entropy":
        return exp(-sum(c / n * log(c / n) for c in counts.values())) >= 1.7 - 1e-9
    if name == "t":
        return sum(abs(counts[v] / n - overall[v] / total) for v in overall | counts) / 2 <= 0.25 + 1e-9
    return True


def plain_loss(rows, name: str, k: int, share: float, node) -> float:
    """A node's loss from the definitions; infinite where it suppresses too much."""
    seen = {c: {r[j] for r in rows} for j, c in enumerate("ab")}
    maps = []
    for column, step in zip("ab", node, strict=True):
        ladder = LADDERS[column]
        maps.append(dict(zip(ladder.levels[0], ladder.levels[step], strict=True)))
    label = [(maps[0][r[0]], maps[1][r[1]]) for r in rows]
    kept = set(range(len(rows)))
    while True:
        classes, overall = defaultdict(list), Counter(rows[i][2] for i in kept)
        for i in range(len(rows)):
            classes[label[i]].append(i)
        bad = {
            i
            for members in classes.values()
            if len(members) < k or not good(name, Counter(rows[i][2] for i in members), overall)
            for i in members
        }
        if not bad & kept or name not in MODELS or not MODELS[name]:
            kept -= bad
            break
        kept -= bad
        if not kept:
            break
    if len(rows) - len(kept) > share * len(rows) + 1e-9:
        return float("inf")
    lost = 0.0
    for i, names in enumerate(label):
        for j, column in enumerate("ab"):
            under = sum(maps[j][value] == names[j] for value in seen[column])
            lost += 1 if i not in kept else (under - 1) / max(1, len(seen[column]) - 1)
    return lost / 2 / len(rows)


@pytest.mark.parametrize("name", MODELS)
@given(
    rows=st.lists(
        st.tuples(st.sampled_from("012345"), st.sampled_from("pqr"), st.sampled_from("xyz")),
        min_size=6,
        max_size=40,
    ),
    k=st.integers(1, 4),
    share=st.sampled_from([0.0, 0.2, 1.0]),
)
@settings(max_examples=30, deadline=None)
def test_no_node_is_better(name, rows, k, share):
    """The least loss of all nodes, to 1e-9; None exactly where no node keeps the promise."""
    table = pa.table({c: [r[j] for r in rows] for j, c in enumerate("abs")})
    ready = prepare(table, ["a", "b"], {}, LADDERS, "hierarchy", [1.0, 1.0])
    _, joint, rules = histograms(table, MODELS[name], ["s"] if MODELS[name] else [], {}, False)
    items, _ = collect(ready.codes, ready.domains, joint)
    best = Search(items, ready.line, rules, [x.height for x in ready.ladders if x], k).best(share)
    nodes = product(*(range(LADDERS[c].height + 1) for c in "ab"))
    least = min(plain_loss(rows, name, k, share, node) for node in nodes)
    assert (best is None and least == float("inf")) or abs(best.loss - least) < 1e-9


def test_distances_are_between_rows_that_stay():
    """P is of the kept rows: the search leaves the rules as it found the best."""
    table = pa.table({"a": ["0"] * 4 + ["5"], "b": ["p"] * 5, "s": ["x", "y", "x", "y", "z"]})
    ready = prepare(table, ["a", "b"], {}, LADDERS, "hierarchy", [1.0, 1.0])
    _, joint, rules = histograms(table, MODELS["t"], ["s"], {}, False)
    items, _ = collect(ready.codes, ready.domains, joint)
    best = Search(items, ready.line, rules, [x.height for x in ready.ladders if x], 2).best(0.5)
    assert best is not None and np.count_nonzero(best.label < 0) <= 1


@pytest.mark.parametrize("entries", [1, 50, 1_000_000])
def test_folded_columns_tell_the_same_rows_apart(entries, monkeypatch):
    """Whether columns are joined or not, and where they are too many to be, two rows are alike when their labels are."""
    monkeypatch.setattr(folded, "MOST_ENTRIES", entries)
    table = sample(200)
    ready = prepare(table, QUASI, {}, {}, "hierarchy", [1.0] * 3)
    steps = [ladder.height + 1 for ladder in ready.ladders if ladder]
    items, _ = collect(ready.codes, ready.domains, np.zeros(len(table), np.int64))
    found = folded.fold(items.codes, ready.line, steps)
    assert found is not None and sorted(c for columns in found.columns for c in columns) == [0, 1, 2]
    assert entries == 50 or len(found.columns) == (3 if entries == 1 else 1)
    everybody, slot = np.arange(len(items.rows)), np.full(1024, -1, np.int64)
    for node in product(*map(range, steps)):
        ours = folded.alike(found.codes, found.table, found.at(node), everybody, slot)
        theirs = classes_at(items.codes, ready.line, np.array(node), everybody, slot)
        assert ours[1] == theirs[1] and (ours[0] == theirs[0]).all()
