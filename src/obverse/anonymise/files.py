"""Tables as files, for those who hold them already: what `verify` reads and what `anonymise` writes."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.feather as pf
import pyarrow.parquet as pq

from obverse.anonymise.reading import decoded
from obverse.errors import BadSource


def read(path: Path) -> pa.Table:
    """A CSV, Parquet or Arrow file. In a CSV only an empty cell is missing."""
    try:
        if path.suffix in (".parquet", ".pq"):
            return pq.read_table(path)
        if path.suffix in (".arrow", ".feather", ".ipc"):
            return pf.read_table(path)
        options = pc.ConvertOptions(
            null_values=[""], strings_can_be_null=True, quoted_strings_can_be_null=False
        )
        return pc.read_csv(path, convert_options=options)
    except (OSError, pa.ArrowException) as error:
        raise BadSource(f"{path} cannot be read as a table") from error


def write(table: pa.Table, path: Path) -> None:
    """A table as a file, as its name ends."""
    try:
        if path.suffix in (".parquet", ".pq"):
            pq.write_table(table, path, store_schema=False)  # else texts that are coded come back so
        elif path.suffix in (".arrow", ".feather", ".ipc"):
            pf.write_feather(decoded(table), path)
        else:
            pc.write_csv(table, path, pc.WriteOptions(quoting_style="needed"))
    except OSError as error:
        raise BadSource(f"{path} cannot be written") from error
