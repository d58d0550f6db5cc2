"""FROM, JOIN, WITH and subqueries → one relation.

A subquery may select, compute, deduplicate a person's own rows, and aggregate what a single person has: GROUP BY whose
the rows are. Its numbers are bounded by what the declared bounds allow one person.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from sqlglot import exp

from obverse.data.bounding import on_grid, step
from obverse.data.schema import Neighbours, Schema, Type, Unit, hint
from obverse.errors import BadQuestion
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
    LARGEST,
    Interval,
    Typed,
    as_double,
    condition,
    double,
    finite_sql,
    number,
    shown,
    written,
)

SUBQUERY = {"expressions", "from_", "joins", "where", "group", "distinct", "with_"}
NAMED = ("db", "joins", "sample", "pivots", "only", "version", "when", "laterals")


@dataclass(frozen=True)
class Sources:
    """What FROM can name: declared tables, and what WITH has named before.

    `sampled` takes people's rows by their ranks, where they have any. Of rows that a WHERE picks that would leave the
    less the more rows it does not pick: there all are read, and what they add up to is scaled down.
    """

    schemas: Mapping[str, Schema]
    named: Mapping[str, Relation]
    sampled: bool = True

    def of(self, select: exp.Select) -> Relation:
        """All that a SELECT reads, joined."""
        source = select.args.get("from_")
        if source is None:
            raise BadQuestion("a question reads declared tables: SELECT … FROM people")
        whole = self if select.args.get("where") is None else replace(self, sampled=False)
        known, joins = whole._with(select), select.args.get("joins") or []
        read = [source.this, *(node.this for node in joins)]
        items = [known._item(node) for node in read]
        if not all(item.private for item in items):  # how often a public table repeats a row is not known
            items = [replace(known, sampled=False)._item(node) for node in read]
        relation = items[0]
        for item, node in zip(items[1:], joins, strict=True):
            relation = join(relation, item, node)
        return relation

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

    def _owned(self, schema: Schema, alias: str, *, sampled: bool) -> Relation:
        """The table with its owner, found along foreign keys where its unit column points to another table."""
        plain = table(schema, alias, sampled=sampled)
        if schema.unit.column is None:
            return plain
        references = schema.column(schema.unit.column).references
        if references is None:
            return plain
        target, _, key = references.partition(".")
        parent = self._owned(self.schemas[target], f"{MARK}{target}", sampled=False)
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
                raise BadQuestion(
                    f"{name.strip('_').upper()} is not answered in a subquery, where it would pick rows by each other: "
                    "put it at the end, where it works on what is released"
                )
        grouped = query.args.get("group") is not None or any(
            node.find(exp.AggFunc) for node in query.expressions
        )
        relation = (replace(self, sampled=False) if grouped else self).of(query)
        where = query.args.get("where")
        kept = None if where is None else condition(where.this, relation.reader)
        if grouped:
            return _by_person(relation, query, kept, alias)
        fields = tuple(field for node in query.expressions for field in _fields(relation, node))
        if query.args.get("distinct") is not None:
            if relation.private and relation.owner is None:
                raise BadQuestion(
                    "DISTINCT rows would belong to many: declare a unit column, or GROUP BY instead"
                )
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
    fields = tuple(replace(field, owner=False) for field in here.fields)
    return Relation(rows, fields, plain.schemas + parent.schemas, parent.people)


def _fields(relation: Relation, node: exp.Expr) -> tuple[Field, ...]:
    """A subquery's column, or all columns for a star."""
    inner = node.this if isinstance(node, exp.Alias) else node
    if isinstance(inner, exp.Star) or (isinstance(inner, exp.Column) and isinstance(inner.this, exp.Star)):
        wanted = inner.table.lower() if isinstance(inner, exp.Column) else ""
        return tuple(field for field in relation.fields if wanted in ("", field.qualifier.lower()))
    if isinstance(inner, exp.Column):
        found = relation.field(inner)
        return (replace(found, name=node.alias or found.name),)
    computed = relation.reader(inner)
    return (
        Field(
            node.alias or shown(inner), "", replace(computed, sql=finite_sql(computed), size=_kept(computed))
        ),
    )


def _kept(value: Typed) -> float:
    return value.size if value.finite else LARGEST[Type.REAL]


def _by_person(relation: Relation, query: exp.Select, where: exp.Expr | None, alias: str) -> Relation:
    """One row for each person, or for each person and key."""
    group = query.args.get("group")
    keys = (
        [relation.field(node) for node in group.expressions if isinstance(node, exp.Column)] if group else []
    )
    whole = group is not None and any(value for name, value in group.args.items() if name != "expressions")
    if group is None or whole or len(keys) != len(group.expressions) or not any(key.owner for key in keys):
        raise BadQuestion(
            "a subquery aggregates what one person has: GROUP BY the column that says whose a row is"
            + (f", {_owner_name(relation)}" if _owner_name(relation) else "")
        )
    fields = []
    for node in query.expressions:
        inner = node.this if isinstance(node, exp.Alias) else node
        if isinstance(inner, exp.Column) and relation.field(inner) in keys:
            fields.append(replace(relation.field(inner), name=node.alias or inner.name))
        else:
            fields.append(Field(node.alias or shown(inner), "", _aggregate(relation, inner)))
    only = all(key.owner for key in keys)
    assert relation.owner is not None
    group_by = tuple(dict.fromkeys((relation.owner, *(key.typed.sql for key in keys))))
    return selected(relation, tuple(fields), where, alias=alias, group=group_by, rows=1 if only else None)


def _owner_name(relation: Relation) -> str:
    return next((field.name for field in relation.fields if field.owner), "")


def _aggregate(relation: Relation, node: exp.Expr) -> Typed:
    """What one person's rows come to, and the interval that the declared bounds leave it."""
    most = Fraction(relation.rows.unit.rows)
    if isinstance(node, exp.Count):
        if isinstance(node.this, exp.Star):
            return Typed(node, Type.INTEGER, (Fraction(0), most), _upto(most), size=2.0**63)
        if not isinstance(node.this, exp.Distinct) and not node.expressions:
            counted = exp.Count(this=finite_sql(relation.reader(node.this)))
            return Typed(counted, Type.INTEGER, (Fraction(0), most), _upto(most), size=2.0**63)
    if type(node) not in (exp.Sum, exp.Avg, exp.Min, exp.Max) or not isinstance(node.this, exp.Expr):
        raise BadQuestion(f"{shown(node)} is not answered of one person: COUNT, SUM, AVG, MIN and MAX are")
    value = number(node.this, relation.reader)
    if isinstance(node, exp.Sum | exp.Avg):
        return _summed(node, value, most)
    made = type(node)(this=as_double(replace(value, sql=finite_sql(value))))
    return Typed(made, Type.REAL, value.interval, size=LARGEST[Type.REAL])


def _summed(node: exp.Sum | exp.Avg, value: Typed, most: Fraction) -> Typed:
    """A person's total, added up in whole steps: a sum of floats would depend on the order of everybody's rows."""
    interval = value.interval
    if value.type is Type.INTEGER:
        steps, grid = value.sql, Fraction(1)
    elif interval is not None:
        grid = step(*interval)
        steps = on_grid(finite_sql(value), *interval, grid)
    else:
        raise BadQuestion(f"{shown(node)} of one person needs bounds: add low and high to what it adds up")
    total: exp.Expr = double(exp.Sum(this=steps))
    if grid != 1:
        total = exp.Mul(this=total, expression=written(grid))
    if isinstance(node, exp.Avg):
        total = exp.Div(this=total, expression=double(exp.Count(this=steps)), typed=False, safe=False)
        average = Typed(exp.Paren(this=total), Type.REAL, interval)
        return replace(average, sql=finite_sql(average), size=LARGEST[Type.REAL])
    if interval is not None:
        interval = most * min(interval[0], Fraction(0)), most * max(interval[1], Fraction(0))
    return Typed(exp.Paren(this=total), Type.REAL, interval, size=LARGEST[Type.REAL])


def _upto(most: Fraction) -> tuple[int, ...] | None:
    return tuple(range(int(most) + 1)) if most < 1000 else None


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
    return Field(first.name, alias, typed, owner=first.owner and second.owner)


def _renamed(half: Relation, fields: tuple[Field, ...], owner: str) -> exp.Select:
    columns = [
        exp.alias_(mine.typed.sql, field.typed.sql.name, quoted=True)
        for mine, field in zip(half.fields, fields, strict=True)
    ]
    assert half.owner is not None
    columns.append(exp.alias_(half.owner, owner, quoted=True))
    return exp.Select(expressions=columns, from_=exp.From(this=half.rows.source))
