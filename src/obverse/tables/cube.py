"""A cube: every cell of a table with all its margins, read by one query with GROUPING SETS.  [GCB+97]"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product
from math import prod

import numpy as np
from sqlglot import exp

from obverse.data.table import Row, Tables
from obverse.errors import BadParameter
from obverse.tables.dimension import Dimension

MOST_CELLS = 4_000_000
KEY_BITS = 32


@dataclass(frozen=True)
class Reading:
    """What one query reads of a table: by which dimensions, what is added up, and whose contributions count.

    `top` asks for the contributions of that many largest contributors of each cell, for each of `units`;
    a unit of None is the row, told apart by the columns of `identity`. Unless `people` are to be counted, rows are.
    `secret` asks for cell keys.
    """

    table: str
    dimensions: tuple[Dimension, ...]
    measure: str | None = None
    weight: str | None = None
    units: tuple[str | None, ...] = (None,)
    top: int = 0
    identity: tuple[str, ...] = ()
    people: bool = True
    secret: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True, repr=False)
class Totals:
    """The true figures of every cell, as arrays with an axis a dimension; secret, so without a `repr`."""

    dimensions: tuple[Dimension, ...]
    rows: np.ndarray
    value: np.ndarray
    contributors: np.ndarray
    largest: np.ndarray
    keys: np.ndarray


def shape(dimensions: Sequence[Dimension]) -> tuple[int, ...]:
    """How many nodes each dimension has; refused where the cube would not fit in memory."""
    sizes = tuple(len(dimension.labels) for dimension in dimensions)
    if prod(sizes) > MOST_CELLS:
        raise BadParameter(
            f"a cube of {' × '.join(map(str, sizes))} cells is too large: use fewer columns or coarser ones"
        )
    return sizes


def read(reading: Reading, tables: Tables) -> Totals:
    """All cells of the cube. Open dimensions take their categories from the rows."""
    found = tables.run(query(reading))
    dimensions = tuple(
        _filled(d, found, _first(reading.dimensions, i)) for i, d in enumerate(reading.dimensions)
    )
    sizes = shape(dimensions)
    units, top = len(reading.units), reading.top
    rows, keys = np.zeros(sizes, np.int64), np.zeros(sizes, np.int64)
    value = np.zeros(sizes)
    contributors = np.zeros((units, *sizes), np.int64)
    largest = np.zeros((units, top, *sizes))
    width = sum(d.height for d in dimensions)
    for row in found:
        cell = tuple(_node(d, row, _first(dimensions, i)) for i, d in enumerate(dimensions))
        unit, n, total, people, key, *tops = (x or 0 for x in row[width:])
        index = int(unit)
        contributors[(index, *cell)] = int(people)
        for rank, amount in enumerate(tops):
            largest[(index, rank, *cell)] = float(amount)
        if index == 0:
            rows[cell], value[cell], keys[cell] = int(n), float(total), int(key)
    return Totals(dimensions, rows, value, contributors, largest, keys)


def _first(dimensions: Sequence[Dimension], place: int) -> int:
    """Where the labels of a dimension begin in a row of the answer."""
    return sum(dimension.height for dimension in dimensions[:place])


def _filled(dimension: Dimension, found: list[Row], first: int) -> Dimension:
    """An open dimension, closed over the categories that were found; missing values are one of them."""
    if dimension.closed:
        return dimension
    marks = {str(row[first]) for row in found if row[first] is not None}
    named = sorted(mark[1:] for mark in marks if mark[0] == "V")
    return Dimension.from_rungs(dimension.column, [(label,) for label in named])


def _node(dimension: Dimension, row: Row, first: int) -> int:
    marks = [str(mark) if mark is not None else "" for mark in row[first : first + dimension.height]]
    for rung, mark in enumerate(marks):
        if mark:
            named = {"N": dimension.missing, "O": dimension.other}
            return dimension.places[rung, mark[1:]] if mark[0] == "V" else named[mark[0]]
    return len(dimension.labels) - 1


def query(reading: Reading) -> exp.Query:
    """One SELECT: rung labels (NULL where summed over), unit, rows, total, contributors, key, largest."""
    parts = [_per_unit(reading, place, unit) for place, unit in enumerate(reading.units)]
    whole: exp.Query = parts[0]
    for part in parts[1:]:
        whole = exp.union(whole, part, distinct=False)
    return whole


def _per_unit(reading: Reading, place: int, unit: str | None) -> exp.Select:
    ranked = reading.top > 0
    names = [name for i, d in enumerate(reading.dimensions) for name in _names(i, d)]
    people = (unit is not None and reading.people) or ranked
    wide = _wide(reading, unit, names)
    sets = _grouping_sets(reading.dimensions, ["u"] if people else [])
    sums = [_sum("n", "n"), _sum("s", "s"), exp.func("MAX" if people else "SUM", exp.column("k")).as_("k")]
    cells = exp.select(*names, *(["u"] if people else []), *sums).from_(wide.subquery("wide")).group_by(sets)
    counted: exp.Expr = exp.column("u") if people else exp.column("n")
    if ranked:
        order = exp.Window(
            this=exp.RowNumber(),
            partition_by=[exp.column(name) for name in names] or None,
            order=exp.Order(expressions=[exp.Ordered(this=exp.column("s"), desc=True, nulls_first=False)]),
        )
        cells = exp.select("*", order.as_("r")).from_(cells.subquery("cells"))
    people_counted = exp.func("COUNT", exp.column("u")) if people else exp.func("SUM", counted)
    key = exp.Mod(this=exp.func("SUM", exp.column("k")), expression=exp.Literal.number(1 << KEY_BITS))
    tops = [_largest(rank) for rank in range(1, reading.top + 1)]
    whole = exp.select(
        *names,
        exp.Literal.number(place).as_("unit"),
        _sum("n", "n"),
        _sum("s", "s"),
        people_counted.as_("people"),
        key.as_("k"),
        *tops,
    ).from_(cells.subquery("ranked"))
    return whole.group_by(*names) if names else whole


def _wide(reading: Reading, unit: str | None, names: list[str]) -> exp.Select:
    """Rows counted once by category (and person), then given their labels on every rung."""
    columns = [_name(d.column) for d in reading.dimensions]
    kept = [exp.alias_(column, f"c{i}") for i, column in enumerate(columns)]
    single = unit is None and reading.top > 0
    person: list[exp.Expr] = [] if unit is None or not reading.people else [_name(unit)]
    amount = _amount(reading)
    key = _record_key(reading, unit)
    source = exp.Table(this=exp.to_identifier(reading.table, quoted=True))
    if single:
        row_number = exp.Window(this=exp.RowNumber()).as_("u")
        inner = exp.select(*kept, row_number, exp.Literal.number(1).as_("n"), amount.as_("s"), key.as_("k"))
        inner = inner.from_(source)
    else:
        folded = exp.func("MAX" if person else "SUM", key).as_("k")
        persons = [exp.alias_(column, "u") for column in person]
        count = exp.func("COUNT", exp.Star()).as_("n")
        inner = exp.select(*kept, *persons, count, exp.func("SUM", amount).as_("s"), folded).from_(source)
        grouped = [*columns, *person]
        inner = inner.group_by(*grouped) if grouped else inner
    labels = [
        label.as_(f"d{i}_{rung}")
        for i, d in enumerate(reading.dimensions)
        for rung, label in enumerate(_labels(i, d))
    ]
    people = ["u"] if person or single else []
    outer = exp.select(*labels, *people, "n", "s", "k").from_(inner.subquery("counted"))
    for i, dimension in enumerate(reading.dimensions):
        if dimension.closed:
            outer = outer.join(
                _ladder(i, dimension), on=_text(exp.column(f"c{i}")).eq(_rung(i, 0)), join_type="left"
            )
    return outer


def _amount(reading: Reading) -> exp.Expr:
    """What a row adds: its measure times its weight."""
    parts = [_name(column) for column in (reading.measure, reading.weight) if column is not None]
    if not parts:
        return exp.Literal.number(1)
    product_ = parts[0] if len(parts) == 1 else exp.Mul(this=parts[0], expression=parts[1])
    return exp.func("COALESCE", product_, exp.Literal.number(0))


def _record_key(reading: Reading, unit: str | None) -> exp.Expr:
    """A number below 2³² that follows from the person (or the whole row) and the curator's secret."""
    if reading.secret is None:
        return exp.Literal.number(0)
    secret = exp.Literal.string(reading.secret.hex())
    columns = reading.identity if unit is None else (unit,)
    parts: list[exp.Expr] = [secret]
    for column in columns:
        parts += [exp.Literal.string("|"), exp.func("COALESCE", _text(_name(column)), exp.Literal.string(""))]
    # That may coalesce is written as one CONCAT; else each || of the chain is a copy of all rows.
    digest = exp.func("MD5", exp.Concat(expressions=parts, coalesce=True))
    prefix = exp.func("SUBSTRING", digest, exp.Literal.number(1), exp.Literal.number(KEY_BITS // 4))
    return exp.cast(exp.func("CONCAT", exp.Literal.string("0x"), prefix), "BIGINT")


def _labels(place: int, dimension: Dimension) -> list[exp.Expr]:
    """'V' and the label; 'N' where the value is missing, 'O' where the ladder does not name it: never NULL."""
    column = exp.column(f"c{place}")
    missing = column.is_(exp.Null())

    def marked(label: exp.Expr) -> exp.Expr:
        return exp.func("CONCAT", exp.Literal.string("V"), label)

    if not dimension.closed:
        return [exp.Case().when(missing, exp.Literal.string("N")).else_(marked(_text(column)))]
    unnamed = _rung(place, 0).is_(exp.Null())
    return [
        exp.Case()
        .when(missing, exp.Literal.string("N"))
        .when(unnamed, exp.Literal.string("O"))
        .else_(marked(_rung(place, rung)))
        for rung in range(dimension.height)
    ]


def _ladder(place: int, dimension: Dimension) -> exp.Expr:
    """The ladder as a table to join, so that ten thousand categories are one hash join."""
    names = [f"l{place}_{rung}" for rung in range(dimension.height)]
    lines = dimension.rungs or (("",) * dimension.height,)
    return exp.values(list(lines), alias=f"ladder{place}", columns=names)


def _grouping_sets(dimensions: Sequence[Dimension], always: list[str]) -> exp.Expr:
    """Every choice of one rung, or none, for each dimension."""
    choices = [[[], *([f"d{i}_{rung}"] for rung in range(d.height))] for i, d in enumerate(dimensions)]
    sets = [[name for part in chosen for name in part] + always for chosen in product(*choices)]
    tuples = [exp.Tuple(expressions=[exp.column(name) for name in names]) for names in sets]
    return exp.Group(grouping_sets=[exp.GroupingSets(expressions=tuples)])


def _largest(rank: int) -> exp.Expr:
    is_rank = exp.column("r").eq(rank)
    return exp.func("MAX", exp.Case().when(is_rank, exp.column("s"))).as_(f"top{rank}")


def _names(place: int, dimension: Dimension) -> list[str]:
    return [f"d{place}_{rung}" for rung in range(dimension.height)]


def _name(column: str) -> exp.Expr:
    return exp.column(column, quoted=True)


def _rung(place: int, rung: int) -> exp.Expr:
    return exp.column(f"l{place}_{rung}", table=f"ladder{place}")


def _text(value: exp.Expr) -> exp.Expr:
    return exp.cast(value, "TEXT")


def _sum(column: str, name: str) -> exp.Expr:
    return exp.func("SUM", exp.column(column)).as_(name)
