"""Names → columns: a SELECT tree becomes a Question about declared columns, or is refused with what to change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from sqlglot import exp

from obverse.data.schema import Schema
from obverse.errors import BadQuestion
from obverse.query.aggregates import Aggregate, aggregate, is_aggregate
from obverse.query.keys import Kept, Key, grouping, grouping_number, named, one_zero
from obverse.query.relation import Relation
from obverse.query.released import ANSWERED
from obverse.query.sources import Sources
from obverse.query.typed import Read, condition, shown

CLAUSES = {"expressions", "with_", "from_", "joins", "where", "group", "having", "order", "limit", "offset"}
ENDS: dict[str, Literal["low", "high"]] = {"DP_INTERVAL_LOW": "low", "DP_INTERVAL_HIGH": "high"}
KEY, AGGREGATE = "§key", "§aggregate"


@dataclass(frozen=True)
class Item:
    """One column of the answer, over keys and aggregates by their places; or an end of the interval about one."""

    name: str
    tree: exp.Expr
    end: Literal["low", "high"] | None = None


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
    sets: tuple[Kept, ...] = (frozenset(),)

    @property
    def rolled(self) -> bool:
        """Whether there are totals over some of its keys."""
        return any(len(kept) < len(self.keys) for kept in self.sets)

    @property
    def found(self) -> bool:
        """Whether its groups are found in the data."""
        return any(key.domain is None and key.public is None for key in self.keys)

    @property
    def looked_up(self) -> bool:
        """Whether some of its groups are those of a public table."""
        return not self.found and any(key.public is not None for key in self.keys)


def resolve(select: exp.Select, schemas: Mapping[str, Schema], *, found: bool = False) -> Question:
    """The question a SELECT asks; its groups are `found` in the data, if that is wanted, whatever is known of them."""
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
    grouped = grouping(select, source, found=found)
    resolver = _Resolver(source.reader, grouped.keys, select)
    items: tuple[Item, ...] = ()
    for node in select.expressions:
        items += (resolver.item(node, items),)
    if not resolver.aggregates:
        raise BadQuestion(
            "rows themselves cannot be private: ask for COUNT, SUM or AVG, by group if you like"
        )
    having = select.args.get("having")
    kept = None if having is None else resolver.alone(resolver.released(having.this, items), sorted_by=True)
    order = tuple(resolver.order(node, items) for node in listed(select.args.get("order")))
    return Question(
        source,
        None if where is None else condition(where.this, source.reader),
        resolver.keys,
        tuple(resolver.aggregates),
        items,
        kept,
        order,
        count(select, "limit"),
        count(select, "offset") or 0,
        grouped.sets,
    )


def _clause(name: str) -> str:
    words = {"with_": "WITH … AS", "joins": "JOIN", "from_": "FROM", "windows": "WINDOW", "into": "INTO"}
    return words.get(name, name.strip("_").upper())


def _number(item: Item) -> exp.Expr:
    if item.end is not None:
        raise BadQuestion(
            f"{item.name} is an end of an interval, to be read: HAVING and ORDER BY go by the number"
        )
    return item.tree


def _bare(node: exp.Expr) -> exp.Expr:
    inner = node.this if isinstance(node, exp.Alias) else node
    assert isinstance(inner, exp.Expr)
    return inner


def listed(clause: exp.Expr | None) -> list[exp.Expr]:
    """The terms of a clause, if it is there."""
    return [] if clause is None else list(clause.expressions)


def count(select: exp.Select, name: str) -> int | None:
    """What LIMIT or OFFSET says."""
    clause = select.args.get(name)
    if clause is None:
        return None
    if not isinstance(clause.expression, exp.Literal) or not clause.expression.name.isdigit():
        raise BadQuestion(f"{name.upper()} is a whole number")
    return int(clause.expression.name)


class _Resolver:
    """Answer columns over keys and aggregates; equal aggregates are one."""

    def __init__(self, read: Read, keys: tuple[Key, ...], select: exp.Select) -> None:
        self.read, self.keys, self.select = read, keys, select
        self.aggregates: list[Aggregate] = []

    def item(self, node: exp.Expr, before: tuple[Item, ...]) -> Item:
        """A column of the answer, which may be about one before it."""
        inner = _bare(node)
        if isinstance(inner, exp.Star):
            raise BadQuestion("SELECT * names rows, and rows cannot be private: ask for COUNT, SUM or AVG")
        name = inner.name.upper() if isinstance(inner, exp.Anonymous) else ""
        if name not in ENDS:
            return Item(node.alias or shown(inner), self.alone(self.released(inner, ())))
        if len(inner.expressions) != 1:
            raise BadQuestion(f"{shown(inner)}: as in SELECT COUNT(*) AS n, {name}(n)")
        tree = self.alone(self.released(inner.expressions[0], before))
        return Item(node.alias or shown(inner), tree, ENDS[name])

    def alone(self, tree: exp.Expr, *, sorted_by: bool = False) -> exp.Expr:
        """The same, unless it computes with a list."""
        for column in tree.find_all(exp.Column):
            if column.table == AGGREGATE and (column is not tree or sorted_by):
                listed = self.aggregates[int(column.name)]
                if listed.listed:
                    raise BadQuestion(f"{listed.text} is a list: select it as a column of its own")
        return tree

    def order(self, node: exp.Expr, items: tuple[Item, ...]) -> Order:
        term = node.this
        if isinstance(term, exp.Literal) and not term.is_string:
            place = int(term.name) if term.name.isdigit() else 0
            if not 1 <= place <= len(items):
                raise BadQuestion(f"ORDER BY {term.name}: there are {len(items)} columns")
            tree = _number(items[place - 1])
        else:
            tree = self.released(term, items)
        return Order(
            self.alone(tree, sorted_by=True), bool(node.args.get("desc")), bool(node.args.get("nulls_first"))
        )

    def released(self, node: exp.Expr, items: tuple[Item, ...]) -> exp.Expr:
        """An expression over what is released: aggregates and keys become their places."""
        if isinstance(node, (exp.Grouping, exp.GroupingId)):
            return grouping_number(node, [self._key(named(each, self.select)) for each in node.expressions])
        if is_aggregate(node):
            return self._place(AGGREGATE, self._aggregate(node))
        if isinstance(node, exp.Window):
            raise BadQuestion(f"{shown(node)}: OVER is not answered; group instead")
        if isinstance(node, exp.Column) and not node.table:
            for item in items:
                if item.name.lower() == node.name.lower():
                    return _number(item)
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
            return places.get(one_zero(self.read(node)))
        except BadQuestion:  # it may name columns of the answer, as in HAVING n > 100
            return None

    def _aggregate(self, node: exp.Expr) -> int:
        asked = aggregate(node, self.read)
        for place, known in enumerate(self.aggregates):
            if replace(known, text=asked.text) == asked:
                return place
        self.aggregates.append(asked)
        return len(self.aggregates) - 1
