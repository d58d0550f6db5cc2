"""Categories joined along their ladders until no cell is small: a coarser table instead of one with holes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from obverse.errors import BadParameter, Forbidden
from obverse.noise.entropy import Entropy
from obverse.release import Syntactic, Terms
from obverse.tables.cube import Totals
from obverse.tables.dimension import Dimension
from obverse.tables.hide import SMALLEST
from obverse.tables.protect import Exact, Protected, Shape, syntactic

Cut = tuple[int, ...]


@dataclass(frozen=True)
class Collapse(Exact):
    """Shows no cell of fewer people than `threshold`, and hides none: categories are joined with their siblings.

    Time goes from days to months and years, and places to regions where their ladders say so; a column without a
    ladder can only be summed over. Among the ways to join, each step takes the one that removes most small cells
    for the detail lost; what turns out to be needless is taken back.
    """

    threshold: int | None = None

    def within(self, shape: Shape) -> float:
        return 0.0

    def settled(self, shape: Shape, terms: Terms) -> Collapse:
        least = terms.smallest_group or 0
        threshold = self.threshold if self.threshold is not None else max(SMALLEST, least)
        if threshold < 2:
            raise BadParameter(f"a threshold to collapse to is 2 people or more, not {threshold}")
        if threshold < least:
            raise Forbidden(f"the policy's smallest group is {least}, so the threshold cannot be {threshold}")
        if len(shape.by) > 1:
            raise BadParameter("several tables cannot be collapsed together: ask for one at a time")
        return replace(self, threshold=threshold)

    def guarantee(self, shape: Shape) -> Syntactic:
        return syntactic(
            ("threshold", self.threshold), ("collapsed", "no cell between 1 and the threshold is shown")
        )

    def protect(self, shape: Shape, totals: Totals, entropy: Entropy) -> Protected:
        assert self.threshold is not None
        people = totals.contributors.min(axis=0)
        inside = np.array([d.column in shape.by[0] for d in totals.dimensions])
        cuts = joined(totals.dimensions, people, self.threshold, inside)
        above = [_above(d, cut) for d, cut in zip(totals.dimensions, cuts, strict=True)]
        lines = np.zeros(people.shape, bool)
        lines[np.ix_(*above)] = True
        value = shape.figures(totals.value)
        return Protected(value, np.full(value.shape, "", dtype=object), lines)


def joined(
    dimensions: Sequence[Dimension], people: np.ndarray, threshold: int, inside: np.ndarray
) -> list[Cut]:
    """For each dimension the nodes that are left: no cell of theirs has 1 … threshold − 1 people."""
    cuts = [d.leaves if use else (len(d.labels) - 1,) for d, use in zip(dimensions, inside, strict=True)]

    def small(tried: list[Cut]) -> int:
        counts = people[np.ix_(*tried)]
        return int(((counts > 0) & (counts < threshold)).sum())

    def lost(axis: int, node: int) -> float:
        """People who lose detail, each by the share of categories joined to theirs."""
        total = people[tuple(node if place == axis else -1 for place in range(people.ndim))]
        return float(total) * (_width(dimensions[axis], node) - 1) / max(1, len(dimensions[axis].leaves) - 1)

    taken: list[tuple[int, int]] = []
    while now := small(cuts):
        options = [
            (
                (now - small(_with(cuts, axis, _up(dimensions[axis], cuts[axis], node))))
                / (lost(axis, node) + 1),
                axis,
                node,
            )
            for axis, dimension in enumerate(dimensions)
            for node in _ready(dimension, cuts[axis])
        ]
        if not options:
            return [(len(dimension.labels) - 1,) for dimension in dimensions]
        _, axis, node = max(options, key=lambda option: option[0])
        cuts = _with(cuts, axis, _up(dimensions[axis], cuts[axis], node))
        taken.append((axis, node))
    for axis, node in reversed(taken):
        if node in cuts[axis]:
            finer = _with(
                cuts, axis, (*(n for n in cuts[axis] if n != node), *dimensions[axis].children[node])
            )
            cuts = cuts if small(finer) else finer
    return [tuple(sorted(cut)) for cut in cuts]


def _with(cuts: list[Cut], axis: int, cut: Cut) -> list[Cut]:
    return [*cuts[:axis], cut, *cuts[axis + 1 :]]


def _ready(dimension: Dimension, cut: Cut) -> Iterator[int]:
    """The nodes whose children are all left as they are: they can be joined next."""
    left = set(cut)
    for node, children in enumerate(dimension.children):
        if children and left.issuperset(children):
            yield node


def _up(dimension: Dimension, cut: Cut, node: int) -> Cut:
    gone = set(dimension.children[node])
    return (*(n for n in cut if n not in gone), node)


def _above(dimension: Dimension, cut: Cut) -> list[int]:
    """The nodes of a cut and everything above them."""
    found = set(cut)
    for node in cut:
        while (node := dimension.parents[node]) >= 0:
            found.add(node)
    return sorted(found)


def _width(dimension: Dimension, node: int) -> int:
    """How many categories a node stands for."""
    children = dimension.children[node]
    return sum(_width(dimension, child) for child in children) if children else 1
