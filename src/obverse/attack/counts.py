"""Reconstruction of many places at once from tables of counts, as the Census Bureau did to itself.  [GAM18; Abo23]

A table says how many people of each class live in a place; a class it does not list is empty. Bounds on each
kind of person follow from every table in turn until nothing moves: that settles nearly every place. The few
that are left go to the integer solver of `tables`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from obverse.attack.base import Attack, Claims, View
from obverse.attack.linkage import quoted
from obverse.attack.tables import records, sums
from obverse.errors import BadParameter, BadSource

Ints = NDArray[np.int64]
COUNT = "count"
WORLDS = 200
NUMBER = '"number of the row"'


@dataclass(frozen=True)
class Counts(Attack):
    """Claims who must live where in every world that fits the tables; targets are the people.

    Each of `tables` has the column `place`, some columns of `kinds` and `count`; the first one covers
    everybody. `kinds` is an auxiliary table with a row for each kind of person there could be: its `record`, and
    whatever classes tables use; a kind with a missing value in one of a table's columns is not in that table.
    `within` is an auxiliary table of places and the larger places they are in, which tables may count as well.

    >>> kinds = pa.table({"sex": ["F", "F", "M", "M"], "adult": [True, False, True, False]})
    >>> sexes = pa.table({"block": [1, 1], "sex": ["F", "M"], "count": [1, 2]})
    >>> adults = pa.table({"block": [1], "adult": [True], "count": [3]})
    >>> Counts(("sexes", "adults"), "kinds", ("sex", "adult"), "block").run(
    ...     View({"sexes": sexes, "adults": adults}, {"kinds": kinds})).values.tolist()
    [(1, 'F', True), (1, 'M', True), (1, 'M', True)]
    """

    tables: tuple[str, ...]
    kinds: str
    record: tuple[str, ...]
    place: str
    within: str = ""

    harm = "reconstruction"

    @property
    def threat(self) -> str:
        return f"Somebody with the published counts of every {self.place} wants each person's {', '.join(self.record)}."

    def claim(self, view: View) -> Claims:
        cells = _cells(self, view)
        bounds = _bounds(cells)
        if bounds is None:
            raise BadSource(f"no world fits these tables: {_disagree(self, view)}")
        low, high = bounds
        guess = low.copy()
        for here in _components(cells, low < high):
            low[here], guess[here] = _settled(cells, here, low, high)
        kinds = list(zip(*(view.table(self.kinds)[name].to_pylist() for name in self.record), strict=True))
        people = [
            (cells.names[place], *kinds[kind])
            for place, kind, n in zip(cells.place, cells.kind, guess, strict=True)
            for _ in range(n)
        ]
        rank = np.concatenate([np.arange(n) for n in guess]) if len(guess) else np.zeros(0)
        made = rank < np.repeat(low, guess)
        return Claims(records(people), np.where(made, 1.0, 0.5), made)


@dataclass(frozen=True, eq=False)
class _Cells:
    """The kinds of people that no table rules out in a place, and the line of each table that counts them."""

    names: list[object]
    place: Ints
    kind: Ints
    lines: list[Ints]
    counts: list[Ints]


def _cells(attack: Counts, view: View) -> _Cells:
    """One join of every table's classes: what some table does not list in a place is not there."""
    if not attack.tables:
        raise BadParameter("a reconstruction needs at least one table")
    tables = [_sound(view, name) for name in attack.tables]
    larger = view.table(attack.within, [attack.place]) if attack.within else tables[0].select([attack.place])
    where = [_place(attack, larger, name, table) for name, table in zip(attack.tables, tables, strict=True)]
    database = _loaded(attack, view, larger, list(zip(tables, where, strict=True)))
    others = range(1, len(tables))
    found = database.sql(
        f"""SELECT {quoted(attack.place)} AS place, kind, {", ".join(f"t{n}.line AS line{n}" for n in (0, *others))}
            FROM t0 JOIN possible USING (c0) JOIN places USING ({quoted(attack.place)})
            {" ".join(f"LEFT JOIN t{n} USING ({quoted(where[n])}, c{n})" for n in others)}
            WHERE {" AND ".join(["true", *(f"(c{n} IS NULL OR t{n}.line IS NOT NULL)" for n in others)])}
            ORDER BY place, kind"""
    ).to_arrow_table()
    places = found["place"].combine_chunks().dictionary_encode()
    return _Cells(
        places.dictionary.to_pylist(),
        places.indices.to_numpy(),
        found["kind"].to_numpy(),
        [pc.fill_null(found[f"line{n}"], -1).to_numpy() for n in range(len(tables))],
        [table[COUNT].to_numpy() for table in tables],
    )


def _loaded(
    attack: Counts, view: View, larger: pa.Table, tables: list[tuple[pa.Table, str]]
) -> duckdb.DuckDBPyConnection:
    """`places`, `possible` (kind, c0, c1, …) and each table as t0 (its place, c0, line), t1, …; cₙ is a class."""
    database = duckdb.connect()
    database.register("larger", larger)
    database.execute("CREATE TABLE places AS SELECT DISTINCT * FROM larger")
    by = [[c for c in table.column_names if c not in (where, COUNT)] for table, where in tables]
    kinds = view.table(attack.kinds, [*attack.record, *(column for columns in by for column in columns)])
    database.register("kinds", _numbered(kinds))
    classes = ", ".join(f"{_class(columns)} AS c{n}" for n, columns in enumerate(by))
    database.execute(f"CREATE TABLE possible AS SELECT {NUMBER} AS kind, {classes} FROM kinds")
    for n, (table, where) in enumerate(tables):
        database.register("loaded", _numbered(table))
        database.execute(
            f"""CREATE TABLE t{n} AS SELECT {quoted(where)}, {_class(by[n])} AS c{n}, {NUMBER} AS line
                FROM loaded WHERE {COUNT} > 0"""
        )
        database.execute(
            f"DELETE FROM possible WHERE c{n} IS NOT NULL AND c{n} NOT IN (SELECT c{n} FROM t{n})"
        )
    return database


def _numbered(table: pa.Table) -> pa.Table:
    return table.append_column(NUMBER.strip('"'), pa.array(range(table.num_rows)))


def _sound(view: View, name: str) -> pa.Table:
    """A table of counts: whole, 0 or more, each class of a place once."""
    table = view.table(name, [COUNT])
    if not pa.types.is_integer(table.schema.field(COUNT).type) or (table[COUNT].to_numpy() < 0).any():
        raise BadSource(f"{name}: {COUNT} must be whole numbers, 0 or more")
    if table.group_by([c for c in table.column_names if c != COUNT]).aggregate([]).num_rows < table.num_rows:
        raise BadSource(f"{name} lists a class of one place twice")
    return table


def _place(attack: Counts, larger: pa.Table, name: str, table: pa.Table) -> str:
    """The column that says which place a table counts."""
    places = [column for column in table.column_names if column in larger.column_names]
    if len(places) != 1 or (name == attack.tables[0] and places != [attack.place]):
        raise BadSource(f"{name} needs one column that says where: {attack.place}, or a larger place")
    return str(places[0])


def _class(columns: Sequence[str]) -> str:
    """A class as one value, missing where any part is; a table of totals has one class."""
    if not columns:
        return "0"
    known = " AND ".join(f"{quoted(column)} IS NOT NULL" for column in columns)
    return f"CASE WHEN {known} THEN row({', '.join(map(quoted, columns))}) END"


def _bounds(cells: _Cells) -> tuple[Ints, Ints] | None:
    """The least and the most people of each cell that every table allows, one table after another; or None."""
    most = max(int(counts.max()) for counts in cells.counts)
    low, high = np.zeros(len(cells.kind), dtype=np.int64), np.full(len(cells.kind), most)
    moved = True
    while moved:
        before = int((high - low).sum())
        for lines, counts in zip(cells.lines, cells.counts, strict=True):
            counted = lines >= 0
            line, least, largest = lines[counted], low[counted], high[counted]
            spare = _total(line, largest, counts) - counts
            room = counts - _total(line, least, counts)
            if (spare < 0).any() or (room < 0).any():
                return None
            low[counted] = np.maximum(least, largest - spare[line])
            high[counted] = np.minimum(largest, least + room[line])
        moved = int((high - low).sum()) < before
    return low, high


def _disagree(attack: Counts, view: View) -> str:
    """The first table with which the one that covers everybody disagrees; or that only all of them do."""
    first, *others = attack.tables
    for other in others:
        if _bounds(_cells(replace(attack, tables=(first, other)), view)) is None:
            return f"{first} and {other} disagree"
    return f"any one of them agrees with {first}, all together do not"


def _total(line: Ints, people: Ints, counts: Ints) -> Ints:
    return np.bincount(line, people, len(counts)).astype(np.int64)


def _components(cells: _Cells, loose: NDArray[np.bool_]) -> list[Ints]:
    """Cells that are not settled, in groups that share no line of any table."""
    at = np.flatnonzero(loose)
    group = np.arange(len(at))
    moved = len(at) > 0
    while moved:
        before = group.copy()
        for lines in cells.lines:
            counted = lines[at] >= 0
            _, line = np.unique(lines[at][counted], return_inverse=True)
            least = np.full(len(at), len(at))
            np.minimum.at(least, line, group[counted])
            group[counted] = np.minimum(group[counted], least[line])
        moved = bool((group != before).any())
    return [at[group == one] for one in np.unique(group)]


def _settled(cells: _Cells, here: Ints, low: Ints, high: Ints) -> tuple[Ints, Ints]:
    """What all worlds agree on among these cells, and one world; where worlds are too many, what bounds say."""
    totals = []
    for lines, counts in zip(cells.lines, cells.counts, strict=True):
        for line in np.unique(lines[here][lines[here] >= 0]):
            outside = np.setdiff1d(np.flatnonzero(lines == line), here)
            totals.append((np.flatnonzero(lines[here] == line), int(counts[line] - low[outside].sum())))
    worlds = np.array(sums(high[here].tolist(), totals, WORLDS))
    if not len(worlds):
        raise BadSource("no world fits these tables: each pair agrees, all together do not")
    return (worlds.min(axis=0) if len(worlds) < WORLDS else low[here]), worlds[0]
