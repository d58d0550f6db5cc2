"""The rows as a search sees them: each different combination of quasi-identifiers once, with what it holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from obverse.anonymise.codes import Domain, Ints, group
from obverse.anonymise.rules import Rules, holds


class Items(NamedTuple):
    """Combinations of codes. Item i holds the entries `start[i]` to `start[i + 1]`: who has what, how often.

    `people` is the weight that k counts: rows, people at most, or members of a population. `target` counts
    the values of a column that cuts should keep apart.
    """

    codes: NDArray[np.int32]
    rows: Ints
    people: Ints
    start: Ints
    joint: NDArray[np.int64]
    who: NDArray[np.int64]
    times: Ints
    persons: int
    target: Ints


def collect(
    quasi: Sequence[NDArray[np.int32]],
    domains: Sequence[Domain],
    joint: NDArray[np.int64],
    who: NDArray[np.int64] | None = None,
    target: NDArray[np.int32] | None = None,
    *,
    each_row: bool = False,
) -> tuple[Items, Ints]:
    """The items and the item of each row. `each_row` keeps equal rows apart, for relaxed cuts."""
    n = len(joint)
    if each_row:
        order = np.lexsort(np.array([joint, *quasi[::-1]]))
        item = np.empty(n, np.int64)
        item[order] = np.arange(n)
        first, rows = order, np.ones(n, np.int64)
    else:
        first, item, rows = group(quasi, [domain.size for domain in domains])
    person = np.zeros(n, np.int64) if who is None else who
    spans = [len(first), int(joint.max(initial=0)) + 1, int(person.max(initial=0)) + 1]
    entry, _, count = group([item, joint, person], spans)
    start = np.searchsorted(item[entry], np.arange(len(first) + 1)).astype(np.int64)
    people = rows if who is None else _distinct(item, person, len(first))
    codes = np.ascontiguousarray(np.array([column[first] for column in quasi], np.int32).T)
    kept = np.zeros((len(first), 0 if target is None else int(target.max(initial=0)) + 1), np.int64)
    if target is not None:
        np.add.at(kept, (item, target), 1)
    persons = 0 if who is None else spans[2]
    return Items(codes, rows, people, start, joint[entry], person[entry], count, persons, kept), item


def part(items: Items, chosen: Ints) -> Items:
    """Some of the items, as if there were no others."""
    count = np.diff(items.start)[chosen]
    start = np.concatenate([[0], np.cumsum(count)]).astype(np.int64)
    entry = np.repeat(items.start[chosen] - start[:-1], count) + np.arange(start[-1])
    return items._replace(
        codes=np.ascontiguousarray(items.codes[chosen]),
        rows=items.rows[chosen],
        people=items.people[chosen],
        start=start,
        joint=items.joint[entry],
        who=items.who[entry],
        times=items.times[entry],
        target=items.target[chosen],
    )


def _distinct(item: Ints, person: Ints, count: int) -> Ints:
    """How many different people each item has."""
    first, _, _ = group([item, person], [count, int(person.max(initial=0)) + 1])
    return np.bincount(item[first], minlength=count)


@njit(cache=True)
def histogram(items: Items, members: Ints, hist: NDArray[np.int64]) -> None:
    """The sensitive values of a class, counted."""
    hist[:] = 0
    for i in members:
        for e in range(items.start[i], items.start[i + 1]):
            hist[items.joint[e]] += items.times[e]


@njit(cache=True)
def headcount(items: Items, members: Ints, seen: NDArray[np.int64]) -> int:
    """How many different people a class has; `seen` is left as it was found: all −1."""
    total = 0
    if items.persons == 0:
        for i in members:
            total += items.people[i]
        return total
    for i in members:
        for e in range(items.start[i], items.start[i + 1]):
            if seen[items.who[e]] < 0:
                seen[items.who[e]] = 1
                total += 1
    for i in members:
        for e in range(items.start[i], items.start[i + 1]):
            seen[items.who[e]] = -1
    return total


@njit(cache=True)
def allowed(
    items: Items, rules: Rules, members: Ints, least: int, hist: NDArray[np.int64], seen: NDArray[np.int64]
) -> bool:
    """Whether these items may be a class: enough people, and every rule holds."""
    if headcount(items, members, seen) < least:
        return False
    if len(rules.kind) == 0:
        return True
    histogram(items, members, hist)
    return holds(rules, hist, least)
