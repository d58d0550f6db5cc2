"""One draw at the price of a bulk draw: a stock per law, filled many at a time and handed out once each.

The time of a release should say nothing of its noise. Taking a draw is the same work whatever its size; what Python
leaves of a difference (it keeps whole numbers from −5 to 256 ready made) is avoided by holding draws far from there,
and drowned in a pause of random length, some tens of nanoseconds.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Law = TypeVar("Law", bound=Hashable)

FIRST, MOST, LAWS = 16, 4096, 64
APART = 1 << 62
PAUSES = 31


class Stock(Generic[Law]):
    """Draws not yet handed out, by law.

    *Threads*: `list.pop` gives one draw to one thread. *Fork*: a child finds the shelf of another process and starts
    its own; the hook below covers a process number used again. Never printed: it holds noise to come.
    """

    def __init__(self) -> None:
        self._shelf: dict[Law, list[tuple[int, range]]] = {}
        self._sizes: dict[Law, int] = {}
        self._owner = _process()

    def add(self, value: int, law: Law, fill: Callable[[int], list[int]]) -> int:
        """The value plus a draw of this law; `fill(count)` draws more, twice as many each time they run out."""
        if self._owner != _process():
            self._empty()
        try:
            drawn, pause = self._shelf[law].pop()
        except (KeyError, IndexError):
            drawn, pause = self._refill(law, fill)
        for _ in pause:
            pass
        return value - APART + drawn

    def _refill(self, law: Law, fill: Callable[[int], list[int]]) -> tuple[int, range]:
        if len(self._shelf) >= LAWS and law not in self._shelf:
            self._empty()
        size = self._sizes.get(law, FIRST)
        pauses = os.urandom(size)
        fresh = [
            (drawn + APART, range(byte & PAUSES)) for drawn, byte in zip(fill(size), pauses, strict=True)
        ]
        kept = fresh.pop()
        self._sizes[law] = min(2 * size, MOST)
        self._shelf.setdefault(law, []).extend(fresh)
        return kept

    def _empty(self) -> None:
        """New shelves, never emptied ones: another thread may be filling the old."""
        self._shelf, self._sizes, self._owner = {}, {}, _process()


_forks = 0


def _process() -> tuple[int, int]:
    return os.getpid(), _forks


def _forked() -> None:
    global _forks
    _forks += 1


os.register_at_fork(after_in_child=_forked)
