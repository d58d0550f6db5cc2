"""Rows that are asked for are answered by rows of nobody: drawn from noisy counts of the asked columns' cells.

What is counted, bounded and drawn is told by `synthesise`; what WHERE says about a single column is public, so no row
is drawn that could not pass it. Expressions, ORDER BY and LIMIT are of the rows that were drawn, and free.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from sqlglot import exp

from obverse.data.schema import protected
from obverse.data.table import Tables
from obverse.loss.loss import Loss
from obverse.noise.entropy import Entropy
from obverse.query.answer import Answer, Cell, distinct
from obverse.query.plan import Line, cell, ordered
from obverse.query.relation import Relation
from obverse.query.released import Row, value
from obverse.query.resolve import Item, Order
from obverse.query.show import cost
from obverse.release import Accuracy, Kind
from obverse.synthesise.domain import Axis
from obverse.synthesise.joint import Joint
from obverse.synthesise.measure import Read
from obverse.synthesise.tree import Tree


@dataclass(frozen=True)
class RowsPlan:
    """All that will be done for rows; made from public facts alone."""

    text: str
    relation: Relation
    read: Read
    drawing: Joint | Tree
    columns: tuple[Item, ...]
    order: tuple[Order, ...]
    limit: int | None
    offset: int
    confidence: Fraction
    delta: Fraction = Fraction(0)
    without: tuple[str, ...] = ()
    kind: Kind = "synthetic"

    @property
    def tables(self) -> tuple[str, ...]:
        return self.relation.tables

    @property
    def public(self) -> tuple[str, ...]:
        return self.relation.public

    @property
    def guarantee(self) -> Loss:
        return self.drawing.loss

    @property
    def accuracy(self) -> tuple[Accuracy, ...]:
        return self.drawing.accuracy(float(self.confidence))

    @property
    def protects(self) -> str:
        return protected(self.relation.private)

    @cached_property
    def key(self) -> str:
        public = "".join(repr(schema) for schema in self.relation.schemas if schema.public)
        return f"rows {self.text}\n{self.drawing}\n{public}"

    @property
    def notes(self) -> tuple[str, ...]:
        """What must be said beside the rows."""
        said = f"synthetic rows: nobody real is among them; they are drawn from {self.drawing.words}"
        stated = "; ".join(f"{each.name} ± {each.margin:,.4g}" for each in self.accuracy)
        left = (f"left out, since it says whose a row is: {', '.join(self.without)}",) if self.without else ()
        return (
            said,
            f"what they are drawn from holds in {float(100 * self.confidence):.4g} % of runs: {stated}",
            *([self.read.bounds] if self.read.bounds else []),
            *left,
        )

    @property
    def told(self) -> str:
        """The plan in words: what is read, the columns' values, how rows are drawn, the cost."""
        lines = [f"protects    {self.protects}", "answers     with synthetic rows: nobody real is among them"]
        for each in self.read.axes:
            lines.append(f"column      {each.name}: {_cells(each)}")
        lines += [f"bounds      {self.read.bounds}"] if self.read.bounds else []
        lines += [
            f"reads       {self.read.select.sql(dialect='duckdb')}",
            f"draws       from {self.drawing.words}",
        ]
        lines += [
            f"±           {each.name}  ± {each.margin:,.4g} in {each.confidence:.0%} of runs"
            for each in self.accuracy
        ]
        return "\n".join([*lines, f"cost        {cost(self.guarantee)}; nothing was read, nothing charged"])

    def run(self, tables: Tables, entropy: Entropy) -> Answer:
        codes = self.drawing.rows(self.read.held(tables), entropy)
        drawn = [each.draw(codes[:, place], entropy) for place, each in enumerate(self.read.axes)]
        places = [int(c.tree.name) for c in self.columns if isinstance(c.tree, exp.Column)]
        end = None if self.limit is None else self.offset + self.limit
        if len(places) == len(self.columns) and not self.order:
            plain = zip(*(drawn[place][self.offset : end] for place in places), strict=True)
            return self._shown(tuple(tuple(map(cell, row)) for row in plain))
        lines: list[Line] = [(Row(key, ()), ()) for key in zip(*drawn, strict=True)]
        for order in reversed(self.order):
            lines = ordered(lines, order)
        rows = (row for row, _ in lines[self.offset : end])
        return self._shown(tuple(tuple(cell(value(c.tree, row)) for c in self.columns) for row in rows))

    def _shown(self, rows: tuple[tuple[Cell, ...], ...]) -> Answer:
        margins = (None,) * len(self.columns)
        return Answer(distinct(column.name for column in self.columns), rows, (margins,) * len(rows), ())

    def at(self, answer: Answer, confidence: Fraction) -> Answer:
        """The same rows: there is no ± of a row."""
        return answer

    def pack(self, value: Answer) -> bytes:
        return json.dumps(value.rows, separators=(",", ":"), ensure_ascii=False).encode()

    def unpack(self, kept: bytes) -> Answer:
        return self._shown(tuple(tuple(row) for row in json.loads(kept)))


def _cells(axis: Axis) -> str:
    """A column's cells in words."""
    spans = any(not isinstance(held, int | str) for held in axis.holds)
    each = "ranges, in which values are drawn evenly" if spans else "values"
    return f"{len(axis.holds):,} {each}" + (", and rows without one" if axis.missing else "")
