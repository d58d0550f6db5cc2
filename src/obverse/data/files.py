"""How a source is written, and which way it is read: CSV, Parquet, Arrow, a DuckDB file, a URL."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from obverse.errors import BadSource


class Form(Enum):
    """The ways a table is kept."""

    CSV = "csv"
    PARQUET = "parquet"
    ARROW = "arrow"
    DUCKDB = "duckdb"
    URL = "url"


_ENDINGS = {
    ".csv": Form.CSV,
    ".tsv": Form.CSV,
    ".csv.gz": Form.CSV,
    ".parquet": Form.PARQUET,
    ".pq": Form.PARQUET,
    ".arrow": Form.ARROW,
    ".feather": Form.ARROW,
    ".ipc": Form.ARROW,
    ".duckdb": Form.DUCKDB,
    ".db": Form.DUCKDB,
}


@dataclass(frozen=True)
class Source:
    """Where a table's rows are: a file, or a table inside a database."""

    form: Form
    place: str
    table: str = ""

    @property
    def scheme(self) -> str:
        """The module below `engines` that reads it."""
        return self.place.partition("://")[0].partition("+")[0] if self.form is Form.URL else "duckdb"

    def __str__(self) -> str:
        return f"{self.place}#{self.table}" if self.table else self.place


def locate(text: str, folder: Path = Path()) -> Source:
    """A source as it is written, found beside `folder`.

    >>> locate("people.csv", Path("/data"))
    Source(form=<Form.CSV: 'csv'>, place='/data/people.csv', table='')
    >>> locate("postgresql://db/clinic#visits").scheme
    'postgresql'
    """
    place, _, table = text.rpartition("#") if "#" in text else (text, "", "")
    if "://" in text:
        if not table:
            raise BadSource(f"{_safe(text)} names no table: end it with #table")
        return Source(Form.URL, place, table)
    if (form := _form(text)) not in (None, Form.DUCKDB):
        place, table = text, ""  # a file whose own name holds a #
    form = form or _form(place)
    if form is None:
        raise BadSource(f"{text} is none of {', '.join(_ENDINGS)}, nor a URL such as postgresql://…#table")
    if form is Form.DUCKDB and not table:
        raise BadSource(f"{text} is a database: say which table, as in {text}#people")
    return Source(form, str((folder / place).absolute()), table)


def _form(name: str) -> Form | None:
    lower = name.lower()
    return next((form for ending, form in _ENDINGS.items() if lower.endswith(ending)), None)


def _safe(url: str) -> str:
    """A URL without the password that may stand in it."""
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2]}"
