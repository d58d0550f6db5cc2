"""Names from a list of the population for the rows of a release, generalised or not.  [Swe97; Swe02]

A claim is made only where *the list* holds exactly one person whom all cells of a row allow: being alone in the
release proves nothing. On exact cells this is `linkage`; here a cell may also be an interval, a label or "*".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from obverse.attack.base import Attack, Claims, Harm, View
from obverse.attack.linkage import persons
from obverse.attack.mixed import MISSING, Ladders, encode
from obverse.attack.nearest import Nearest
from obverse.errors import BadSource

Names = NDArray[np.object_]


@dataclass(frozen=True)
class Naming(Attack):
    """The one person on a list whom a released row allows; targets are the release's rows.

    The view's `population` is the list, with a column `person` that names people and the `known` columns.

    >>> released = pa.table({"age": ["30-39", "30-39", "40-49"], "sex": ["F", "M", "M"]})
    >>> roll = pa.table({"name": ["Ada", "Bob", "Cy"], "age": [36, 41, 45], "sex": ["F", "M", "M"]})
    >>> claims = Naming(("age", "sex"), "name").run(View({"release": released}, {"population": roll}))
    >>> claims.values.tolist()
    ['Ada', None, None]
    """

    known: tuple[str, ...]
    person: str
    ladders: Ladders | None = None
    harm: ClassVar[Harm] = "linkability"

    @property
    def threat(self) -> str:
        return f"Somebody with a list of people and their {', '.join(self.known)} names the one person a row can be."

    def claim(self, view: View) -> Claims:
        release = view.table("release", self.known)
        people = one_row_each(view.table("population", [self.person, *self.known]), self.person, self.known)
        rows, listed = encode([release, people], self.known, self.ladders)
        distance, index = Nearest(listed).search(rows, 2)
        known = ~((rows.low == MISSING) & (rows.high == MISSING)).any(axis=1)
        fits = known & (distance[:, 0] == 0)
        alone = fits if distance.shape[1] == 1 else fits & (distance[:, 1] > 0)
        values = named(people, self.person)[index[:, 0]]
        values[~alone] = None
        return Claims(values, np.where(alone, 1.0, np.where(fits, 0.5, 0.0)), alone)


def true_names(
    claims: Claims, release: pa.Table, people: pa.Table, names: Names, ladders: Ladders | None = None
) -> Names:
    """For the judge: the person who is claimed, where all cells of the row allow what is true of him; else None.

    `names` says who each of the true `people` is.
    """
    columns = [name for name in release.column_names if name in people.column_names]
    rows, true = encode([release, people], columns, ladders)
    of: dict[object, list[int]] = {}
    for place, name in enumerate(names.tolist()):
        of.setdefault(name, []).append(place)
    found = np.full(len(claims.values), None, dtype=object)
    for row in np.flatnonzero(claims.made):
        his = true.low[of.get(claims.values[row], [])]
        if ((rows.low[row] <= his) & (his <= rows.high[row])).all(axis=1).any():
            found[row] = claims.values[row]
    return found


def named(people: pa.Table, person: str) -> Names:
    """Who each row is, as text: a number in one file is the same name as its digits in another."""
    return persons(people[person].cast(pa.string()))


def one_row_each(people: pa.Table, person: str, known: tuple[str, ...]) -> pa.Table:
    """A list with every person once; refused where it says two things of one person."""
    distinct = people.select([person, *known]).group_by([person, *known]).aggregate([])
    if distinct.num_rows > distinct.group_by([person]).aggregate([]).num_rows:
        raise BadSource(
            f"the list contradicts itself: one {person} has different values; keep one row a person"
        )
    return distinct
