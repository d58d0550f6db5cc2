"""The people who are most at risk: a share of everybody never stands alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from obverse.attack.interval import Rate
from obverse.evaluate.tried import few


def vulnerable(
    people: pa.Table, known: Sequence[str], targets: NDArray[np.int64], found: NDArray[np.int64]
) -> tuple[str, Rate] | None:
    """Of the targets who are alone among the people with what they are `known` by, those whose record was found.

    Targets and found are rows of the people.
    """
    quasi = [name for name in known if name in people.column_names]
    numbered = people.append_column("row of it", pa.array(np.arange(people.num_rows)))
    sizes = numbered.group_by(quasi).aggregate([("row of it", "count"), ("row of it", "min")])
    alone = sizes["row of it_min"].to_numpy()[sizes["row of it_count"].to_numpy() == 1]
    drawn = np.intersect1d(targets, alone)
    if not len(drawn):
        return None
    right = np.intersect1d(drawn, found)
    return f"people who are alone with their {few(quasi)}", Rate(len(right), len(drawn))
