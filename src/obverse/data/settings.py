"""The settings file: its tables as schemas, its policy and accounts as sections for the ledger to read."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from pathlib import Path

from obverse.data.files import locate
from obverse.data.schema import Bound, Category, Column, Neighbours, Role, Schema, Type, Unit
from obverse.data.table import USUAL, Limits
from obverse.data.toml import Section, read
from obverse.errors import BadSource

TABLE = ("source", "unit", "neighbours", "public", "missing", "prepared", "columns")
COLUMN = ("type", "role", "low", "high", "categories", "hierarchy", "references")
UNIT = ("column", "rows", "groups", "rank")
TOP = ("draft", "ledger", "tables", "policy", "accounts", "limits")
LIMITS = ("seconds", "memory", "temporary")

_CATEGORY: dict[Type, type] = {Type.TEXT: str, Type.INTEGER: int, Type.BOOLEAN: bool}


@dataclass(frozen=True)
class Settings:
    """All that a settings file says."""

    file: Path
    ledger: Path
    schemas: tuple[Schema, ...]
    policy: Section
    accounts: Section
    limits: Limits = USUAL

    @property
    def tables(self) -> dict[str, Schema]:
        return {schema.name: schema for schema in self.schemas}


def load(path: str | Path) -> Settings:
    """The settings in a TOML file, checked; every name of a file in them is found beside it."""
    file = Path(path)
    top = read(file)
    top.only(*TOP)
    if top.flag("draft", False):
        top.refuse(
            "is still a draft: its types, bounds and categories were read from rows and are not public; "
            "replace each by what is known without the data, then delete this line",
            "draft",
        )
    folder = file.absolute().parent
    tables = top.section("tables").sections()
    if not tables:
        top.refuse("declares no table: add [tables.people] with source and columns", "tables")
    _distinct(top.section("tables"))
    schemas = tuple(_schema(name, section, folder) for name, section in tables.items())
    _check_references(schemas, tables)
    for schema in schemas:
        _check_owners(schema, {each.name: each for each in schemas}, tables[schema.name])
    ledger = folder / top.text("ledger", f"{file.stem}.ledger")
    limits = _limits(top.section("limits"))
    return Settings(file, ledger, schemas, top.section("policy"), top.section("accounts"), limits)


def _limits(section: Section) -> Limits:
    """What one question may take, where the settings say."""
    section.only(*LIMITS)
    seconds = section.whole("seconds", least=1) if "seconds" in section else USUAL.seconds
    return Limits(seconds, *(_size(section, key, getattr(USUAL, key)) for key in LIMITS[1:]))


def _size(section: Section, key: str, usual: str) -> str:
    if key not in section:
        return usual
    size = section.text(key)
    if re.fullmatch(r"[1-9][0-9]*[KMGT]iB", size) is None:
        section.refuse(f"{key} is a size such as 8GiB or 500MiB", key)
    return size


def _schema(name: str, section: Section, folder: Path) -> Schema:
    section.only(*TABLE)
    columns = section.section("columns")
    _distinct(columns)
    if not columns.entries:
        section.refuse(f"table {name} declares no column: add [tables.{name}.columns]")
    unit = _unit(section)
    found = tuple(_column(key, column, unit, folder) for key, column in columns.sections().items())
    names = [column.name for column in found]
    if unit.column is not None and unit.column not in names:
        section.refuse(f"unit.column {unit.column} is not among the columns of {name}", "unit")
    try:
        source = str(locate(section.text("source"), folder))
    except BadSource as error:
        section.refuse(str(error), "source")
    neighbours = section.choice("neighbours", Neighbours, Neighbours.ADD_REMOVE)
    flags = section.flag("public", False), _missing(section), section.flag("prepared", False)
    return Schema(name, source, found, unit, neighbours, *flags)


def _missing(section: Section) -> tuple[str, ...]:
    marks = section.list("missing") if "missing" in section else []
    if not all(isinstance(mark, str) for mark in marks):
        section.refuse('missing is a list of texts, such as ["?", "N/A"]', "missing")
    return tuple(str(mark) for mark in marks)


def _unit(section: Section) -> Unit:
    written = section.entries.get("unit", "row")
    if written == "row":
        return Unit()
    if not isinstance(written, dict):
        section.refuse(
            'unit is "row", { column = "patient_id", rows = 8 }, or that without rows, to be learnt',
            "unit",
        )
    unit = section.section("unit")
    unit.only(*UNIT)
    return Unit(
        unit.text("column"),
        unit.whole("rows", least=1) if "rows" in unit else 1,
        unit.whole("groups", least=1) if "groups" in unit else None,
        unit.text("rank") if "rank" in unit else None,
        told="rows" in unit,
    )


def _column(name: str, section: Section, unit: Unit, folder: Path) -> Column:
    section.only(*COLUMN)
    type_ = section.choice("type", Type)
    low, high = (_bound(section, key, type_) for key in ("low", "high"))
    if low is not None and high is not None and low >= high:  # type: ignore[operator]
        section.refuse(f"{name} has low {_said(low)} and high {_said(high)}: low comes below high", "high")
    return Column(
        name,
        type_,
        section.choice("role", Role, Role.IDENTIFIER if name == unit.column else Role.PLAIN),
        low,
        high,
        _categories(section, type_, low, high),
        *_ladders(section, folder),
        section.text("references") if "references" in section else None,
    )


def _bound(section: Section, key: str, type_: Type) -> Bound | None:
    if key not in section:
        return None
    match type_:
        case Type.INTEGER:
            number = section.number(key)
            if number.denominator != 1:
                section.refuse(f"{key} of an integer column is a whole number", key)
            if not -(2**63) <= number < 2**63:
                section.refuse(f"{key} of an integer column fits into 64 bits", key)
            return number
        case Type.REAL:
            return section.number(key)
        case Type.DATE:
            return section.day(key)
        case Type.TIMESTAMP:
            return section.moment(key)
        case _:
            section.refuse(f"a {type_.value} column has no {key}; declare its categories", key)


def _categories(
    section: Section, type_: Type, low: Bound | None, high: Bound | None
) -> tuple[Category, ...] | None:
    if "categories" not in section:
        return (False, True) if type_ is Type.BOOLEAN else None
    if type_ not in _CATEGORY:
        section.refuse(f"a {type_.value} column has no categories; declare low and high", "categories")
    listed = section.list("categories")
    if not listed:
        section.refuse("categories holds at least one value", "categories")
    for value in listed:
        if type(value) is not _CATEGORY[type_]:
            section.refuse(f"category {value!r} is not {type_.value}", "categories")
        if isinstance(low, Fraction) and isinstance(value, int) and value < low:
            section.refuse(f"category {value} is below low", "categories")
        if isinstance(high, Fraction) and isinstance(value, int) and value > high:
            section.refuse(f"category {value} is above high", "categories")
    found = tuple(value for value in listed if isinstance(value, str | int))
    if repeated := [value for value, count in Counter(found).items() if count > 1]:
        section.refuse(f"category {repeated[0]!r} stands there twice", "categories")
    return found


def _ladders(section: Section, folder: Path) -> tuple[str | None, tuple[tuple[str, ...], ...] | None]:
    """A hierarchy's file, or its ladders as they are written, leaf first."""
    written = section.entries.get("hierarchy")
    if written is None:
        return None, None
    if isinstance(written, str):
        if not (folder / written).is_file():
            section.refuse(f"there is no file {folder / written}", "hierarchy")
        return str(folder / written), None
    rungs = section.list("hierarchy")
    ladders = tuple(tuple(row) for row in rungs if isinstance(row, list))
    if len(ladders) != len(rungs) or not all(isinstance(rung, str) for row in ladders for rung in row):
        section.refuse('hierarchy is a file, or lists such as [["Paris", "France", "*"]]', "hierarchy")
    if len({len(row) for row in ladders}) != 1:
        section.refuse("every ladder of a hierarchy has as many rungs as the others", "hierarchy")
    return None, ladders


def _check_references(schemas: tuple[Schema, ...], tables: dict[str, Section]) -> None:
    """Every foreign key points at a declared column of the same type."""
    types = {f"{schema.name}.{column.name}": column.type for schema in schemas for column in schema.columns}
    for schema in schemas:
        for column in schema.columns:
            target = column.references
            if target is not None and types.get(target) is not column.type:
                tables[schema.name].section("columns").section(column.name).refuse(
                    f"references {target} is no declared column of type {column.type.value}", "references"
                )


def _check_owners(schema: Schema, schemas: Mapping[str, Schema], section: Section) -> None:
    """Whose a row is, is told along foreign keys in so many steps, and not in a circle."""
    at, seen = schema, {schema.name}
    while at.unit.column is not None and (target := at.column(at.unit.column).references) is not None:
        name, _, key = target.partition(".")
        if name in seen:
            section.refuse(
                f"unit follows references in a circle, through {name}: name a person's own key", "unit"
            )
        at = schemas[name]
        if at.unit.column == key:
            return
        seen.add(name)


def _distinct(section: Section) -> None:
    """Names that SQL can tell apart, and that a terminal can show."""
    seen: dict[str, str] = {}
    for name in section.entries:
        if not name or not name.isprintable():
            section.refuse("a name is not empty and holds no control character", name)
        if (other := seen.setdefault(name.casefold(), name)) != name:
            section.refuse(f"{name} and {other} differ only in case, which SQL ignores", name)


def _said(bound: Bound) -> str:
    return bound.isoformat() if isinstance(bound, date) else str(bound)
