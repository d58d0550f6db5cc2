"""Columns as whole numbers: a code is a value's place in its sorted domain, whatever order the rows came in.

Everything after this works on codes and counts; no string is touched again until labels are written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from obverse.anonymise.reading import in_order, ordered
from obverse.data.hierarchy import TOP, is_quoted, many, number, part, quoted
from obverse.errors import Withheld

Ints = NDArray[np.int64]
Value = str | int | float | bool | None
MISSING = ""  # three marks that never mean each other: no value was there,
CELL = TOP  # this value is hidden,
ROW = "**"  # this whole row is hidden
NONE = "∅"  # a missing value inside a set of values


@dataclass(frozen=True)
class Domain:
    """The values of one column, in order. A missing value is a category of its own, with the last code.

    `at` places each value on a line: numbers and dates at their value, texts at their rank.
    """

    name: str
    type: pa.DataType
    values: tuple[object, ...]
    at: NDArray[np.float64] = field(compare=False, repr=False)
    numeric: bool
    missing: bool
    low: float
    high: float

    @cached_property
    def size(self) -> int:
        return len(self.values) + self.missing

    @property
    def whole(self) -> bool:
        return self.numeric and bool(pa.types.is_integer(self.type))

    def text(self, code: int) -> str:
        """A value as a label; a value that looks like a mark is quoted."""
        if code == len(self.values):
            return MISSING
        shown = written(self.values[code])
        return quoted(shown) if shown in (MISSING, CELL, ROW, NONE) or is_quoted(shown) else shown

    @cached_property
    def marked(self) -> bool:
        """Whether some value looks like a mark, so that it cannot leave as it is."""
        return not self.numeric and any(is_quoted(self.text(code)) for code in range(len(self.values)))

    @cached_property
    def _in_step(self) -> bool:
        """Whether the order of texts is that of the numbers a reader may take them for: digits of one length."""
        texts = [str(value) for value in self.values]
        return all(text.isdecimal() for text in texts) and len({len(text) for text in texts}) == 1

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """Every value as a label, the missing one as `∅`."""
        return tuple(self.text(code) or NONE for code in range(self.size))

    @cached_property
    def plain(self) -> tuple[Value, ...]:
        """Every value as JSON and SQL can write it, a date as text; the missing one as None."""
        known = (v if v is None or isinstance(v, Value) else str(v) for v in self.values)
        return (*known, *([None] * self.missing))

    def range_label(self, low: int, high: int) -> str:
        """All values between two codes as one label that contains both."""
        if low == high:
            return self.text(low)
        if high >= len(self.values) or (low == 0 and high == self.size - 1):
            return CELL
        first, last = self.text(low), self.text(high)
        if self.whole and self.at[low] >= 0:
            return f"{first}-{last}"
        return f"[{first}, {last}]" if self.numeric else f"[{self._end(first)}, {self._end(last)}]"

    def _end(self, text: str) -> str:
        """An end of a range of texts; a number in quotes is compared as text."""
        text = part(text)
        misleads = text[:1] in "[(+-.0123456789" and not self._in_step
        return quoted(text) if misleads and not is_quoted(text) else text

    def set_label(self, codes: Sequence[int]) -> str:
        """Some values as one label."""
        if len(codes) == 1:
            return self.text(codes[0])
        return CELL if len(codes) == self.size else many([self.texts[code] for code in codes])


def written(value: object) -> str:
    """A value as files hold it.

    >>> written(39.0), written(True), written("x")
    ('39', 'true', 'x')
    """
    if isinstance(value, bool):
        return str(value).lower()
    return number(value) if isinstance(value, int | float) else str(value)


def encode(
    name: str, column: pa.ChunkedArray, low: float | None = None, high: float | None = None
) -> tuple[Domain, NDArray[np.int32]]:
    """A column's domain and its codes."""
    if pa.types.is_floating(column.type):
        column = pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
    if pa.types.is_decimal(column.type):
        column = column.cast(pa.float64())
    coded = as_dictionary(column)
    found = coded.dictionary
    codes = pc.fill_null(coded.indices, len(found)).to_numpy(zero_copy_only=False)
    values = found
    if not pa.types.is_dictionary(column.type):
        order = pc.sort_indices(found).to_numpy()
        rank = np.empty(len(found) + 1, np.int32)
        rank[order] = np.arange(len(found), dtype=np.int32)
        rank[-1] = len(found)
        codes, values = rank[codes], found.take(pa.array(order))
    kind = found.type
    numeric = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_temporal(kind)
    at = _places(name, values, numeric)
    least, most = (float(at[0]), float(at[-1])) if len(at) else (0.0, 0.0)
    if numeric:
        least, most = min(least, least if low is None else low), max(most, most if high is None else high)
    domain = Domain(name, kind, tuple(values.to_pylist()), at, numeric, column.null_count > 0, least, most)
    return domain, codes


def as_dictionary(column: pa.ChunkedArray) -> pa.DictionaryArray:
    """A column as one array of codes and values; only values that occur are listed, and each once."""
    if pa.types.is_dictionary(column.type):
        if column.num_chunks == 1 and in_order(column.chunk(0)):
            return column.chunk(0)
        return ordered(column)
    coded = pa.chunked_array(column.combine_chunks().dictionary_encode())
    return coded.combine_chunks() if coded.num_chunks != 1 else coded.chunk(0)


def _places(name: str, values: pa.Array, numeric: bool) -> NDArray[np.float64]:
    if not numeric:
        return np.arange(len(values), dtype=np.float64)
    if pa.types.is_temporal(values.type):
        values = values.cast(pa.timestamp("us")).cast(pa.int64())
    at: NDArray[np.float64] = values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    if not np.isfinite(at).all():
        raise Withheld(
            f"{name} may hold numbers that are not finite: give it bounds, or make it missing there"
        )
    return at


def reorder(
    domain: Domain, codes: NDArray[np.int32], order: Sequence[int]
) -> tuple[Domain, NDArray[np.int32]]:
    """The same column with its values listed in another order; a missing value stays last."""
    place = np.empty(domain.size, np.int32)
    place[-1] = domain.size - 1
    place[np.asarray(order, np.int64)] = np.arange(len(domain.values), dtype=np.int32)
    moved = replace(domain, values=tuple(domain.values[i] for i in order), at=domain.at[list(order)])
    return moved, place[codes]


def group(columns: Sequence[NDArray[np.int32] | Ints], sizes: Sequence[int]) -> tuple[Ints, Ints, Ints]:
    """Distinct combinations of codes: the first row of each, each row's combination, and how many rows each has.

    Combinations are numbered in the order of their codes, so the numbers do not depend on the order of rows.
    """
    if not columns:
        return np.zeros(1, np.int64), np.zeros(0, np.int64), np.zeros(1, np.int64)
    key, span = combined(columns, sizes)
    if span <= 4 * len(key) + 1024:
        return _by_counting(key, span)
    _, first, inverse, counts = np.unique(key, return_index=True, return_inverse=True, return_counts=True)
    return first, inverse, counts


def combined(columns: Sequence[NDArray[np.int32] | Ints], sizes: Sequence[int]) -> tuple[Ints, int]:
    """One number for each row's combination of codes, in the order of the codes; and a number above all of them."""
    key = columns[0].astype(np.int64)
    span = sizes[0]
    for codes, size in zip(columns[1:], sizes[1:], strict=True):
        if span * size >= 2**62:
            distinct, key = np.unique(key, return_inverse=True)
            span = len(distinct)
        key = key * size + codes
        span *= size
    return key, span


def _by_counting(key: Ints, span: int) -> tuple[Ints, Ints, Ints]:
    """The same without sorting, where there are few possible combinations."""
    counts = np.bincount(key, minlength=span)
    seen = np.flatnonzero(counts)
    place = np.zeros(span, np.int64)
    place[seen] = np.arange(len(seen))
    first = np.zeros(span, np.int64)
    first[key[::-1]] = np.arange(len(key) - 1, -1, -1)
    return first[seen], place[key], counts[seen]
