"""What every way of protecting a table is: a public description, and how it turns true cells into what may leave."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pyarrow as pa

from obverse.data.schema import Schema, Type
from obverse.data.table import Tables
from obverse.errors import BadParameter
from obverse.noise.entropy import Entropy
from obverse.release import Accuracy, Guarantee, Syntactic, Terms
from obverse.tables.cube import OPEN, Bounds, Reading, Totals, read, scattered
from obverse.tables.dimension import Dimension
from obverse.tables.published import COUNT, Published, long, shown

Marks = np.ndarray


@dataclass(frozen=True)
class Shape:
    """The public side of one table to be protected: its dimensions, what is shown, what is added up and for whom.

    `around` are the dimensions with those of what was published before.
    """

    schema: Schema
    dimensions: tuple[Dimension, ...]
    by: tuple[tuple[str, ...], ...]
    measure: str | None = None
    weight: str | None = None
    published: tuple[Published, ...] = ()
    around: tuple[Dimension, ...] = ()

    @property
    def name(self) -> str:
        """The measure's name among facts."""
        return self.measure or COUNT

    @property
    def bounds(self) -> tuple[Bounds, Bounds]:
        """Between what the measure and the weight are declared to lie."""
        return self._declared(self.measure), self._declared(self.weight)

    def _declared(self, name: str | None) -> Bounds:
        column = self.schema.column(name) if name is not None else None
        ends = (column.low, column.high) if column is not None else OPEN
        low, high = (end if isinstance(end, (int, Fraction)) else None for end in ends)
        return low, high

    @property
    def integral(self) -> bool:
        """Whether cells are whole numbers: counts, or sums of whole numbers of rows."""
        named = [self.schema.column(name) for name in (self.measure, self.weight) if name is not None]
        ends = [end for bounds in self.bounds for end in bounds if end is not None]
        return all(column.type is Type.INTEGER for column in named) and all(end % 1 == 0 for end in ends)

    def figures(self, value: np.ndarray) -> np.ndarray:
        """The values as they are shown: whole numbers where they are."""
        return np.rint(value).astype(np.int64) if self.integral else value

    @property
    def whole(self) -> bool:
        """Whether cells are counts."""
        return self.measure is None and self.weight is None


@dataclass(frozen=True, repr=False)
class Protected:
    """What may leave of each cell: a value, or a mark that says why there is none; and which cells do at all."""

    value: np.ndarray
    marks: Marks
    lines: np.ndarray | None = None


class Protection(ABC):
    """One way to protect a table. A frozen dataclass."""

    top = 0
    keyed = False
    together = False  # whether it protects a table together with those that were published before

    def settled(self, shape: Shape, terms: Terms) -> Protection:
        """The same with every choice made that the request left open; or a Refusal."""
        return self

    @property
    def at(self) -> Fraction:
        """The δ that its guarantee is meant at."""
        return Fraction(0)

    @abstractmethod
    def guarantee(self, shape: Shape) -> Guarantee:
        """What it promises."""

    def accuracy(self, shape: Shape) -> tuple[Accuracy, ...]:
        """How wrong a value may be."""
        return ()

    def within(self, shape: Shape) -> float | None:
        """How far from the truth a shown value can be, or None where that is not certain."""
        return None

    @abstractmethod
    def release(self, shape: Shape, reading: Reading, tables: Tables, entropy: Entropy) -> pa.Table:
        """Read, protect, and give back the lines that may leave."""


class Exact(Protection):
    """A protection that starts from every cell's true figure."""

    def release(self, shape: Shape, reading: Reading, tables: Tables, entropy: Entropy) -> pa.Table:
        totals = read(reading, tables)
        if reading.secret is not None:
            totals = replace(totals, keys=scattered(totals.keys, reading.secret))
        known = replace(shape, dimensions=totals.dimensions)
        mask = shown(totals.dimensions, shape.by) & _worth_a_line(totals)
        protected = self.protect(known, totals, entropy)
        mask = mask if protected.lines is None else mask & protected.lines
        return long(totals.dimensions, shape.by, mask, protected.value, protected.marks)

    @abstractmethod
    def protect(self, shape: Shape, totals: Totals, entropy: Entropy) -> Protected:
        """The cells as they may leave."""


def syntactic(*terms: tuple[str, object]) -> Syntactic:
    """A promise about form, from names and values."""
    return Syntactic(tuple((name, str(value)) for name, value in terms))


def counts_only(shape: Shape, what: str) -> None:
    """Refused for amounts and weighted counts, where it would be no protection."""
    if not shape.whole:
        raise BadParameter(
            f"{what} protects counts of people; protect amounts by Suppress, or ask for Private"
        )


def unmarked(value: np.ndarray) -> Protected:
    """A value for every cell."""
    return Protected(value, np.full(value.shape, "", dtype=object))


def _worth_a_line(totals: Totals) -> np.ndarray:
    """All cells but those of missing and unnamed values that nobody has."""
    mask = np.ones(totals.rows.shape, bool)
    for axis, dimension in enumerate(totals.dimensions):
        for spare in (dimension.missing, dimension.other):
            part = (slice(None),) * axis + (spare,)
            mask[part] &= totals.rows[part].any()
    return mask
