"""The most exposed records, and the fewest columns that expose each: for the curator's eyes only.

A record is named by its row number in the curator's own file; no value of it is shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from obverse.attack.mixed import encode, shared
from obverse.evaluate.held import Held
from obverse.evaluate.risk import Assessment

CANDIDATES = 60


@dataclass(frozen=True)
class Exposed:
    """One of the people, the attacks that were right about him, and the columns that single out his row."""

    row: int
    attacks: tuple[str, ...]
    columns: tuple[str, ...]


def exposed(release: pa.Table, known: Held, found: Assessment, count: int = 10) -> list[Exposed]:
    """Those with a row to be found whom the most attacks were right about; of these, whom the fewest columns find."""
    wins = [each.wins for each in found.tried if len(each.wins)]
    if not wins:
        return []
    rows, tally = np.unique(np.concatenate([np.unique(each) for each in wins]), return_counts=True)
    chosen = rows[np.argsort(-tally, kind="stable")][:CANDIDATES]
    columns = shared(release, known.people)
    boxes, people = encode([release, known.people.take(chosen)], columns, known.ladders)
    listed = []
    for row, person in zip(chosen.tolist(), people.low, strict=True):
        allows = (boxes.low <= person) & (person <= boxes.high)
        attacks = [f"{each.evidence.attack} {each.about}".strip() for each in found.tried if row in each.wins]
        if found_by := _fewest(allows, columns):
            listed.append(Exposed(row, tuple(attacks), found_by))
    listed.sort(key=lambda one: (-len(one.attacks), len(one.columns), one.row))
    return listed[:count]


def _fewest(allows: NDArray[np.bool_], columns: Sequence[str]) -> tuple[str, ...]:
    """Columns that leave one row, found by always adding the one that leaves fewest; none if all leave more."""
    left, used = np.ones(len(allows), bool), []
    while left.sum() > 1:
        counts = allows[left].sum(axis=0)
        best = int(np.where(counts > 0, counts, len(allows) + 1).argmin())
        if counts[best] == left.sum() or not counts[best]:
            return ()
        used.append(columns[best])
        left &= allows[:, best]
    return tuple(used)
