"""Values in order, equal ones in heaps; a heap is spread over random low bits where a choice comes near it.

Each value has random low bits, drawn for it alone. Of a value far from the rank that is asked for they hardly matter,
so they are drawn when they do: what is drawn late is drawn by the same law, and kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from obverse.mechanisms.lazily import Whole
from obverse.noise.entropy import Entropy


@dataclass(frozen=True, eq=False)
class Heaps:
    """Places in order, and how many values are at each; those of a `loose` one are in 2^fine places from there on."""

    places: Whole
    counts: Whole
    loose: NDArray[np.bool_]
    fine: int

    @classmethod
    def of(cls, values: Whole, low: int, high: int, fine: int) -> Heaps:
        """The heaps of values clamped to low … high, the first place being 0."""
        ordered = values if (values[1:] >= values[:-1]).all() else np.sort(values)
        ends = np.append(np.flatnonzero(ordered[1:] != ordered[:-1]) + 1, values.size)[: values.size]
        clamped = np.clip(ordered[ends - 1], low, high) - low
        return cls(clamped << fine, np.diff(ends, prepend=0), np.ones(ends.size, np.bool_), fine)

    @cached_property
    def ranks(self) -> Whole:
        """How many values are before each place, and in all."""
        return np.append(0, self.counts.cumsum())

    @property
    def total(self) -> int:
        return int(self.ranks[-1])

    def near(self, low: float, high: float) -> tuple[int, int]:
        """The first of the places about which there are the ranks low … high, and the one behind the last."""
        first = int(self.ranks[1:].searchsorted(low))
        return first, max(first, int(self.ranks[:-1].searchsorted(high, side="right")))

    def spread(self, first: int, last: int, entropy: Entropy) -> Heaps:
        """The same with every value of these heaps at a place of its own."""
        chosen = self.loose.copy()
        chosen[:first] = chosen[last:] = False
        if not chosen.any():
            return self
        held = np.repeat(np.arange(chosen.size), np.where(chosen, self.counts, 1))
        single = chosen[held]
        number = int(single.sum())
        places = self.places[held]
        places[single] += np.frombuffer(entropy.bytes(4 * number), np.uint32) >> (32 - self.fine)
        order = np.argsort(places, kind="stable")
        counts = np.where(single, 1, self.counts[held])
        return Heaps(places[order], counts[order], (self.loose[held] & ~single)[order], self.fine)

    def parts(self, places: list[int]) -> list[Heaps]:
        """What is before, between and from these places on, none of which is within a loose heap."""
        cuts = [0, *self.places.searchsorted(places).tolist(), self.places.size]
        return [
            Heaps(self.places[i:j], self.counts[i:j], self.loose[i:j], self.fine) for i, j in pairwise(cuts)
        ]
