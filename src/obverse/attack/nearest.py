"""The nearest records of a mixed table: a tree of boxes, searched by branch and bound.  [Gow71; FBF77]

Each column differs by min(1, |a − b|): numbers are scaled to their range, categories are whole-number codes,
so one formula serves both, and a record's distance is the sum [Gow71]. A released cell may be an interval
("30-39", "*"): its distance is to the nearest value it allows, so distance 0 means "could be this person".
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numba import njit
from numpy.typing import NDArray

Reals: TypeAlias = NDArray[np.float32]
Indices: TypeAlias = NDArray[np.int64]

LEAF = 24
SAMPLE = 64
CHUNK = 2048
OUTSIDE, ACROSS, INSIDE = 0, 1, 2


@dataclass(frozen=True)
class Boxes:
    """Records as boxes, a row each: the least and the greatest value every cell allows."""

    low: Reals
    high: Reals

    def __len__(self) -> int:
        return len(self.low)

    @property
    def exact(self) -> bool:
        """Whether each cell allows one value."""
        return self.low is self.high or bool((self.low == self.high).all())

    def columns(self, chosen: list[int]) -> Boxes:
        """The same records, seen through some of their columns."""
        low = np.ascontiguousarray(self.low[:, chosen])
        return Boxes(low, low if self.low is self.high else np.ascontiguousarray(self.high[:, chosen]))

    def rows(self, chosen: NDArray[np.int64] | NDArray[np.bool_] | slice) -> Boxes:
        """Some of the records, in the order chosen."""
        low = self.low[chosen]
        return Boxes(low, low if self.low is self.high else self.high[chosen])


class Nearest:
    """An index of boxes. It forgets the order of equal records only in that ties come as they lie.

    >>> shelf = np.array([[0.0, 3.0], [0.5, 3.0], [1.0, 4.0]], dtype=np.float32)
    >>> distance, index = Nearest(Boxes(shelf, shelf)).search(np.array([[0.9, 3.0]], dtype=np.float32))
    >>> index.tolist(), [round(float(d), 3) for d in distance[0]]
    ([[1]], [0.4])
    """

    def __init__(self, boxes: Boxes) -> None:
        order, spans, children, low, high = _build(boxes.low, boxes.high)
        self._order: Indices = order
        self._tree = (spans, children, low, high)
        shuffled = boxes.low[order]
        self._boxes = Boxes(shuffled, shuffled if boxes.exact else boxes.high[order])

    def search(self, points: Reals | Boxes, count: int = 1) -> tuple[Reals, Indices]:
        """The `count` nearest boxes of each point, or of each box: distances, rising, and the row numbers."""
        count = min(count, len(self._order))
        queries = points if isinstance(points, Boxes) else Boxes(points, points)
        distance = np.full((len(queries), count), np.inf, np.float32)
        index = np.zeros((len(queries), count), np.int64)
        self._over(lambda part: self._fill(queries.rows(part), distance[part], index[part]), len(queries))
        return distance, self._order[index]

    def holds(self, boxes: Boxes) -> Indices:
        """How many of the indexed records each box touches; 2 stands for 2 or more."""
        counts = np.zeros(len(boxes), np.int64)
        self._over(lambda part: self._count(boxes.rows(part), counts[part]), len(boxes))
        return counts

    def _over(self, work: Callable[[slice], None], queries: int) -> None:
        """Some queries at a time, on every core."""
        parts = [slice(start, start + CHUNK) for start in range(0, queries, CHUNK)]
        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            for _ in pool.map(work, parts):
                pass

    def _fill(self, queries: Boxes, distance: Reals, index: Indices) -> None:
        _search(queries.low, queries.high, self._boxes.low, self._boxes.high, *self._tree, distance, index)

    def _count(self, queries: Boxes, counts: Indices) -> None:
        _touched(queries.low, queries.high, self._boxes.low, self._boxes.high, *self._tree, counts)


@njit(cache=True, nogil=True)
def _split(low: Reals, high: Reals, order: Indices, start: int, end: int) -> tuple[int, float, bool]:
    """The column that differs most within a span, where to cut it, and whether the cut itself goes left."""
    step = max(1, (end - start) // SAMPLE)
    rows = order[start:end:step]
    best, most = -1, 0.0
    for j in range(low.shape[1]):
        spread = 0.0
        for i in range(len(rows)):
            a, b = rows[i], rows[(i * 7 + 3) % len(rows)]
            spread += min(1.0, abs((low[a, j] + high[a, j]) - (low[b, j] + high[b, j])) / 2)
        if spread > most:
            best, most = j, spread
    if best < 0:
        return -1, 0.0, False
    centres = np.empty(len(rows), np.float32)
    for i in range(len(rows)):
        centres[i] = low[rows[i], best] + high[rows[i], best]
    centres.sort()
    cut = centres[len(rows) // 2]
    return best, cut, cut < centres[-1]


@njit(cache=True, nogil=True)
def _parted(
    low: Reals, high: Reals, order: Indices, start: int, end: int, j: int, cut: float, inclusive: bool
) -> int:
    """Put the rows of a span whose centre lies below the cut first, and say where the others begin."""
    left, right = start, end - 1
    while left <= right:
        centre = low[order[left], j] + high[order[left], j]
        if centre < cut or (inclusive and centre == cut):
            left += 1
        else:
            order[left], order[right] = order[right], order[left]
            right -= 1
    return left


@njit(cache=True, nogil=True)
def _build(low: Reals, high: Reals) -> tuple[Indices, Indices, Indices, Reals, Reals]:
    """Row order, and for every node its span of rows, its two children (or −1) and its bounding box."""
    rows = len(low)
    limit = max(1, 2 * rows)
    order = np.arange(rows)
    spans = np.empty((limit, 2), np.int64)
    children = np.full((limit, 2), -1, np.int64)
    spans[0] = 0, rows
    made, node = 1, 0
    while node < made:
        start, end = spans[node]
        if end - start > LEAF:
            j, cut, inclusive = _split(low, high, order, start, end)
            if j >= 0:
                left = _parted(low, high, order, start, end, j, cut, inclusive)
                children[node] = made, made + 1
                spans[made] = start, left
                spans[made + 1] = left, end
                made += 2
        node += 1
    spans, children = spans[:made], children[:made]
    node_low, node_high = _bounds(low, high, order, spans, children)
    return order, spans, children, node_low, node_high


@njit(cache=True, nogil=True)
def _bounds(
    low: Reals, high: Reals, order: Indices, spans: Indices, children: Indices
) -> tuple[Reals, Reals]:
    """The box around every node's rows."""
    made, width = len(spans), low.shape[1]
    node_low = np.empty((made, width), np.float32)
    node_high = np.empty((made, width), np.float32)
    for node in range(made - 1, -1, -1):  # children come after their parents
        left, right = children[node]
        for j in range(width):
            if left >= 0:
                node_low[node, j] = min(node_low[left, j], node_low[right, j])
                node_high[node, j] = max(node_high[left, j], node_high[right, j])
                continue
            least, most = np.float32(np.inf), np.float32(-np.inf)
            for i in range(spans[node, 0], spans[node, 1]):
                least = min(least, low[order[i], j])
                most = max(most, high[order[i], j])
            node_low[node, j], node_high[node, j] = least, most
    return node_low, node_high


@njit(cache=True, nogil=True, inline="always")
def _gap(least: Reals, most: Reals, low: Reals, high: Reals, row: int, limit: float) -> float:
    """Σ min(1, gap), given up once it passes `limit`."""
    total = np.float32(0.0)
    for j in range(least.shape[0]):
        gap = max(low[row, j] - most[j], least[j] - high[row, j])
        total += min(max(gap, np.float32(0.0)), np.float32(1.0))
        if j & 3 == 3 and total >= limit:
            break
    return float(total)


@njit(cache=True, nogil=True)
def _touched(
    least: Reals,
    most: Reals,
    low: Reals,
    high: Reals,
    spans: Indices,
    children: Indices,
    node_low: Reals,
    node_high: Reals,
    counts: Indices,
) -> None:
    """How many rows each query touches, up to 2: a node wholly inside counts at once, one wholly outside never."""
    stack, asked = np.empty(256, np.int64), np.empty(least.shape[1], np.int64)
    for q in range(len(least)):
        width = 0
        for j in range(least.shape[1]):
            if least[q, j] > node_low[0, j] or most[q, j] < node_high[0, j]:
                asked[width] = j
                width += 1
        columns, found, depth = asked[:width], 0, 1
        stack[0] = 0
        while depth > 0 and found < 2:
            depth -= 1
            node = stack[depth]
            lies = _lies(least[q], most[q], node_low, node_high, node, columns)
            if lies == INSIDE:
                found += spans[node, 1] - spans[node, 0]
            elif lies == ACROSS and children[node, 0] >= 0:
                stack[depth], stack[depth + 1] = children[node]
                depth += 2
            elif lies == ACROSS:
                for row in range(spans[node, 0], spans[node, 1]):
                    if _lies(least[q], most[q], low, high, row, columns) != OUTSIDE:
                        found += 1
        counts[q] = min(found, 2)


@njit(cache=True, nogil=True, inline="always")
def _lies(least: Reals, most: Reals, low: Reals, high: Reals, row: int, columns: Indices) -> int:
    """Whether a box lies outside a query, inside, or across its edge, on the columns that the query asks about."""
    lies = INSIDE
    for j in columns:
        if low[row, j] > most[j] or high[row, j] < least[j]:
            return OUTSIDE
        if low[row, j] < least[j] or high[row, j] > most[j]:
            lies = ACROSS
    return lies


@njit(cache=True, nogil=True)
def _search(
    least: Reals,
    most: Reals,
    low: Reals,
    high: Reals,
    spans: Indices,
    children: Indices,
    node_low: Reals,
    node_high: Reals,
    distance: Reals,
    index: Indices,
) -> None:
    for q in range(len(least)):
        _one(least[q], most[q], low, high, spans, children, node_low, node_high, distance[q], index[q])


@njit(cache=True, nogil=True, inline="always")
def _put(best: Reals, found: Indices, gap: float, row: int) -> None:
    """Let a row in among the nearest, in its place."""
    place = len(best) - 1
    while place > 0 and best[place - 1] > gap:
        best[place], found[place] = best[place - 1], found[place - 1]
        place -= 1
    best[place], found[place] = gap, row


@njit(cache=True, nogil=True)
def _one(
    least: Reals,
    most: Reals,
    low: Reals,
    high: Reals,
    spans: Indices,
    children: Indices,
    node_low: Reals,
    node_high: Reals,
    best: Reals,
    found: Indices,
) -> None:
    """Fill `best` and `found` with the nearest boxes, nearer child first."""
    stack = np.empty(256, np.int64)
    bound = np.empty(256, np.float32)
    stack[0], bound[0], depth = 0, 0.0, 1
    last = len(best) - 1
    while depth > 0:
        depth -= 1
        node = stack[depth]
        if bound[depth] >= best[last]:
            continue
        left, right = children[node]
        if left < 0:
            for row in range(spans[node, 0], spans[node, 1]):
                gap = _gap(least, most, low, high, row, best[last])
                if gap < best[last]:
                    _put(best, found, gap, row)
                    if best[last] == 0.0:
                        return
            continue
        near, far = left, right
        near_gap = _gap(least, most, node_low, node_high, left, best[last])
        far_gap = _gap(least, most, node_low, node_high, right, best[last])
        if far_gap < near_gap:
            near, far, near_gap, far_gap = far, near, far_gap, near_gap
        stack[depth], bound[depth] = far, far_gap
        stack[depth + 1], bound[depth + 1] = near, near_gap
        depth += 2
