"""What an analyst gets: a table whose numbers carry a ±, and the receipt."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import count
from typing import TYPE_CHECKING, Protocol

from obverse.data.schema import Category
from obverse.errors import Missing
from obverse.loss.loss import FREE, Loss
from obverse.release import Plan, Release

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

Cell = Category | float | None | tuple[Category | float | None, ...]


@dataclass(frozen=True)
class Answer:
    """Rows of released values, and of each number how far the noise may have moved it.

    `totals` are the noisy whole numbers that everything else follows from: a list for each of the `groups`.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    margins: tuple[tuple[float | None, ...], ...]
    totals: tuple[tuple[int, ...], ...]
    groups: tuple[tuple[Category, ...], ...] = ()

    def __len__(self) -> int:
        return len(self.rows)


class Answering(Plan[Answer], Protocol):
    """A plan whose release is an answer: what it says beside it, and how sure each ± is."""

    @property
    def guarantee(self) -> Loss: ...

    @property
    def confidence(self) -> Fraction: ...

    @property
    def protects(self) -> str:
        """Whom an answer protects."""
        ...

    @property
    def notes(self) -> tuple[str, ...]:
        """What is said below an answer."""
        ...

    def at(self, answer: Answer, confidence: Fraction) -> Answer:
        """The same answer, with the ± of another confidence."""
        ...


@dataclass(frozen=True)
class Answered(Release[Answer]):
    """An answer that left: it prints as a table, and converts to what analysts use."""

    plan: Answering
    earlier: Loss = FREE

    @property
    def columns(self) -> tuple[str, ...]:
        return self.value.columns

    @property
    def rows(self) -> tuple[tuple[Cell, ...], ...]:
        return self.value.rows

    @property
    def margins(self) -> tuple[tuple[float | None, ...], ...]:
        return self.value.margins

    @property
    def synthetic(self) -> bool:
        """Whether its rows are nobody's: drawn, not counted."""
        return self.plan.kind == "synthetic"

    @property
    def loss(self) -> Loss:
        """What this question cost, with what was spent before to find how much it takes; nothing if asked before."""
        return self.earlier + self.plan.guarantee

    def interval(self, confidence: float = 0.95) -> tuple[tuple[tuple[float, float] | None, ...], ...]:
        """For each number the interval that holds what the noise hid, in `confidence` of all runs."""
        answer = self.plan.at(self.value, Fraction(confidence))
        return tuple(
            tuple(
                None if margin is None else (_float(cell) - margin, _float(cell) + margin)
                for cell, margin in zip(row, margins, strict=True)
            )
            for row, margins in zip(answer.rows, answer.margins, strict=True)
        )

    def __iter__(self) -> Iterator[tuple[Cell, ...]]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __str__(self) -> str:
        from obverse.query.show import text

        return text(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from obverse.query.show import html

        return html(self)

    def to_dict(self) -> dict[str, list[Cell]]:
        """Columns by name; behind each number's column its ± as `name ±`."""
        columns: dict[str, list[Cell]] = {}
        for place, name in enumerate(self.columns):
            columns[name] = [row[place] for row in self.rows]
            if any(margins[place] is not None for margins in self.margins):
                columns[f"{name} ±"] = [margins[place] for margins in self.margins]
        return columns

    def to_arrow(self) -> pyarrow.Table:
        import pyarrow

        return pyarrow.table(self.to_dict())

    def to_pandas(self) -> pandas.DataFrame:
        try:
            import pandas
        except ImportError:
            raise Missing("pandas is not installed: pip install obverse[frames]") from None
        return pandas.DataFrame(self.to_dict())

    def to_polars(self) -> polars.DataFrame:
        try:
            import polars
        except ImportError:
            raise Missing("polars is not installed: pip install obverse[frames]") from None
        return polars.DataFrame(self.to_dict(), strict=False)


def distinct(names: Iterable[str]) -> tuple[str, ...]:
    """The names of columns, a second one of the same name with _2 behind it, and none that is another's ±.

    >>> distinct(["n", "n", "m"])
    ('n', 'n_2', 'm')
    """
    found: list[str] = []
    taken: set[str] = set()
    for name in names:
        known = next(each for each in _numbered(name) if taken.isdisjoint({each, f"{each} ±"}))
        found.append(known)
        taken |= {known, f"{known} ±"}
    return tuple(found)


def _numbered(name: str) -> Iterator[str]:
    yield name
    yield from (f"{name}_{place}" for place in count(2))


def _float(cell: Cell) -> float:
    assert isinstance(cell, int | float)
    return float(cell)
