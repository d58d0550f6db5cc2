"""Tabulate: a table of counts or amounts with its margins, protected as official statistics are.  [HDFG+12]"""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date, timedelta
from fractions import Fraction
from functools import cached_property
from hashlib import sha256

import pyarrow as pa

from obverse.data.hierarchy import Ladder
from obverse.data.schema import Column, Schema, Type
from obverse.data.table import Tables
from obverse.errors import BadParameter
from obverse.noise.entropy import Entropy
from obverse.release import Accuracy, Guarantee, Kind, Terms
from obverse.tables.cube import Reading, read, shape
from obverse.tables.dimension import Dimension
from obverse.tables.earlier import Note, hold, linked
from obverse.tables.hide import SMALLEST, Suppress
from obverse.tables.protect import Protection, Shape
from obverse.tables.published import Published

WIDEST = 1000
SMALL_CELLS = Suppress()
By = tuple[str, ...]


@dataclass(frozen=True)
class Tabulate:
    """A request for a table by some columns, or for several tables of the same people at once.

    >>> Tabulate("people", by=("sex", "age")).by
    ('sex', 'age')
    """

    table: str
    by: By | tuple[By, ...]
    measure: str | None = None
    protect: Protection = SMALL_CELLS
    weight: str | None = None
    units: By = ()
    ladders: tuple[Ladder, ...] = ()
    published: tuple[Published, ...] = ()

    def plan(self, schemas: Mapping[str, Schema], terms: Terms) -> TabulatePlan:
        if self.table not in schemas:
            raise BadParameter(f"there is no table {self.table}; there are {', '.join(sorted(schemas))}")
        schema = schemas[self.table]
        by = self._by(schema)
        named = {column for part in (*by, *(p.by for p in self.published)) for column in part}
        if spare := sorted({ladder.column for ladder in self.ladders} - named):
            raise BadParameter(f"there is a ladder for {', '.join(spare)}, which the table is not by")
        for name in (self.measure, self.weight):
            if name is not None and schema.column(name).type not in (Type.INTEGER, Type.REAL):
                raise BadParameter(f"{name} is no number: it cannot be added up")
        units = tuple(schema.column(name).name for name in self.units)
        table = Shape(schema, (), by, self.measure, self.weight)
        table = among(table, self.published, self.ladders, together=self.protect.together)
        return TabulatePlan(
            table,
            self.protect.settled(table, terms),
            units or (schema.unit.column,),
            self.ladders,
            max(SMALLEST, terms.smallest_group or 0),
        )

    def _by(self, schema: Schema) -> tuple[By, ...]:
        several = [part for part in self.by if isinstance(part, tuple)]
        single = tuple(part for part in self.by if isinstance(part, str))
        parts = (*several, single) if single or not several else several
        by = tuple(tuple(schema.column(name).name for name in part) for part in parts)
        if not by or not all(by):
            raise BadParameter("a table needs at least one column: by=('sex', …)")
        for part in by:
            if len(set(part)) < len(part):
                raise BadParameter(f"a column stands twice in by={part}")
        return by


@dataclass(frozen=True)
class TabulatePlan:
    """All that will be done for a table, from public facts alone."""

    shape: Shape
    protect: Protection
    units: tuple[str | None, ...]
    ladders: tuple[Ladder, ...] = ()
    smallest: int = SMALLEST
    asked: str = ""

    kind: Kind = "table"

    @property
    def tables(self) -> tuple[str, ...]:
        return (self.shape.schema.name,)

    @cached_property
    def guarantee(self) -> Guarantee:
        return self.protect.guarantee(self.shape)

    @property
    def delta(self) -> Fraction:
        return self.protect.at

    @cached_property
    def accuracy(self) -> tuple[Accuracy, ...]:
        return self.protect.accuracy(self.shape)

    @cached_property
    def key(self) -> str:
        return sha256(repr((self.shape, self.protect, self.units, self.smallest)).encode()).hexdigest()

    def after(self, left: Iterable[bytes], version: str) -> TabulatePlan:
        """The same with all counted in that left of this version of the data; or, if it left itself, as it did."""
        if self.protect.within(self.shape) is None:
            return self
        kept = (_kept(each) for each in left)
        earlier = linked(kept, self.key, version, self.shape, self.ladders)
        told = (*self.shape.published, *earlier.published)
        table = among(self.shape, told, earlier.ladders, together=self.protect.together)
        return replace(self, shape=table, ladders=earlier.ladders, asked=self.key)

    def run(self, tables: Tables, entropy: Entropy, secret: bytes | None = None) -> pa.Table:
        """The protected table in long form: a column a dimension, then value and mark ("c": confidential).

        Under the same `secret`, the curator's own if none is given, cells of the same people get the same noise in
        every table, so that many tables cannot be averaged.
        """
        value = self.protect.release(self.shape, self._reading(entropy, secret), tables, entropy)
        within = self.protect.within(self.shape)
        if self.shape.published and within is not None and not self.protect.together:
            promise = Suppress(self.smallest)
            top = promise.top if self.shape.measure is not None else 0
            around = replace(
                self._reading(entropy, secret), dimensions=self.shape.around, units=self.units, top=top
            )
            totals = read(replace(around, people=True, secret=None), tables)
            hold(promise, self.shape, totals, value, within)
        ladders = tuple((ladder.column, ladder.levels) for ladder in self.ladders)
        version = tables.version(self.tables[0])
        shape = self.shape
        note = Note(
            self.asked or self.key,
            version,
            shape.measure,
            shape.weight,
            within,
            complete=self.protect.together,
            ladders=ladders,
        )
        return note.beside(value)

    def _reading(self, entropy: Entropy, secret: bytes | None) -> Reading:
        key = None
        if self.protect.keyed:
            key = hmac.digest(secret or entropy.secret(), f"cells of {self.tables[0]}".encode(), "sha256")[
                :16
            ]
        return Reading(
            self.tables[0],
            self.shape.dimensions,
            self.shape.measure,
            self.shape.weight,
            self.shape.bounds,
            self.units[:1] if self.protect.keyed else self.units,
            top=self.protect.top if self.shape.measure is not None else 0,
            identity=tuple(column.name for column in self.shape.schema.columns),
            people=not self.protect.keyed,
            secret=key,
        )

    def pack(self, value: pa.Table) -> bytes:
        sink = pa.BufferOutputStream()
        options = pa.ipc.IpcWriteOptions(compression="zstd")
        with pa.ipc.new_file(sink, value.schema, options=options) as writer:
            writer.write_table(value)
        return bytes(sink.getvalue())

    def unpack(self, kept: bytes) -> pa.Table:
        return _kept(kept).replace_schema_metadata(None)


def _kept(packed: bytes) -> pa.Table:
    return pa.ipc.open_file(pa.py_buffer(packed)).read_all()


def among(table: Shape, told: tuple[Published, ...], ladders: Iterable[Ladder], *, together: bool) -> Shape:
    """The shape with what was published before; its dimensions too where both are protected together."""
    rungs = {ladder.column: ladder for ladder in ladders}
    own = dict.fromkeys(column for part in table.by for column in part)
    named = own | dict.fromkeys(column for part in told for column in part.by)
    around = tuple(dimension(table.schema.column(name), rungs.get(name)) for name in named)
    shape(around)
    return replace(
        table, dimensions=around if together else around[: len(own)], published=told, around=around
    )


def dimension(column: Column, ladder: Ladder | None) -> Dimension:
    """A column's categories: those of its ladder, those declared, its whole numbers, its days with months and years
    above them; else what the rows hold."""
    if ladder is not None:
        return Dimension.from_rungs(column.name, zip(*ladder.levels, strict=True))
    if column.categories is not None:
        return Dimension.from_rungs(column.name, [(_text(category),) for category in column.categories])
    if column.type is Type.BOOLEAN:
        return Dimension.from_rungs(column.name, [("false",), ("true",)])
    low, high = column.low, column.high
    whole = (
        column.type is Type.INTEGER and isinstance(low, (int, Fraction)) and isinstance(high, (int, Fraction))
    )
    if whole and high - low < WIDEST:  # type: ignore[operator]
        return Dimension.from_rungs(column.name, [(str(n),) for n in range(int(low), int(high) + 1)])  # type: ignore[arg-type]
    if column.type is Type.DATE and isinstance(low, date) and isinstance(high, date):
        days = [low + timedelta(day) for day in range((high - low).days + 1)]
        if len(days) <= WIDEST:
            lines = [(str(day), str(day)[:7], str(day)[:4]) for day in days]
            return Dimension.from_rungs(column.name, lines)
    return Dimension.from_rungs(column.name, [], closed=False)


def _text(category: int | str | bool) -> str:
    return str(category).lower() if isinstance(category, bool) else str(category)
