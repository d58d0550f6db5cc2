"""Check a settings file: that it reads, that its tables hold what it declares, and what is still to be done.

Opens every table, asks nothing and charges nothing.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from obverse.cli.options import found, settings
from obverse.cli.progress import Progress
from obverse.cli.terminal import painter

if TYPE_CHECKING:
    from obverse.data.schema import Schema

EXAMPLES = ("obverse check", "obverse check --settings clinic.toml")


def arguments(parser: ArgumentParser) -> None:
    settings(parser)


def run(args: Namespace) -> int:
    from obverse.curator.curator import open_settings

    file = found(args)
    paint = painter(sys.stdout)
    with open_settings(file) as curator:
        for schema in curator.schemas.values():
            print("\n".join(_summary(schema)))
        with Progress("opening the tables"):
            curator.check()
    for note in [*_marks(file), *(note for schema in curator.schemas.values() for note in _gaps(schema))]:
        print(paint("bad", "! ") + note)
    print(paint("good", f"{file} can be used"))
    return 0


def _summary(schema: Schema) -> list[str]:
    from obverse.data.files import safe

    roles: dict[str, list[str]] = {}
    for column in schema.columns:
        roles.setdefault(column.role.value, []).append(column.name)
    return [
        f"{schema.name}  from {safe(schema.source)}",
        f"  protects  {schema.protects}",
        *(f"  {role}  {', '.join(names)}" for role, names in roles.items()),
    ]


def _marks(file: Path) -> list[str]:
    from obverse.data.draft import MARK

    lines = file.read_text(encoding="utf-8").splitlines()
    marked = [str(number) for number, line in enumerate(lines, 1) if MARK in line]
    if not marked:
        return []
    return [f"still marked as read from data, and so not public: line {', '.join(marked)} of {file}"]


def _gaps(schema: Schema) -> list[str]:
    """Columns that can be counted but neither summed nor grouped by."""
    bare = [c.name for c in schema.columns if not c.bounded and c.categories is None]
    if not bare or schema.public:
        return []
    return [f"{schema.name}: no bounds and no categories, so no SUM and no GROUP BY: {', '.join(bare)}"]
