"""Mondrian: cut the table where it loses least, again and again, while both sides keep every promise.  [LDR06a; LDR06b]

Each cut is the best over all columns and all places: numbers and dates between any two neighbours (up to 128 places
a cut), categories in the order of their frequency or one against the rest, ladders one subtree against the rest.
Strict: equal rows stay together; relaxed: they may part. `settle` (in settle.py) then moves rows between classes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from obverse.anonymise.boxes import FAR, SET, TREE, Lines, cost
from obverse.anonymise.codes import Ints
from obverse.anonymise.items import Items, allowed
from obverse.anonymise.rules import Rules

BINS = 128
Bins = NDArray[np.int64]  # a line a bin: its box, two words a column; then rows, people, and target counts


class Wish(NamedTuple):
    """How many people a class needs, and how much cuts care for the target column."""

    least: int
    target: float


class Cuts(NamedTuple):
    """Possible cuts: what each costs, and which bins of which column lie inside: (column, from, to)."""

    cost: NDArray[np.float64]
    place: Bins


@njit(cache=True)
def clear(kind: Ints, bins: Bins, b: int) -> None:
    """An empty bin."""
    for x in range(bins.shape[1]):
        bins[b, x] = 0
    for j in range(len(kind)):
        if kind[j] != SET:
            bins[b, 2 * j], bins[b, 2 * j + 1] = FAR, -1


@njit(cache=True)
def join(kind: Ints, into: Bins, i: int, a: Bins, x: int, b: Bins, y: int) -> None:
    """into[i] = a[x] ∪ b[y]"""
    for j in range(len(kind)):
        if kind[j] == SET:
            into[i, 2 * j] = a[x, 2 * j] | b[y, 2 * j]
        else:
            into[i, 2 * j] = min(a[x, 2 * j], b[y, 2 * j])
            into[i, 2 * j + 1] = max(a[x, 2 * j + 1], b[y, 2 * j + 1])
    for c in range(2 * len(kind), into.shape[1]):
        into[i, c] = a[x, c] + b[y, c]


@njit(cache=True)
def worth(line: Lines, bins: Bins, b: int, care: float) -> float:
    """What a class loses: its labels, and how mixed its target is (Gini), for every row."""
    d = len(line.kind)
    rows, lost = bins[b, 2 * d], cost(line, bins, b)
    if care > 0:
        pure = 0.0
        for t in range(2 * d + 2, bins.shape[1]):
            pure += (bins[b, t] / rows) ** 2
        lost += care * (1 - pure)
    return float(lost * rows)


@njit(cache=True)
def span_of(line: Lines, j: int, whole: Bins) -> tuple[int, int]:
    """The lowest and highest code of a class on one column."""
    if line.kind[j] != SET:
        return whole[0, 2 * j], whole[0, 2 * j + 1]
    mask, low, high = whole[0, 2 * j], 0, 62
    while not mask >> low & 1:
        low += 1
    while not mask >> high & 1:
        high -= 1
    return low, high


@njit(cache=True)
def bin_of(code: int, low: int, high: int) -> int:
    """The bin of a code, when low … high fall into at most BINS bins."""
    span = high - low + 1
    return code - low if span <= BINS else (code - low) * BINS // span


@njit(cache=True)
def put(items: Items, kind: Ints, members: Ints, column: int, span: tuple[int, int], bins: Bins) -> None:
    """Adds each member to its bin of a column, or all to the first bin where the column is −1."""
    codes, rows, people, target, d = items.codes, items.rows, items.people, items.target, len(kind)
    for i in members:
        b = bin_of(codes[i, column], span[0], span[1]) if column >= 0 else 0
        for j in range(d):
            v = np.int64(codes[i, j])
            if kind[j] == SET:
                bins[b, 2 * j] |= 1 << v
            else:
                bins[b, 2 * j] = min(bins[b, 2 * j], v)
                bins[b, 2 * j + 1] = max(bins[b, 2 * j + 1], v)
        bins[b, 2 * d] += rows[i]
        bins[b, 2 * d + 1] += people[i]
        for t in range(target.shape[1]):
            bins[b, 2 * d + 2 + t] += target[i, t]


@njit(cache=True)
def fill(items: Items, line: Lines, members: Ints, j: int, span: tuple[int, int], bins: Bins) -> Ints:
    """Sorts members into the bins of a column; gives those that hold something, categories by falling weight."""
    count, d = min(span[1] - span[0] + 1, BINS), len(line.kind)
    for b in range(count):
        clear(line.kind, bins, b)
    put(items, line.kind, members, j, span, bins)
    order, p = np.empty(count, np.int64), 0
    for b in range(count):
        if bins[b, 2 * d] > 0:
            order[p] = b
            p += 1
    order = order[:p]
    if line.kind[j] == SET:
        for x in range(1, p):
            b, y = order[x], x
            while y > 0 and bins[order[y - 1], 2 * d] < bins[b, 2 * d]:
                order[y] = order[y - 1]
                y -= 1
            order[y] = b
    return order


@njit(cache=True)
def propose(
    items: Items,
    line: Lines,
    wish: Wish,
    members: Ints,
    whole: Bins,
    room: tuple[Bins, Bins, Bins, Bins],
    cuts: Cuts,
) -> int:
    """All cuts of a class that leave enough people on both sides, with what they cost; how many there are."""
    bins, before, after, pair = room
    found, people = 0, 2 * len(line.kind) + 1
    for j in range(len(line.kind)):
        span = span_of(line, j, whole)
        if span[0] == span[1]:
            continue
        order = fill(items, line, members, j, span, bins)
        p = len(order)
        clear(line.kind, before, 0)
        clear(line.kind, after, p)
        for t in range(p):
            join(line.kind, before, t + 1, before, t, bins, order[t])
        for t in range(p - 1, -1, -1):
            join(line.kind, after, t, after, t + 1, bins, order[t])
        for t in range(1, p):
            if before[t, people] >= wish.least and after[t, people] >= wish.least:
                cuts.cost[found] = worth(line, before, t, wish.target) + worth(line, after, t, wish.target)
                cuts.place[found, 0], cuts.place[found, 1], cuts.place[found, 2] = j, 0, t
                found += 1
        for step in range(subtrees(line, j)):
            a = 0
            while a < p:
                b = a + 1
                while b < p and together(line, j, step, span, order[a], order[b]):
                    b += 1
                inside = before[b, people] - before[a, people]
                if a > 0 and inside >= wish.least and whole[0, people] - inside >= wish.least:
                    clear(line.kind, pair, 0)
                    for t in range(a, b):
                        join(line.kind, pair, 0, pair, 0, bins, order[t])
                    join(line.kind, pair, 1, before, a, after, b)
                    cuts.cost[found] = worth(line, pair, 0, wish.target) + worth(line, pair, 1, wish.target)
                    cuts.place[found, 0], cuts.place[found, 1], cuts.place[found, 2] = j, a, b
                    found += 1
                a = b
    return found


@njit(cache=True)
def subtrees(line: Lines, j: int) -> int:
    """How many sizes of subtree may be cut out of a column: single values of a set, every step of a ladder."""
    if line.kind[j] == SET:
        return 1
    return len(line.up) - 1 if line.kind[j] == TREE else 0


@njit(cache=True)
def together(line: Lines, j: int, step: int, span: tuple[int, int], a: int, b: int) -> bool:
    """Whether two bins lie in one subtree."""
    if line.kind[j] == SET or span[1] - span[0] >= BINS:
        return False
    at = line.start[j] + span[0]
    return bool(line.up[step, at + a] == line.up[step, at + b])


@njit(cache=True)
def part(items: Items, line: Lines, members: Ints, place: Ints, whole: Bins, bins: Bins) -> int:
    """Sorts the members so that the inside of a cut comes first; gives its length."""
    j = place[0]
    span = span_of(line, j, whole)
    order = fill(items, line, members, j, span, bins)
    chosen = np.zeros(BINS, np.bool_)
    for t in range(place[1], place[2]):
        chosen[order[t]] = True
    inside = np.empty(len(members), np.bool_)
    for x in range(len(members)):
        inside[x] = chosen[bin_of(items.codes[members[x], j], span[0], span[1])]
    kept, moved = members[inside], members[~inside]
    members[: len(kept)] = kept
    members[len(kept) :] = moved
    return len(kept)


@njit(cache=True)
def mondrian(items: Items, line: Lines, rules: Rules, wish: Wish) -> tuple[Ints, int]:
    """The class of each item, and how many classes there are. The whole table must be allowed as one class."""
    n, d = items.codes.shape
    wide, most = 2 * d + 2 + items.target.shape[1], d * BINS * (1 + len(line.up))
    bins, before = np.zeros((BINS + 1, wide), np.int64), np.zeros((BINS + 1, wide), np.int64)
    room = (bins, before, np.zeros((BINS + 1, wide), np.int64), np.zeros((2, wide), np.int64))
    cuts, whole = Cuts(np.zeros(most), np.zeros((most, 3), np.int64)), np.zeros((1, wide), np.int64)
    members, label, hist = np.arange(n), np.zeros(n, np.int64), np.zeros(rules.joint, np.int64)
    seen, waiting, classes = np.full(items.persons, -1, np.int64), [(0, n)], 0
    while len(waiting) > 0:
        a, b = waiting.pop()
        here, left = members[a:b], 0
        clear(line.kind, whole, 0)
        put(items, line.kind, here, -1, (0, 0), whole)
        if whole[0, 2 * d + 1] >= 2 * wish.least:
            found = propose(items, line, wish, here, whole, room, cuts)
            while found > 0 and left == 0:
                best = np.argmin(cuts.cost[:found])
                if cuts.cost[best] == np.inf:
                    break
                cuts.cost[best] = np.inf
                left = part(items, line, here, cuts.place[best], whole, bins)
                for half in (here[:left], here[left:]):
                    if left > 0 and not allowed(items, rules, half, wish.least, hist, seen):
                        left = 0
        if left == 0:
            label[here] = classes
            classes += 1
        else:
            waiting.append((a, a + left))
            waiting.append((a + left, b))
    return label, classes
