"""One way to cut up the people of a table: its categories, and the coarser categories they belong to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from obverse.errors import BadParameter

TOTAL = "Total"
MISSING = "(missing)"
OTHER = "(other)"
RESERVED = (TOTAL, MISSING, OTHER)


@dataclass(frozen=True)
class Dimension:
    """The nodes of a ladder as a tree: every node's label and parent, children before parents, the total last.

    `places` leads from a rung and a label as the data spell it to a node; rung 0 is the categories themselves.

    >>> town = Dimension.from_rungs("town", [("Bonn", "West"), ("Köln", "West"), ("Jena", "East")])
    >>> town.labels
    ('Bonn', 'Köln', 'Jena', '(missing)', '(other)', 'West', 'East', 'Total')
    >>> town.parents
    (5, 5, 6, 7, 7, 7, 7, -1)
    """

    column: str
    labels: tuple[str, ...]
    parents: tuple[int, ...]
    rungs: tuple[tuple[str, ...], ...]
    closed: bool = True

    @classmethod
    def from_rungs(cls, column: str, rungs: Iterable[Sequence[str]], *, closed: bool = True) -> Dimension:
        """A ladder from one line a category, finest label first; a last rung that is `*` is the total.

        A closed ladder names every category in advance and keeps a place for what it does not name.
        """
        lines = _lines(column, rungs)
        labels = [_shown(line[0]) for line in lines] + ([MISSING, OTHER] if closed else [])
        top = -1
        parents = [top] * len(labels)
        under = list(range(len(lines)))
        for rung in range(1, len(lines[0]) if lines else 1):
            below: dict[str, set[int]] = {}
            for line, node in zip(lines, under, strict=True):
                below.setdefault(line[rung], set()).add(node)
            nodes: dict[str, int] = {}
            for label, children in below.items():
                if len(children) == 1 and labels[only := next(iter(children))] == _shown(label):
                    nodes[label] = only
                    continue
                nodes[label] = len(labels)
                labels.append(_shown(label))
                parents.append(top)
                for child in children:
                    _adopt(column, labels, parents, child, nodes[label])
            under = [nodes[line[rung]] for line in lines]
        total = len(labels)
        return cls(
            column,
            (*labels, TOTAL),
            (*(total if parent == top else parent for parent in parents), top),
            lines,
            closed,
        )

    @property
    def height(self) -> int:
        """How many labels a category has, the total apart."""
        return len(self.rungs[0]) if self.rungs else 1

    @cached_property
    def leaves(self) -> tuple[int, ...]:
        """The nodes with nothing below them."""
        inner = set(self.parents)
        return tuple(node for node in range(len(self.labels)) if node not in inner)

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """The nodes right below each node."""
        below: list[list[int]] = [[] for _ in self.labels]
        for node, parent in enumerate(self.parents[:-1]):
            below[parent].append(node)
        return tuple(map(tuple, below))

    def sums(self, leaves: np.ndarray, axis: int = 0) -> np.ndarray:
        """Along an axis of leaves, the sum below every node."""
        by_leaf = np.moveaxis(leaves, axis, 0)
        nodes = np.zeros((len(self.labels), *by_leaf.shape[1:]), leaves.dtype)
        nodes[list(self.leaves)] = by_leaf
        for node, parent in enumerate(self.parents[:-1]):
            nodes[parent] += nodes[node]
        return np.moveaxis(nodes, 0, axis)

    @cached_property
    def places(self) -> dict[tuple[int, str], int]:
        found: dict[tuple[int, str], int] = {}
        for leaf, line in enumerate(self.rungs):
            node = leaf
            for rung, label in enumerate(line):
                while self.labels[node] != _shown(label):
                    node = self.parents[node]
                found[rung, label] = node
        return found

    @property
    def missing(self) -> int:
        """The node of rows without a value; only a closed ladder keeps one, right after its categories."""
        return len(self.rungs)

    @property
    def other(self) -> int:
        """The node of values that a closed ladder does not name."""
        return len(self.rungs) + 1

    @cached_property
    def _coarsest(self) -> dict[str, int]:
        return {label: node for node, label in enumerate(self.labels)}

    def node(self, label: str) -> int:
        """The node an outsider means by a label: the coarsest of this name."""
        if label not in self._coarsest:
            raise BadParameter(f"{self.column} has no category {label!r}")
        return self._coarsest[label]


def _shown(label: str) -> str:
    return f"‘{label}’" if label in RESERVED else label


def _lines(column: str, rungs: Iterable[Sequence[str]]) -> tuple[tuple[str, ...], ...]:
    lines = tuple(dict.fromkeys(tuple(map(str, line)) for line in rungs))
    if len({len(line) for line in lines}) > 1:
        raise BadParameter(f"every line of the ladder of {column} needs as many labels as the first")
    if len({line[0] for line in lines}) < len(lines):
        raise BadParameter(f"the ladder of {column} names a category twice, with different labels above it")
    while lines and len(lines[0]) > 1 and {line[-1] for line in lines} <= {"*", TOTAL}:
        lines = tuple(line[:-1] for line in lines)
    return lines


def _adopt(column: str, labels: list[str], parents: list[int], child: int, parent: int) -> None:
    if parents[child] not in (-1, parent):
        raise BadParameter(
            f"{labels[child]!r} lies below both {labels[parents[child]]!r} and {labels[parent]!r}: "
            f"a ladder of {column} gives every label one label above it"
        )
    parents[child] = parent
