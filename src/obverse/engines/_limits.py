"""A question that takes too long is stopped: what it read and what it cost stay where they are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Timer


@contextmanager
def within(seconds: float, stop: Callable[[], object]) -> Iterator[None]:
    """While this runs, call `stop` once so many seconds are over."""
    timer = Timer(seconds, stop)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
