"""A cube: every cell of a table with all its margins, read by one query with GROUPING SETS.  [GCB+97]"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from hashlib import blake2b
from itertools import product
from math import prod

import numpy as np
from sqlglot import exp

from obverse.data.table import Row, Tables
from obverse.errors import BadParameter
from obverse.tables.dimension import Dimension

MOST_CELLS = 4_000_000
KEY_BITS = 32
Bounds = tuple[Fraction | None, Fraction | None]
OPEN: Bounds = (None, None)


@dataclass(frozen=True)
class Reading:
    """What one query reads of a table: by which dimensions, what is added up, and whose contributions count.

    `top` asks for the contributions of that many largest contributors of each cell, for each of `units`;
    a unit of None is the row, told apart by the columns of `identity`. Unless `people` are to be counted, rows are.
    Rows whose unit is missing count as one contributor, for they may all be one's; those without an amount as none.
    Amounts and weights are clamped to their `bounds`. `secret` asks for cell keys.
    """

    table: str
    dimensions: tuple[Dimension, ...]
    measure: str | None = None
    weight: str | None = None
    bounds: tuple[Bounds, Bounds] = (OPEN, OPEN)
    units: tuple[str | None, ...] = (None,)
    top: int = 0
    identity: tuple[str, ...] = ()
    people: bool = True
    secret: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True, repr=False)
class Totals:
    """The true figures of every cell, as arrays with an axis a dimension; secret, so without a `repr`.

    `alone` says who a cell's only contributor is, by a number from 1 up; 0 where there are none or several.
    """

    dimensions: tuple[Dimension, ...]
    rows: np.ndarray
    value: np.ndarray
    contributors: np.ndarray
    largest: np.ndarray
    keys: np.ndarray
    alone: np.ndarray


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
    alone = np.zeros((units, *sizes), np.int64)
    names: dict[object, int] = {}
    width = sum(d.height for d in dimensions)
    for row in found:
        cell = tuple(_node(d, row, _first(dimensions, i)) for i, d in enumerate(dimensions))
        unit, n, total, people, key, who, *tops = (x or 0 for x in row[width:])
        index = int(unit)
        contributors[(index, *cell)] = int(people)
        if people == 1:
            alone[(index, *cell)] = names.setdefault((index, who), len(names) + 1)
        for rank, amount in enumerate(tops):
            largest[(index, rank, *cell)] = float(amount)
        if index == 0:
            rows[cell], value[cell], keys[cell] = int(n), float(total), int(key)
    for index, named in enumerate(reading.units):
        if named is None:
            alone[index] = _lone_rows(dimensions, contributors[index])
    return Totals(dimensions, rows, value, contributors, largest, keys, alone)


def _lone_rows(dimensions: tuple[Dimension, ...], rows: np.ndarray) -> np.ndarray:
    """For each cell of one row a number that says which: the row of a margin is that of the one cell below it."""
    lone = rows[np.ix_(*(np.array(d.leaves) for d in dimensions))] == 1
    numbers = np.cumsum(lone).reshape(lone.shape) * lone
    for axis, dimension in enumerate(dimensions):
        numbers = dimension.sums(numbers, axis)
    return np.where(rows == 1, numbers, 0)


def scattered(keys: np.ndarray, secret: bytes) -> np.ndarray:
    """Cell keys as numbers without any pattern, equal where the keys are.

    The keys of two cells tell that of their sum: noise picked by them as they are would be known better from three
    cells together than from each by itself.
    """
    distinct, places = np.unique(keys, return_inverse=True)
    size = KEY_BITS // 8
    drawn = [
        blake2b(int(key).to_bytes(size, "big"), digest_size=size, key=secret).digest() for key in distinct
    ]
    numbers = np.array([int.from_bytes(each, "big") for each in drawn], np.int64)
    return numbers[places].reshape(keys.shape)


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
    """One SELECT: rung labels (NULL where summed over), unit, rows, total, contributors, key, who, largest."""
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
    given = _given(reading)
    key = exp.func("MAX" if people else "SUM", exp.column("k")).as_("k")
    sums = [*(_sum(name, name) for name in dict.fromkeys(("n", given, "s"))), key]
    cells = exp.select(*names, *(["u"] if people else []), *sums).from_(wide.subquery("wide")).group_by(sets)
    if ranked:
        order = exp.Window(
            this=exp.RowNumber(),
            partition_by=[exp.column(name) for name in names] or None,
            order=exp.Order(expressions=[exp.Ordered(this=exp.column("s"), desc=True, nulls_first=False)]),
        )
        cells = exp.select("*", order.as_("r")).from_(cells.subquery("cells"))
    contributes = exp.GT(this=exp.column(given), expression=exp.Literal.number(0))
    one = exp.Case().when(contributes, exp.Literal.number(1)).else_(exp.Literal.number(0))
    contributors = exp.func("SUM", one if people else exp.column(given))
    who: exp.Expr = exp.Null()
    if unit is not None and people and reading.secret is None:
        who = exp.func("MIN", exp.Case().when(contributes, _text(exp.column("u"))))
    key = exp.Mod(this=exp.func("SUM", exp.column("k")), expression=exp.Literal.number(1 << KEY_BITS))
    tops = [_largest(rank) for rank in range(1, reading.top + 1)]
    whole = exp.select(
        *names,
        exp.Literal.number(place).as_("unit"),
        _sum("n", "n"),
        _sum("s", "s"),
        contributors.as_("people"),
        key.as_("k"),
        exp.cast(who, "TEXT").as_("who"),
        *tops,
    ).from_(cells.subquery("ranked"))
    return whole.group_by(*names) if names else whole


def _wide(reading: Reading, unit: str | None, names: list[str]) -> exp.Select:
    """Rows counted once by category (and person), then given their labels on every rung."""
    columns = [_name(d.column) for d in reading.dimensions]
    kept = [exp.alias_(column, f"c{i}") for i, column in enumerate(columns)]
    single = unit is None and reading.top > 0
    person: list[exp.Expr] = [] if unit is None or not reading.people else [_name(unit)]
    source = exp.Table(this=exp.to_identifier(reading.table, quoted=True))
    if single:
        row_number = exp.Window(this=exp.RowNumber()).as_("u")
        inner = exp.select(*kept, row_number, *_row(reading, unit)).from_(source)
    else:
        persons = [exp.alias_(column, "u") for column in person]
        sums = _summed(reading, unit, "MAX" if person else "SUM")
        grouped = [*columns, *person]
        inner = exp.select(*kept, *persons, *sums).from_(source).group_by(*grouped)
    labels = [
        label.as_(f"d{i}_{rung}")
        for i, d in enumerate(reading.dimensions)
        for rung, label in enumerate(_labels(i, d))
    ]
    people = ["u"] if person or single else []
    figures = dict.fromkeys(("n", _given(reading), "s", "k"))
    outer = exp.select(*labels, *people, *figures).from_(inner.subquery("counted"))
    for i, dimension in enumerate(reading.dimensions):
        if dimension.closed:
            outer = outer.join(
                _ladder(i, dimension), on=_text(exp.column(f"c{i}")).eq(_rung(i, 0)), join_type="left"
            )
    return outer


def _row(reading: Reading, unit: str | None) -> list[exp.Expr]:
    """What one row adds: itself, whether it has an amount, the amount, its key."""
    amount, none, one = _amount(reading), exp.Literal.number(0), exp.Literal.number(1)
    given = exp.Case().when(amount.is_(exp.Null()), none).else_(one)
    parts = [one.as_("n"), given.as_(_given(reading)), amount.as_("s"), _record_key(reading, unit).as_("k")]
    return parts if _given(reading) != "n" else [parts[0], *parts[2:]]


def _summed(reading: Reading, unit: str | None, fold: str) -> list[exp.Expr]:
    """What several rows add: how many they are, how many have an amount, the amounts, their keys."""
    amount = _amount(reading)
    count = exp.func("COUNT", exp.Star()).as_("n")
    given = [exp.func("COUNT", amount).as_(_given(reading))] if _given(reading) != "n" else []
    key = exp.func(fold, _record_key(reading, unit)).as_("k")
    return [count, *given, exp.func("SUM", amount).as_("s"), key]


def _given(reading: Reading) -> str:
    """Where to find how many rows have an amount: all have, where rows are counted."""
    return "n" if reading.measure is None and reading.weight is None else "g"


def _amount(reading: Reading) -> exp.Expr:
    """What a row adds: its measure times its weight; NULL where one of them is missing."""
    named = zip((reading.measure, reading.weight), reading.bounds, strict=True)
    parts = [_clamped(_name(column), bounds) for column, bounds in named if column is not None]
    if not parts:
        return exp.Literal.number(1)
    return parts[0] if len(parts) == 1 else exp.Mul(this=parts[0], expression=parts[1])


def _clamped(amount: exp.Expr, bounds: Bounds) -> exp.Expr:
    """The amount, or the end of the bounds that it lies beyond."""
    low, high = (bound if bound is None else exp.Literal.number(_decimal(bound)) for bound in bounds)
    case = exp.Case()
    case = case if high is None else case.when(exp.GT(this=amount, expression=high), high)
    case = case if low is None else case.when(exp.LT(this=amount, expression=low), low)
    return case.else_(amount) if low is not None or high is not None else amount


def _decimal(bound: Fraction) -> str:
    return str(bound.numerator if bound.denominator == 1 else float(bound))


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
