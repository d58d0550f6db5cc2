"""A ladder for a column that was given none: numbers by their public range, categories by the rows.

Step by step the two sets of categories are joined whose joint label costs the rows least (`boxes.py` says what a label
costs) and whose rows look most alike on the other quasi-identifiers, by Jensen–Shannon divergence: rows that differ
in nothing but such a category can then be in one class. The rows decide, as they do for every other label of a
k-anonymous table; a table with an ε takes declared ladders alone (`safe.py`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from obverse.anonymise.codes import Domain
from obverse.data.hierarchy import TOP, Ladder, categories, many, numbers

LIKENESS = (
    0.1  # what two sets alike in everything still count; from 0.02 to 0.1 tried, with little difference
)
MOST_COMPARED = 200
BINS = 16
Floats = NDArray[np.float64]


def ladder_for(
    place: int, domains: Sequence[Domain], codes: Sequence[NDArray[np.int32]], fan: int = 2
) -> Ladder:
    """A ladder for one of the quasi-identifiers; each step leaves one set of categories where there were `fan`."""
    domain = domains[place]
    values = [domain.text(i) for i in range(len(domain.values))]
    if domain.numeric and not pa.types.is_temporal(domain.type):
        return numbers(domain.name, [float(x) for x in domain.at], domain.low, domain.high, domain.whole)
    weights = np.bincount(codes[place], minlength=domain.size)[: len(values)]
    if not 3 < len(values) <= MOST_COMPARED:
        return categories(domain.name, values, [int(weight) for weight in weights])
    contexts = [
        _context(domain, codes[place], other, seen)
        for i, (other, seen) in enumerate(zip(domains, codes, strict=True))
        if i != place
    ]
    return alike(domain.name, values, weights.astype(float), contexts, fan)


def _context(domain: Domain, codes: NDArray[np.int32], other: Domain, seen: NDArray[np.int32]) -> Floats:
    """How often each value stands beside each value of another column; numbers in a few runs."""
    size, places = other.size, seen.astype(np.int64)
    if size > BINS and (other.numeric or size > MOST_COMPARED):
        places, size = places * BINS // size, BINS
    counts = np.bincount(codes * size + places, minlength=domain.size * size)
    return counts.reshape(domain.size, size)[: len(domain.values)].astype(float)


def alike(
    column: str, values: Sequence[str], weights: Floats, contexts: Sequence[Floats], fan: int = 2
) -> Ladder:
    """Sets of values joined until a half as many are left on each step, or another fraction.

    >>> beside = np.array([[9.0, 0.0], [8.0, 0.0], [0.0, 9.0], [0.0, 8.0]])
    >>> alike("c", ["a", "b", "c", "d"], beside.sum(axis=1), [beside]).levels[1]
    ('{a, b}', '{a, b}', '{c, d}', '{c, d}')
    """
    joining = _Joining(weights, contexts)
    levels = [tuple(values)]
    while len(joining.sets) > 3:
        target = max(2, -(-len(joining.sets) // fan))
        while len(joining.sets) > target:
            joining.join()
        level = [""] * len(values)
        for members in joining.sets.values():
            for m in members:
                level[m] = many(values[v] for v in members)
        levels.append(tuple(level))
    return Ladder(column, (*levels, (TOP,) * len(values)))


class _Joining:
    """Sets of values, and what it costs to join each two of them."""

    def __init__(self, weights: Floats, contexts: Sequence[Floats]) -> None:
        self.sets: dict[int, tuple[int, ...]] = {i: (i,) for i in range(len(weights))}
        self.weights, self.contexts = weights.copy(), [context.copy() for context in contexts]
        self.price = np.full((len(weights), len(weights)), np.inf)
        for a in self.sets:
            self._price(a)

    def join(self) -> None:
        """Joins the two sets that cost least; the earlier ones where several do."""
        a, b = (int(x) for x in np.unravel_index(int(np.argmin(self.price)), self.price.shape))
        self.sets[a] = tuple(sorted(self.sets[a] + self.sets.pop(b)))
        self.weights[a] += self.weights[b]
        for context in self.contexts:
            context[a] += context[b]
        self.price[b], self.price[:, b] = np.inf, np.inf
        self._price(a)

    def _price(self, a: int) -> None:
        """What a set costs with every other: the dearer label for the rows of both, times how unlike they are."""
        others = np.array([b for b in self.sets if b != a], np.int64)
        if not len(others):
            return
        sizes = np.array([len(self.sets[int(b)]) for b in others])
        dearer = self.weights[a] * sizes + self.weights[others] * len(self.sets[a])
        unlike = [_divergence(context[a], context[others]) for context in self.contexts]
        price = dearer * (LIKENESS + (np.mean(unlike, axis=0) if unlike else 0.0))
        first, last = np.minimum(a, others), np.maximum(a, others)
        self.price[first, last] = price


def _divergence(one: Floats, others: Floats) -> Floats:
    """The Jensen–Shannon divergence of one distribution of counts from each of several."""
    p, q = one / max(1.0, one.sum()), others / np.maximum(1.0, others.sum(axis=1, keepdims=True))
    middle = (p + q) / 2
    left = np.where(p > 0, p * np.log(np.where(p > 0, p, 1.0) / np.where(middle > 0, middle, 1.0)), 0.0)
    right = np.where(q > 0, q * np.log(np.where(q > 0, q, 1.0) / np.where(middle > 0, middle, 1.0)), 0.0)
    found: Floats = (left + right).sum(axis=1) / 2
    return found
