"""GROUP BY → keys, and which of them each grouping set keeps: ROLLUP and CUBE are totals over the others.

Only the finest groups are measured, by all keys at once; every total is the sum of its parts, so that totals add up and
cost nothing [DR14, Proposition 2.1].
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, combinations, product
from math import prod

from sqlglot import exp

from obverse.data.schema import Category, Type
from obverse.errors import BadQuestion
from obverse.query.aggregates import is_aggregate
from obverse.query.relation import Relation, quoted
from obverse.query.typed import DATE, Typed, finite_sql, shown, written

MOST_GROUPS = 1_000_000
MOST_SETS = 64
Kept = frozenset[int]
_Set = tuple[exp.Expr, ...]


@dataclass(frozen=True)
class Key:
    """One GROUP BY expression and every value it may take.

    Where that is None its values are those of a public table, which `public` selects, or to be found in the data.
    """

    sql: exp.Expr
    domain: tuple[Category, ...] | None
    type: Type | None = None
    public: exp.Select | None = None

    @property
    def members(self) -> list[exp.Expr]:
        """Its values as they are compared with; a day is written as 2024-12-31."""
        written = [exp.convert(value) for value in self.domain or ()]
        return [exp.Cast(this=each, to=DATE) for each in written] if self.type is Type.DATE else written


@dataclass(frozen=True)
class Grouping:
    """All keys, and the places of those that each grouping set keeps; one set of all where nothing is rolled up."""

    keys: tuple[Key, ...] = ()
    sets: tuple[Kept, ...] = (frozenset(),)


def grouping(select: exp.Select, relation: Relation, *, found: bool = False) -> Grouping:
    """What a SELECT groups by; all groups are `found` in the data, if that is wanted, whatever is known of them."""
    group = select.args.get("group")
    if group is None:
        return Grouping()
    keys: dict[exp.Expr, Key] = {}

    def place(node: exp.Expr) -> int:
        key = relation.reader(named(node, select, relation))
        if key.literal:
            raise BadQuestion("GROUP BY a constant makes one group of all: leave it out")
        sql = one_zero(key)
        if sql not in keys:
            domain = None if found else _domain(key)
            keys[sql] = Key(sql, domain, key.type, None if found or domain else _public(sql, relation))
        return list(keys).index(sql)

    sets = [frozenset(place(node) for node in each) for each in _sets(group, select)]
    made = Grouping(tuple(keys.values()), tuple(dict.fromkeys(sets)))
    groups = sum(prod(len(made.keys[i].domain or (0,)) for i in kept) for kept in made.sets)
    if groups > MOST_GROUPS:
        raise BadQuestion(f"this makes {groups:,} groups; at most {MOST_GROUPS:,} are answered at once")
    return made


def _sets(group: exp.Group, select: exp.Select) -> list[_Set]:
    """Every grouping set as a list of expressions: those of the terms of GROUP BY, each with each."""
    terms: list[exp.Expr] = list(group.expressions)
    if group.args.get("all"):
        terms += [_bare(node) for node in select.expressions if not any(map(is_aggregate, node.walk()))]
    alone = {"expressions", "all"}
    for name, kind in (("rollup", exp.Rollup), ("cube", exp.Cube)):
        given = group.args.get(name)
        if given and not any(each.expressions for each in given):  # GROUP BY a, b WITH ROLLUP
            terms, alone = [kind(expressions=terms)], alone | {name}
    if extra := [name for name, value in group.args.items() if value and name not in alone]:
        raise BadQuestion(f"GROUP BY {extra[0].strip('_').upper()} is not answered: list the keys")
    every = [list(_of_term(term)) for term in terms]
    count = prod(map(len, every))
    if count > MOST_SETS:
        raise BadQuestion(f"this makes {count:,} grouping sets; at most {MOST_SETS} are answered at once")
    return [tuple(chain(*each)) for each in product(*every)]


def _of_term(term: exp.Expr) -> Iterator[_Set]:
    """The grouping sets of one term, the finest first."""
    parts = [_members(each) for each in term.expressions]
    match term:
        case exp.Rollup():
            yield from (tuple(chain(*parts[:size])) for size in range(len(parts), -1, -1))
        case exp.Cube():
            if len(parts) > MOST_SETS.bit_length():
                raise BadQuestion(
                    f"CUBE of {len(parts)} keys makes too many grouping sets: name those you need"
                )
            for size in range(len(parts), -1, -1):
                yield from (tuple(chain(*some)) for some in combinations(parts, size))
        case exp.GroupingSets():
            yield from chain.from_iterable(_of_term(each) for each in term.expressions)
        case _:
            yield _members(term)


def _members(node: exp.Expr) -> _Set:
    """(a, b) is one member of a ROLLUP or of GROUPING SETS."""
    if isinstance(node, exp.Tuple):
        return tuple(node.expressions)
    return (node.this,) if isinstance(node, exp.Paren) else (node,)


def _domain(key: Typed) -> tuple[Category, ...] | None:
    return key.days.members() if key.type is Type.DATE and key.days is not None else key.domain


def _public(sql: exp.Expr, relation: Relation) -> exp.Select | None:
    """The values that an expression over columns of one public table has there: no row that is joined has another."""
    fields = {field.typed.sql: field for field in relation.fields}
    used = {column: fields.get(column) for column in sql.find_all(exp.Column)}
    origins = {None if field is None else field.origin.rpartition(".")[0] for field in used.values()}
    table = next((schema for schema in relation.schemas if schema.public and {schema.name} == origins), None)
    if table is None:
        return None
    names = {column: field.origin.rpartition(".")[2] for column, field in used.items() if field is not None}
    value = sql.copy().transform(lambda node: quoted(names[node]) if node in names else node)
    known = exp.Not(this=exp.Is(this=value.copy(), expression=exp.Null()))
    source = exp.Table(this=exp.to_identifier(table.name, quoted=True))
    return exp.Select().select(value).distinct().from_(source).where(known)


def one_zero(key: Typed) -> exp.Expr:
    """A key whose −0 is 0, so that both read alike; missing where it left the finite numbers."""
    sql = finite_sql(key)
    if key.type is not Type.REAL or key.domain is not None:
        return sql
    return exp.Paren(this=exp.Add(this=sql, expression=written(Fraction(0))))


def named(node: exp.Expr, select: exp.Select, relation: Relation) -> exp.Expr:
    """A GROUP BY term: an expression, the place of an answer's column, or its alias where no column is called so."""
    if isinstance(node, exp.Literal) and not node.is_string:
        place = int(node.name) if node.name.isdigit() else 0
        if not 1 <= place <= len(select.expressions):
            raise BadQuestion(f"GROUP BY {node.name}: there are {len(select.expressions)} columns")
        return _bare(select.expressions[place - 1])
    if isinstance(node, exp.Column) and not node.table and not relation.has(node.name):
        wanted = node.name.lower()
        aliased = [each.this for each in select.expressions if each.alias.lower() == wanted]
        return aliased[0] if aliased else node
    return node


def _bare(node: exp.Expr) -> exp.Expr:
    inner = node.this if isinstance(node, exp.Alias) else node
    assert isinstance(inner, exp.Expr)
    return inner


def grouping_number(node: exp.Expr, places: list[int | None]) -> exp.Expr:
    """GROUPING(a, b): a binary digit for each key, 1 in a total over it."""
    bits: exp.Expr | None = None
    for place in places:
        if place is None:
            raise BadQuestion(f"{shown(node)}: GROUPING asks whether a row is a total over a key of GROUP BY")
        bit = exp.column(str(place), table="§grouping")
        twice = None if bits is None else exp.Mul(this=bits, expression=exp.Literal.number("2"))
        bits = bit if twice is None else exp.Add(this=twice, expression=bit)
    assert bits is not None
    return bits
