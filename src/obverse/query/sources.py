"""FROM, JOIN, WITH and subqueries → one relation.

A subquery may select, compute, deduplicate a person's own rows, and aggregate what a single person has: GROUP BY whose
the rows are. Its numbers are bounded by what the declared bounds allow one person.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from sqlglot import exp

from obverse.data.schema import Neighbours, Schema, Unit, hint
from obverse.errors import BadQuestion
from obverse.query.by_person import by_person, is_grouped, selected_fields
from obverse.query.joins import join
from obverse.query.relation import (
    MARK,
    Field,
    Relation,
    flat,
    held,
    quoted,
    selected,
    subquery,
    table,
    unmarked,
)
from obverse.query.typed import (
    Interval,
    Typed,
    condition,
    shown,
)

SUBQUERY = {"expressions", "from_", "joins", "where", "group", "having", "distinct", "with_"}
NAMED = ("db", "joins", "sample", "pivots", "only", "version", "when", "laterals")


@dataclass(frozen=True)
class Sources:
    """What FROM can name: declared tables, and what WITH has named before.

    `sampled` takes people's rows by their ranks, where they have any. Of rows that a WHERE picks that would leave the
    less the more rows it does not pick: there all are read, and what they add up to is scaled down. A WHERE about
    people themselves, in a join, picks all rows of a person or none.
    """

    schemas: Mapping[str, Schema]
    named: Mapping[str, Relation]
    sampled: bool = True

    def of(self, select: exp.Select) -> Relation:
        """All that a SELECT reads, joined."""
        source = select.args.get("from_")
        if source is None:
            raise BadQuestion("a question reads declared tables: SELECT … FROM people")
        where, joins = select.args.get("where"), select.args.get("joins") or []
        if where is None or (joins and self.sampled):
            relation = self._joined(source, joins, select)
            tests = [each for each in (where, *(node.args.get("on") for node in joins)) if each is not None]
            if where is None or all(self._about_people(relation, test) for test in tests):
                return relation
        return replace(self, sampled=False)._joined(source, joins, select)

    def _joined(self, source: exp.Expr, joins: list[exp.Join], select: exp.Select) -> Relation:
        known = self._with(select)
        read = [source.this, *(node.this for node in joins)]
        items = [known._item(node) for node in read]
        if not all(item.private for item in items):  # how often a public table repeats a row is not known
            items = [replace(known, sampled=False)._item(node) for node in read]
        relation = items[0]
        for item, node in zip(items[1:], joins, strict=True):
            relation = join(relation, item, node)
        return relation

    def _about_people(self, relation: Relation, test: exp.Expr) -> bool:
        """Whether a condition says the same of all rows of one person."""
        if test.find(exp.Query) is not None:
            return False
        return all(self._of_a_person(relation.field(column)) for column in test.find_all(exp.Column))

    def _of_a_person(self, field: Field) -> bool:
        """Whether a column is the same in all rows of one person: who it is, or of a table with a row for each."""
        schema = self.schemas.get(field.origin.partition(".")[0])
        if schema is None or schema.public:
            return field.owner
        return field.owner or (schema.unit.column is not None and schema.unit.rows == 1)

    def _with(self, select: exp.Select) -> Sources:
        clause = select.args.get("with_")
        if clause is None:
            return self
        if clause.args.get("recursive"):
            raise BadQuestion("WITH RECURSIVE is not answered")
        known = self
        for each in clause.expressions:
            if each.args["alias"].columns:
                raise BadQuestion(f"WITH {each.alias}: name its columns in its SELECT")
            found = known._query(each.this, each.alias)
            known = replace(known, named={**known.named, each.alias.lower(): found})
        return known

    def _item(self, node: exp.Expr) -> Relation:
        if isinstance(node, exp.Subquery):
            if not node.alias and isinstance(node.this, exp.Table):
                return self._item(node.this)
            return self._query(node.this, node.alias or f"{MARK}subquery")
        if not isinstance(node, exp.Table) or not isinstance(node.this, exp.Identifier):
            raise BadQuestion(f"{shown(node)}: a question reads declared tables, as in FROM people")
        if any(node.args.get(part) for part in NAMED):
            raise BadQuestion(f"{shown(node)}: name one declared table alone")
        alias = node.alias or node.name
        if node.name.lower() in self.named:
            return selected(found := self.named[node.name.lower()], found.fields, alias=alias)
        by_name = {name.lower(): schema for name, schema in self.schemas.items()}
        if (schema := by_name.get(node.name.lower())) is None:
            close = hint(node.name, tuple(self.schemas)).replace("; it has", "; declared are")
            raise BadQuestion(f"there is no table {node.name}{close}")
        return self._owned(schema, alias if node.alias else schema.name, sampled=self.sampled)

    def _owned(self, schema: Schema, alias: str, *, sampled: bool, above: tuple[str, ...] = ()) -> Relation:
        """The table with its owner, found along foreign keys where its unit column points to another table."""
        plain = table(schema, alias, sampled=sampled)
        if schema.unit.column is None:
            return plain
        references = schema.column(schema.unit.column).references
        if references is None:
            return plain
        target, _, key = references.partition(".")
        if target in (*above, schema.name):
            raise BadQuestion(f"whose the rows of {schema.name} are is told in a circle, through {target}")
        parent = self._owned(
            self.schemas[target], f"{MARK}{target}", sampled=False, above=(*above, schema.name)
        )
        if parent.rows.unit.column is None or parent.field(exp.column(key)).owner:
            return replace(plain, people=parent.people or references)
        return _completed(table(schema, alias), parent, key, schema)

    def _query(self, query: exp.Expr, alias: str) -> Relation:
        if isinstance(query, exp.Union):
            return self._union(query, alias)
        if not isinstance(query, exp.Select):
            raise BadQuestion(
                f"{shown(query)} is not answered as a subquery: SELECT … FROM … WHERE … GROUP BY …"
            )
        for name, clause in query.args.items():
            if clause and name not in SUBQUERY:
                words = {"order": "ORDER BY"}.get(name, name.strip("_").upper())
                raise BadQuestion(
                    f"{words} is not answered in a subquery, where it would pick rows by each other: "
                    "put it at the end, where it works on what is released"
                )
        grouped = is_grouped(query)
        relation = (replace(self, sampled=False) if grouped else self).of(query)
        where = query.args.get("where")
        kept = None if where is None else condition(where.this, relation.reader)
        if relation.heavy and kept is not None:
            relation.weight(kept)
        if grouped:
            return by_person(relation, query, kept, alias)
        fields = tuple(field for node in query.expressions for field in selected_fields(relation, node))
        if query.args.get("distinct") is not None:
            if relation.private and not any(field.owner or field.owned for field in fields):
                raise BadQuestion(_of_many(relation))
            return selected(relation, fields, kept, alias=alias, distinct=True)
        return selected(relation, fields, kept, alias=alias)

    def _union(self, query: exp.Union, alias: str) -> Relation:
        """All rows of two relations about the same people, column by column."""
        if query.args.get("distinct") or query.args.get("order") or query.args.get("limit"):
            raise BadQuestion(
                "UNION ALL is answered, without ORDER BY and LIMIT; UNION would merge people's rows"
            )
        one, other = self._query(query.this, alias), self._query(query.expression, alias)
        if len(one.fields) != len(other.fields):
            raise BadQuestion(f"UNION ALL of {len(one.fields)} and {len(other.fields)} columns")
        if not (one.people and one.people == other.people):
            raise BadQuestion(
                "UNION ALL needs rows of the same people on both sides: declare a unit column for both"
            )
        both = zip(one.fields, other.fields, strict=True)
        fields = tuple(_either(first, second, alias, place) for place, (first, second) in enumerate(both))
        owner = held(alias)
        halves = [_renamed(half, fields, owner) for half in (one, other)]
        union = exp.union(*halves, distinct=False, copy=False)
        unit = Unit(owner, one.rows.unit.rows + other.rows.unit.rows)
        bounded = one.rows.bounded and other.rows.bounded
        rows = replace(one.rows, source=subquery(union, alias), unit=unit, bounded=bounded)
        if Neighbours.REPLACE in (one.rows.neighbours, other.rows.neighbours):
            rows = replace(rows, neighbours=Neighbours.REPLACE)
        return Relation(rows, fields, one.schemas + other.schemas, one.people)


def _of_many(relation: Relation) -> str:
    """Why DISTINCT is of no one person's rows, and what would be."""
    owner = next((field.name for field in relation.fields if field.owner), "")
    if not owner:
        return "DISTINCT rows would belong to many: declare a unit column, or GROUP BY instead"
    return (
        f"DISTINCT rows would belong to many: ask for those of each person, SELECT DISTINCT {owner}, …, "
        "or for COUNT(DISTINCT …)"
    )


def _completed(plain: Relation, parent: Relation, key: str, schema: Schema) -> Relation:
    """A table joined with the one that says whose its rows are."""
    alias = plain.fields[0].qualifier
    here, there = flat(plain, alias), flat(parent, f"{MARK}{alias}")
    assert schema.unit.column is not None
    on = exp.EQ(
        this=here.field(exp.column(schema.unit.column)).typed.sql,
        expression=there.field(exp.column(key)).typed.sql,
    )
    select = exp.select("*").from_(here.rows.source, copy=False)
    select = select.join(there.rows.source, on=on, join_type="INNER", copy=False)
    unit = Unit(there.rows.unit.column, schema.unit.rows)
    rows = replace(there.rows, source=subquery(select, f"{MARK}completed"), unit=unit, bounded=False)
    fields = tuple(
        replace(field, owner=False, owned=field.name == schema.unit.column) for field in here.fields
    )
    owners = tuple(
        replace(field, qualifier=alias, implied=True)
        for field in there.fields
        if field.owner and not here.has(field.name)
    )
    return Relation(rows, fields + owners, plain.schemas + parent.schemas, parent.people)


def _either(first: Field, second: Field, alias: str, place: int) -> Field:
    """A column of a union: of one type, within both intervals."""
    if first.typed.type is not second.typed.type:
        raise BadQuestion(f"UNION ALL: {first.name} is not of the same type on both sides")
    one, other = first.typed, second.typed
    interval: Interval | None = None
    if one.interval is not None and other.interval is not None:
        interval = min(one.interval[0], other.interval[0]), max(one.interval[1], other.interval[1])
    domain = None
    if one.domain is not None and other.domain is not None:
        domain = tuple(dict.fromkeys(one.domain + other.domain))
    sql = quoted(f"{held(alias, str(place))}{MARK}{unmarked(first.name)}")
    typed = Typed(sql, one.type, interval, domain, size=max(one.size, other.size))
    weight = max(first.weight, second.weight)
    return Field(first.name, alias, typed, owner=first.owner and second.owner, weight=weight)


def _renamed(half: Relation, fields: tuple[Field, ...], owner: str) -> exp.Select:
    columns = [
        exp.alias_(mine.typed.sql, field.typed.sql.name, quoted=True)
        for mine, field in zip(half.fields, fields, strict=True)
    ]
    assert half.owner is not None
    columns.append(exp.alias_(half.owner, owner, quoted=True))
    return exp.Select(expressions=columns, from_=exp.From(this=half.rows.source))
