"""Ladders of generalisation: from each value, step by step, up to `*`.  [Swe02; Sam01]

A ladder is read from a file (a line a value, leaf first, `*` last), from the schema's TOML (the same as lists), or
made from a column's type and public range when the curator has none.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from math import floor, isfinite, log10
from pathlib import Path

from obverse.errors import BadParameter, BadSource

TOP = "*"


@dataclass(frozen=True)
class Ladder:
    """`levels[0]` are the values; a label of one level always has one label on the next; the last is `*` alone."""

    column: str
    levels: tuple[tuple[str, ...], ...]

    def __post_init__(self) -> None:
        leaves = self.levels[0] if self.levels else ()
        if not self.levels or any(len(level) != len(leaves) for level in self.levels):
            raise BadParameter(f"the hierarchy of {self.column} has no values, or lines of different lengths")
        if len(set(leaves)) != len(leaves):
            raise BadParameter(f"the hierarchy of {self.column} gives the same value on two lines")
        if set(self.levels[-1]) - {TOP}:
            raise BadParameter(f"the hierarchy of {self.column} must end in {TOP} on every line")
        for number, (low, high) in enumerate(zip(self.levels, self.levels[1:], strict=False)):
            if len(set(zip(low, high, strict=True))) != len(set(low)):
                raise BadParameter(
                    f"the hierarchy of {self.column} is no ladder: a label of step {number + 1} "
                    f"has two labels on step {number + 2}"
                )

    @property
    def height(self) -> int:
        """How many steps lead from a value to `*`."""
        return len(self.levels) - 1

    def covers(self, values: Iterable[str]) -> bool:
        """Whether every value is on the ladder."""
        return set(values) <= set(self.levels[0])

    def of(self, values: Sequence[str]) -> Ladder:
        """The same ladder for exactly these values, in this order."""
        place = {leaf: index for index, leaf in enumerate(self.levels[0])}
        if not all(value in place for value in values):
            raise BadParameter(f"the hierarchy of {self.column} misses a value of the column")
        return Ladder(self.column, tuple(tuple(level[place[v]] for v in values) for level in self.levels))


def from_rows(column: str, rows: Iterable[Sequence[str]]) -> Ladder:
    """A ladder from lines of labels, leaf first.

    >>> from_rows("sex", [("F", "*"), ("M", "*")]).height
    1
    """
    lines = [tuple(cell.strip() for cell in row) for row in rows if row]
    if len({len(line) for line in lines}) != 1:
        raise BadParameter(f"the hierarchy of {column} has no values, or lines of different lengths")
    return Ladder(column, tuple(zip(*lines, strict=True)))


def from_csv(column: str, path: Path) -> Ladder:
    """A ladder from a CSV file without a header; `;` may separate as well as `,`."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise BadSource(f"the hierarchy of {column} cannot be read from {path}") from error
    first = text.splitlines()[0] if text.strip() else ""
    separator = ";" if first.count(";") > first.count(",") else ","
    return from_rows(column, csv.reader(text.splitlines(), delimiter=separator))


def from_toml(column: str, steps: Mapping[str, Sequence[str]]) -> Ladder:
    """A ladder from a TOML table: each value with its labels above it; `*` may be left out.

    >>> from_toml("city", {"Bonn": ["Germany"], "Lyon": ["France"]}).levels[1]
    ('Germany', 'France')
    """
    rows = [(leaf, *(label for label in labels if label != TOP), TOP) for leaf, labels in steps.items()]
    return from_rows(column, rows)


def numbers(column: str, values: Sequence[float], low: float, high: float, whole: bool) -> Ladder:
    """Intervals that double in width, aligned to multiples of the width; public range, no row looked at.

    >>> numbers("age", [17, 18, 90], 17, 90, whole=True).levels[1]
    ('15-19', '15-19', '90-94')
    """
    if not (isfinite(low) and isfinite(high)):
        raise BadParameter(f"{column} has infinite bounds: give finite ones")
    width = _round_width((high - low) / 16, whole)
    levels = [tuple(number(value) for value in values)]
    while width < 2 * (high - low) and len(levels) < 6 and floor(low / width) != floor(high / width):
        levels.append(tuple(interval(value, width, whole) for value in values))
        width *= 2
    return Ladder(column, (*levels, (TOP,) * len(values)))


def categories(column: str, values: Sequence[str], weights: Sequence[int]) -> Ladder:
    """Sets of values, the rarest joined first until a third as many are left on each step, as Huffman joins them.

    >>> categories("c", ["a", "b", "c", "d"], [9, 5, 1, 1]).levels[1]
    ('a', '{b, c, d}', '{b, c, d}', '{b, c, d}')
    """
    heap: list[tuple[int, int, tuple[int, ...]]] = [(w, index, (index,)) for index, w in enumerate(weights)]
    heapify(heap)
    levels = [tuple(values)]
    while len(heap) > 3:
        target = max(2, -(-len(heap) // 3))
        while len(heap) > target:
            (a, i, left), (b, j, right) = heappop(heap), heappop(heap)
            heappush(heap, (a + b, min(i, j), tuple(sorted(left + right))))
        level = [""] * len(values)
        for _, _, members in heap:
            label = many(values[m] for m in members)
            for m in members:
                level[m] = label
        levels.append(tuple(level))
    return Ladder(column, (*levels, (TOP,) * len(values)))


def number(value: float) -> str:
    """A number as its label: whole ones without a point."""
    return str(int(value)) if float(value).is_integer() and abs(value) < 1e15 else repr(float(value))


def interval(value: float, width: float, whole: bool) -> str:
    """The interval of this width that holds the value; whole numbers show their last member."""
    low = floor(value / width) * width
    if whole:
        return f"{int(low)}-{int(low + width - 1)}"
    return f"[{number(low)}, {number(low + width)})"


def many(values: Iterable[str]) -> str:
    """A set of values as one label; a value alone is itself.

    >>> many(["a"]), many(["a", "b, c"])
    ('a', '{a, "b, c"}')
    """
    listed = list(values)
    return listed[0] if len(listed) == 1 else "{" + ", ".join(map(part, listed)) + "}"


def part(text: str) -> str:
    """A value beside others: in quotes where a comma, a quote or a space at its ends would mislead a reader."""
    plain = text == text.strip() and not set(text) & set(',"')
    return text if plain or is_quoted(text) else quoted(text)


def quoted(text: str) -> str:
    """A text in quotes."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def is_quoted(text: str) -> bool:
    """Whether a text stands in quotes."""
    return len(text) > 1 and text[0] == text[-1] == '"'


def _round_width(width: float, whole: bool) -> float:
    """The least of 1, 2, 5 times a power of ten that is at least this wide; for whole numbers at least 2."""
    if width <= 0:
        return 2.0 if whole else 1.0
    power = 10.0 ** floor(log10(width))
    rounded = next(step * power for step in (1, 2, 5, 10) if step * power >= width * (1 - 1e-9))
    return max(2.0, rounded) if whole else rounded
