"""Totals over keys, made of what was released of the finest groups: each is the sum of its parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from obverse.data.schema import Category

Steps = tuple[int, ...]


@dataclass(frozen=True)
class Shown:
    """One row to show: a group, or the total of so many `parts` over the keys that are `rolled` up."""

    key: tuple[Category | None, ...]
    steps: Steps
    rolled: frozenset[int] = frozenset()
    parts: int = 1


def rolled_up(
    sets: Sequence[frozenset[int]], groups: Sequence[tuple[Category, ...]], released: Sequence[Steps]
) -> Iterator[Shown]:
    """The groups of each grouping set in turn; totals of nothing are none.

    >>> groups, released = [("f", 1), ("f", 2), ("m", 1)], [(5,), (7,), (10,)]
    >>> [(shown.key, shown.steps) for shown in rolled_up([frozenset({0}), frozenset()], groups, released)]
    [(('f', None), (12,)), (('m', None), (10,)), ((None, None), (22,))]
    """
    for kept in sets:
        if groups and len(kept) == len(groups[0]):
            yield from map(Shown, groups, released)
            continue
        parts: dict[tuple[Category | None, ...], list[Steps]] = {}
        for group, steps in zip(groups, released, strict=True):
            key = tuple(value if place in kept else None for place, value in enumerate(group))
            parts.setdefault(key, []).append(steps)
        for key, each in parts.items():
            rolled = frozenset(range(len(key))) - kept
            yield Shown(key, tuple(map(sum, zip(*each, strict=True))), rolled, len(each))
