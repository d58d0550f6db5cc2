"""A line on the terminal for what takes longer than two seconds; nothing where nobody looks."""

from __future__ import annotations

import sys
from threading import Event, Thread
from types import TracebackType
from typing import TextIO

PATIENCE = 2.0
BEAT = 0.1
WIDTH = 24
SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
ERASE = "\r\x1b[K"


class Progress:
    """Shown after two seconds, while the block runs; `at(done, total)` turns the spinner into a bar.

    >>> with Progress("counting") as progress:
    ...     for number in range(3):
    ...         progress.at(number, 3)
    """

    def __init__(self, what: str, stream: TextIO | None = None, patience: float = PATIENCE) -> None:
        self._what, self._stream, self._patience = what, stream or sys.stderr, patience
        self._done, self._total, self._beats = 0, 0, 0
        self._over = Event()
        self._thread = Thread(target=self._show, daemon=True)

    def at(self, done: int, total: int) -> None:
        """So far, `done` of `total`."""
        self._done, self._total = done, total

    def __enter__(self) -> Progress:
        if self._stream.isatty():
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        if self._thread.ident is not None:
            self._thread.join()

    def _show(self) -> None:
        if self._over.wait(self._patience):
            return
        while not self._over.wait(BEAT):
            self._beats += 1
            self._stream.write(ERASE + self._line())
            self._stream.flush()
        self._stream.write(ERASE)
        self._stream.flush()

    def _line(self) -> str:
        seconds = self._patience + self._beats * BEAT
        if not self._total:
            return f"{SPINNER[self._beats % len(SPINNER)]} {self._what}  {seconds:.0f} s"
        full = WIDTH * self._done // self._total
        bar = "█" * full + "░" * (WIDTH - full)
        return f"{bar} {100 * self._done // self._total:3d} %  {self._what}  {seconds:.0f} s"
