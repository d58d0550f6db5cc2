"""How an attack is played on one release: what is seen of it, what is left without some people, what is guessed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from obverse.attack.base import Claims, View
from obverse.attack.mixed import Ladders, encode, shared
from obverse.attack.nearest import Nearest
from obverse.attack.synthetic import categories


def guessed(claims: Claims, release: pa.Table, secret: str) -> Claims:
    """The claims, with the release's commonest secret where none is made; as they are without a secret."""
    if not secret:
        return claims
    values, codes = categories(release, secret)
    commonest = values[np.bincount(codes).argmax()]
    everybody = np.ones(len(claims.made), bool)
    return replace(claims, values=np.where(claims.made, claims.values, commonest), made=everybody)


def seen(release: pa.Table, other: pa.Table | None, people: pa.Table) -> View:
    """What an outsider has who looks for these people: the release, and perhaps another."""
    more = {} if other is None else {"other": other}
    return View({"release": release, **more}, {"targets": people})


def without(release: pa.Table, people: pa.Table, ladders: Ladders) -> tuple[pa.Table, NDArray[np.bool_]]:
    """A release without the rows that allow these people, a row each; and who of them had one."""
    columns = shared(release, people)
    rows, true = encode([release, people], columns, ladders)
    distance, index = Nearest(rows).search(true.low)
    found = distance[:, 0] == 0
    kept = np.ones(release.num_rows, bool)
    kept[index[found, 0]] = False
    kept[0] |= not kept.any()
    return release.filter(pa.array(kept)), found
