"""Rows that each belong to one unit: what FROM may name, and what keeps to whom a row belongs.

A relation knows the column that says whose a row is (none where each row is a unit by itself), and which people that
column means: two tables are about the same people if one's unit column references the other's, or both the same.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from functools import cached_property
from math import inf

from sqlglot import exp

from obverse.data.bounding import Rows, own
from obverse.data.schema import Column, Schema, Type, Unit, hint
from obverse.errors import BadQuestion
from obverse.query.clauses import LARGEST_TREE
from obverse.query.scalar import Reader
from obverse.query.typed import LARGEST, Days, Typed, shown, whole_domain

MARK = "§"


@dataclass(frozen=True)
class Field:
    """One column of a relation: how a question calls it, what it is, and the declared column it comes from.

    `owner` says that it is the very column of whose a row is; where that follows along foreign keys alone it is
    `implied`, and the column that points along them is `owned`: each of its values is one person's. `weight` is how
    many nodes an engine makes of it: what a subquery computes is written wherever it is named.
    """

    name: str
    qualifier: str
    typed: Typed
    origin: str = ""
    references: str | None = None
    owner: bool = False
    owned: bool = False
    implied: bool = False
    weight: int = 1


@dataclass(frozen=True)
class Relation:
    """Rows with owners, their columns, and the tables they come from; `people` names whom the owners mean."""

    rows: Rows
    fields: tuple[Field, ...]
    schemas: tuple[Schema, ...]
    people: str = ""

    @cached_property
    def private(self) -> tuple[Schema, ...]:
        """The tables that are charged for, each once."""
        return tuple({schema.name: schema for schema in self.schemas if not schema.public}.values())

    @cached_property
    def tables(self) -> tuple[str, ...]:
        return tuple(schema.name for schema in self.private)

    @cached_property
    def heavy(self) -> dict[exp.Expr, int]:
        """The columns that a subquery computes, and how many nodes an engine makes of each."""
        return {field.typed.sql: field.weight for field in self.fields if field.weight > 1}

    def weight(self, *trees: exp.Expr) -> int:
        """How many nodes an engine makes of these expressions; a refusal where they are too many for any."""
        weight = sum(self.heavy.get(node, 1) for tree in trees for node in tree.walk())
        if weight > LARGEST_TREE and self.heavy:
            raise BadQuestion(
                "this grows too large, since what a subquery computes is written wherever it is named: "
                "name it less often"
            )
        return weight

    @property
    def public(self) -> tuple[str, ...]:
        """The public tables beside them."""
        return tuple(dict.fromkeys(schema.name for schema in self.schemas if schema.public))

    @property
    def reader(self) -> Reader:
        return Reader(self.lookup)

    @property
    def owner(self) -> exp.Expr | None:
        """Whose a row is."""
        column = self.rows.unit.column
        return None if column is None else quoted(column)

    def lookup(self, node: exp.Column) -> Typed:
        """The column a question names."""
        return self.field(node).typed

    def has(self, name: str) -> bool:
        """Whether a column is called so."""
        return any(field.name.lower() == name.lower() for field in self.fields)

    def field(self, node: exp.Column) -> Field:
        """The field a question names, by its name alone or with its table's."""
        if node.args.get("db") or node.args.get("catalog"):
            raise BadQuestion(f"{shown(node)}: name a column, or table.column")
        wanted, table = node.name.lower(), node.table.lower()
        found = [f for f in self.fields if f.name.lower() == wanted and table in ("", f.qualifier.lower())]
        if len(found) > 1:
            found = [field for field in found if not field.implied] or found[:1]
        if len(found) == 1:
            return found[0]
        if found:
            places = " and in ".join(field.qualifier for field in found)
            raise BadQuestion(
                f"{node.name} stands in {places}: say which, as {found[0].qualifier}.{node.name}"
            )
        qualifiers = tuple(dict.fromkeys(field.qualifier for field in self.fields))
        if table and table not in {qualifier.lower() for qualifier in qualifiers}:
            raise BadQuestion(f"{shown(node)}: there is no table {node.table} in this question")
        names = tuple(field.name for field in self.fields)
        raise BadQuestion(f"{' and '.join(qualifiers)} has no column {node.name}{hint(node.name, names)}")


def held(alias: str, name: str | None = None) -> str:
    """A column of a subquery, called as no declared column is and no other of them; without a name, its owner.

    Names that hold § are spelt without it, so that none of them can pass for another's, or for the owner.
    """
    return f"{unmarked(alias)}{MARK}{f'{MARK}owner' if name is None else unmarked(name)}"


def unmarked(name: str) -> str:
    """A name without §, and no two names alike."""
    return name.replace("~", "~~").replace(MARK, "~s")


def quoted(name: str) -> exp.Column:
    """A column by its name in the engine."""
    return exp.column(exp.to_identifier(name, quoted=True), copy=False)


def table(schema: Schema, alias: str, *, sampled: bool = False) -> Relation:
    """A declared table's own rows, or where they have ranks and it is `sampled`, those of the lowest ranks."""
    unit = schema.unit.column
    fields = tuple(
        Field(
            column.name,
            alias,
            _typed(column),
            f"{schema.name}.{column.name}",
            column.references,
            column.name == unit,
        )
        for column in schema.columns
    )
    people = "" if unit is None else f"{schema.name}.{unit}"
    return Relation(own(schema, sampled=sampled), fields, (schema,), people)


def _typed(column: Column) -> Typed:
    interval = None
    if isinstance(column.low, Fraction) and isinstance(column.high, Fraction):
        interval = column.low, column.high
    domain = column.categories
    if domain is None and column.type is Type.INTEGER and interval is not None and column.told:
        domain = whole_domain(interval)
    days = None
    if isinstance(column.low, date) and isinstance(column.high, date):
        days = Days(_day(column.low), _day(column.high))
    size = LARGEST.get(column.type, inf)
    sql = quoted(column.name)
    along = None if domain is None else (sql, domain)
    return Typed(sql, column.type, interval, domain, column, size, days=days, along=along)


def _day(moment: date) -> date:
    return date(moment.year, moment.month, moment.day)


def selected(
    relation: Relation,
    fields: tuple[Field, ...],
    where: exp.Expr | None = None,
    *,
    alias: str,
    group: tuple[exp.Expr, ...] = (),
    distinct: bool = False,
    rows: int | None = None,
) -> Relation:
    """A subquery with these columns, each under a name that no declared column has, and the owner kept.

    Of a group each person has a row a key: `rows` where that is known, else no more than they had.
    """
    renamed = tuple(replace(field, qualifier=alias, typed=_renamed(field, alias)) for field in fields)
    pairs = [(field.typed.sql, new.typed.sql.name) for field, new in zip(fields, renamed, strict=True)]
    unit = relation.rows.unit
    if relation.owner is not None:
        pairs.append((relation.owner, held(alias)))
        unit = Unit(pairs[-1][1], unit.rows if rows is None else rows)
    columns = [exp.alias_(sql, name, quoted=True) for sql, name in pairs]
    select = exp.Select(expressions=columns, from_=exp.From(this=relation.rows.source))
    if kept := [each for each in (where, relation.rows.sampled) if each is not None]:
        select.set("where", exp.Where(this=exp.and_(*kept, copy=False)))
    if group:
        select.set("group", exp.Group(expressions=list(group)))
    if distinct:
        select.set("distinct", exp.Distinct())
    bounded = relation.rows.bounded or rows is not None
    made = replace(relation.rows, source=subquery(select, alias), unit=unit, bounded=bounded)
    return replace(relation, rows=made, fields=renamed)


def subquery(query: exp.Query, alias: str) -> exp.Subquery:
    return exp.Subquery(this=query, alias=exp.TableAlias(this=exp.to_identifier(alias, quoted=True)))


def flat(relation: Relation, alias: str) -> Relation:
    """All its columns, as a subquery, if it is not one yet."""
    return (
        relation
        if isinstance(relation.rows.source, exp.Subquery)
        else selected(relation, relation.fields, alias=alias)
    )


def _renamed(field: Field, alias: str) -> Typed:
    sql, domain = quoted(held(alias, field.name)), field.typed.domain
    along = None if domain is None else (sql, domain)
    return replace(field.typed, sql=sql, column=None, literal=False, along=along)
