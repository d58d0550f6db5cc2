"""Names → columns: a SELECT tree becomes a Question about declared columns, or is refused with what to change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from math import prod

from sqlglot import exp

from obverse.data.schema import Category, Schema, Type
from obverse.errors import BadQuestion
from obverse.query.ranked import SPELLINGS, ranked
from obverse.query.relation import Relation
from obverse.query.released import ANSWERED
from obverse.query.sources import Sources
from obverse.query.typed import Read, Typed, condition, shown, written

MOST_GROUPS = 1_000_000
CLAUSES = {"expressions", "with_", "from_", "joins", "where", "group", "having", "order", "limit", "offset"}
FUNCTIONS: dict[type[exp.Expr], str] = {
    exp.Count: "COUNT",
    exp.Sum: "SUM",
    exp.Avg: "AVG",
    exp.Variance: "VAR",
    exp.VariancePop: "VAR_POP",
    exp.Stddev: "STDDEV",
    exp.StddevSamp: "STDDEV",
    exp.StddevPop: "STDDEV_POP",
}
KEY, AGGREGATE = "§key", "§aggregate"


@dataclass(frozen=True)
class Key:
    """One GROUP BY expression and every value it may take; None where its values are to be found in the data."""

    sql: exp.Expr
    domain: tuple[Category, ...] | None


@dataclass(frozen=True)
class Aggregate:
    """One aggregate of the rows: COUNT, SUM, AVG … of a total expression; `value` None counts rows.

    `rank` is the share of values below it, for MIN, MAX and a QUANTILE.
    """

    function: str
    value: Typed | None
    distinct: bool
    text: str
    rank: Fraction | None = None


@dataclass(frozen=True)
class Item:
    """One column of the answer, over keys and aggregates by their places."""

    name: str
    tree: exp.Expr


@dataclass(frozen=True)
class Order:
    """One ORDER BY term."""

    tree: exp.Expr
    descending: bool
    nulls_first: bool


@dataclass(frozen=True)
class Question:
    """What is asked of one table, every name resolved and every expression total."""

    relation: Relation
    where: exp.Expr | None
    keys: tuple[Key, ...]
    aggregates: tuple[Aggregate, ...]
    items: tuple[Item, ...]
    having: exp.Expr | None = None
    order: tuple[Order, ...] = ()
    limit: int | None = None
    offset: int = 0

    @property
    def found(self) -> bool:
        """Whether its groups are found in the data."""
        return any(key.domain is None for key in self.keys)


def resolve(select: exp.Select, schemas: Mapping[str, Schema]) -> Question:
    """The question a SELECT asks."""
    for name, clause in select.args.items():
        if clause and name not in CLAUSES:
            raise BadQuestion(
                f"{_clause(name)} is not answered: SELECT aggregates FROM one table WHERE … GROUP BY …"
            )
    source = Sources(schemas, {}).of(select)
    if not source.private:
        raise BadQuestion(
            "every table here is public: there is nobody to protect, so put the question to it directly"
        )
    where = select.args.get("where")
    resolver = _Resolver(source.reader, _keys(select, source.reader))
    items = tuple(resolver.item(node) for node in select.expressions)
    if not resolver.aggregates:
        raise BadQuestion(
            "rows themselves cannot be private: ask for COUNT, SUM or AVG, by group if you like"
        )
    having = select.args.get("having")
    kept = None if having is None else resolver.released(having.this, items)
    order = tuple(resolver.order(node, items) for node in _list(select.args.get("order")))
    return Question(
        source,
        None if where is None else condition(where.this, source.reader),
        resolver.keys,
        tuple(resolver.aggregates),
        items,
        kept,
        order,
        _count(select, "limit"),
        _count(select, "offset") or 0,
    )


def _clause(name: str) -> str:
    words = {"with_": "WITH … AS", "joins": "JOIN", "from_": "FROM", "windows": "WINDOW", "into": "INTO"}
    return words.get(name, name.strip("_").upper())


def _keys(select: exp.Select, read: Read) -> tuple[Key, ...]:
    group = select.args.get("group")
    if group is None:
        return ()
    if extra := [name for name, value in group.args.items() if value and name != "expressions"]:
        raise BadQuestion(f"GROUP BY {extra[0].strip('_').upper()} is not answered: list the keys")
    found = [read(_named(node, select)) for node in group.expressions]
    if any(key.literal for key in found):
        raise BadQuestion("GROUP BY a constant makes one group of all: leave it out")
    keys = tuple(Key(_one_zero(key), key.domain) for key in found)
    groups = prod(len(key.domain) for key in keys if key.domain is not None)
    if groups > MOST_GROUPS:
        raise BadQuestion(f"this makes {groups:,} groups; at most {MOST_GROUPS:,} are answered at once")
    return keys


def _one_zero(key: Typed) -> exp.Expr:
    """A key whose −0 is 0, so that both read alike."""
    if key.type is not Type.REAL or key.domain is not None:
        return key.sql
    return exp.Paren(this=exp.Add(this=key.sql, expression=written(Fraction(0))))


def _named(node: exp.Expr, select: exp.Select) -> exp.Expr:
    """A GROUP BY term: an expression, the place of an answer's column, or its alias."""
    if isinstance(node, exp.Literal) and not node.is_string:
        place = int(node.name) if node.name.isdigit() else 0
        if not 1 <= place <= len(select.expressions):
            raise BadQuestion(f"GROUP BY {node.name}: there are {len(select.expressions)} columns")
        return _bare(select.expressions[place - 1])
    if isinstance(node, exp.Column):
        aliased = [
            each.this for each in select.expressions if isinstance(each, exp.Alias) and _same(each, node)
        ]
        return aliased[0] if aliased else node
    return node


def _bare(node: exp.Expr) -> exp.Expr:
    inner = node.this if isinstance(node, exp.Alias) else node
    assert isinstance(inner, exp.Expr)
    return inner


def _same(alias: exp.Alias, column: exp.Column) -> bool:
    return bool(alias.alias.lower() == column.name.lower() and not isinstance(alias.this, exp.Column))


def _list(clause: exp.Expr | None) -> list[exp.Expr]:
    return [] if clause is None else list(clause.expressions)


def _count(select: exp.Select, name: str) -> int | None:
    clause = select.args.get(name)
    if clause is None:
        return None
    if not isinstance(clause.expression, exp.Literal) or not clause.expression.name.isdigit():
        raise BadQuestion(f"{name.upper()} is a whole number")
    return int(clause.expression.name)


class _Resolver:
    """Answer columns over keys and aggregates; equal aggregates are one."""

    def __init__(self, read: Read, keys: tuple[Key, ...]) -> None:
        self.read, self.keys = read, keys
        self.aggregates: list[Aggregate] = []

    def item(self, node: exp.Expr) -> Item:
        inner = _bare(node)
        if isinstance(inner, exp.Star):
            raise BadQuestion("SELECT * names rows, and rows cannot be private: ask for COUNT, SUM or AVG")
        return Item(node.alias or shown(inner), self.released(inner, ()))

    def order(self, node: exp.Expr, items: tuple[Item, ...]) -> Order:
        term = node.this
        if isinstance(term, exp.Literal) and not term.is_string:
            place = int(term.name) if term.name.isdigit() else 0
            if not 1 <= place <= len(items):
                raise BadQuestion(f"ORDER BY {term.name}: there are {len(items)} columns")
            tree = items[place - 1].tree
        else:
            tree = self.released(term, items)
        return Order(tree, bool(node.args.get("desc")), bool(node.args.get("nulls_first")))

    def released(self, node: exp.Expr, items: tuple[Item, ...]) -> exp.Expr:
        """An expression over what is released: aggregates and keys become their places."""
        if isinstance(node, (exp.AggFunc, exp.Filter, exp.WithinGroup)):
            return self._place(AGGREGATE, self._aggregate(node))
        if isinstance(node, exp.Window):
            raise BadQuestion(f"{shown(node)}: OVER is not answered; group instead")
        if isinstance(node, exp.Column):
            for item in items:
                if item.name.lower() == node.name.lower():
                    return item.tree
        if not isinstance(node, exp.Literal) and self.keys and node.find(exp.AggFunc) is None:
            place = self._key(node)
            if place is not None:
                return self._place(KEY, place)
        if isinstance(node, exp.Column):
            self.read(node)
            raise BadQuestion(
                f"{node.name} of single rows cannot be private: put it into COUNT, SUM or AVG, or GROUP BY {node.name}"
            )
        if type(node) not in ANSWERED:
            raise BadQuestion(f"{shown(node)} is not answered over aggregates")
        rebuilt = node.copy()
        for name, value in node.args.items():
            if isinstance(value, exp.Expr) and not isinstance(value, exp.DataType):
                rebuilt.set(name, self.released(value, items))
            elif isinstance(value, list):
                rebuilt.set(name, [self.released(each, items) for each in value])
        return rebuilt

    def _place(self, kind: str, place: int) -> exp.Expr:
        return exp.column(str(place), table=kind)

    def _key(self, node: exp.Expr) -> int | None:
        if node.find(exp.Column) is None or type(node) is exp.If:
            return None
        places = {key.sql: place for place, key in enumerate(self.keys)}
        try:
            return places.get(_one_zero(self.read(node)))
        except BadQuestion:  # it may name columns of the answer, as in HAVING n > 100
            return None

    def _aggregate(self, node: exp.Expr) -> int:
        aggregate = self._read(node)
        for place, known in enumerate(self.aggregates):
            if replace(known, text=aggregate.text) == aggregate:
                return place
        self.aggregates.append(aggregate)
        return len(self.aggregates) - 1

    def _read(self, node: exp.Expr) -> Aggregate:
        if isinstance(node, exp.Filter):
            inner, only = node.this, node.expression.this
        else:
            inner, only = node, None
        by_rank = ranked(inner)
        argument = inner.this if by_rank is None else by_rank[1]
        if argument is not None and argument.find(exp.AggFunc):
            raise BadQuestion(f"{shown(node)}: an aggregate of an aggregate is not answered")
        if by_rank is not None:
            found = self.read(by_rank[1])
            if only is not None:
                found = _filtered(found, condition(only, self.read))
            return Aggregate(by_rank[0], found, False, shown(node), by_rank[2])
        if isinstance(inner, exp.CountIf):
            inner, only = (
                exp.Count(this=exp.Star()),
                inner.this if only is None else exp.and_(only, inner.this),
            )
        function = FUNCTIONS.get(type(inner))
        if function is None:
            raise BadQuestion(
                f"{shown(node)} is not answered: {', '.join(dict.fromkeys(FUNCTIONS.values()))}, {SPELLINGS} are"
            )
        argument, distinct = inner.this, isinstance(inner.this, exp.Distinct)
        if distinct:
            if function != "COUNT" or len(argument.expressions) != 1:
                raise BadQuestion(f"{shown(node)}: DISTINCT goes with COUNT of one expression")
            argument = argument.expressions[0]
        if inner.expressions:
            raise BadQuestion(f"{shown(node)}: {function} takes one expression")
        value = None if isinstance(argument, exp.Star) else self.read(argument)
        if only is not None:
            value = _filtered(value, condition(only, self.read))
        return Aggregate(function, value, distinct, shown(node))


def _filtered(value: Typed | None, only: exp.Expr) -> Typed:
    """The value where the filter holds, NULL elsewhere."""
    kept = exp.Literal.number("1") if value is None else value.sql
    sql = exp.Case(ifs=[exp.If(this=only, true=kept)])
    if value is None:
        return Typed(sql, Type.INTEGER, size=1)
    return replace(value, sql=sql, column=None, literal=False)
