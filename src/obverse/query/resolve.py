"""Names → columns: a SELECT tree becomes a Question about declared columns, or is refused with what to change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from sqlglot import exp

from obverse.data.schema import Schema
from obverse.errors import BadQuestion
from obverse.query.aggregates import ANSWERED, Aggregate, aggregate, is_aggregate
from obverse.query.keys import Kept, Key, grouping, grouping_number, named, one_zero
from obverse.query.relation import Relation
from obverse.query.released import NUMBERS, RELEASED, castable
from obverse.query.sources import Sources
from obverse.query.typed import condition, shown, titled

CLAUSES = {"expressions", "with_", "from_", "joins", "where", "group", "having", "order", "limit", "offset"}
ENDS: dict[str, Literal["low", "high"]] = {"DP_INTERVAL_LOW": "low", "DP_INTERVAL_HIGH": "high"}
KEY, AGGREGATE, END = "§key", "§aggregate", "§end"


@dataclass(frozen=True)
class Item:
    """One column of the answer, over keys, aggregates and ends of intervals by their places."""

    name: str
    tree: exp.Expr


@dataclass(frozen=True)
class End:
    """An end of the interval about a number of the answer."""

    tree: exp.Expr
    which: Literal["low", "high"]


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
    ends: tuple[End, ...] = ()

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
    resolver = _Resolver(source, grouped.keys, select)
    for node in select.expressions:
        resolver.items += (resolver.item(node),)
    items = resolver.items
    if not resolver.aggregates:
        raise BadQuestion(
            "rows themselves cannot be private: ask for COUNT, SUM or AVG, by group if you like"
        )
    having = select.args.get("having")
    kept = None if having is None else resolver.alone(resolver.released(having.this, items), sorted_by=True)
    order = tuple(resolver.order(node, items) for node in listed(select.args.get("order")))
    picked = None if where is None else condition(where.this, source.reader)
    if source.heavy:
        values = [value.sql for each in resolver.aggregates for value in (each.value, each.other) if value]
        source.weight(*([] if picked is None else [picked]), *(key.sql for key in resolver.keys), *values)
    return Question(
        source,
        picked,
        resolver.keys,
        tuple(resolver.aggregates),
        items,
        kept,
        order,
        count(select, "limit"),
        count(select, "offset") or 0,
        grouped.sets,
        tuple(resolver.ends),
    )


def _clause(name: str) -> str:
    words = {"with_": "WITH … AS", "joins": "JOIN", "from_": "FROM", "windows": "WINDOW", "into": "INTO"}
    return words.get(name, name.strip("_").upper())


def _unanswered(node: exp.Expr) -> str:
    """Why an expression over aggregates is none, and what there is."""
    if isinstance(node, exp.Func) and not any(is_aggregate(each) for each in node.walk()):
        return f"{shown(node)} is no aggregate that is answered: {ANSWERED} are"
    return f"{shown(node)} is not answered over aggregates: of what is released there are {NUMBERS} and CASE"


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

    def __init__(self, relation: Relation, keys: tuple[Key, ...], select: exp.Select) -> None:
        self.relation, self.read, self.keys, self.select = relation, relation.reader, keys, select
        self.aggregates: list[Aggregate] = []
        self.items: tuple[Item, ...] = ()
        self.ends: list[End] = []

    def item(self, node: exp.Expr) -> Item:
        """A column of the answer."""
        inner = _bare(node)
        if isinstance(inner, exp.Star):
            raise BadQuestion("SELECT * names rows, and rows cannot be private: ask for COUNT, SUM or AVG")
        return Item(node.alias or titled(inner), self.alone(self.released(inner, ())))

    def end(self, node: exp.Anonymous) -> exp.Expr:
        """An end of the interval about a number, by the name of a column of the answer or as an expression."""
        name = node.name.upper()
        if len(node.expressions) != 1:
            raise BadQuestion(f"{shown(node)}: as in SELECT COUNT(*) AS n, {name}(n)")
        end = End(self.alone(self.released(node.expressions[0], self.items)), ENDS[name])
        if any(column.table == END for column in end.tree.find_all(exp.Column)):
            raise BadQuestion(f"{shown(node)}: an end of an interval has none about it: ask it of the number")
        if end not in self.ends:
            self.ends.append(end)
        return self._place(END, self.ends.index(end))

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
            tree = items[place - 1].tree
        else:
            tree = self.released(term, items)
        return Order(
            self.alone(tree, sorted_by=True), bool(node.args.get("desc")), bool(node.args.get("nulls_first"))
        )

    def released(self, node: exp.Expr, items: tuple[Item, ...]) -> exp.Expr:
        """An expression over what is released: aggregates and keys become their places."""
        if isinstance(node, (exp.Grouping, exp.GroupingId)):
            asked = [named(each, self.select, self.relation) for each in node.expressions]
            return grouping_number(node, [self._key(each) for each in asked])
        if isinstance(node, exp.Anonymous) and node.name.upper() in ENDS:
            return self.end(node)
        if is_aggregate(node):
            return self._place(AGGREGATE, self._aggregate(node))
        if isinstance(node, exp.Window):
            raise BadQuestion(f"{shown(node)}: OVER is not answered; group instead")
        if isinstance(node, exp.Column) and not node.table:
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
        if type(node) not in RELEASED or (isinstance(node, exp.Cast) and not castable(node)):
            raise BadQuestion(_unanswered(node))
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
        if node.find(exp.Column) is None or (isinstance(node.parent, exp.Case) and type(node) is exp.If):
            return None  # a branch of CASE is no IF(…)
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
