"""Classes grown around members: k-member clustering and microaggregation.  [BKBL07, Figure 3; DT05, section 3]

Both take time that grows with the square of the number of different rows; `search.py` gives them blocks of a table.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from obverse.anonymise.boxes import Lines, cost, cost_with, empty, stretch
from obverse.anonymise.codes import Ints
from obverse.anonymise.items import Items, allowed
from obverse.anonymise.mondrian import Wish
from obverse.anonymise.rules import Rules

Points = NDArray[np.float64]


@njit(cache=True)
def members(items: Items, line: Lines, rules: Rules, wish: Wish) -> tuple[Ints, int]:
    """k-member: from a row far from the last class, take in whatever costs least until the class is allowed.

    Rows for which no class is left have −1.
    """
    n, d = items.codes.shape
    label, classes, last = np.full(n, -1, np.int64), 0, 0
    box, chosen = np.zeros((2, 2 * d), np.int64), np.zeros(n, np.int64)
    hist, seen = np.zeros(rules.joint, np.int64), np.full(items.persons, -1, np.int64)
    while True:
        empty(line, box, 0)
        stretch(line, box, 0, items.codes, last)
        seed, far = -1, -1.0
        for i in range(n):
            if label[i] < 0:
                away = cost_with(line, box, 0, items.codes, i)
                if away > far:
                    seed, far = i, away
        if seed < 0:
            return label, classes
        empty(line, box, 0)
        stretch(line, box, 0, items.codes, seed)
        size, rows, next_one = 0, 0, seed
        while next_one >= 0:
            stretch(line, box, 0, items.codes, next_one)
            chosen[size] = next_one
            size += 1
            rows += items.rows[next_one]
            label[next_one] = classes
            if allowed(items, rules, chosen[:size], wish.least, hist, seen):
                break
            next_one, best, now = -1, np.inf, cost(line, box, 0)
            for i in range(n):
                if label[i] < 0:
                    extra = (rows + items.rows[i]) * cost_with(line, box, 0, items.codes, i) - rows * now
                    if extra < best:
                        next_one, best = i, extra
        if next_one < 0:
            label[chosen[:size]] = -1
            return label, classes
        last = seed
        classes += 1


@njit(cache=True)
def farthest(points: Points, label: Ints, origin: Points) -> int:
    """The free point farthest from another; −1 if none is free."""
    best, far = -1, -1.0
    for i in range(len(points)):
        if label[i] < 0:
            away = ((points[i] - origin) ** 2).sum()
            if away > far:
                best, far = i, away
    return best


@njit(cache=True)
def gather(
    items: Items, points: Points, rules: Rules, wish: Wish, label: Ints, origin: int, number: int
) -> bool:
    """Makes a class of the free points nearest to one; False, and nothing is done, if they are too few."""
    free = np.flatnonzero(label < 0)
    away = np.empty(len(free))
    for x in range(len(free)):
        away[x] = ((points[free[x]] - points[origin]) ** 2).sum()
    free = free[np.argsort(away, kind="mergesort")]
    hist, seen = np.zeros(rules.joint, np.int64), np.full(items.persons, -1, np.int64)
    people = 0
    for x in range(len(free)):
        people += items.people[free[x]]
        if people >= wish.least and allowed(items, rules, free[: x + 1], wish.least, hist, seen):
            label[free[: x + 1]] = number
            return True
    return False


@njit(cache=True)
def mdav(items: Items, points: Points, rules: Rules, wish: Wish) -> tuple[Ints, int]:
    """MDAV: a class around the point farthest from the centre, one around the point farthest from that, and so on."""
    label, classes = np.full(len(points), -1, np.int64), 0
    while True:
        free = label < 0
        if not free.any():
            return label, classes
        weight = items.rows[free].astype(np.float64)
        centre = np.zeros(points.shape[1])
        for j in range(points.shape[1]):
            centre[j] = (points[free, j] * weight).sum() / weight.sum()
        first = farthest(points, label, centre)
        if not gather(items, points, rules, wish, label, first, classes):
            return label, classes
        classes += 1
        second = farthest(points, label, points[first])
        if second >= 0 and gather(items, points, rules, wish, label, second, classes):
            classes += 1
