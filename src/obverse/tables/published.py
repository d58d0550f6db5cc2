"""What has left already: statements about cells that everybody may be assumed to know."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import inf, prod

import numpy as np
import pyarrow as pa

from obverse.tables.cube import shape
from obverse.tables.dimension import TOTAL, Dimension
from obverse.tables.equations import System, margins

COUNT = ""
Cell = tuple[str, ...]
Term = tuple[str, Cell, float]


@dataclass(frozen=True)
class Fact:
    """Somewhere between `low` and `high` lies the sum of some cells, each times a number.

    A term is a measure ("" counts people), the cell's labels in the order of `Published.by`, and the number.
    """

    terms: tuple[Term, ...]
    low: float
    high: float


@dataclass(frozen=True)
class Published:
    """The facts that one earlier release gave away about a table, by these columns.

    >>> Published(("sex",), (Fact((("", ("F",), 1.0),), 10, 10),)).measures
    ('',)
    """

    by: tuple[str, ...]
    facts: tuple[Fact, ...]

    @property
    def measures(self) -> tuple[str, ...]:
        return tuple(sorted({measure for fact in self.facts for measure, _, _ in fact.terms}))


def cells(table: pa.Table, measure: str = COUNT, *, within: float = 0.0) -> Published:
    """What a released table of values gives away: each is true, or within so much of the truth."""
    by, lines = _lines(table)
    facts = [
        Fact(((measure, labels, 1.0),), value - within, value + within)
        for labels, value in lines
        if value is not None
    ]
    return Published(by, tuple(facts))


def percentages(table: pa.Table, of: Iterable[str], *, digits: int = 0) -> Published:
    """What percentages give away, each of the total over the columns in `of`, rounded to so many digits.

    round(100·a/b, digits) = p says (p − h)·b ≤ 100·a ≤ (p + h)·b with h half a step of the last digit.
    """
    by, lines = _lines(table)
    summed, half = set(of), 0.5 * 10.0**-digits
    facts = []
    for labels, value in lines:
        if value is not None:
            base = tuple(TOTAL if column in summed else x for column, x in zip(by, labels, strict=True))
            facts += _ratio((COUNT, labels, 100.0), (COUNT, base, 1.0), value, half)
    return Published(by, tuple(facts))


def means(table: pa.Table, measure: str, *, digits: int = 0) -> Published:
    """What the rounded mean of a measure gives away about its total and how many people it is a mean of."""
    by, lines = _lines(table)
    half = 0.5 * 10.0**-digits
    facts = []
    for labels, value in lines:
        if value is not None:
            facts += _ratio((measure, labels, 1.0), (COUNT, labels, 1.0), value, half)
    return Published(by, tuple(facts))


def _ratio(upper: Term, lower: Term, value: float, half: float) -> list[Fact]:
    if upper[1] == lower[1] and upper[0] == lower[0]:
        return []
    return [
        Fact((upper, (*lower[:2], -(value - half))), 0.0, inf),
        Fact((upper, (*lower[:2], -(value + half))), -inf, 0.0),
    ]


def _lines(table: pa.Table) -> tuple[tuple[str, ...], list[tuple[Cell, float | None]]]:
    by = tuple(name for name in table.column_names if name not in ("value", "mark"))
    labels = [table[name].to_pylist() for name in by]
    return by, list(zip(zip(*labels, strict=True), table["value"].to_pylist(), strict=True))


@dataclass(frozen=True, repr=False)
class Knowledge:
    """The cells of a cube, once for each measure, with everything published about them as one system."""

    dimensions: tuple[Dimension, ...]
    measures: tuple[str, ...]
    system: System

    def block(self, measure: str) -> slice:
        """Where the cells of a measure stand among the columns."""
        cells = prod(shape(self.dimensions))
        first = self.measures.index(measure) * cells
        return slice(first, first + cells)


def knowledge(
    dimensions: Sequence[Dimension],
    measures: Sequence[str],
    published: Iterable[Published] = (),
    bounds: tuple[float, float] | None = None,
    *,
    whole: bool | None = None,
) -> Knowledge:
    """Margins, facts, and where there are `bounds` of a person's amount, what a count says about a total.

    Cells are `whole` numbers if nothing but counts is known, unless they are weighted.
    """
    sizes = shape(dimensions)
    one = margins(dimensions)
    many = prod(sizes)
    parts = [replace(one, index=one.index + block * many) for block in range(len(measures))]
    rows: list[tuple[list[int], list[float], float, float]] = []
    columns = [dimension.column for dimension in dimensions]
    for earlier in published:
        places = [columns.index(column) for column in earlier.by]
        for fact in earlier.facts:
            index = [
                measures.index(m) * many + _flat(dimensions, sizes, places, labels)
                for m, labels, _ in fact.terms
            ]
            rows.append((index, [number for _, _, number in fact.terms], fact.low, fact.high))
    if bounds is not None and len(measures) == 2:
        for cell in range(many):
            rows.append(([many + cell, cell], [1.0, -bounds[0]], 0.0, inf))
            rows.append(([many + cell, cell], [1.0, -bounds[1]], -inf, 0.0))
    lengths = np.concatenate([*(np.diff(part.start) for part in parts), [len(row[0]) for row in rows]])
    system = System(
        start=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        index=np.concatenate([*(part.index for part in parts), [i for r in rows for i in r[0]]]).astype(
            np.int64
        ),
        value=np.concatenate([*(part.value for part in parts), [v for r in rows for v in r[1]]]),
        least=np.concatenate([*(part.least for part in parts), [r[2] for r in rows]]),
        most=np.concatenate([*(part.most for part in parts), [r[3] for r in rows]]),
        low=np.zeros(many * len(measures)),
        high=np.full(many * len(measures), inf),
        whole=tuple(measures) == (COUNT,) if whole is None else whole,
    )
    return Knowledge(tuple(dimensions), tuple(measures), system)


def _flat(dimensions: Sequence[Dimension], sizes: tuple[int, ...], places: list[int], labels: Cell) -> int:
    """The column of the cell with these labels; dimensions that are not named are summed over."""
    cell = [size - 1 for size in sizes]
    for place, label in zip(places, labels, strict=True):
        cell[place] = dimensions[place].node(label)
    return int(np.ravel_multi_index(cell, sizes))


def shown(dimensions: Sequence[Dimension], by: Iterable[tuple[str, ...]]) -> np.ndarray:
    """True at the cells of the cube that tables by these columns show, with their margins."""
    mask = np.zeros(shape(dimensions), bool)
    for columns in by:
        picked = [
            np.arange(len(d.labels)) if d.column in columns else np.array([len(d.labels) - 1])
            for d in dimensions
        ]
        mask[np.ix_(*picked)] = True
    return mask


def long(
    dimensions: Sequence[Dimension],
    by: Iterable[tuple[str, ...]],
    mask: np.ndarray,
    value: np.ndarray,
    marks: np.ndarray,
) -> pa.Table:
    """The shown cells, a line each: labels of the columns in `by`, value (none where it is hidden), mark."""
    named = {column for columns in by for column in columns}
    cells = np.argwhere(mask)
    columns: dict[str, object] = {
        d.column: pa.array([d.labels[node] for node in cells[:, axis]], pa.string())
        for axis, d in enumerate(dimensions)
        if d.column in named
    }
    chosen = marks[mask]
    columns["value"] = pa.array(value[mask], mask=chosen != "")
    columns["mark"] = pa.array(chosen.tolist(), pa.string())
    return pa.table(columns)
