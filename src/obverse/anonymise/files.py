"""Tables as files, for those who hold them already: what `verify` reads and what `anonymise` writes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.feather as pf
import pyarrow.parquet as pq

from obverse.anonymise.reading import decoded
from obverse.errors import BadSource


def read(path: Path, apart: Sequence[str] = ()) -> pa.Table:
    """A CSV, Parquet or Arrow file. In a CSV only an empty cell is missing.

    Of the columns named `apart` different texts stay different: 007 and 7 are two postcodes. They are numbers only
    where no two texts are the same number.
    """
    try:
        if path.suffix in (".parquet", ".pq"):
            table = pq.read_table(path)
        elif path.suffix in (".arrow", ".feather", ".ipc"):
            table = pf.read_table(path)
        else:
            table = _csv(path, apart)
    except (OSError, pa.ArrowException) as error:
        raise BadSource(f"{path} cannot be read as a table") from error
    if twice := [name for name in table.column_names if table.column_names.count(name) > 1]:
        raise BadSource(f"{path} has two columns called {twice[0]}")
    return table


def _csv(path: Path, apart: Sequence[str]) -> pa.Table:
    options = pyarrow.csv.ConvertOptions(
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
        column_types=dict.fromkeys(apart, pa.string()),
    )
    table = pyarrow.csv.read_csv(path, convert_options=options)
    for name in apart:
        if table.column_names.count(name) == 1:
            table = table.set_column(table.column_names.index(name), name, _as_numbers(table[name]))
    return table


def _as_numbers(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Texts as numbers, if each number is written in one way, with no 0 before it, and all are finite."""
    texts = pc.drop_null(column.unique())
    if pc.any(pc.match_substring_regex(texts, r"^[-+]?0\d"), min_count=0).as_py():
        return column
    for kind in (pa.int64(), pa.float64()):
        try:
            found = texts.cast(kind)
        except pa.ArrowInvalid:
            continue
        finite = pc.all(pc.is_finite(found), min_count=0).as_py()
        return column.cast(kind) if finite and len(found.unique()) == len(texts) else column
    return column


def write(table: pa.Table, path: Path) -> None:
    """A table as a file, as its name ends."""
    try:
        if path.suffix in (".parquet", ".pq"):
            pq.write_table(table, path, store_schema=False)  # else texts that are coded come back so
        elif path.suffix in (".arrow", ".feather", ".ipc"):
            pf.write_feather(decoded(table), path)
        else:
            pyarrow.csv.write_csv(table, path, pyarrow.csv.WriteOptions(quoting_style="needed"))
    except OSError as error:
        raise BadSource(f"{path} cannot be written") from error
