"""Colour where a terminal shows it, none where a file or a pipe would keep it."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Literal, TextIO

Tint = Literal["head", "margin", "note", "bad", "good", "code"]
_CODES: dict[Tint, str] = {"head": "1", "margin": "2", "note": "2", "bad": "31", "good": "32", "code": "36"}


def painter(stream: TextIO) -> Callable[[Tint, str], str]:
    """How to colour a text for this stream.  https://no-color.org

    >>> import io
    >>> painter(io.StringIO())("bad", "refused")
    'refused'
    """
    if not stream.isatty() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return lambda tint, text: text
    return lambda tint, text: f"\x1b[{_CODES[tint]}m{text}\x1b[0m"
