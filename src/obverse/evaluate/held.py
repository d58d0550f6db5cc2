"""What the curator holds against a release: the people it was made from, and people it was not made from.

For the curator's eyes: true rows are read here, and nothing here is a release.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
from numpy.typing import NDArray

from obverse.attack.mixed import Ladders, shared
from obverse.attack.naming import named
from obverse.data.files import declare, locate, quote
from obverse.data.forms import Form
from obverse.data.hierarchy import Ladder, from_csv
from obverse.data.schema import Column, Role, Schema
from obverse.data.settings import load
from obverse.errors import BadParameter, BadSource
from obverse.evaluate.dates import dated


@dataclass(frozen=True, eq=False)
class Listed:
    """A list of the whole population, as an outsider might have it: one row a person, named in column `person`.

    `misspelt` says that its columns may be wrong here and there, or those of the release.
    """

    name: str
    table: pa.Table = field(repr=False)
    person: str
    misspelt: bool = False

    def __post_init__(self) -> None:
        if self.person not in self.table.column_names:
            raise BadParameter(
                f"{self.name} has no column {self.person}; it has {', '.join(self.table.column_names)}"
            )


@dataclass(frozen=True, eq=False)
class Held:
    """The true people, what they could be known by (`quasi`), and what must not be learned (`sensitive`).

    `control` are people of the same kind whom the release was not made from; `listed` a list of everybody, and
    `names` who each of the people is on it; `earlier` is a release about them that left before. No release may hold
    an `identifiers` column.
    """

    name: str
    people: pa.Table = field(repr=False)
    quasi: tuple[str, ...] = ()
    sensitive: tuple[str, ...] = ()
    ladders: Ladders = field(default_factory=dict, repr=False)
    control: pa.Table | None = field(default=None, repr=False)
    earlier: pa.Table | None = field(default=None, repr=False)
    listed: Listed | None = None
    names: NDArray[np.object_] | None = field(default=None, repr=False)
    identifiers: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in (*self.quasi, *self.sensitive):
            if name not in self.people.column_names:
                has = ", ".join(self.people.column_names)
                raise BadParameter(f"{self.name} has no column {name}; it has {has}")
        for table, what in ((self.people, self.name), (self.control, "the control")):
            if table is not None and not table.num_rows:
                raise BadSource(f"{what} is empty: there is nobody to hold the release against")
        if self.control is not None and (
            gone := set(self.people.column_names) - set(self.control.column_names)
        ):
            raise BadSource(
                f"the control has no column {', '.join(sorted(gone))}: it must be of the same kind"
            )

    def within(self, columns: Sequence[str]) -> Held:
        """The same, as far as a release has these columns."""
        kept = [name for name in self.people.column_names if name in columns]
        return replace(
            self,
            people=self.people.select(kept),
            quasi=tuple(name for name in self.quasi if name in kept),
            sensitive=tuple(name for name in self.sensitive if name in kept),
            control=None if self.control is None else self.control.select(kept),
        )


def against(
    path: str | Path,
    *,
    table: str = "",
    control: str | Path | None = None,
    quasi: tuple[str, ...] = (),
    sensitive: tuple[str, ...] = (),
    population: str | Path | None = None,
    person: str = "",
    misspelt: bool = False,
    earlier: str | Path | None = None,
) -> Held:
    """The people of a settings file or of a plain table, with the columns that are named over those declared.

    `population` is a list of everybody, which names them in the column `person`; without a name, in the people's
    own identifier. With `misspelt`, rows are linked to it although keys may be wrong. `earlier` is a release about
    the same people that left before.
    """
    if (person or misspelt) and population is None:
        if misspelt:
            raise BadParameter("which list is misspelt? Say it with --population")
        raise BadParameter(f"{person} names people on which list? Say it with --population")
    if Path(path).suffix == ".toml":
        known = declared(path, table, control, person)
    elif table:
        raise BadParameter(f"{path} is one table; --table names one of a settings file's")
    else:
        people = rows(path)
        known = _told(Path(path).name, people, None if control is None else rows(control, people), person)
    known = replace(known, quasi=quasi or known.quasi, sensitive=sensitive or known.sensitive)
    if earlier is not None:
        before = rows(earlier, known.people)
        shared(before, known.people)
        known = replace(known, earlier=before)
    if population is not None:
        known = replace(known, listed=_listed(population, known, person, misspelt))
    return known


def _listed(path: str | Path, known: Held, person: str, misspelt: bool) -> Listed:
    if not person and len(known.identifiers) != 1:
        raise BadParameter("say which column of the list names people, as in --person voter_id")
    return Listed(Path(path).name, rows(path, known.people), person or known.identifiers[0], misspelt)


def _told(name: str, people: pa.Table, control: pa.Table | None, person: str) -> Held:
    """A plain table; a column that names people is kept apart, for the judge."""
    if person not in people.column_names:
        return Held(name, people, control=control)
    rest = [column for column in people.column_names if column != person]
    outside = None if control is None else control.select([c for c in rest if c in control.column_names])
    names = named(people, person)
    return Held(name, people.select(rest), control=outside, names=names, identifiers=(person,))


def declared(path: str | Path, name: str = "", control: str | Path | None = None, person: str = "") -> Held:
    """The one private table of a settings file, or the one named, as it is declared."""
    import duckdb

    private = {schema.name: schema for schema in load(path).schemas if not schema.public}
    if name not in private and (name or len(private) != 1):
        raise BadParameter(
            f"{path} declares {', '.join(private)}: say which one, as in --table {next(iter(private))}"
        )
    schema = private[name or next(iter(private))]
    connection = duckdb.connect()
    declare(connection, schema)
    people = _finite(connection.sql(f"SELECT * FROM {quote(schema.name)}").to_arrow_table(), schema.name)
    outside = None if control is None else rows(control, people, schema.missing)
    return held(schema, people, outside, person)


def held(schema: Schema, people: pa.Table, control: pa.Table | None = None, person: str = "") -> Held:
    """What a schema says of its columns, beside their rows; identifiers are checked and left out.

    The identifier called `person`, or the only one there is, says who each row is.
    """
    names = {column.name: column.role for column in schema.columns if column.name in people.column_names}
    for name, role in names.items():
        if role is Role.IDENTIFIER and schema.unit.rows == 1:
            _no_contradiction(people, name, schema.name)
    kept = [name for name, role in names.items() if role is not Role.IDENTIFIER]
    identifiers = tuple(name for name, role in names.items() if role is Role.IDENTIFIER)
    who = person or (identifiers[0] if len(identifiers) == 1 else "")
    return Held(
        schema.name,
        people.select(kept),
        tuple(name for name in kept if names[name] is Role.QUASI),
        tuple(name for name in kept if names[name] is Role.SENSITIVE),
        {column.name: rungs for column in schema.columns if (rungs := _rungs(column))},
        None if control is None else control.select([name for name in kept if name in control.column_names]),
        names=named(people, who) if who in identifiers else None,
        identifiers=identifiers,
    )


def rows(path: str | Path, like: pa.Table | None = None, missing: Sequence[str] = ()) -> pa.Table:
    """A file's rows; columns that are text in the table it is compared with stay text."""
    source = locate(str(path))
    if not Path(source.place).is_file():
        raise BadSource(f"{path}: there is no such file")
    if not Path(source.place).stat().st_size:
        raise BadSource(f"{path} is empty: it has not even a header")
    texts = {} if like is None else {f.name: f.type for f in like.schema if pa.types.is_string(f.type)}
    try:
        table = _read(source.form, source.place, texts, missing)
        names = table.column_names
    except (pa.ArrowInvalid, UnicodeDecodeError):
        needs = "; it needs UTF-8 text and as many cells in every row" if source.form is Form.CSV else ""
        raise BadSource(f"{path} cannot be read as {source.form.value}{needs}") from None
    if len(set(names)) < len(names):
        raise BadSource(f"{path} names a column twice")
    if not table.num_rows:
        raise BadSource(f"{path} is empty: it has a header and no rows")
    return _finite(table if like is None else dated(table, like), str(path))


def _finite(table: pa.Table, what: str) -> pa.Table:
    """A number that is none counts as missing; one without end is refused."""
    for place, (name, cells) in enumerate(zip(table.column_names, table.columns, strict=True)):
        if pa.types.is_floating(cells.type):
            if pc.any(pc.is_inf(cells)).as_py():
                raise BadSource(f"{what}: {name} holds infinite numbers; write them as missing")
            if pc.any(pc.is_nan(cells)).as_py():
                table = table.set_column(place, name, pc.if_else(pc.is_nan(cells), None, cells))
    return table


def fingerprint(path: str | Path) -> str:
    """The SHA-256 of a file, by which it can be known again."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _read(form: Form, place: str, texts: Mapping[str, pa.DataType], missing: Sequence[str]) -> pa.Table:
    match form:
        case Form.CSV:
            options = pa.csv.ConvertOptions(
                column_types=dict(texts), null_values=["", *missing], strings_can_be_null=True
            )
            delimiter = "\t" if place.endswith(".tsv") else ","
            parse = pa.csv.ParseOptions(delimiter=delimiter)
            return pa.csv.read_csv(place, parse_options=parse, convert_options=options)
        case Form.PARQUET:
            return pa.parquet.read_table(place)
        case Form.ARROW:
            return pa.feather.read_table(place)
        case _:
            raise BadParameter(f"{place}: give a CSV, Parquet or Arrow file")


def _rungs(column: Column) -> Sequence[Sequence[str]]:
    """The ladder of a column, a row for every value."""
    if column.ladders is not None:
        return column.ladders
    if column.hierarchy is None:
        return ()
    ladder: Ladder = from_csv(column.name, Path(column.hierarchy))
    return list(zip(*ladder.levels, strict=True))


def _no_contradiction(people: pa.Table, name: str, what: str) -> None:
    distinct = people.group_by(people.column_names).aggregate([]).num_rows
    if distinct > people.select([name]).group_by([name]).aggregate([]).num_rows:
        raise BadSource(
            f"{what} contradicts itself: one {name} stands on rows with different values; keep one row a person"
        )
