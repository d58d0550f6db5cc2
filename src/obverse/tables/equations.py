"""What an outsider knows about the cells of a table, as linear equations and bounds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod

import numpy as np

from obverse.tables.cube import shape
from obverse.tables.dimension import Dimension

Indices = np.ndarray
Numbers = np.ndarray


@dataclass(frozen=True, repr=False)
class System:
    """Every x with `low` ≤ x ≤ `high` and `least` ≤ Ax ≤ `most`; whole numbers only where `whole`.

    A is kept by rows: those of row r are `index[start[r]:start[r + 1]]` with coefficients `value[…]`.
    """

    start: Indices
    index: Indices
    value: Numbers
    least: Numbers
    most: Numbers
    low: Numbers
    high: Numbers
    whole: bool = True

    @cached_property
    def row_of(self) -> Indices:
        """The row of each coefficient."""
        return np.repeat(np.arange(len(self.least)), np.diff(self.start))

    def bounded(self, low: Numbers, high: Numbers) -> System:
        return replace(self, low=low, high=high)

    def scaled(self, unit: float) -> System:
        """The same in another unit: every number of it so many times smaller."""
        return replace(
            self,
            least=self.least / unit,
            most=self.most / unit,
            low=self.low / unit,
            high=self.high / unit,
        )

    def rows(self, keep: np.ndarray, columns: np.ndarray) -> System:
        """The chosen rows over the chosen columns; what the other columns add must be fixed and is moved across."""
        place = np.full(len(self.low), -1)
        place[columns] = np.arange(len(columns))
        row_of, many = self.row_of, len(self.least)
        fixed = place[self.index] < 0
        moved = np.bincount(row_of[fixed], self.value[fixed] * self.low[self.index[fixed]], minlength=many)
        kept = keep[row_of] & ~fixed
        counts = np.bincount(row_of[kept], minlength=many)[keep]
        return System(
            start=np.concatenate([[0], np.cumsum(counts)]),
            index=place[self.index[kept]],
            value=self.value[kept],
            least=(self.least - moved)[keep],
            most=(self.most - moved)[keep],
            low=self.low[columns],
            high=self.high[columns],
            whole=self.whole,
        )


def margins(dimensions: Sequence[Dimension], *, independent: bool = False) -> System:
    """Each node's cells add up to its parent's. `independent` names each sum once, which is enough for a basis."""
    sizes = shape(dimensions)
    blocks = list(_blocks(dimensions, sizes, independent))
    lengths = [np.full(len(block), block.shape[1]) for block, _ in blocks]
    rows = sum(map(len, lengths))
    cells = prod(sizes)
    return System(
        start=np.concatenate([[0], np.cumsum(np.concatenate([np.zeros(0, np.int64), *lengths]))]).astype(
            np.int64
        ),
        index=np.concatenate([np.zeros(0, np.int64), *(block.ravel() for block, _ in blocks)]),
        value=np.concatenate([np.zeros(0), *(np.tile(signs, len(block)) for block, signs in blocks)]),
        least=np.zeros(rows),
        most=np.zeros(rows),
        low=np.zeros(cells),
        high=np.full(cells, np.inf),
    )


def _blocks(
    dimensions: Sequence[Dimension], sizes: tuple[int, ...], independent: bool
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """For each inner node: the cells of its equations, a row an equation, and their signs."""
    flat = np.arange(prod(sizes)).reshape(sizes)
    for axis, dimension in enumerate(dimensions):
        others = [
            np.array(other.leaves) if independent and place < axis else np.arange(size)
            for place, (other, size) in enumerate(zip(dimensions, sizes, strict=True))
        ]
        for node, children in enumerate(dimension.children):
            if children:
                family = np.array([node, *children])
                picked = flat[np.ix_(*others[:axis], family, *others[axis + 1 :])]
                cells = np.moveaxis(picked, axis, -1).reshape(-1, len(family))
                yield cells, np.array([-1.0] + [1.0] * len(children))
