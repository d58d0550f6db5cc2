"""A SELECT that asks for rows → the columns that are drawn, their cells, and how the shown ones follow from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from fractions import Fraction
from math import prod

from sqlglot import exp

from obverse.data.schema import Schema
from obverse.errors import BadQuestion
from obverse.query.cells import bare, breaks, columns, conjuncts, evaluate
from obverse.query.parse import Parsed
from obverse.query.relation import Field, Relation
from obverse.query.released import RELEASED, castable
from obverse.query.resolve import Item, Order, count, listed
from obverse.query.rows import RowsPlan
from obverse.query.sources import Sources
from obverse.query.typed import condition, finite_sql, shown, titled
from obverse.release import Terms
from obverse.synthesise.domain import Axis, axis, known
from obverse.synthesise.joint import MOST_CELLS, Joint
from obverse.synthesise.measure import Read
from obverse.synthesise.tree import Tree

CLAUSES = {"expressions", "with_", "from_", "joins", "where", "order", "limit", "offset"}
TOGETHER = 4096  # cells that are counted together, where there are more than two columns


def plan_rows(parsed: Parsed, schemas: Mapping[str, Schema], terms: Terms) -> RowsPlan:
    """The plan of a SELECT that asks for rows."""
    select, options = parsed.select, parsed.options
    for name, clause in select.args.items():
        if clause and name not in CLAUSES:
            what = name.strip("_").upper()
            raise BadQuestion(
                f"{what} of rows is not answered, since they are drawn: GROUP BY the columns and COUNT(*) instead"
            )
    relation = Sources(schemas, {}).of(select)
    if not relation.private:
        raise BadQuestion(
            "every table here is public: there is nobody to protect, so put the question to it directly"
        )
    where = select.args.get("where")
    kept = None if where is None else condition(where.this, relation.reader)
    if relation.heavy and kept is not None:
        relation.weight(kept)
    drawn, without, items = _Drawn(relation), *_items(select, relation)
    shown_columns = tuple(Item(name, drawn.over(tree)) for name, tree in items)
    order = tuple(drawn.order(node, shown_columns) for node in listed(select.args.get("order")))
    read = Read(
        relation.rows, kept, tuple(_axis(field, _days(field, relation), kept) for field in drawn.fields)
    )
    epsilon = terms.epsilon if options.epsilon is None else options.epsilon
    delta = terms.delta if options.delta is None else options.delta
    return RowsPlan(
        parsed.text,
        relation,
        read,
        _drawing(read, epsilon, delta),
        shown_columns,
        order,
        count(select, "limit"),
        count(select, "offset") or 0,
        Fraction(terms.confidence) if options.confidence is None else options.confidence,
        delta,
        without,
    )


def _drawing(read: Read, epsilon: Fraction, delta: Fraction) -> Joint | Tree:
    """All combinations at once where they are few, else a tree of pairs."""
    shape, distance, grid = read.shape, read.sensitivity, read.grid
    if len(shape) == 1 or prod(shape) <= (MOST_CELLS if len(shape) == 2 else TOGETHER):
        return Joint.at(shape, distance, grid, epsilon, delta)
    return Tree.at(shape, tuple(each.ordered for each in read.axes), distance, grid, epsilon, delta)


def _days(field: Field, relation: Relation) -> tuple[date, date] | None:
    """The days that a column's declaration leaves it, through any subquery."""
    table, _, name = field.origin.partition(".")
    for schema in relation.schemas:
        column = schema.column(name) if schema.name == table else None
        if column is not None and isinstance(column.low, date) and isinstance(column.high, date):
            return column.low, column.high
    return None


def _axis(field: Field, days: tuple[date, date] | None, where: exp.Expr | None) -> Axis:
    """A column's cells, but for those that WHERE leaves no row in."""
    typed = field.typed
    assert typed.type is not None
    name = f"{field.qualifier}.{field.name}" if field.qualifier else field.name
    found = known(
        field.name,
        axis(
            field.name, finite_sql(typed), typed.type, domain=typed.domain, interval=typed.interval, days=days
        ),
        name,
    )
    for each in conjuncts(where):
        if columns(each) == {typed.sql}:
            found = _narrowed(found, each, typed.sql)
    if not found.size:
        raise BadQuestion(f"WHERE leaves no declared value of {field.name}: there are no such rows")
    return found


def _narrowed(axis: Axis, condition: exp.Expr, column: exp.Expr) -> Axis:
    told = evaluate(condition, column)
    spans = any(not isinstance(held, int | str) for held in axis.holds)
    if told is None or (spans and not bare(condition)):
        return axis
    return axis.narrowed(lambda held: told(held) is True, breaks(condition, axis.type))


class _Drawn:
    """The columns that are drawn, each once, and expressions over them by their places."""

    def __init__(self, relation: Relation) -> None:
        self.relation = relation
        self.fields: list[Field] = []

    def over(self, node: exp.Expr) -> exp.Expr:
        """An expression over drawn columns."""
        if isinstance(node, exp.Column):
            return exp.column(str(self._place(self.relation.field(node))), table="§key")
        if type(node) not in RELEASED or (isinstance(node, exp.Cast) and not castable(node)):
            raise BadQuestion(f"{shown(node)} is not answered over synthetic rows: ask for its columns")
        rebuilt = node.copy()
        for name, part in node.args.items():
            if isinstance(part, exp.Expr) and not isinstance(part, exp.DataType):
                rebuilt.set(name, self.over(part))
            elif isinstance(part, list):
                rebuilt.set(name, [self.over(each) for each in part])
        return rebuilt

    def order(self, node: exp.Expr, shown_columns: Sequence[Item]) -> Order:
        """An ORDER BY term: a column of the answer by its place or name, or an expression over drawn columns."""
        term = node.this
        if isinstance(term, exp.Literal) and term.name.isdigit():
            if not 1 <= int(term.name) <= len(shown_columns):
                raise BadQuestion(f"ORDER BY {term.name}: there are {len(shown_columns)} columns")
            tree = shown_columns[int(term.name) - 1].tree
        else:
            named = [
                c.tree
                for c in shown_columns
                if isinstance(term, exp.Column) and c.name.lower() == term.name.lower()
            ]
            tree = named[0] if named else self.over(term)
        return Order(tree, bool(node.args.get("desc")), bool(node.args.get("nulls_first")))

    def _place(self, field: Field) -> int:
        if field.owner:
            raise BadQuestion(
                f"{field.name} says whose a row is, and synthetic rows are nobody's: leave it out"
            )
        if field not in self.fields:
            self.fields.append(field)
        return self.fields.index(field)


def _items(select: exp.Select, relation: Relation) -> tuple[tuple[str, ...], list[tuple[str, exp.Expr]]]:
    """What a star leaves out, and each column of the answer with its name."""
    without: list[str] = []
    items: list[tuple[str, exp.Expr]] = []
    for node in select.expressions:
        inner = node.this if isinstance(node, exp.Alias) else node
        if isinstance(inner, exp.Star) or (
            isinstance(inner, exp.Column) and isinstance(inner.this, exp.Star)
        ):
            _plain_star(inner)
            wanted = inner.table.lower() if isinstance(inner, exp.Column) else ""
            for field in relation.fields:
                if field.implied or wanted not in ("", field.qualifier.lower()):
                    continue
                if field.owner:
                    without.append(field.name)
                else:
                    items.append(
                        (field.name, exp.column(field.name, table=field.qualifier or None, quoted=True))
                    )
        else:
            items.append((node.alias or titled(inner), inner))
    if not any(tree.find(exp.Column) for _, tree in items):
        raise BadQuestion(
            "this names no column whose values could be drawn: ask for columns, or for COUNT(*)"
        )
    return tuple(without), items


def _plain_star(node: exp.Expr) -> None:
    star = node.this if isinstance(node, exp.Column) else node
    if any(star.args.values()):
        raise BadQuestion(f"{shown(node)}: a star is answered alone; name the columns you want")
