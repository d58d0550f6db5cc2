"""Local recoding: every class takes the cheapest labels of the ladders at which it is large enough.  [LDR05; XWPWSF06]

A region is one label of each column. Regions are opened in the order of what a row loses in them, over all nodes of the
lattice at once: two regions of one node differ in price, since a ladder joins few values here and many there. On Adult
this loses 2 to 3 % less than opening node after node.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numba import njit
from numpy.typing import NDArray

from obverse.anonymise.boxes import Lines
from obverse.anonymise.codes import Ints
from obverse.anonymise.items import Items
from obverse.anonymise.lattice import classes_at, good_classes
from obverse.anonymise.rules import Rules

Floats = NDArray[np.float64]
MOST_LISTED, MOST_TRIED = 2_000_000, 9_000
BANDS = 100


@njit(cache=True)
def priced(items: Items, line: Lines, node: Ints, alive: Ints, least: int, slot: Ints) -> tuple[Ints, Floats]:
    """The region of each item at one node, and what each region costs; ∞ where it has too few people."""
    here, count = classes_at(items.codes, line, node, alive, slot)
    people, price = np.zeros(count, np.int64), np.full(count, np.inf)
    for y in range(len(alive)):
        i, region = alive[y], here[y]
        if people[region] == 0:
            price[region] = 0.0
            for j in range(len(node)):
                price[region] += line.factor[j] * line.price[node[j], line.start[j] + items.codes[i, j]]
        people[region] += items.people[i]
    for region in range(count):
        if people[region] < least:
            price[region] = np.inf
    return here, price


@njit(cache=True)
def local(
    items: Items, line: Lines, rules: Rules, nodes: Ints, due: Floats, limits: Floats, least: int
) -> tuple[Ints, int]:
    """The class of each item, −1 where none is left, and how many classes there are.

    A node is looked at again only when its cheapest region that is large enough comes below the limit: regions only
    ever lose items.
    """
    n = len(items.codes)
    label, classes, alive, size = np.full(n, -1, np.int64), 0, np.arange(n), 1
    while size < 2 * n:
        size *= 2
    slot, next_time = np.full(size, -1, np.int64), due.copy()
    for limit in limits:
        for x in range(len(nodes)):
            if len(alive) == 0:
                return label, classes
            if next_time[x] >= limit:
                continue
            here, price = priced(items, line, nodes[x], alive, least, slot)
            ready, later = price < limit, np.inf
            for each in price:
                if each >= limit:
                    later = min(later, each)
            next_time[x] = later
            if not ready.any():
                continue
            some = ready[here]
            good = good_classes(items, rules, alive[some], here[some], len(price), least)
            number = np.cumsum(good) - 1 + classes
            for y in range(len(alive)):
                if good[here[y]]:
                    label[alive[y]] = number[here[y]]
            classes += good.sum()
            alive = alive[~good[here]]
    return label, classes


def cheapest_first(items: Items, line: Lines, heights: Sequence[int]) -> tuple[Ints, Floats, Floats]:
    """The nodes, the least that a region of each may cost, and the limits up to which regions are opened in turn.

    Of very many nodes every second, third … is left out, which on Adult loses a hundredth more; the first
    and the last, where every label is `*`, stay.
    """
    steps = _few([height + 1 for height in heights])
    shape = [len(each) for each in steps]
    mean, least = np.zeros(shape), np.zeros(shape)
    for j, each in enumerate(steps):
        price = line.factor[j] * np.array([line.price[s, line.start[j] + items.codes[:, j]] for s in each])
        along = [len(each) if i == j else 1 for i in range(len(steps))]
        mean = mean + (price @ items.rows).reshape(along)
        least = least + price.min(axis=1).reshape(along)
    order = np.argsort(mean, axis=None, kind="stable")
    order = np.append(order[:: -(-len(order) // MOST_TRIED)], order[-1])
    places = np.unravel_index(order, shape)
    nodes = np.array([np.array(s)[p] for s, p in zip(steps, places, strict=True)]).T
    limits = line.factor.sum() * (np.arange(1, BANDS + 1) / BANDS) ** 1.3  # narrow where most rows are
    limits[-1] = np.inf
    return np.ascontiguousarray(nodes), least.ravel()[order], limits


def _few(counts: Sequence[int]) -> list[list[int]]:
    """The steps of each ladder, fewer of the tallest ones where their combinations are too many to list."""
    steps = [list(range(count)) for count in counts]
    while np.prod([float(len(each)) for each in steps]) > MOST_LISTED:
        tallest = max(steps, key=len)
        del tallest[(len(tallest) - 1) // 2]
    return steps
