"""Full-domain recoding: every column on one step of its ladder. The best of all nodes, proved.  [Sam01; LDR05; KPEK14]

The proof of optimality asks for no monotone model. Without suppression a node loses L(node), a sum over columns, and
suppression only adds to it: so a node with L at or above the best found cannot win. Where a model is monotone, what a
coarse node must suppress every finer node must suppress too, which raises the bound of all finer nodes at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from obverse.anonymise.boxes import Lines
from obverse.anonymise.codes import Ints
from obverse.anonymise.folded import alike, fold
from obverse.anonymise.items import Items, allowed
from obverse.anonymise.rules import Rules, set_overall

Node = tuple[int, ...]
LEAST_VIEWS, MOST_VIEWS, MOST_LABELS = 40, 400, 10_000_000


@dataclass(frozen=True)
class Optimum:
    """The best node, the class of each item (−1 where suppressed), what it loses, and how the proof went."""

    node: Node
    label: Ints
    loss: float
    nodes: int
    evaluated: int


@njit(cache=True)
def classes_at(
    codes: NDArray[np.int32], line: Lines, node: Ints, items: Ints, slot: Ints
) -> tuple[Ints, int]:
    """The class of each of some items when column j is on step node[j] of its ladder; `slot` is all −1.

    Two items are alike when their labels are: one number says so where all combinations fit into 62 bits.
    """
    size, d, classes = len(slot), codes.shape[1], 0
    label, first = np.empty(len(items), np.int64), np.empty(len(items), np.int64)
    used, keys = np.empty(len(items), np.int64), np.empty(len(items), np.int64)
    radix, fits = np.ones(d, np.int64), 1.0
    for j in range(d):
        end = line.start[j + 1] if j + 1 < d else line.up.shape[1]
        radix[j] = end - line.start[j]
        fits *= radix[j]
    exact = fits < 2.0**62
    for x in range(len(items)):
        i, key = items[x], np.int64(0)
        for j in range(d):
            key = key * radix[j] + line.up[node[j], line.start[j] + codes[i, j]]
        s = np.int64((np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(20)) & (size - 1)
        while slot[s] >= 0:
            same = keys[slot[s]] == key
            if same and not exact:
                r = first[slot[s]]
                for j in range(d):
                    at = line.start[j]
                    same = same and line.up[node[j], at + codes[i, j]] == line.up[node[j], at + codes[r, j]]
            if same:
                break
            s = (s + 1) & (size - 1)
        if slot[s] < 0:
            slot[s], first[classes], used[classes], keys[classes] = classes, i, s, key
            classes += 1
        label[x] = slot[s]
    for c in range(classes):
        slot[used[c]] = -1
    return label, classes


@njit(cache=True)
def by_class(label: Ints, classes: int) -> tuple[Ints, Ints]:
    """Places of the items, class after class, and where each class begins."""
    start = np.zeros(classes + 1, np.int64)
    for c in label:
        start[c + 1] += 1
    start = np.cumsum(start)
    at, order = start[:-1].copy(), np.empty(len(label), np.int64)
    for x in range(len(label)):
        order[at[label[x]]] = x
        at[label[x]] += 1
    return order, start


@njit(cache=True)
def good_classes(
    items: Items, rules: Rules, chosen: Ints, label: Ints, classes: int, least: int
) -> NDArray[np.bool_]:
    """Which classes keep every promise."""
    good = np.zeros(classes, np.bool_)
    if items.persons == 0 and len(rules.kind) == 0:
        people = np.zeros(classes, np.int64)
        for x in range(len(chosen)):
            people[label[x]] += items.people[chosen[x]]
        return people >= least
    hist, seen = np.zeros(rules.joint, np.int64), np.full(items.persons, -1, np.int64)
    order, start = by_class(label, classes)
    for c in range(classes):
        good[c] = allowed(items, rules, chosen[order[start[c] : start[c + 1]]], least, hist, seen)
    return good


@njit(cache=True)
def tally(items: Items, line: Lines, chosen: Ints, upto: Ints) -> NDArray[np.float64]:
    """What some rows lose on each column at each step below some."""
    d = items.codes.shape[1]
    found = np.zeros((d, len(line.price)))
    for i in chosen:
        for j in range(d):
            at = line.start[j] + items.codes[i, j]
            for step in range(upto[j]):
                found[j, step] += items.rows[i] * line.price[step, at]
    return found


@dataclass(frozen=True)
class View:
    """The items as one node sees them: one for each class stands for all, with the people of all."""

    items: Ints
    people: Ints
    label: NDArray[np.int32]


class Search:
    """A search for the node that loses least, with the proof: a lower bound for every node."""

    def __init__(self, items: Items, line: Lines, rules: Rules, heights: Sequence[int], least: int) -> None:
        self.items, self.line, self.rules, self.least = items, line, rules, least
        self.steps = [height + 1 for height in heights]
        count = len(items.rows)
        self.all, self.total = np.arange(count), float(items.rows.sum()) * len(heights)
        self.slot = np.full(1 << (2 * count).bit_length(), -1, np.int64)
        self.folded = fold(items.codes, line, self.steps)
        self.views: list[View] = []
        views = min(MOST_VIEWS, max(LEAST_VIEWS, MOST_LABELS // max(1, count)))
        self.nodes, self.sizes = np.zeros((views, len(heights)), np.int64), np.zeros(views, np.int64)
        self._keep(self.nodes[0], View(self.all, items.people, self.all.astype(np.int32)))
        self.plain = len(rules.kind) == 0 and items.persons == 0
        # Distinct diversity and k: a class that keeps them keeps them when it grows, whatever joins it.
        self.grows = bool((rules.kind == 0).all()) and bool((rules.contexts == 1).all())
        self.whole = tally(items, line, self.all, np.array(self.steps))
        self.bound = self.losses(self.whole, self.steps)
        self.rises = (np.diff(self.whole, axis=1) * line.factor[:, None] / self.total).tolist()

    def _keep(self, node: Ints, view: View) -> None:
        """Remembers what a node sees, for all coarser nodes to look at instead of the items."""
        self.nodes[len(self.views)], self.sizes[len(self.views)] = node, len(view.items)
        self.views.append(view)

    def losses(self, tallied: NDArray[np.float64], upto: Sequence[int]) -> NDArray[np.float64]:
        """Σ over columns of what each loses on its step, for every node below some steps at once."""
        bound = np.zeros(upto)
        for j, steps in enumerate(upto):
            shape = [1] * len(upto)
            shape[j] = steps
            bound = bound + tallied[j, :steps].reshape(shape) * (self.line.factor[j] / self.total)
        return bound

    def seen(self, node: Node) -> tuple[View, Ints, Ints]:
        """The smallest view of a finer node, the class of each of its items at this one, and the classes' people."""
        at = np.array(node, np.int64)
        below = np.flatnonzero((self.nodes[: len(self.views)] <= at).all(axis=1))
        view = self.views[int(below[np.argmin(self.sizes[below])])]
        fewer, classes = self.classes(node, view.items)
        people = np.bincount(fewer, view.people, minlength=classes).astype(np.int64)
        if 2 * classes < len(view.items) and len(self.views) < len(self.nodes):
            first = np.empty(classes, np.int64)
            first[fewer[::-1]] = view.items[::-1]
            self._keep(at, View(first, people, fewer.astype(np.int32)[view.label]))
        return view, fewer, people

    def suppressed(self, label: Ints, people: Ints) -> tuple[Ints, NDArray[np.bool_]]:
        """Each item's class at a node, and which items must go; classes are compared with the rows that stay."""
        if self.plain:
            return label, (people < self.least)[label]
        classes = len(people)
        away = np.zeros(len(label), np.bool_)
        while True:
            good = good_classes(self.items, self.rules, self.all, label, classes, self.least)
            worse = away | ~good[label]
            if len(self.rules.kind) == 0 or (worse == away).all() or worse.all():
                return label, worse
            away = worse
            self.compare_with(~away)

    def classes(self, node: Node, items: Ints) -> tuple[Ints, int]:
        """The class of each of some items at a node."""
        if self.folded is None:
            return classes_at(self.items.codes, self.line, np.array(node, np.int64), items, self.slot)
        return alike(self.folded.codes, self.folded.table, self.folded.at(node), items, self.slot)

    def compare_with(self, stay: NDArray[np.bool_]) -> None:
        """Takes the distribution of the rows that stay as the one to be close to."""
        entries = np.repeat(stay, np.diff(self.items.start))
        counts = np.bincount(self.items.joint, self.items.times * entries, minlength=self.rules.joint)
        set_overall(self.rules, counts)

    def best(self, limit: float) -> Optimum | None:
        """The node that loses least with at most this share of the rows suppressed; None if there is none."""
        best, least, evaluated = None, np.inf, 0
        most = limit * float(self.items.rows.sum()) + 1e-9
        bounds = self.bound.copy()
        while True:
            start = tuple(int(x) for x in np.unravel_index(int(np.argmin(bounds)), bounds.shape))
            if bounds[start] >= least - 1e-15:
                return None if best is None else Optimum(*best, least, bounds.size, evaluated)
            path = self.path(start, least)
            while path and bounds[start] < least - 1e-15:
                node, path = path[len(path) // 2], path[: len(path) // 2]
                if np.isinf(bounds[node]):
                    continue
                label, lost, gone = self.evaluate(node, bounds, limit == 0, most)
                evaluated += 1
                if gone <= most and lost < least:
                    best, least = (node, label), lost

    def evaluate(
        self, node: Node, bounds: NDArray[np.float64], none: bool, most: float
    ) -> tuple[Ints, float, float]:
        """A node's classes, loss and suppressed rows; and what they tell of all finer nodes.

        Where the models allow it, finer nodes suppress at least the same rows. Every model that looks at one class
        holds for a union of classes for which it holds, so without suppression what fails here fails below.
        """
        if len(self.rules.kind):
            self.compare_with(np.ones(len(self.all), np.bool_))
        view, fewer, people = self.seen(node)
        finer = tuple(slice(0, step + 1) for step in node)
        if self.plain and (gone := float(people[people < self.least].sum())) > most:
            bounds[finer] = np.inf
            return self.all, np.inf, gone
        label, away = self.suppressed(fewer[view.label], people)
        gone = float(self.items.rows @ away)
        if gone > most and (self.grows or none):
            bounds[finer] = np.inf
            return label, np.inf, gone
        some = 2 * np.count_nonzero(away) < len(away)
        part = tally(self.items, self.line, np.flatnonzero(away if some else ~away), np.array(node) + 1)
        stays, hidden = self.whole - part if some else part, gone * float(self.line.factor.sum()) / self.total
        if self.grows and gone:
            upto = [step + 1 for step in node]
            np.maximum(bounds[finer], self.losses(stays, upto) + hidden, out=bounds[finer])
        bounds[node] = np.inf
        lost = sum(float(stays[j, step]) * self.line.factor[j] for j, step in enumerate(node)) / self.total
        return np.where(away, -1, label), lost + hidden, gone

    def path(self, start: Node, least: float) -> list[Node]:
        """Coarser and coarser nodes from `start`, always by the cheapest step, while they could still win."""
        found, here, reached = [start], list(start), float(self.bound[start])
        while True:
            ways = [(self.rises[j][step], j) for j, step in enumerate(here) if step + 1 < self.steps[j]]
            if not ways or (reached := reached + min(ways)[0]) >= least:
                return found
            here[min(ways)[1]] += 1
            found.append(tuple(here))
