"""Joins that keep whose a row is.

- Of the same people, on whose the rows are: every row belongs to that one person, who may now have as many rows as
  those on the left times those on the right. Bounding scales what all of a person's rows add up to, so only the bound
  multiplies, and no row needs to be dropped; where both sides are bounded already, so is the product.
- Along a declared foreign key a row meets the one that it points to: a person has as many rows as on the side that
  points. Should keys repeat, there are more, and bounding scales them down: what is promised does not hang on it.
- With a public table: a row stays its owner's, whatever it is joined with, and however often.
- A row that is a unit by itself joins a public table only along a declared foreign key, of which the first row is
  taken, so that it stays one row.
- A LEFT join keeps rows of the left, so that is not the public one: whether a public row found no partner would tell
  of everybody at once. Behind it the right side no longer says whose a row is: it is NULL where there was no partner.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from obverse.data.bounding import Rows
from obverse.data.schema import Neighbours, Unit
from obverse.errors import BadQuestion
from obverse.query.relation import MARK, Field, Relation, flat, quoted, subquery
from obverse.query.typed import condition

Pair = tuple[Field, Field]


def join(left: Relation, right: Relation, node: exp.Join) -> Relation:
    """Two relations side by side, as a JOIN says."""
    side = (node.side or node.kind or "INNER").upper()
    if side not in ("INNER", "LEFT") or node.method:
        raise BadQuestion(f"{side} JOIN is not answered: INNER and LEFT JOIN are")
    clash = {f.qualifier.lower() for f in left.fields} & {f.qualifier.lower() for f in right.fields}
    if clash:
        raise BadQuestion(
            f"two tables are called {clash.pop()}: give one another name, as in visits AS later"
        )
    one, other = _flat(left), _flat(right)
    on, pairs = _condition(one, other, node)
    if one.private and other.private:
        on = _of_one_person(one, other, on, pairs)
    if side == "LEFT" and other.private and not one.private:
        raise BadQuestion(
            "a public table LEFT JOIN a private one shows who is not there: join it the other way round"
        )
    if (one.private and one.owner is None) or (other.private and other.owner is None):
        one, other = _one_partner(one, other, pairs)
    hidden = {id(second) for _, second in pairs} if node.args.get("using") else set()
    theirs = tuple(field for field in other.fields if id(field) not in hidden)
    if side == "LEFT":
        theirs = tuple(replace(field, owner=False, owned=False) for field in theirs)
    fields = one.fields + theirs
    joined = _beside(one, other, on, side, fields)
    return _along_key(joined, one, other) if one.private and other.private and _points(pairs) else joined


def _points(pairs: list[Pair]) -> bool:
    """Whether a side points to single rows of the other: to a key that is not whose a row is."""
    both = [pair for first, second in pairs for pair in ((first, second), (second, first))]
    return any(a.references is not None and a.references == b.origin and not b.owner for a, b in both)


def _along_key(joined: Relation, one: Relation, other: Relation) -> Relation:
    """As many rows of a person as on either side; that it is so is not trusted, but made so by bounding."""
    unit = replace(joined.rows.unit, rows=max(one.rows.unit.rows, other.rows.unit.rows))
    return replace(joined, rows=replace(joined.rows, unit=unit, bounded=False))


def _flat(relation: Relation) -> Relation:
    return flat(relation, relation.fields[0].qualifier)


def _condition(one: Relation, other: Relation, node: exp.Join) -> tuple[exp.Expr, list[Pair]]:
    """What a join requires, and the pairs of columns it makes equal."""
    using = node.args.get("using")
    if using:
        named = [exp.column(each.name) for each in using]
        pairs = [(one.field(column), other.field(column)) for column in named]
        tests = [_equal(first, second) for first, second in pairs]
        return exp.and_(*tests, copy=False), pairs
    if (on := node.args.get("on")) is None:
        raise BadQuestion("a join says ON what: JOIN visits ON visits.patient = patients.id")
    both = replace(one, fields=one.fields + other.fields)
    pairs = []
    for test in on.flatten() if isinstance(on, exp.And) else [on]:
        if (
            isinstance(test, exp.EQ)
            and isinstance(test.this, exp.Column)
            and isinstance(test.expression, exp.Column)
        ):
            first, second = both.field(test.this), both.field(test.expression)
            if first in other.fields:
                first, second = second, first
            if first in one.fields and second in other.fields:
                pairs.append((first, second))
    made = condition(on, both.reader)
    if both.heavy:
        both.weight(made)
    return made, pairs


def _equal(first: Field, second: Field) -> exp.Expr:
    if first.typed.type is not second.typed.type:
        raise BadQuestion(f"{first.name} is not of the same type on both sides")
    return exp.EQ(this=first.typed.sql, expression=second.typed.sql)


def _of_one_person(one: Relation, other: Relation, on: exp.Expr, pairs: list[Pair]) -> exp.Expr:
    """The condition, such that every joined row belongs to a single person; or a refusal.

    Along a foreign key both rows have one owner if keys are unique; that they have is made part of the condition.
    """
    same = bool(one.people) and one.people == other.people
    if same and any(first.owner and second.owner for first, second in pairs):
        return on
    keys = any(
        a.references == b.origin or b.references == a.origin for a, b in pairs if a.origin and b.origin
    )
    if not (same and keys and one.owner is not None and other.owner is not None):
        raise BadQuestion(_two_people(one, other))
    return exp.and_(on, exp.EQ(this=one.owner, expression=other.owner), copy=False)


def _two_people(left: Relation, right: Relation) -> str:
    names = f"{left.fields[0].qualifier} and {right.fields[0].qualifier}"
    if left.people and left.people == right.people:
        return (
            f"a row of {names} would belong to two people: "
            "join them ON the column that says whose a row is, or along a foreign key"
        )
    return (
        f"{names} are not declared to be about the same people: let the unit column of one reference the other's, "
        "and join them on it"
    )


def _one_partner(one: Relation, other: Relation, pairs: list[Pair]) -> tuple[Relation, Relation]:
    """The public side with a single row for each key that the other side points to."""
    for first, second in pairs:
        if not other.private and first.references == second.origin:
            return one, _first_of_each(other, second)
        if not one.private and second.references == first.origin:
            return _first_of_each(one, first), other
    raise BadQuestion(
        "each row is a unit here and must stay one row: join a public table on a column that references its key, "
        "or declare a unit column"
    )


def _first_of_each(public: Relation, key: Field) -> Relation:
    order = exp.Order(expressions=[exp.Ordered(this=field.typed.sql) for field in public.fields])
    rank = exp.Window(this=exp.RowNumber(), partition_by=[key.typed.sql], order=order)
    name = f"{MARK}first"
    ranked = exp.select("*", exp.alias_(rank, name, quoted=True)).from_(public.rows.source, copy=False)
    kept = (
        exp.select("*")
        .from_(subquery(ranked, "ranked"))
        .where(exp.EQ(this=quoted(name), expression=exp.Literal.number("1")), copy=False)
    )
    columns = [field.typed.sql for field in public.fields]
    kept = exp.select(*columns).from_(subquery(kept, "kept"))
    return replace(public, rows=replace(public.rows, source=subquery(kept, public.fields[0].qualifier)))


def _beside(one: Relation, other: Relation, on: exp.Expr, side: str, fields: tuple[Field, ...]) -> Relation:
    owned = one if one.private else other
    rows = one.rows.unit.rows if one.private else 1
    if other.private:
        rows *= other.rows.unit.rows
    kinds = {relation.rows.neighbours for relation in (one, other) if relation.private}
    neighbours = Neighbours.REPLACE if Neighbours.REPLACE in kinds else Neighbours.ADD_REMOVE
    select = exp.select("*").from_(one.rows.source, copy=False)
    select = select.join(other.rows.source, on=on, join_type=side, copy=False)
    source = subquery(select, f"{MARK}joined")
    unit = Unit(owned.rows.unit.column, rows)
    bounded = one.rows.bounded and other.rows.bounded
    return Relation(
        Rows(source, unit, neighbours, bounded), fields, one.schemas + other.schemas, owned.people
    )
