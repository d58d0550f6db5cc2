"""What one person has: `SELECT user, COUNT(*) AS n FROM visits GROUP BY user` as rows of a question about people.

Each person has a row, or one for each further key, and its numbers are bounded by what the declared bounds allow one
person. Expressions over aggregates, and HAVING, are of that row, like SELECT and WHERE about it.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from sqlglot import exp

from obverse.data.bounding import on_grid, step
from obverse.data.schema import Type
from obverse.errors import BadQuestion
from obverse.query.aggregates import is_aggregate
from obverse.query.keys import named
from obverse.query.relation import MARK, Field, Relation, selected
from obverse.query.typed import (
    LARGEST,
    Typed,
    as_double,
    condition,
    double,
    finite_sql,
    number,
    shown,
    titled,
    written,
)

ANSWERED = "COUNT, COUNT_IF, SUM, AVG, MIN and MAX are"


def selected_fields(relation: Relation, node: exp.Expr) -> tuple[Field, ...]:
    """A subquery's column, or all columns for a star."""
    inner = node.this if isinstance(node, exp.Alias) else node
    if isinstance(inner, exp.Star) or (isinstance(inner, exp.Column) and isinstance(inner.this, exp.Star)):
        wanted = inner.table.lower() if isinstance(inner, exp.Column) else ""
        return tuple(
            field
            for field in relation.fields
            if wanted in ("", field.qualifier.lower()) and not field.implied
        )
    if isinstance(inner, exp.Column):
        found = relation.field(inner)
        return (replace(found, name=node.alias or found.name, implied=False),)
    return (_computed(relation, inner, node.alias or shown(inner)),)


def _computed(relation: Relation, node: exp.Expr, name: str) -> Field:
    value = relation.reader(node)
    size = value.size if value.finite else LARGEST[Type.REAL]
    sql = finite_sql(value)
    return Field(name, "", replace(value, sql=sql, size=size), weight=relation.weight(sql))


def is_grouped(query: exp.Select) -> bool:
    """Whether a subquery puts rows together."""
    clauses = (query.args.get("group"), query.args.get("having"))
    return any(clauses) or any(is_aggregate(each) for node in query.expressions for each in node.walk())


def by_person(relation: Relation, query: exp.Select, where: exp.Expr | None, alias: str) -> Relation:
    """One row for each person, or for each person and key."""
    if query.args.get("distinct") is not None:
        raise BadQuestion(
            "DISTINCT beside GROUP BY in a subquery is not answered: each person has a row of each key, so leave it out"
        )
    keys = _keys(relation, query)
    each = _EachPerson(keys, query, relation)
    items = [(node.alias or titled(_bare(node)), each.over(_bare(node))) for node in query.expressions]
    having = query.args.get("having")
    kept = None if having is None else each.over(having.this)
    assert relation.owner is not None
    only = all(field.owner for _, field in keys)
    columns = tuple(_grouped(relation, replace(field, name=_key(i))) for i, (_, field) in enumerate(keys))
    group = tuple(dict.fromkeys((relation.owner, *(field.typed.sql for field in columns))))
    fields = (*columns, *each.aggregates)
    rows = 1 if only else None
    by_name = {field.name: field for field in fields}
    if kept is None and all(isinstance(tree, exp.Column) for _, tree in items):
        plain = tuple(replace(by_name[tree.name], name=name, implied=False) for name, tree in items)
        return selected(relation, plain, where, alias=alias, group=group, rows=rows)
    made = selected(relation, fields, where, alias=f"{MARK}{alias}", group=group, rows=rows)
    try:
        found = tuple(replace(selected_fields(made, tree)[0], name=name) for name, tree in items)
        return selected(made, found, None if kept is None else condition(kept, made.reader), alias=alias)
    except BadQuestion as refusal:
        raise BadQuestion(each.told(str(refusal))) from None


def _bare(node: exp.Expr) -> exp.Expr:
    inner = node.this if isinstance(node, exp.Alias) else node
    assert isinstance(inner, exp.Expr)
    return inner


def _key(place: int) -> str:
    return f"{MARK}key {place}"


def _keys(relation: Relation, query: exp.Select) -> list[tuple[exp.Expr, Field]]:
    """What a subquery groups by: whose a row is, and perhaps more."""
    group = query.args.get("group")
    plain = group is not None and not any(v for name, v in group.args.items() if name != "expressions")
    nodes = [named(node, query, relation) for node in group.expressions] if plain and group else []
    simple = not any(isinstance(node, exp.Rollup | exp.Cube | exp.GroupingSets) for node in nodes)
    keys = [(node, _field(relation, node)) for node in nodes] if simple else []
    if not any(field.owner or field.owned for _, field in keys):
        owner = next((field.name for field in relation.fields if field.owner), "")
        raise BadQuestion(
            "a subquery aggregates what one person has: GROUP BY the column that says whose a row is"
            + (f", {owner}" if owner else ", which this table has not: each of its rows is a unit")
        )
    return keys


def _grouped(relation: Relation, key: Field) -> Field:
    """A key to group by: whose a row is says one column alone, whatever others say the same."""
    assert relation.owner is not None
    return replace(key, typed=replace(key.typed, sql=relation.owner)) if key.owner else key


def _field(relation: Relation, node: exp.Expr) -> Field:
    return relation.field(node) if isinstance(node, exp.Column) else _computed(relation, node, shown(node))


class _EachPerson:
    """Expressions over one person's keys and aggregates, each aggregate once."""

    def __init__(self, keys: list[tuple[exp.Expr, Field]], query: exp.Select, relation: Relation) -> None:
        self.keys, self.query, self.relation = keys, query, relation
        self.aggregates: list[Field] = []
        self.known: dict[exp.Expr, str] = {}
        self.meant: list[exp.Expr] = []

    def over(self, node: exp.Expr) -> exp.Expr:
        """The expression over columns that stand for keys and aggregates."""
        if is_aggregate(node):
            if node not in self.known:
                self.known[node] = f"{MARK}aggregate {len(self.known)}"
                found = _aggregate(self.relation, node)
                if self.relation.heavy:
                    self.relation.weight(found.sql)
                self.aggregates.append(Field(self.known[node], "", found))
            return exp.column(self.known[node], quoted=True)
        for place, (key, field) in enumerate(self.keys):
            if node == key or (isinstance(node, exp.Column) and self._is(node, field)):
                return exp.column(_key(place), quoted=True)
        if isinstance(node, exp.Column):
            return self._alias(node)
        if isinstance(node, exp.Window):
            raise BadQuestion(f"{shown(node)}: OVER is not answered; group instead")
        rebuilt = node.copy()
        for name, part in node.args.items():
            if isinstance(part, exp.Expr) and not isinstance(part, exp.DataType):
                rebuilt.set(name, self.over(part))
            elif isinstance(part, list):
                rebuilt.set(name, [self.over(each) if isinstance(each, exp.Expr) else each for each in part])
        return rebuilt

    def _is(self, node: exp.Column, field: Field) -> bool:
        return bool(node.table or self.relation.has(node.name)) and self.relation.field(node) == field

    def told(self, text: str) -> str:
        """A refusal in the question's own words."""
        meant = {name: node for node, name in self.known.items()}
        meant |= {_key(place): key for place, (key, _) in enumerate(self.keys)}
        for name, node in meant.items():
            text = text.replace(f'"{name}"', shown(node))
        return text

    def _alias(self, node: exp.Column) -> exp.Expr:
        """A column of the subquery's answer, as in HAVING n > 3."""
        for each in self.query.expressions:
            same = not node.table and each.alias.lower() == node.name.lower()
            if same and isinstance(each, exp.Alias) and each.this not in self.meant:
                self.meant.append(each.this)
                found = self.over(each.this)
                self.meant.pop()
                return found
        self.relation.field(node)
        raise BadQuestion(
            f"{shown(node)} differs from row to row of one person: put it into COUNT, SUM, MIN or MAX, "
            "or GROUP BY it as well"
        )


def _aggregate(relation: Relation, node: exp.Expr) -> Typed:
    """What one person's rows come to, and the interval that the declared bounds leave it."""
    inner, only = node, None
    if isinstance(node, exp.Filter):
        inner, only = node.this, condition(node.expression.this, relation.reader)
    if isinstance(inner, exp.CountIf):
        asked = condition(inner.this, relation.reader)
        inner, only = exp.Count(this=exp.Star()), asked if only is None else exp.and_(asked, only)
    if isinstance(inner, exp.Count) and not inner.expressions:
        return _counted(relation, inner, only)
    if type(inner) not in (exp.Sum, exp.Avg, exp.Min, exp.Max) or not isinstance(inner.this, exp.Expr):
        raise BadQuestion(f"{shown(node)} is not answered of one person: {ANSWERED}")
    value = number(inner.this, relation.reader)
    if only is not None:
        value = replace(value, sql=_where(value.sql, only), column=None, literal=False)
    if isinstance(inner, exp.Sum | exp.Avg):
        return _summed(inner, value, Fraction(relation.rows.unit.rows))
    made = type(inner)(this=as_double(replace(value, sql=finite_sql(value))))
    return Typed(made, Type.REAL, value.interval, size=LARGEST[Type.REAL])


def _where(sql: exp.Expr, only: exp.Expr) -> exp.Expr:
    return exp.Case(ifs=[exp.If(this=only, true=sql)])


def _counted(relation: Relation, node: exp.Count, only: exp.Expr | None) -> Typed:
    """How many rows of one person, or how many values, or different ones."""
    most = Fraction(relation.rows.unit.rows)
    inner = node.this
    distinct = isinstance(inner, exp.Distinct)
    if distinct:
        if len(inner.expressions) != 1:
            raise BadQuestion(f"{shown(node)}: DISTINCT goes with COUNT of one expression")
        inner = inner.expressions[0]
    counted: exp.Expr = exp.Star()
    if not isinstance(inner, exp.Star):
        value = relation.reader(inner)
        counted = finite_sql(value)
        if distinct and value.type is Type.REAL:  # −0 and 0 are one value
            counted = exp.Add(this=counted, expression=written(Fraction(0)))
    if only is not None:
        counted = _where(exp.Literal.number("1") if isinstance(counted, exp.Star) else counted, only)
    if distinct:
        counted = exp.Distinct(expressions=[counted])
    least = int(isinstance(counted, exp.Star))  # who has no row is not there
    few = tuple(range(least, int(most) + 1)) if most < 1000 else None
    return Typed(exp.Count(this=counted), Type.INTEGER, (Fraction(least), most), few, size=2.0**63)


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
