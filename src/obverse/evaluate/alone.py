"""How unique people are by their columns, and by which combination: for the curator's eyes, as it reads true rows."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import pyarrow as pa

from obverse.attack.linkage import Uniqueness, uniqueness

FEW, SOME = 8, 14  # columns of which threes are looked at, and of which pairs


def alone(people: pa.Table, columns: Sequence[str] = (), most: int = 0) -> list[Uniqueness]:
    """Every combination of up to `most` columns and all together, the fewest columns first, then the worst.

    Without `most`, as many as is quick: threes of eight columns, pairs of fourteen, else single columns.

    >>> [(one.columns, one.unique) for one in alone(pa.table({"age": [30, 30, 40], "sex": ["F", "M", "M"]}))]
    [(('age',), 1), (('sex',), 1), (('age', 'sex'), 3)]
    """
    columns = list(columns) or people.column_names
    most = most or (3 if len(columns) <= FEW else 2 if len(columns) <= SOME else 1)
    found = uniqueness(people, columns, min(most, len(columns)))
    return sorted(found, key=lambda one: (len(one.columns), -one.unique, -one.under_five))


def worst(found: Sequence[Uniqueness]) -> tuple[Uniqueness, ...]:
    """Of every number of columns the combination by which most are alone."""
    return tuple(next(same) for _, same in groupby(found, key=lambda one: len(one.columns)))
