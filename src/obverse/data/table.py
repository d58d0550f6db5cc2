"""The one narrow way to rows. Engines implement it; a plan is handed it after paying."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from sqlglot import exp

if TYPE_CHECKING:
    import pyarrow

Cell = int | float | str | bool | None
Row = tuple[Cell, ...]


@dataclass(frozen=True)
class Limits:
    """What one question may take of an engine; one that takes more is withheld, and stays charged.

    Memory is that of the engine in this process; temporary space is on its disk.
    """

    seconds: int = 600
    memory: str = "60%"
    temporary: str = "32GiB"


USUAL = Limits()


class Tables(Protocol):
    """Tables that one engine can read together. Their rows are secret: nothing here has a `repr` of them."""

    dialect: str

    def run(self, select: exp.Query) -> list[Row]:
        """The few rows of an aggregate, whole numbers as Python's, in no order that means anything."""
        ...

    def batches(self, select: exp.Query) -> Iterator[pyarrow.RecordBatch]:
        """The many rows of a selection, a batch at a time."""
        ...

    def version(self, table: str) -> str:
        """What changes whenever the table's content may have changed."""
        ...

    def close(self) -> None:
        """Let go of the engine."""
        ...
