"""Obverse: the side of your data that you can show.

What a user types is here; each name is imported when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from obverse.curator.curator import open_settings as open
    from obverse.loss.loss import Loss
    from obverse.mechanisms import Gaussian, Laplace
    from obverse.query.ask import Ask
    from obverse.release import Release

__version__ = "0.1.0"
__all__ = ["Ask", "Gaussian", "Laplace", "Loss", "Release", "open"]

_PLACES = {
    "Ask": ("obverse.query.ask", "Ask"),
    "Gaussian": ("obverse.mechanisms", "Gaussian"),
    "Laplace": ("obverse.mechanisms", "Laplace"),
    "Loss": ("obverse.loss.loss", "Loss"),
    "Release": ("obverse.release", "Release"),
    "open": ("obverse.curator.curator", "open_settings"),
}


def __getattr__(name: str) -> object:
    if name not in _PLACES:
        raise AttributeError(f"obverse has no {name}; it has {', '.join(__all__)}")
    module, member = _PLACES[name]
    return getattr(import_module(module), member)
