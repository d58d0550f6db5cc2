"""What is known of a table in public: types, roles, bounds, categories, and whose privacy counts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from enum import Enum
from fractions import Fraction

from obverse.data.learnt import Learnt
from obverse.errors import BadQuestion


class Role(Enum):
    """How a column could betray somebody."""

    IDENTIFIER = "identifier"
    QUASI = "quasi-identifier"
    SENSITIVE = "sensitive"
    PLAIN = "plain"


class Type(Enum):
    """The types a column can be declared with."""

    INTEGER = "integer"
    REAL = "real"
    TEXT = "text"
    BOOLEAN = "boolean"
    DATE = "date"
    TIMESTAMP = "timestamp"


class Neighbours(Enum):
    """Which two tables count as neighbours; every charge says which."""

    ADD_REMOVE = "add-remove"
    REPLACE = "replace-one"


Bound = Fraction | date | datetime
Category = int | str | bool


@dataclass(frozen=True)
class Column:
    """One column, as declared by the curator; nothing here was read from rows.

    `hierarchy` is a file with the ladder of each value, `ladders` the same written in the settings;
    `references` names the column of another table, as in "customers.id", that this one's values come from;
    `told` is false where low and high were chosen from what was learnt: they clamp, and say nothing of other values.
    """

    name: str
    type: Type
    role: Role = Role.PLAIN
    low: Bound | None = None
    high: Bound | None = None
    categories: tuple[Category, ...] | None = None
    hierarchy: str | None = None
    ladders: tuple[tuple[str, ...], ...] | None = None
    references: str | None = None
    told: bool = True

    @property
    def bounded(self) -> bool:
        return self.low is not None and self.high is not None


@dataclass(frozen=True)
class Unit:
    """Whose privacy counts: a row, or everybody's rows found by a column.

    `rows` is the most rows of one person that count, `groups` the most groups they may be spread over;
    `rank` names a column, if there is one, that numbers a person's rows 0, 1, 2, … in a secret random order. Where
    nobody `told` how many rows count, each question chooses it from what was learnt, and nothing else is answered.
    """

    column: str | None = None
    rows: int = 1
    groups: int | None = None
    rank: str | None = None
    told: bool = True


@dataclass(frozen=True)
class Schema:
    """One table, as the public knows it.

    `missing` are texts that a CSV writes where nothing is known; `prepared` asks for a copy in memory, in which
    bounded numbers are clamped once for all questions. `learnt` is what its registration told of it, if it had one.
    """

    name: str
    source: str
    columns: tuple[Column, ...]
    unit: Unit = Unit()
    neighbours: Neighbours = Neighbours.ADD_REMOVE
    public: bool = False
    missing: tuple[str, ...] = ()
    prepared: bool = False
    learnt: Learnt | None = None

    @property
    def protects(self) -> str:
        """Who is protected, and against which change."""
        if self.public:
            return "a public table"
        who = "one row" if self.unit.column is None else f"all rows of one {self.unit.column}"
        change = "replaced" if self.neighbours is Neighbours.REPLACE else "added or removed"
        return f"{who} of {self.name} {change}"

    def column(self, name: str) -> Column:
        """The column of this name, in any case."""
        for column in self.columns:
            if column.name.lower() == name.lower():
                return column
        known = tuple(column.name for column in self.columns)
        raise BadQuestion(f"{self.name} has no column {name}{hint(name, known)}")


def protected(schemas: Iterable[Schema]) -> str:
    """Whom an answer from these tables protects: whose rows are found along a foreign key, them and what is theirs."""
    tables = list(schemas)
    if len(tables) == 1:
        return tables[0].protects
    theirs = [each for each in tables if any(_points(each, other) for other in tables)]
    said = " and ".join(each.protects for each in tables if each not in theirs)
    return said + (f", with what is theirs in {' and '.join(each.name for each in theirs)}" if theirs else "")


def with_owners(schema: Schema, known: Mapping[str, Schema]) -> list[Schema]:
    """A table, and those along which it is found whose its rows are."""
    line = [schema]
    while len(line) <= len(known):
        owners = [each for each in known.values() if _points(line[-1], each)]
        if not owners:
            break
        line.append(owners[0])
    return line


def _points(schema: Schema, other: Schema) -> bool:
    """Whether whose a row is follows from a row of another table, and is not its key."""
    if schema.unit.column is None or other.unit.column is None:
        return False
    table, _, key = (schema.column(schema.unit.column).references or "").partition(".")
    return table == other.name and key != other.unit.column


def hint(name: str, known: tuple[str, ...]) -> str:
    """The nearest name as SQL writes it, or all of them.

    >>> hint("native", ("age", "native-country"))
    ': did you mean "native-country"?'
    """
    from obverse.data.toml import nearest

    written = {each: each if each.isidentifier() else f'"{each}"' for each in known}
    close = nearest(name, known)
    for plain, quoted in written.items():
        close = close.replace(f" {plain}?", f" {quoted}?")
    return close or f"; it has {', '.join(written.values())}"
