"""Dates as a release gives them: whole, or as spans such as "1980-05", "1980s" or "[1980-01-01, 1984-12-31]"."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import MAXYEAR, datetime, timedelta

import pyarrow as pa
import pyarrow.compute as pc

DATE = r"(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?"
ONE = re.compile(rf"^{DATE}(s)?$")
SPAN = re.compile(rf"^([\[(]?)\s*{DATE}\s*(?:-|–|,|\.\.|…|to)\s*{DATE}\s*([\])]?)$")
YEARS = 1000, 3000  # whole numbers between these are years, where the people have dates


def dated(table: pa.Table, like: pa.Table) -> pa.Table:
    """A release whose dates can be compared with those of the people: as dates, or as spans of microseconds."""
    for place, name in enumerate(table.column_names):
        kind = like.schema.field(name).type if name in like.column_names else None
        if kind is not None and (pa.types.is_date(kind) or pa.types.is_timestamp(kind)):
            table = table.set_column(place, name, _read(table[name], kind))
        elif kind is not None and pa.types.is_temporal(kind) and pa.types.is_string(table[name].type):
            with suppress(pa.ArrowInvalid):
                table = table.set_column(place, name, table[name].cast(kind))
    return table


def _read(cells: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    if pa.types.is_integer(cells.type):
        ends = pc.min_max(cells).as_py()
        if ends["min"] is None or not YEARS[0] <= ends["min"] <= ends["max"] < YEARS[1]:
            return cells
        cells = cells.cast(pa.string())
    if not pa.types.is_string(cells.type):
        return cells
    with suppress(pa.ArrowInvalid):
        return cells.cast(kind)
    coded = cells.combine_chunks().dictionary_encode()
    labels = [text if text is None or text == "*" else span(text) for text in coded.dictionary.to_pylist()]
    if any(
        label is None and text is not None
        for label, text in zip(labels, coded.dictionary.to_pylist(), strict=True)
    ):
        return cells
    spans = pa.DictionaryArray.from_arrays(coded.indices, pa.array(labels, pa.string())).cast(pa.string())
    return pa.chunked_array([spans])


def span(text: str) -> str | None:
    """The microseconds from 1970 that a span of dates covers; None where it is none.

    >>> span("1970-01"), span("1970-01-01")
    ('[0, 2678400000000)', '[0, 86400000000)')
    """
    text = text.strip()
    with suppress(ValueError):
        if found := ONE.match(text):
            start, end = _ends(*found.groups()[:3])
            return _label(start, _ends(str(int(found[1]) + 9), None, None)[1] if found[4] else end)
        if found := SPAN.match(text):
            (first, after), (last, end) = _ends(*found.groups()[1:4]), _ends(*found.groups()[4:7])
            return _label(after if found[1] == "(" else first, last if found[8] == ")" else end)
    return None


def micros(moment: datetime) -> int:
    """Since 1970, as attacks see dates."""
    return int((moment - datetime(1970, 1, 1)) / timedelta(microseconds=1))


def _ends(year: str, month: str | None, day: str | None) -> tuple[datetime, datetime]:
    """When a year, a month or a day begins, and when it is over."""
    start = datetime(int(year), int(month or 1), int(day or 1))
    if day:
        return start, start + timedelta(days=1)
    if month:
        return start, (start + timedelta(days=31)).replace(day=1)
    return start, start.replace(year=min(start.year + 1, MAXYEAR))


def _label(start: datetime, end: datetime) -> str:
    if end < start:
        raise ValueError("the span ends before it begins")
    return f"[{micros(start)}, {micros(end)})"
