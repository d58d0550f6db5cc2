"""What a class of rows looks like from outside: on each column a range, a set, or a label of a ladder.

The information a label loses is (high − low)/range for numbers and (|set| − 1)/(|domain| − 1) for categories,
so 0 for a single value and 1 for `*`: the global certainty penalty is its mean over all cells.  [XWPWSF06; GKKM07]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from obverse.anonymise.codes import CELL, MISSING, Domain, Ints
from obverse.anonymise.recode import Test
from obverse.data.hierarchy import Ladder

Style = Literal["set", "range", "hierarchy"]
RANGE, SET, TREE = 0, 1, 2
WIDEST_SET = 63
FAR = 2**40


class Lines(NamedTuple):
    """How each column is labelled and what a label costs; `start` is where a column begins in the flat arrays."""

    kind: NDArray[np.int64]
    start: NDArray[np.int64]
    place: NDArray[np.float64]
    up: NDArray[np.int32]
    price: NDArray[np.float64]
    unit: NDArray[np.float64]
    factor: NDArray[np.float64]


def lines(
    domains: Sequence[Domain], ladders: Sequence[Ladder | None], style: Style, factor: Sequence[float]
) -> Lines:
    """The columns' labels and prices. Columns with a ladder must list their values in the ladder's order."""
    sizes = np.array([domain.size for domain in domains], np.int64)
    start = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
    tall = 1 + max((ladder.height for ladder in ladders if ladder), default=0)
    flat = int(sizes.sum())
    place, up, price = np.zeros(flat), np.zeros((tall, flat), np.int32), np.zeros((tall, flat))
    kind = np.array([_kind(d, x, style) for d, x in zip(domains, ladders, strict=True)], np.int64)
    for j, (domain, ladder) in enumerate(zip(domains, ladders, strict=True)):
        here, known = slice(start[j], start[j] + sizes[j]), len(domain.values)
        place[here] = places(domain)
        if kind[j] == TREE and ladder is not None:
            for step, level in enumerate(ladder.levels):
                seen: dict[str, int] = {}
                group = [seen.setdefault(label, len(seen)) for label in level]
                up[step, here] = [*group, *([known + step if step < ladder.height else 0] * domain.missing)]
                price[step, here] = level_price(domain, up[step, here])
            up[len(ladder.levels) :, here] = 0
    return Lines(kind, start, place, up, price, 1 / np.maximum(1, sizes - 1), np.array(factor, float))


def _kind(domain: Domain, ladder: Ladder | None, style: Style) -> int:
    if style == "hierarchy" and ladder is not None:
        return TREE
    return SET if style == "set" and not domain.numeric and domain.size <= WIDEST_SET else RANGE


def places(domain: Domain) -> NDArray[np.float64]:
    """Each code's place on a line of length 1; a missing value is further than 1 from all others."""
    known = len(domain.values)
    if domain.numeric:
        at = (domain.at - domain.low) / ((domain.high - domain.low) or 1.0)
    else:
        at = np.arange(known) / max(1, domain.size - 1)
    return np.concatenate([at, [2.0]])[: domain.size]


def level_price(domain: Domain, group: NDArray[np.int32]) -> NDArray[np.float64]:
    """What each code's label costs when codes of the same group share one."""
    count = np.bincount(group, minlength=int(group.max(initial=0)) + 1)
    if not domain.numeric:
        spread: NDArray[np.float64] = (count - 1) / max(1, domain.size - 1)
        return spread[group]
    at = places(domain)
    low, high = np.full(len(count), np.inf), np.full(len(count), -np.inf)
    np.minimum.at(low, group, at)
    np.maximum.at(high, group, at)
    whole = np.array(count == domain.size)
    found: NDArray[np.float64] = np.where(whole & (count > 1), 1.0, np.minimum(1.0, high - low))[group]
    return found


@njit(cache=True)
def bits(mask: int) -> int:
    """How many bits of a word are 1."""
    x = np.uint64(mask)
    x = x - ((x >> np.uint64(1)) & np.uint64(0x5555555555555555))
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return int((x * np.uint64(0x0101010101010101)) >> np.uint64(56))


@njit(cache=True)
def step_of(line: Lines, j: int, low: int, high: int) -> int:
    """The lowest step of the ladder on which two codes have one label."""
    at, step = line.start[j], 0
    while line.up[step, at + low] != line.up[step, at + high]:
        step += 1
    return step


@njit(cache=True)
def side(line: Lines, j: int, a: int, b: int) -> float:
    """What one column's label costs: a set `a`, or all codes from `a` to `b`."""
    if line.kind[j] == SET:
        return float((bits(a) - 1) * line.unit[j])
    if a == b:
        return 0.0
    if line.kind[j] == RANGE:
        return float(min(1.0, line.place[line.start[j] + b] - line.place[line.start[j] + a]))
    whole = line.price[step_of(line, j, a, b), line.start[j] + a]
    return float(whole)


@njit(cache=True)
def cost(line: Lines, boxes: NDArray[np.int64], c: int) -> float:
    """What a class's labels cost, columns weighted. A box is two words a column: lowest, highest; or a set, 0."""
    total = 0.0
    for j in range(len(line.kind)):
        total += line.factor[j] * side(line, j, boxes[c, 2 * j], boxes[c, 2 * j + 1])
    return total


@njit(cache=True)
def cost_with(line: Lines, boxes: NDArray[np.int64], c: int, codes: NDArray[np.int32], i: int) -> float:
    """What the labels would cost with one more row."""
    total = 0.0
    for j in range(len(line.kind)):
        v, a, b = np.int64(codes[i, j]), boxes[c, 2 * j], boxes[c, 2 * j + 1]
        if line.kind[j] == SET:
            total += line.factor[j] * side(line, j, a | (1 << v), 0)
        else:
            total += line.factor[j] * side(line, j, min(a, v), max(b, v))
    return total


@njit(cache=True)
def empty(line: Lines, boxes: NDArray[np.int64], c: int) -> None:
    """The box of no rows."""
    for j in range(len(line.kind)):
        boxes[c, 2 * j] = 0 if line.kind[j] == SET else FAR
        boxes[c, 2 * j + 1] = 0 if line.kind[j] == SET else -1


@njit(cache=True)
def stretch(line: Lines, boxes: NDArray[np.int64], c: int, codes: NDArray[np.int32], i: int) -> None:
    """The box with one more row."""
    for j in range(len(line.kind)):
        v = np.int64(codes[i, j])
        if line.kind[j] == SET:
            boxes[c, 2 * j] |= 1 << v
        else:
            boxes[c, 2 * j] = min(boxes[c, 2 * j], v)
            boxes[c, 2 * j + 1] = max(boxes[c, 2 * j + 1], v)


@njit(cache=True)
def boxes_of(line: Lines, codes: NDArray[np.int32], label: Ints, count: int) -> NDArray[np.int64]:
    """The least box around each class's rows."""
    boxes = np.zeros((count, 2 * codes.shape[1]), np.int64)
    for c in range(count):
        empty(line, boxes, c)
    for i in range(len(codes)):
        if label[i] >= 0:
            stretch(line, boxes, label[i], codes, i)
    return boxes


@njit(cache=True)
def losses(line: Lines, boxes: NDArray[np.int64]) -> NDArray[np.float64]:
    """The cost of each class's label on each column, unweighted; 0 where a class is empty."""
    count, d = len(boxes), boxes.shape[1] // 2
    found = np.zeros((count, d))
    for c in range(count):
        for j in range(d):
            if boxes[c, 2 * j] != FAR and (boxes[c, 2 * j] or line.kind[j] != SET):
                found[c, j] = side(line, j, boxes[c, 2 * j], boxes[c, 2 * j + 1])
    return found


def labels(
    line: Lines, j: int, domain: Domain, ladder: Ladder | None, boxes: NDArray[np.int64]
) -> tuple[list[Test], Ints]:
    """The different labels of one column with the values they stand for, and which each class has."""
    first, last = boxes[:, 2 * j], boxes[:, 2 * j + 1]
    _, places, which = np.unique(
        first if line.kind[j] == SET else first << 32 | last, return_index=True, return_inverse=True
    )
    return [_test(line, j, domain, ladder, int(first[i]), int(last[i])) for i in places], which


def _test(line: Lines, j: int, domain: Domain, ladder: Ladder | None, a: int, b: int) -> Test:
    if line.kind[j] == SET:
        codes = [v for v in range(domain.size) if a >> v & 1]
        return listed(domain, domain.set_label(codes), codes)
    if line.kind[j] == TREE and ladder is not None and a != b:
        return step_test(domain, ladder, line.up[:, line.start[j] :], step_of(line, j, a, b), a)
    label = domain.range_label(a, b)
    if label == CELL:
        return Test(label, any=True)
    if a == b:
        return listed(domain, label, [a])
    return Test(label, domain.plain[a], domain.plain[b])


def step_test(
    domain: Domain,
    ladder: Ladder,
    up: NDArray[np.int32],
    step: int,
    code: int,
    kept: NDArray[np.bool_] | None = None,
) -> Test:
    """The label that a value has on one step of its ladder, with all values under it, of those that are kept."""
    if step == ladder.height:
        return Test(CELL, any=True)
    if code == len(domain.values):
        return listed(domain, MISSING, [code])
    under = up[step, : len(domain.values)] == up[step, code]
    group = np.flatnonzero(under if kept is None else under & kept[: len(domain.values)])
    ordered = group[np.argsort(domain.at[group])]  # a ladder's order of values is not that of the numbers
    low, high = int(ordered[0]), int(ordered[-1])
    among = (domain.at >= domain.at[low]) & (domain.at <= domain.at[high])
    if domain.numeric and 1 < len(group) == int(among.sum()):
        return Test(ladder.levels[step][code], domain.plain[low], domain.plain[high])
    return listed(domain, ladder.levels[step][code], group.tolist())


def listed(domain: Domain, label: str, codes: Sequence[int]) -> Test:
    """A label for some values; one for the whole domain stands for anything."""
    if label == CELL and len(codes) == domain.size:
        return Test(label, any=True)
    return Test(label or None, among=tuple(domain.plain[v] for v in codes))
