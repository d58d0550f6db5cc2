"""How a source is written, and how its rows come into DuckDB: CSV, Parquet, Arrow, a DuckDB file.

What a file holds never decides how it is read: a CSV's dialect follows from its header, its columns have
the declared types, and a value that is not of its type is missing. A file that is broken is refused whole,
when it is opened, and the refusal quotes nothing from its rows.
"""

from __future__ import annotations

import re
from csv import reader
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from obverse.data.forms import ENDINGS, Form, form_of, rank_column
from obverse.data.schema import Schema, Type, hint
from obverse.errors import BadSource

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

LONGEST_HEADER = 1024 * 1024
DELIMITERS = ",;\t|"


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
            raise BadSource(f"{safe(text)} names no table: end it with #table")
        return Source(Form.URL, place, table)
    if (form := form_of(text)) not in (None, Form.DUCKDB):
        place, table = text, ""  # a file whose own name holds a #
    form = form or form_of(place)
    if form is None:
        raise BadSource(f"{text} is none of {', '.join(ENDINGS)}, nor a URL such as postgresql://…#table")
    if form is Form.DUCKDB and not table:
        raise BadSource(f"{text} is a database: say which table, as in {text}#people")
    return Source(form, str((folder / place).absolute()), table)


def safe(source: str) -> str:
    """A source to be shown: without the password that may stand in a URL.

    >>> safe("postgresql://me:secret@db/clinic#visits")
    'postgresql://db/clinic#visits'
    """
    scheme, mark, rest = source.rpartition("://")
    return scheme + mark + (rest.rpartition("@")[2] if mark else rest)


# ── into DuckDB ──────────────────────────────────────────────────────────────────────────────────────────

_SQL = {
    Type.INTEGER: "BIGINT",
    Type.REAL: "DOUBLE",
    Type.TEXT: "VARCHAR",
    Type.BOOLEAN: "BOOLEAN",
    Type.DATE: "DATE",
    Type.TIMESTAMP: "TIMESTAMP",
}


def declare(connection: DuckDBPyConnection, schema: Schema, *, view: bool = False) -> None:
    """Make the schema's name stand for its declared columns in their declared types, and for nothing else.

    A CSV is read once, whole, so that a broken line is met here and not by a question; unless a `view` is asked for
    by somebody who copies it at once.
    """
    source = locate(schema.source)
    raw = f"raw {schema.name}"
    expose(connection, source, raw, schema.missing)
    held = columns(connection, raw)
    folded = {name.casefold(): name for name in held}
    wanted = [*((column.name, column.name, column.type) for column in schema.columns), *rank_column(schema)]
    lacking = [name for name, _, _ in wanted if name.casefold() not in folded]
    if len(lacking) == len(wanted):  # its first line may be a row, and is not to be quoted
        raise BadSource(f"{schema.source} has none of the declared columns: does it begin with a header?")
    if lacking:
        raise BadSource(f"{schema.source} has no column {lacking[0]}{hint(lacking[0], tuple(held))}")
    typed = ", ".join(
        f"{_typed(quote(folded[name.casefold()]), type_, source.form)} AS {quote(called)}"
        for name, called, type_ in wanted
    )
    kept = "TABLE" if source.form in (Form.CSV, Form.ARROW) and not view else "VIEW"
    create = f"CREATE OR REPLACE {kept} {quote(schema.name)} AS SELECT {typed} FROM {quote(raw)}"
    run(connection, source, create)


def _typed(name: str, type_: Type, form: Form) -> str:
    """A value as its type, or missing, as NaN and the infinities are.

    DuckDB 2.0 moves a bare TRY_CAST into its CSV reader, where it fails: `trim` keeps it out.
    """
    plain = f"trim({name})" if form is Form.CSV and type_ is not Type.TEXT else name
    value = f"TRY_CAST({plain} AS {_SQL[type_]})"
    return f"CASE WHEN isfinite({value}) THEN {value} END" if type_ is Type.REAL else value


def expose(connection: DuckDBPyConnection, source: Source, name: str, missing: tuple[str, ...] = ()) -> None:
    """Make `name` a view of all that a source holds, as it is kept; of a CSV, as text."""
    if source.form is Form.URL:
        raise BadSource(f"{safe(source.place)} is read by the engine of its own scheme, not by DuckDB")
    if not Path(source.place).is_file():
        raise BadSource(f"{source.place}: there is no such file")
    if source.form is Form.ARROW:
        connection.register(name, _arrow(source))
        return
    match source.form:
        case Form.CSV:
            rows = _csv(source, missing)
        case Form.PARQUET:
            rows = f"read_parquet({literal(source.place)})"
        case _:
            inside = f"file {source.place}"
            run(
                connection, source, f"DETACH DATABASE IF EXISTS {quote(inside)}"
            )  # the file may be another by now
            run(connection, source, f"ATTACH {literal(source.place)} AS {quote(inside)} (READ_ONLY)")
            rows = ".".join(quote(part) for part in (inside, *source.table.split(".")))
    run(connection, source, f"CREATE OR REPLACE VIEW {quote(name)} AS SELECT * FROM {rows}")


def columns(connection: DuckDBPyConnection, name: str) -> dict[str, str]:
    """The columns of a view and their types in DuckDB."""
    return {row[0]: row[1] for row in connection.execute(f"DESCRIBE {quote(name)}").fetchall()}


def quote(name: str) -> str:
    """A name as SQL writes it, whatever stands in it."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A text as SQL writes it."""
    return "'" + text.replace("'", "''") + "'"


def _csv(source: Source, missing: tuple[str, ...]) -> str:
    delimiter, names = _header(source)
    types = ", ".join(f"{literal(name)}: 'VARCHAR'" for name in names)
    marks = ", ".join(literal(mark) for mark in ("", *missing))
    return (
        f"read_csv({literal(source.place)}, auto_detect=false, header=true, strict_mode=true, "
        f"delim={literal(delimiter)}, quote='\"', escape='\"', nullstr=[{marks}], columns={{{types}}})"
    )


def _header(source: Source) -> tuple[str, list[str]]:
    """The delimiter and the names in a CSV's first line: the delimiter is the one that splits it most."""
    with _bytes(source) as file:
        line = file.readline(LONGEST_HEADER)
    try:
        text = line.decode("utf-8-sig").rstrip("\r\n")
    except UnicodeDecodeError:
        raise _not_utf8(source) from None
    if "\0" in text:
        raise _not_utf8(source)
    splits = {each: next(reader([text], delimiter=each), []) for each in DELIMITERS}
    delimiter, names = max(splits.items(), key=lambda split: len(split[1]))
    if not names or not all(names):
        raise BadSource(f"{source.place}:1: is no header: every column needs a name")
    if len({name.casefold() for name in names}) < len(names):
        raise BadSource(f"{source.place}:1: names a column twice")
    return delimiter, names


def _bytes(source: Source) -> IO[bytes]:
    if source.place.lower().endswith(".gz"):
        from gzip import GzipFile

        return cast(IO[bytes], GzipFile(source.place))
    return open(source.place, "rb")


def _arrow(source: Source) -> object:
    import pyarrow
    from pyarrow import dataset, ipc

    try:
        return dataset.dataset(source.place, format="ipc")
    except pyarrow.ArrowInvalid:
        pass
    try:
        with pyarrow.memory_map(source.place) as file:
            return ipc.open_stream(file).read_all()
    except pyarrow.ArrowInvalid:
        raise BadSource(f"{source.place} cannot be read as arrow") from None


def run(connection: DuckDBPyConnection, source: Source, sql: str) -> list[tuple[Any, ...]]:
    """The rows of a statement; of its failure, only the file, the line and the kind are said."""
    import duckdb

    try:
        return connection.execute(sql).fetchall()
    except duckdb.Error as error:
        said = str(error).partition("Possible fixes")[0]
        if "unicode" in said:
            raise _not_utf8(source) from None
        if line := re.search(r"CSV Error on Line: (\d+)", said):
            fault = (
                "a quote is not closed"
                if "unterminated" in said
                else "not as many values as the header has names"
            )
            raise BadSource(f"{source.place}:{line[1]}: is no line of this CSV: {fault}") from None
        raise BadSource(f"{source} cannot be read as {source.form.value}") from None


def _not_utf8(source: Source) -> BadSource:
    return BadSource(f"{source.place} is not UTF-8 text: convert it first, as with iconv -f latin1 -t utf-8")
