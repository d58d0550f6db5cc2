"""Linkage: names put back on a release by a list that has names.  [Swe97; Swe02]

A claim is made only where the class in the *population list* is one person: being alone in the release proves
nothing, since the release may hold only some of those who look alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from obverse.attack.base import Attack, Claims, View
from obverse.errors import BadParameter, BadSource


@dataclass(frozen=True)
class Key:
    """A column that release and list share; `keep` compares its first characters only.

    `Key("birth_date", keep=7)` compares dates by their month, `Key("zip", "postcode")` has two names.
    """

    released: str
    listed: str = ""
    keep: int | None = None

    def __post_init__(self) -> None:
        if self.keep is not None and self.keep < 1:
            raise BadParameter(f"{self.released}: at least one character must be kept, not {self.keep}")

    @property
    def column(self) -> str:
        """Its name in the list."""
        return self.listed or self.released

    def sql(self, column: str) -> str:
        text = f"CAST({quoted(column)} AS VARCHAR)"
        return text if self.keep is None else f"left({text}, {self.keep})"


@dataclass(frozen=True)
class Linkage(Attack):
    """Joins a release to a list of people on columns that both have; targets are the release's rows.

    >>> hospital = pa.table({"zip": ["02138", "02139"], "sex": ["M", "F"], "diagnosis": ["A", "B"]})
    >>> roll = pa.table({"voter": [1, 2, 3], "zip": ["02138", "02139", "02139"], "sex": ["M", "F", "F"]})
    >>> claims = Linkage("hospital", "roll", "voter", (Key("zip"), Key("sex"))).run(
    ...     View({"hospital": hospital}, {"roll": roll}))
    >>> claims.values.tolist(), claims.made.tolist()
    ([1, None], [True, False])
    """

    release: str
    people: str
    person: str
    keys: tuple[Key, ...]

    harm = "linkability"

    @property
    def threat(self) -> str:
        known = ", ".join(key.column for key in self.keys)
        return f"Somebody with a list of people and their {known} looks for the one person a row can be."

    def claim(self, view: View) -> Claims:
        database = join(self.release, self.people, self.person, self.keys, view)
        found = database.sql(
            f"""WITH classes AS (SELECT {_names(self.keys)}, count(*) AS size, min(person) AS person
                                 FROM people GROUP BY ALL)
                SELECT coalesce(size, 0) AS size, CASE WHEN size = 1 THEN person END AS person
                FROM released LEFT JOIN classes USING ({_names(self.keys)}) ORDER BY place"""
        ).to_arrow_table()
        size = found["size"].to_numpy()
        return Claims(persons(found["person"]), np.where(size, 1 / np.maximum(size, 1), 0.0), size == 1)


def join(
    release: str, people: str, person: str, keys: Sequence[Key], view: View
) -> duckdb.DuckDBPyConnection:
    """A database in memory with `released` (place, k0, k1, …) and `people` (person, k0, k1, …)."""
    if not keys:
        raise BadParameter("a linkage needs at least one column that release and list share")
    left = view.table(release, [key.released for key in keys])
    right = view.table(people, [person, *(key.column for key in keys)])
    for key in keys:
        _alike(left.schema.field(key.released), right.schema.field(key.column), release, people)
    database = duckdb.connect()
    database.register("r", left.append_column("place of the row", pa.array(range(left.num_rows))))
    database.register("l", right)
    ours = ", ".join(f"{key.sql(key.released)} AS k{i}" for i, key in enumerate(keys))
    theirs = ", ".join(f"{key.sql(key.column)} AS k{i}" for i, key in enumerate(keys))
    database.execute(f'CREATE TABLE released AS SELECT "place of the row" AS place, {ours} FROM r')
    database.execute(f"CREATE TABLE people AS SELECT DISTINCT {quoted(person)} AS person, {theirs} FROM l")
    twice = database.execute("SELECT count(*) - count(DISTINCT person) FROM people WHERE person IS NOT NULL")
    if twice.fetchall()[0][0]:
        raise BadSource(
            f"{people} contradicts itself: one {person} has different values; keep one row a person"
        )
    return database


def chain(people: pa.Table, known: Mapping[str, object]) -> list[tuple[str, int]]:
    """How many of a list are left after each fact known of one person, in order.

    >>> roll = pa.table({"born": [1, 1, 2], "sex": ["M", "F", "M"]})
    >>> chain(roll, {"born": 1, "sex": "M"})
    [('born', 2), ('sex', 1)]
    """
    if missing := [column for column in known if column not in people.column_names]:
        raise BadParameter(f"no column {', '.join(missing)}; there are {', '.join(people.column_names)}")
    left = duckdb.from_arrow(people, connection=duckdb.connect())
    counts = []
    for column, value in known.items():
        left = left.filter(duckdb.ColumnExpression(column) == duckdb.ConstantExpression(value))
        try:
            counts.append((column, len(left)))
        except duckdb.ConversionException:
            raise BadParameter(
                f"{column} is {people.schema.field(column).type}: what is known of it is not"
            ) from None
    return counts


@dataclass(frozen=True)
class Uniqueness:
    """How many rows a combination of columns singles out, and how small its classes are."""

    columns: tuple[str, ...]
    rows: int
    unique: int
    classes: int
    under_five: int

    @property
    def share(self) -> float:
        return self.unique / self.rows


def uniqueness(table: pa.Table, columns: Sequence[str], most: int = 3) -> list[Uniqueness]:
    """How unique every combination of up to `most` of these columns is, and all together; the worst first.

    For the curator's eyes: it reads true rows.

    >>> uniqueness(pa.table({"a": [1, 1, 2], "b": [1, 2, 2]}), ["a", "b"])[0]
    Uniqueness(columns=('a', 'b'), rows=3, unique=3, classes=3, under_five=3)
    """
    missing = [column for column in columns if column not in table.column_names]
    if missing or not columns:
        raise BadParameter(
            f"no column {', '.join(missing) or 'named'}; there are {', '.join(table.column_names)}"
        )
    if not table.num_rows:
        raise BadSource("the table is empty: nobody is unique in it")
    columns = list(dict.fromkeys(columns))
    database = duckdb.connect()
    database.register("t", table)
    sets = [chosen for n in range(1, most + 1) for chosen in combinations(columns, n)]
    sets += [] if len(columns) <= most else [tuple(columns)]
    found = [_unique(database, chosen) for chosen in sets]
    return sorted(found, key=lambda one: (-one.unique, len(one.columns)))


def _unique(database: duckdb.DuckDBPyConnection, columns: tuple[str, ...]) -> Uniqueness:
    named = ", ".join(map(quoted, columns))
    row = database.execute(
        f"""SELECT sum(n), count(*) FILTER (n = 1), count(*), coalesce(sum(n) FILTER (n < 5), 0)
            FROM (SELECT count(*) AS n FROM t GROUP BY {named})"""
    ).fetchall()[0]
    return Uniqueness(columns, *map(int, row))


def _alike(ours: pa.Field, theirs: pa.Field, release: str, people: str) -> None:
    if _family(ours.type) != _family(theirs.type):
        raise BadSource(
            f"{ours.name} is {ours.type} in {release} and {theirs.name} is {theirs.type} in {people}: "
            "read both with the same type"
        )


def _family(type_: pa.DataType) -> str:
    """Types whose text is comparable: dates are text in ISO order."""
    if pa.types.is_dictionary(type_):
        return _family(type_.value_type)
    if pa.types.is_integer(type_):
        return "whole"
    if pa.types.is_floating(type_) or pa.types.is_decimal(type_):
        return "real"
    return "truth" if pa.types.is_boolean(type_) else "text"


def persons(column: pa.ChunkedArray) -> NDArray[np.object_]:
    """A column as Python values, None where there is nobody."""
    return np.array([*column.to_pylist(), None], dtype=object)[:-1]


def _names(keys: Sequence[Key]) -> str:
    return ", ".join(f"k{i}" for i in range(len(keys)))


def quoted(name: str) -> str:
    """A column's name as SQL."""
    return '"' + name.replace('"', '""') + '"'
