"""Linkage where keys are misspelt, swapped or missing: the Fellegi–Sunter likelihood ratio.  [FS69; Win88]

Every pair of a row and a person that agrees on enough keys is weighed by how much likelier its agreements are
for one person than for two; a row's person is claimed where he outweighs all others *and* the chance that the
row's person is not on the list at all. Nothing is tuned on the truth: agreement by chance is read off random
pairs, agreement of true pairs is fitted by EM.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import combinations

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from obverse.attack.base import Attack, Claims, View
from obverse.attack.linkage import Key, join, persons
from obverse.errors import BadParameter

EQUAL, CLOSE, DIFFERENT, UNKNOWN = 2, 1, 0, 3
LEVELS = 3
PARTS = ("({0})", "left({0}, length({0}) * 2 // 3 + 1)", "right({0}, length({0}) // 2)")
BLOCK = 30
Ratios = NDArray[np.float64]


@dataclass(frozen=True)
class FuzzyLinkage(Attack):
    """Joins a release to a list of people although keys may be wrong; targets are the release's rows.

    A claim is made where the posterior of one person exceeds `sure`.
    """

    release: str
    people: str
    person: str
    keys: tuple[Key, ...]
    sure: float = 0.5

    harm = "linkability"

    def __post_init__(self) -> None:
        if not 0.5 <= self.sure < 1:
            raise BadParameter(f"a claim needs a posterior of at least 1/2 and below 1, not {self.sure}")
        if len(self.keys) < 2:
            raise BadParameter("a fuzzy linkage needs two keys or more: one may be wrong")

    @property
    def threat(self) -> str:
        known = ", ".join(key.column for key in self.keys)
        return f"Somebody with a list of people and their {known}, some of it wrong, looks for each row's person."

    def claim(self, view: View) -> Claims:
        database = join(self.release, self.people, self.person, self.keys, view)
        rows = _count(database, "released")
        all_pairs = rows * _count(database, "people")
        pairs = _candidates(database, len(self.keys))
        levels = np.stack([pairs[f"c{i}"].to_numpy() for i in range(len(self.keys))], axis=1)
        patterns, which, counts = np.unique(levels, axis=0, return_inverse=True, return_counts=True)
        ratios, matches = fit(patterns, counts, _by_chance(database, len(self.keys)), all_pairs)
        listed = min(matches / rows, 0.999)
        weights = ratios[which.reshape(-1)] * listed * rows / all_pairs
        return _claims(pairs["place"].to_numpy(), persons(pairs["person"]), weights, rows, listed, self.sure)


def fit(
    patterns: NDArray[np.int64], counts: NDArray[np.int64], chance: Chance, pairs: int
) -> tuple[Ratios, float]:
    """Likelihood ratios of the agreement patterns, and how many pairs are one person's; by EM.  [Win88]

    Pairs that were not looked at agree on too little to be one person's, and count as none.
    """
    keys = np.arange(patterns.shape[1])
    true, agreed = np.tile([0.02, 0.08, 0.9], (len(keys), 1)), np.zeros((len(keys), LEVELS))
    matches = max(1.0, 0.5 * counts[(patterns == EQUAL).all(axis=1)].sum())
    for _ in range(200):
        other = chance.of_two(agreed[:, EQUAL], pairs - matches)
        ratios = _likelihood(true, patterns) / _likelihood(other, patterns)
        odds = ratios * matches / max(pairs - matches, 1)
        weight = counts * odds / (1 + odds)
        matches = max(float(weight.sum()), 1e-9)
        agreed = np.array([[weight[patterns[:, k] == level].sum() for level in range(LEVELS)] for k in keys])
        true = (agreed + 1e-3) / (agreed.sum(axis=1, keepdims=True) + 3e-3)
    return ratios, matches


def _likelihood(levels: Ratios, patterns: NDArray[np.int64]) -> Ratios:
    """How likely each pattern is where keys agree independently; what is unknown says nothing."""
    padded = np.concatenate([levels, np.ones((len(levels), 1))], axis=1)
    return np.asarray(padded[np.arange(len(levels)), patterns].prod(axis=1), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Chance:
    """How keys agree between random pairs: how many pairs are equal, and the share of the others that is close."""

    equal: NDArray[np.int64]
    near: Ratios

    def of_two(self, matched: Ratios, pairs: float) -> Ratios:
        """The same among pairs of two people: without those equal pairs that are one person's."""
        equal = np.clip((self.equal - matched + 0.5) / (pairs + 1), 1e-12, 1 - 1e-12)
        return np.stack([(1 - equal) * (1 - self.near), (1 - equal) * self.near, equal], axis=1)


def _claims(
    places: NDArray[np.int64],
    people: NDArray[np.object_],
    weights: Ratios,
    rows: int,
    listed: float,
    sure: float,
) -> Claims:
    """Each row's likeliest person, against all others and against being absent."""
    total = np.bincount(places, weights, rows) + (1 - listed)
    order = np.lexsort((weights, places))
    last = order[np.append(places[order][1:] != places[order][:-1], True)] if len(order) else order
    values, posterior = np.full(rows, None, dtype=object), np.zeros(rows)
    values[places[last]] = people[last]
    posterior[places[last]] = weights[last] / total[places[last]]
    return Claims(values, posterior, posterior > sure)


def _candidates(database: duckdb.DuckDBPyConnection, keys: int) -> pa.Table:
    """Pairs worth a look, with how each key compares.

    A pair must agree on some keys, or their beginnings or ends, that few people share.
    """
    rules = " UNION ".join(
        f"SELECT place, person FROM released r JOIN people p ON {_agree(parts)}"
        for parts in _blocks(database, keys)
    )
    return database.sql(
        f"""SELECT place, person, {_compared(keys)} FROM ({rules})
            JOIN released r USING (place) JOIN people p USING (person)"""
    ).to_arrow_table()


def _blocks(database: duckdb.DuckDBPyConnection, keys: int) -> list[tuple[str, ...]]:
    """The smallest sets of parts of keys that leave a row no more than BLOCK people on average."""
    part = {(i, form): form.format(f"k{i}") for i in range(keys) for form in PARTS}
    chosen: list[frozenset[tuple[int, str]]] = []
    for size in range(1, keys + 1):
        for parts in map(frozenset, combinations(part, size)):
            distinct = len({i for i, _ in parts}) == size
            if distinct and not any(less <= parts for less in chosen):
                named = ", ".join(f"{part[one]} AS b{n}" for n, one in enumerate(sorted(parts)))
                if _pairs(database, named) <= BLOCK * _count(database, "released"):
                    chosen.append(parts)
    if not chosen:
        raise BadParameter("these keys are shared by too many people to tell anybody apart")
    return [tuple(part[one] for one in sorted(parts)) for parts in chosen]


def _pairs(database: duckdb.DuckDBPyConnection, named: str) -> int:
    sizes = f"SELECT *, count(*) AS {{}} FROM (SELECT {named} FROM {{}}) GROUP BY ALL"
    joined = f"({sizes.format('n', 'released')}) NATURAL JOIN ({sizes.format('m', 'people')})"
    return int(database.execute(f"SELECT coalesce(sum(n * m), 0) FROM {joined}").fetchall()[0][0])


def _agree(parts: tuple[str, ...]) -> str:
    sides = [(re.sub(r"\bk(?=\d)", "r.k", part), re.sub(r"\bk(?=\d)", "p.k", part)) for part in parts]
    return " AND ".join(f"{ours} = {theirs}" for ours, theirs in sides)


def _by_chance(database: duckdb.DuckDBPyConnection, keys: int) -> Chance:
    """Equal pairs are counted exactly, close ones among some pairs."""
    ours, theirs = (
        f"(FROM {table} ORDER BY hash({by}) LIMIT 700)"
        for table, by in (("released", "place"), ("people", "person"))
    )
    drawn = database.sql(f"SELECT {_compared(keys)} FROM {ours} r, {theirs} p").to_arrow_table()
    seen = np.array([np.bincount(drawn[f"c{i}"].to_numpy(), minlength=LEVELS + 1) for i in range(keys)])
    near = (seen[:, CLOSE] + 0.5) / (seen[:, CLOSE] + seen[:, DIFFERENT] + 1)
    return Chance(np.array([_pairs(database, f"k{i} AS b0") for i in range(keys)]), near)


def _compared(keys: int) -> str:
    """Equal; close (an edit or a swap for every four characters); different; unknown."""
    return ", ".join(
        f"""CASE WHEN r.k{i} IS NULL OR p.k{i} IS NULL THEN {UNKNOWN} WHEN r.k{i} = p.k{i} THEN {EQUAL}
            WHEN damerau_levenshtein(r.k{i}, p.k{i}) <= length(r.k{i}) // 4 THEN {CLOSE} ELSE {DIFFERENT} END AS c{i}"""
        for i in range(keys)
    )


def _count(database: duckdb.DuckDBPyConnection, table: str) -> int:
    return int(database.execute(f"SELECT count(*) FROM {table}").fetchall()[0][0])
