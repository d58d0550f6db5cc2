"""Publish: a table's cells counted once, with noise, for every later question that they can answer.  [LHMMR10]

`CREATE RELEASE ages AS SELECT COUNT(*) FROM people GROUP BY RANGES(age)` measures whatever makes ranges sharp,
`GROUP BY CUBE(sex, race)` the margins beside the cells, a plain GROUP BY the cells alone. It is charged as one
question; what is made of it afterwards is free [DR14, Proposition 2.1].
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import cycle
from math import prod

from sqlglot import exp

from obverse.data.schema import Column, Schema, Type, hint
from obverse.errors import BadQuestion
from obverse.mechanisms.long_ranges import LongRanges
from obverse.mechanisms.ranges import LaplaceRanges
from obverse.mechanisms.strategy import FEW, Strategy
from obverse.query.chosen import chosen_cells, widest
from obverse.query.publication import PublishPlan, decimal
from obverse.query.relation import Field
from obverse.query.sources import Sources
from obverse.release import Terms
from obverse.synthesise.domain import Axis, axis, known, stepped
from obverse.synthesise.measure import Read

LONGEST = 1 << 20
WIDEST = 1024  # cells on an axis beside others
STEPS = 1000  # cells of a number's own grid, at most


@dataclass(frozen=True)
class Cut:
    """A column of a release, and how its cells are counted: for ranges of them, with their total, or alone.

    `step` is the width of a cell of a number; where it is not given, 1 or as much as leaves at most 1,000 cells.
    """

    column: str
    way: Strategy = "cells"
    step: Fraction | None = None

    def __str__(self) -> str:
        name = '"' + self.column.replace('"', '""') + '"'
        step = "" if self.step is None else f", {decimal(self.step)}"
        return {"hats": f"RANGES({name}{step})", "total": f"CUBE({name})"}.get(self.way, name)


@dataclass(frozen=True)
class Publish:
    """A request for a release that answers later questions free.

    >>> print(Publish("ages", "people", (Cut("age", "hats"),), Fraction(1, 2)))
    CREATE RELEASE ages AS SELECT COUNT(*) FROM people GROUP BY RANGES("age") WITH (epsilon = 0.5)
    """

    name: str
    table: str
    cuts: tuple[Cut, ...]
    epsilon: Fraction | None = None

    def __str__(self) -> str:
        given = "" if self.epsilon is None else f" WITH (epsilon = {decimal(self.epsilon)})"
        keys = ", ".join(map(str, self.cuts))
        return f"CREATE RELEASE {self.name} AS SELECT COUNT(*) FROM {self.table} GROUP BY {keys}{given}"

    def plan(self, schemas: Mapping[str, Schema], terms: Terms) -> PublishPlan:
        """With as many rows of a person as were declared, or as suit the cells by what was learnt."""
        widely = self._planned(widest(schemas), terms)
        suited = chosen_cells(widely, schemas)
        return widely if suited is None else self._planned(suited, terms)

    def _planned(self, schemas: Mapping[str, Schema], terms: Terms) -> PublishPlan:
        by_name = {name.lower(): schema for name, schema in schemas.items()}
        if (schema := by_name.get(self.table.lower())) is None:
            close = hint(self.table, tuple(schemas)).replace("; it has", "; there are")
            raise BadQuestion(f"there is no table {self.table}{close}")
        if schema.public:
            raise BadQuestion(f"{self.table} is public: there is nobody to protect, so publish it as it is")
        if not self.name.isidentifier():
            raise BadQuestion("a release's name is a word, such as ages")
        whole = exp.Select(from_=exp.From(this=exp.Table(this=exp.to_identifier(schema.name, quoted=True))))
        relation = Sources(schemas, {}).of(whole)
        named = [schema.column(cut.column) for cut in self.cuts]
        if not named or len(set(named)) < len(named):
            raise BadQuestion("a release is by one column or several, each once: GROUP BY RANGES(age), sex")
        fields = {field.name: field for field in relation.fields}
        cuts = tuple(
            Cut(column.name, cut.way, _step(column, cut))
            for column, cut in zip(named, self.cuts, strict=True)
        )
        axes = tuple(_axis(fields[cut.column], column, cut) for cut, column in zip(cuts, named, strict=True))
        epsilon = terms.epsilon if self.epsilon is None else self.epsilon
        request = Publish(self.name, schema.name, cuts, epsilon)
        read = Read(relation.rows, None, axes)
        return PublishPlan(
            request, relation, read, _mechanism(read, cuts, epsilon), Fraction(terms.confidence)
        )


def published(kept: bytes) -> Publish:
    """The request that a release was made for, from what was kept of it."""
    spec = json.loads(kept)[0]
    cuts = tuple(
        Cut(column, way, None if step is None else Fraction(step)) for column, way, step in spec["cuts"]
    )
    return Publish(spec["name"], spec["table"], cuts, Fraction(spec["epsilon"]))


def _axis(field: Field, column: Column, cut: Cut) -> Axis:
    name = f"{field.qualifier}.{field.name}"
    if field.owner:
        raise BadQuestion(f"{field.name} says whose a row is: a release is by other columns")
    if column.bounded and not column.told:
        raise BadQuestion(
            f"{name} has bounds that were learnt, and lies beyond them: declare low and high for it"
        )
    typed, interval, step = field.typed, field.typed.interval, cut.step
    assert typed.type is not None
    if column.categories is None and interval is not None and step is not None:
        return stepped(field.name, typed.sql, typed.type, interval, step)
    days = (column.low, column.high) if column.bounded and typed.type in (Type.DATE, Type.TIMESTAMP) else None
    found = axis(field.name, typed.sql, typed.type, domain=typed.domain, days=days)  # type: ignore[arg-type]
    return known(field.name, found, name)


def _step(column: Column, cut: Cut) -> Fraction | None:
    """The width of a number's cells: 1, 2, 5, 10, …, or one over a power of two, so that no edge is rounded."""
    low, high = column.low, column.high
    if column.categories is not None or not isinstance(low, Fraction) or not isinstance(high, Fraction):
        return None
    if cut.step is not None:
        if cut.step <= 0 or not (cut.step.denominator & (cut.step.denominator - 1) == 0):
            raise BadQuestion(f"a step of {column.name} is a whole number, or a half, a quarter, … of one")
        if (high - low) / cut.step > LONGEST:
            raise BadQuestion(f"a release has at most {LONGEST:,} cells: take wider steps of {column.name}")
        return cut.step
    if column.type is Type.INTEGER and high - low < LONGEST:
        return Fraction(1)
    step = Fraction(1)
    for nice in cycle((Fraction(2), Fraction(5, 2), Fraction(2))):  # 1, 2, 5, 10, 20, …
        if (high - low) / step <= STEPS:
            break
        step *= nice
    while (high - low) / step * 2 <= STEPS:
        step /= 2
    return step


def _mechanism(read: Read, cuts: tuple[Cut, ...], epsilon: Fraction) -> LaplaceRanges | LongRanges:
    """ε for a person who moves the cells by as much as one may."""
    shape, each = read.shape, epsilon / read.sensitivity.l1
    if prod(shape) > LONGEST or (len(shape) > 1 and max(shape) > WIDEST):
        raise BadQuestion(
            f"a release has at most {LONGEST:,} cells, and {WIDEST:,} of a column beside others, "
            f"not {' × '.join(map(str, shape))}: take fewer columns, or wider steps, as in RANGES(age, 10)"
        )
    if len(shape) == 1 and shape[0] > 4 * FEW and cuts[0].way == "hats":
        return LongRanges(shape[0], each)
    if max(shape) > 2 * WIDEST:
        raise BadQuestion(f"{cuts[0].column} has {max(shape):,} cells: publish RANGES({cuts[0].column})")
    return LaplaceRanges(shape, each, tuple(cut.way for cut in cuts))
