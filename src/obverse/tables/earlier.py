"""What left through the door before: kept with each table, and counted in for the next one of the same people.

Tables with no column in common, not even through others, tell of each other nothing but the total: any two of
them with the same total are the margins of one table, so whatever one leaves open, the other leaves open too.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute

from obverse.data.hierarchy import Ladder
from obverse.errors import BadParameter, Withheld
from obverse.tables.cube import Totals
from obverse.tables.dimension import TOTAL
from obverse.tables.hide import Suppress, bounds, measures
from obverse.tables.pattern import Check
from obverse.tables.protect import Shape
from obverse.tables.published import COUNT, Published, cells, knowledge

NOTE = b"obverse.table"
Left = tuple["Note", pa.Table]


@dataclass(frozen=True)
class Note:
    """What is kept beside a released table: which request it was, of which data, and what its values say.

    `within` is how far from the truth a value may be, or nothing where that is not certain; `complete` says that
    every cell has a line, with its true value or hidden.
    """

    asked: str
    version: str
    measure: str | None
    weight: str | None
    within: float | None
    complete: bool = False
    ladders: tuple[tuple[str, tuple[tuple[str, ...], ...]], ...] = ()

    def beside(self, table: pa.Table) -> pa.Table:
        """The table with this note in its metadata."""
        return table.replace_schema_metadata({NOTE: json.dumps(vars(self)).encode()})

    @classmethod
    def of(cls, table: pa.Table) -> Note | None:
        """The note beside a kept table; none beside what is not a table of this kind."""
        text = (table.schema.metadata or {}).get(NOTE)
        if text is None:
            return None
        inside = json.loads(text)
        ladders = tuple((name, tuple(map(tuple, levels))) for name, levels in inside.pop("ladders"))
        return cls(**inside, ladders=ladders)


@dataclass(frozen=True)
class Earlier:
    """What tables that left before say, and the ladders of their columns."""

    published: tuple[Published, ...]
    ladders: tuple[Ladder, ...]


def linked(
    kept: Iterable[pa.Table], asked: str, version: str, shape: Shape, ladders: Iterable[Ladder]
) -> Earlier:
    """All that left before this request did, or would now, and has to do with its columns."""
    known = {ladder.column: ladder for ladder in ladders}
    found: list[Left] = []
    for table in kept:
        note = Note.of(table)
        if note is None or note.version != version:
            continue
        if note.asked == asked:
            break
        about = (None, shape.measure) if shape.weight is None else (shape.measure,)
        if note.within is not None and note.weight == shape.weight and note.measure in about:
            found.append((note, table))
    own = {column for part in (*shape.by, *(told.by for told in shape.published)) for column in part}
    columns = set(own)
    while more := [each for each in found if columns & by(each) and not columns >= by(each)]:
        columns.update(*map(by, more))
    near = narrowed([each for each in found if columns & by(each)], own)
    columns = own.union(*map(by, near))
    for note, table in near:
        for column, levels in note.ladders:
            if (
                column in by((note, table))
                and known.setdefault(column, Ladder(column, levels)).levels != levels
            ):
                raise BadParameter(
                    f"a table by {column} left before along another ladder: use that one, so that both add up"
                )
    told = (cells(table, note.measure or COUNT, within=note.within or 0) for note, table in near)
    return Earlier(tuple(told), tuple(known[column] for column in sorted(known.keys() & columns)))


def by(left: Left) -> set[str]:
    """The columns a table is by."""
    return set(left[1].column_names) - {"value", "mark"}


def narrowed(near: list[Left], own: set[str]) -> list[Left]:
    """The same, without the columns that no other table has, where all cells of those it shares are shown.

    Two tables are margins of one just if they agree about the columns they share: where those cells are all known,
    neither narrows the other any further.
    """
    for place, (note, table) in enumerate(near):
        others = near[:place] + near[place + 1 :]
        mine = by((note, table))
        shared = mine & own.union(*map(by, others))
        if any(by(other) >= mine and shown_in_full(other, mine) for other in others):
            return narrowed(others, own)
        if shared != mine and shown_in_full((note, table), shared):
            left = [(note, margin(table, shared))] if shared else []
            return narrowed(near[:place] + left + near[place + 1 :], own)
    return near


def shown_in_full(left: Left, columns: set[str]) -> bool:
    """Whether every cell by these columns is shown, as it is."""
    note, table = left
    part = margin(table, columns)
    finest = [line for line in part.to_pylist() if TOTAL not in line.values()]
    return note.complete and bool(finest) and not part["value"].null_count


def margin(table: pa.Table, columns: set[str]) -> pa.Table:
    """The lines that sum over all other columns."""
    for column in table.column_names:
        if column not in {*columns, "value", "mark"}:
            table = table.filter(pa.compute.equal(table[column], TOTAL)).drop_columns([column])
    return table


def hold(promise: Suppress, shape: Shape, totals: Totals, value: pa.Table, within: float) -> None:
    """Withheld, where these values would narrow what an earlier table hid below what that one left open."""
    wide = replace(shape, dimensions=totals.dimensions, by=())
    pattern = promise.pattern(wide, totals)
    told = (*shape.published, cells(value, shape.name, within=within))
    around = bounds(wide, totals)
    known = knowledge(totals.dimensions, measures(wide), told, around, whole=wide.whole)
    if Check(replace(pattern, system=known.system).scaled(), pattern.start).gaps():
        raise Withheld(
            "this table would tell of cells that an earlier one hid: hide small cells here too (Suppress), "
            "or ask for a private table"
        )
