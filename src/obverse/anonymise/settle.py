"""Moves rows between classes, and dissolves classes, as long as the table loses less by it.

Classes that are near in the tree of cuts are near in the table, so only `reach` neighbours are tried. Every class
keeps every promise after every move.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from obverse.anonymise.boxes import Lines, boxes_of, cost, cost_with, empty, stretch
from obverse.anonymise.codes import Ints
from obverse.anonymise.items import Items, allowed
from obverse.anonymise.mondrian import Wish
from obverse.anonymise.rules import Rules

GAIN = 1e-9
SPARE = 4


class Room(NamedTuple):
    """The classes while rows move: members, boxes, costs, and (members, rows, people) of each."""

    member: NDArray[np.int64]
    box: NDArray[np.int64]
    cost: NDArray[np.float64]
    size: NDArray[np.int64]


@njit(cache=True)
def measure(items: Items, line: Lines, room: Room, c: int, without: int) -> None:
    """The box and cost of a class, one member left out."""
    empty(line, room.box, c)
    for t in range(room.size[c, 0]):
        if t != without:
            stretch(line, room.box, c, items.codes, room.member[c, t])
    room.cost[c] = cost(line, room.box, c)


@njit(cache=True)
def put(items: Items, line: Lines, room: Room, c: int, i: int) -> None:
    """Adds a member to a class."""
    room.member[c, room.size[c, 0]] = i
    room.size[c, 0] += 1
    room.size[c, 1] += items.rows[i]
    room.size[c, 2] += items.people[i]
    stretch(line, room.box, c, items.codes, i)
    room.cost[c] = cost(line, room.box, c)


@njit(cache=True)
def nearest(items: Items, line: Lines, room: Room, i: int, home: int, reach: int) -> tuple[int, float]:
    """The other class nearby that item i would cost least in, and that cost."""
    best, which, weight = np.inf, -1, items.rows[i]
    for c in range(max(0, home - reach), min(len(room.cost), home + reach + 1)):
        if c == home or room.size[c, 0] == 0 or room.size[c, 0] >= room.member.shape[1] - SPARE:
            continue
        if weight * room.cost[c] < best:
            more = cost_with(line, room.box, c, items.codes, i)
            extra = (room.size[c, 1] + weight) * more - room.size[c, 1] * room.cost[c]
            if extra < best:
                best, which = extra, c
    return which, best


@njit(cache=True)
def keeps(
    items: Items, rules: Rules, wish: Wish, room: Room, c: int, t: int, to: int, spare: tuple[Ints, Ints]
) -> bool:
    """Whether both classes keep every promise when the t-th member of c moves; it lies last in c afterwards."""
    last = room.size[c, 0] - 1
    room.member[c, t], room.member[c, last] = room.member[c, last], room.member[c, t]
    if items.persons == 0 and len(rules.kind) == 0:
        return True
    room.member[to, room.size[to, 0]] = room.member[c, last]
    left, grown = room.member[c, :last], room.member[to, : room.size[to, 0] + 1]
    fine = allowed(items, rules, left, wish.least, spare[0], spare[1])
    return fine and allowed(items, rules, grown, wish.least, spare[0], spare[1])


@njit(cache=True)
def move(
    items: Items,
    line: Lines,
    rules: Rules,
    wish: Wish,
    room: Room,
    c: int,
    reach: int,
    spare: tuple[Ints, Ints],
) -> None:
    """Moves each member of a class to a neighbour where the table loses less by it."""
    t = 0
    while t < room.size[c, 0]:
        i, old = room.member[c, t], room.cost[c]
        t += 1
        if room.size[c, 2] - items.people[i] < wish.least or room.size[c, 0] == 1 or old == 0:
            continue
        measure(items, line, room, c, t - 1)
        gain = room.size[c, 1] * old - (room.size[c, 1] - items.rows[i]) * room.cost[c] - GAIN
        to = -1
        if gain > 0:
            to, extra = nearest(items, line, room, i, c, reach)
            if extra >= gain or not keeps(items, rules, wish, room, c, t - 1, to, spare):
                to = -1
        if to < 0:
            measure(items, line, room, c, -1)
            continue
        room.size[c, 0] -= 1
        room.size[c, 1] -= items.rows[i]
        room.size[c, 2] -= items.people[i]
        put(items, line, room, to, i)
        t -= 1


@njit(cache=True)
def dissolve(items: Items, line: Lines, room: Room, c: int, reach: int) -> None:
    """Shares a class out among its neighbours where the table loses less by it; only where k is all that is asked."""
    size, budget, total = room.size[c, 0], room.size[c, 1] * room.cost[c] - GAIN, 0.0
    goal = np.full(size, -1, np.int64)
    for t in range(size):
        goal[t], extra = nearest(items, line, room, room.member[c, t], c, reach)
        total += extra
        if goal[t] < 0 or total >= budget or np.sum(goal == goal[t]) > SPARE:
            return
    for t in range(size):
        put(items, line, room, goal[t], room.member[c, t])
    room.size[c] = 0


@njit(cache=True)
def settle(
    items: Items, line: Lines, rules: Rules, wish: Wish, label: Ints, classes: int, effort: tuple[int, int]
) -> Ints:
    """The labels after `effort` = (reach, passes) of moving."""
    cap = 4 * wish.least + 40
    size = np.zeros((classes, 3), np.int64)
    room = Room(
        np.zeros((classes, cap), np.int64),
        boxes_of(line, items.codes, label, classes),
        np.zeros(classes),
        size,
    )
    for i in range(len(label)):
        c = label[i]
        if size[c, 0] < cap:
            room.member[c, size[c, 0]] = i
        size[c, 0] += 1
        size[c, 1] += items.rows[i]
        size[c, 2] += items.people[i]
    for c in range(classes):
        room.cost[c] = cost(line, room.box, c)
    spare = (np.zeros(rules.joint, np.int64), np.full(items.persons, -1, np.int64))
    plain = len(rules.kind) == 0 and items.persons == 0
    for _ in range(effort[1]):
        for c in range(classes):
            if 0 < size[c, 0] <= cap - SPARE and room.cost[c] > 0:
                move(items, line, rules, wish, room, c, effort[0], spare)
                if plain and room.cost[c] > 0:
                    dissolve(items, line, room, c, effort[0])
    moved = label.copy()
    for c in range(classes):
        if size[c, 0] <= cap:
            moved[room.member[c, : size[c, 0]]] = c
    return moved


@njit(cache=True)
def adopt(items: Items, line: Lines, rules: Rules, wish: Wish, label: Ints, classes: int) -> Ints:
    """Items that belong to no class (−1) join the class they cost least in, if it keeps every promise."""
    n, left = len(label), np.flatnonzero(label < 0)
    boxes = boxes_of(line, items.codes, label, classes)
    rows, costs, hist = np.zeros(classes), np.zeros(classes), np.zeros(rules.joint, np.int64)
    seen, found = np.full(items.persons, -1, np.int64), label.copy()
    for i in range(n):
        if label[i] >= 0:
            rows[label[i]] += items.rows[i]
    for c in range(classes):
        costs[c] = cost(line, boxes, c)
    for x in range(len(left)):
        i = int(left[x])
        best, to = np.inf, -1
        for c in range(classes):
            more = cost_with(line, boxes, c, items.codes, i)
            extra = (rows[c] + items.rows[i]) * more - rows[c] * costs[c]
            if extra < best:
                best, to = extra, c
        if to >= 0:
            found[i] = to
            if len(rules.kind) > 0 and not allowed(
                items, rules, np.flatnonzero(found == to), wish.least, hist, seen
            ):
                found[i] = -1
                continue
            stretch(line, boxes, to, items.codes, i)
            rows[to] += items.rows[i]
            costs[to] = cost(line, boxes, to)
    return found


@njit(cache=True)
def absorb(items: Items, line: Lines, rules: Rules, wish: Wish, label: Ints, classes: int) -> Ints:
    """Items that no class may take in by themselves are made one class with those that cost least, all their members.

    Classes that keep a promise keep it together, and the whole table keeps all: with enough classes they do.
    """
    rest, found = np.flatnonzero(label < 0), label.copy()
    if len(rest) == 0 or classes == 0:
        return found
    boxes, extra, weight = boxes_of(line, items.codes, label, classes), np.zeros(classes), 0.0
    rows = np.zeros(classes)
    for i in range(len(label)):
        if label[i] >= 0:
            rows[label[i]] += items.rows[i]
    for c in range(classes):
        extra[c] = -rows[c] * cost(line, boxes, c)
    for x in range(len(rest)):
        weight += items.rows[rest[x]]
        for c in range(classes):
            stretch(line, boxes, c, items.codes, int(rest[x]))
    for c in range(classes):
        extra[c] += (rows[c] + weight) * cost(line, boxes, c)
    order, joined, some = np.argsort(extra), np.zeros(classes, np.bool_), 1
    hist, seen = np.zeros(rules.joint, np.int64), np.full(items.persons, -1, np.int64)
    while True:
        joined[order[:some]] = True
        for i in range(len(label)):
            if label[i] >= 0 and joined[label[i]]:
                found[i] = order[0]
        found[rest] = order[0]
        if some >= classes or allowed(
            items, rules, np.flatnonzero(found == order[0]), wish.least, hist, seen
        ):
            return found
        some *= 2
