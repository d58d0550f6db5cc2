"""Tables as boxes of numbers: one scale and one set of codes for all that are compared.  [Gow71]

Numbers and dates are scaled to the range they span together; categories become codes in which all that is
below one label of a ladder lies side by side, so that a generalised cell ("30-39", "*", "North America",
"{a, b}") is an interval too. A missing cell differs from every value, and is like another missing cell.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from obverse.attack.nearest import Boxes, Reals
from obverse.errors import BadSource

Ladders = Mapping[str, Sequence[Sequence[str]]]
"""For a column, its ladder: a row for every value, from the value itself up to the top."""

MISSING = -2.0
ANY = "*"
_NUMBER = r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?"
_SPAN = re.compile(rf"^([\[(]?)\s*({_NUMBER})\s*(?:-|–|,|\.\.|to)\s*({_NUMBER})\s*([\])]?)$")
_SIDE = re.compile(rf"^(<=|>=|<|>|≤|≥)\s*({_NUMBER})$|^({_NUMBER})\s*\+$")

Codes = NDArray[np.int64]
_Pair = tuple[Reals, Reals]
_Shut = NDArray[np.bool_] | bool
_Spans = tuple[NDArray[np.float64], NDArray[np.float64], _Shut, _Shut]


def encode(tables: Sequence[pa.Table], columns: Sequence[str], ladders: Ladders | None = None) -> list[Boxes]:
    """The tables on one scale, in the order given, seen through `columns`."""
    lows = [np.empty((table.num_rows, len(columns)), np.float32) for table in tables]
    highs = [np.empty((table.num_rows, len(columns)), np.float32) for table in tables]
    for j, name in enumerate(columns):
        cells = [_cells(table, name) for table in tables]
        ladder = (ladders or {}).get(name, ())
        numbers = any(map(_numeric, cells)) or (not ladder and _intervals(cells))
        pairs = _numbers(cells, name) if numbers else _codes(cells, ladder)
        for low, high, pair in zip(lows, highs, pairs, strict=True):
            low[:, j], high[:, j] = pair
    return [
        Boxes(low, low if np.array_equal(low, high) else high) for low, high in zip(lows, highs, strict=True)
    ]


def shared(release: pa.Table, people: pa.Table) -> list[str]:
    """The columns that both tables have, in the release's order; a refusal where there is none."""
    found = [name for name in release.column_names if name in people.column_names]
    if not found:
        raise BadSource(
            f"the release ({', '.join(release.column_names)}) shares no column with the list it is "
            f"held against ({', '.join(people.column_names)})"
        )
    return found


def readable(texts: Sequence[str], values: set[str], ladder: Sequence[Sequence[str]]) -> NDArray[np.bool_]:
    """Which texts are one of these values, or stand for some: a label of the ladder, a set, an interval, "*".

    >>> readable(["M", "*", "{M, F}", "male"], {"M", "F"}, ()).tolist()
    [True, True, True, False]
    """
    labels = {*values, *_below(ladder, {*values, *texts}), *(rungs[0] for rungs in ladder), ANY}
    return np.array([text in labels or bool(_SPAN.match(text) or _SIDE.match(text)) for text in texts], bool)


def numeric(table: pa.Table, name: str) -> bool:
    """Whether a column holds numbers or dates, rather than names of things."""
    return _numeric(_cells(table.slice(0, 0), name))


def classes_of(boxes: Boxes) -> tuple[Boxes, Codes]:
    """The distinct boxes, and the number of each row's."""
    both = np.hstack([boxes.low, boxes.high]) + np.float32(0)  # −0 is 0
    kind = pa.binary(both.strides[0])
    rows = pa.Array.from_buffers(kind, len(both), [None, pa.py_buffer(both)]).dictionary_encode()
    of = rows.indices.to_numpy().astype(np.int64)
    _, first = np.unique(of, return_index=True)
    return boxes.rows(first), of


def legible(name: str, kind: pa.DataType) -> None:
    """Refuse a column of lists, structures or bytes."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_nested(kind) or "binary" in str(kind):
        raise BadSource(f"{name} is {kind}: attacks read numbers, dates, texts, and true or false")


def retyped(table: pa.Table, like: pa.Table) -> pa.Table:
    """Texts that are all numbers as numbers, where the other table has numbers."""
    for place, name in enumerate(table.column_names):
        if numeric(like, name) and not numeric(table, name):
            with suppress(pa.ArrowInvalid):
                table = table.set_column(place, name, table[name].cast(pa.float64()))
    return table


def counted(cells: pa.Array) -> pa.Array:
    """Dates and times as whole numbers, decimals as floats; all else as it is."""
    kind = cells.type
    if pa.types.is_temporal(kind):
        return cells.cast(pa.timestamp("us") if pa.types.is_date(kind) else kind).cast(pa.int64())
    return cells.cast(pa.float64()) if pa.types.is_decimal(kind) else cells


def _cells(table: pa.Table, name: str) -> pa.Array:
    """Numbers; or text as a dictionary and each row's place in it."""
    cells = table.column(name).combine_chunks()
    if pa.types.is_dictionary(cells.type):
        cells = cells.cast(cells.type.value_type)
    cells = counted(cells)
    legible(name, cells.type)
    return cells if _numeric(cells) else cells.cast(pa.string()).dictionary_encode()


def _numeric(cells: pa.Array) -> bool:
    return bool(pa.types.is_integer(cells.type) or pa.types.is_floating(cells.type))


def _numbers(columns: Sequence[pa.Array], name: str) -> list[_Pair]:
    """Scaled to 0 … 1 by the least and the greatest number in any of the tables."""
    spans = [_plain(cells) if _numeric(cells) else _spans(cells, name) for cells in columns]
    ends = np.concatenate([end[np.isfinite(end)] for span in spans for end in span[:2]])
    least, most = (float(ends.min()), float(ends.max())) if len(ends) else (0.0, 1.0)
    width = most - least or 1.0

    def scaled(end: NDArray[np.float64], beyond: float, excluded: _Shut) -> Reals:
        inside = np.where(np.isinf(end), beyond, (end - least) / width).astype(np.float32)
        inside = np.where(
            excluded, np.nextafter(inside, np.float32(-np.inf if beyond > 0 else np.inf)), inside
        )
        return np.where(np.isnan(end), np.float32(MISSING), inside)

    return [(scaled(low, MISSING, above), scaled(high, 1.0, below)) for low, high, above, below in spans]


def _intervals(columns: Sequence[pa.Array]) -> bool:
    """Whether text that stands alone is of numbers: an interval somewhere, and nothing else but numbers."""
    found = False
    for cells in columns:
        for text in cells.dictionary.to_pylist():
            span = _SPAN.match(text)
            if span and float(span[2]) > float(span[3]):
                return False
            found = found or span is not None
            if not (text == ANY or span or _SIDE.match(text) or re.fullmatch(_NUMBER, text)):
                return False
    return found


def _plain(cells: pa.Array) -> _Spans:
    values = cells.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return values, values, False, False


def _spans(cells: pa.Array, name: str) -> _Spans:
    ends = [_span(text, name) for text in cells.dictionary.to_pylist()]
    places = cells.indices.fill_null(len(ends)).to_numpy(zero_copy_only=False)
    low, high, above, below = np.array([*ends, (np.nan, np.nan, False, False)])[places].T
    return low, high, above == 1, below == 1


def _span(text: str, name: str) -> tuple[float, float, bool, bool]:
    """The ends that a cell such as "30-39", "[30, 40)", "<30" or "*" allows, and whether each is shut out."""
    text = text.strip()
    if text == ANY:
        return -np.inf, np.inf, False, False
    if found := _SPAN.match(text):
        return float(found[2]), float(found[3]), found[1] == "(", found[4] == ")"
    if found := _SIDE.match(text):
        end, sign = float(found[2] or found[3]), found[1] or ">="
        return (-np.inf, end, False, sign == "<") if sign in "<=≤" else (end, np.inf, sign == ">", False)
    try:
        return float(text), float(text), False, False
    except ValueError:
        raise BadSource(
            f"{name} holds numbers in one table, and in another text that is neither number nor interval"
        ) from None


def _codes(columns: Sequence[pa.Array], ladder: Sequence[Sequence[str]]) -> list[_Pair]:
    """Codes of categories; a label higher up the ladder, or a set, spans the codes of the values below it."""
    seen = {text for cells in columns for text in cells.dictionary.to_pylist()}
    below = _below(ladder, seen)
    leaves = {rungs[0] for rungs in ladder} | (seen - below.keys() - {ANY})
    paths: dict[str, list[str]] = {leaf: [] for leaf in leaves}
    for label in sorted(below, key=lambda label: (-len(below[label]), label)):
        for leaf in below[label] & leaves:
            paths[leaf].append(label)
    code = {leaf: float(i) for i, leaf in enumerate(sorted(leaves, key=lambda leaf: (paths[leaf], leaf)))}

    def ends(text: str) -> tuple[float, float]:
        if text == ANY:
            return MISSING, float(len(code))
        if text in code:
            return code[text], code[text]
        within = [code[leaf] for leaf in below[text] & leaves] or [MISSING]
        return min(within), max(within)

    pairs = []
    for part in columns:
        table = np.array([ends(text) for text in part.dictionary.to_pylist()] or [(0, 0)], dtype=float)
        places = pc.fill_null(part.indices, len(table)).to_numpy(zero_copy_only=False)
        low, high = np.vstack([table, [MISSING, MISSING]])[places].T.astype(np.float32)
        pairs.append((low, high))
    return pairs


def _below(ladder: Sequence[Sequence[str]], seen: set[str]) -> dict[str, set[str]]:
    """For every label above the first rung, and every set of values, the values that it stands for."""
    found: dict[str, set[str]] = {}
    for leaf, *above in ladder:
        for label in above:
            if label not in (leaf, ANY):
                found.setdefault(label, set()).add(leaf)
    leaves = seen | {rungs[0] for rungs in ladder}
    for text in seen - found.keys():
        members = {member.strip() for member in re.split(r"[,;|]", text.strip("{}[]()"))}
        if len(members) > 1 and members <= leaves:
            found[text] = members
    return found
