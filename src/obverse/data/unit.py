"""Whose privacy counts: how many people two tables differ by.

A sensitivity is a claim about neighbours: tables at distance 1. A test makes two such tables, checks here
that they are neighbours, and then looks at how far apart the exact answers are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import chain

from obverse.data.schema import Neighbours, Unit
from obverse.data.table import Cell

Rows = Iterable[Mapping[str, Cell]]
A_ROW = Unit()
Person = Counter[tuple[tuple[str, Cell], ...]]


def distance(
    a: Rows, b: Rows, unit: Unit = A_ROW, neighbours: Neighbours = Neighbours.ADD_REMOVE
) -> int | None:
    """How many people to add, remove or (where that counts) replace, to turn one table into the other.

    None where no number of steps does it: replacing never changes how many people there are.

    >>> clinic = [{"id": 1, "age": 30}, {"id": 1, "age": 31}, {"id": 2, "age": 50}]
    >>> distance(clinic, clinic[:2]), distance(clinic, clinic[2:]), distance(clinic, clinic[2:], Unit("id"))
    (1, 2, 1)
    """
    left, right = _people(a, unit), _people(b, unit)
    gone, come = (left - right).total(), (right - left).total()
    if neighbours is Neighbours.ADD_REMOVE:
        return gone + come
    return gone if gone == come else None


def _people(rows: Rows, unit: Unit) -> Counter[object]:
    """Each person with all their rows; people without a unit value are one person each row."""
    if unit.column is None:
        return Counter(_row(row) for row in rows)
    found: dict[Cell, Person] = {}
    alone: list[object] = []
    for row in rows:
        who = row[unit.column]
        if who is None:
            alone.append(_row(row))
        else:
            found.setdefault(who, Counter())[_row(row)] += 1
    return Counter(chain(alone, (frozenset(person.items()) for person in found.values())))


def _row(row: Mapping[str, Cell]) -> tuple[tuple[str, Cell], ...]:
    return tuple(sorted(row.items()))
