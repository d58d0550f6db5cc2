"""Things found by their place: a folder's modules, and the class each holds."""

from __future__ import annotations

import inspect
import pkgutil
from importlib import import_module


def modules(package: str) -> list[str]:
    """The full names of a package's modules, in order.

    >>> "obverse.mechanisms.laplace" in modules("obverse.mechanisms")
    True
    """
    found = pkgutil.iter_modules(import_module(package).__path__)
    return sorted(f"{package}.{module.name}" for module in found)


def classes(package: str, base: type) -> dict[str, type]:
    """The concrete classes below `base` that a package's modules define, by name."""
    defined = [
        (name, member)
        for module in modules(package)
        for name, member in inspect.getmembers(import_module(module), inspect.isclass)
        if member.__module__ == module and issubclass(member, base) and not inspect.isabstract(member)
    ]
    return {name: member for name, member in sorted(defined) if member is not base}
