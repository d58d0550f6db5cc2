"""A question that takes too long is stopped: what it read and what it cost stay where they are.

One thread of an engine counts beats while questions run, and ends when none do: to start one for each question would
take as long as many a question.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import ceil
from threading import Event, Lock, Thread

BEAT = 0.25


@dataclass(eq=False)
class Running:
    """A question, how many beats it has left, and what stops it."""

    beats: int
    stop: Callable[[], object]


class Watch:
    """Stops what runs longer than it may."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._running: list[Running] = []
        self._thread: Thread | None = None

    @contextmanager
    def within(self, seconds: float, stop: Callable[[], object]) -> Iterator[None]:
        """While this runs, call `stop` once so many seconds are over, and at most a beat later."""
        mine = Running(ceil(seconds / BEAT) + 1, stop)
        with self._lock:
            self._running.append(mine)
            if self._thread is None or not self._thread.is_alive():
                self._thread = Thread(target=self._beat, daemon=True)
                self._thread.start()
        try:
            yield
        finally:
            with self._lock:
                self._running.remove(mine)

    def _beat(self) -> None:
        pause = Event()
        while True:
            pause.wait(BEAT)
            with self._lock:
                if not self._running:
                    self._thread = None
                    return
                for each in self._running:
                    each.beats -= 1
                late = [each.stop for each in self._running if each.beats == 0]
                for (
                    stop
                ) in late:  # in here, so that what has ended meanwhile is not stopped, nor what follows it
                    stop()
