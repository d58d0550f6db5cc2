"""Which groups a question answers, how a key reads, and which rows count towards them."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from itertools import product
from math import isfinite, prod

from sqlglot import exp

from obverse.data.schema import Category
from obverse.data.table import Cell, Tables
from obverse.errors import Withheld
from obverse.query.choose import NoisyChoice
from obverse.query.kept import Group, in_order
from obverse.query.keys import MOST_GROUPS, Key
from obverse.query.resolve import Question

PLAIN = frozenset((int, str, bool, type(None)))


def known_groups(question: Question) -> tuple[Group, ...]:
    """Every group of declared and derived values, in their order."""
    return tuple(product(*(key.domain or () for key in question.keys)))


def every_group(question: Question, tables: Tables) -> tuple[Group, ...]:
    """The same, with those that a public table has: what is public is read for nothing."""
    if not question.looked_up:
        return known_groups(question)
    known = [key.domain or looked_up(key, tables) for key in question.keys]
    if prod(map(len, known)) > MOST_GROUPS:
        raise Withheld(f"the public table makes more than {MOST_GROUPS:,} groups: ask for fewer keys at once")
    return tuple(in_order(product(*known)))


def within(question: Question) -> exp.Expr | None:
    """Only rows of the groups that are answered count against a person's share, or towards a group that is found."""
    rows = question.relation.rows
    shared = rows.unit.column is not None and not rows.bounded
    keys = question.keys if shared or question.found else ()
    inside: list[exp.Expr] = [exp.In(this=key.sql, expressions=key.members) for key in keys if key.domain]
    if question.looked_up:
        inside += [exp.Not(this=exp.Is(this=key.sql, expression=exp.Null())) for key in keys if key.public]
    conditions = [exp.Paren(this=question.where)] if question.where is not None else []
    return exp.and_(*conditions, *inside, copy=False) if conditions or inside else None


def looked_up(key: Key, tables: Tables) -> Group:
    assert key.public is not None
    return tuple(dict.fromkeys(cell for row in tables.run(key.public) for cell in folded(row)))


def among(where: exp.Expr | None, choice: NoisyChoice) -> exp.Expr:
    """Of a person only rows with one of the values count against their share."""
    known = exp.In(this=choice.value, expressions=[exp.convert(value) for value in choice.domain])
    return known if where is None else exp.and_(where, known, copy=False)


def folded(group: tuple[Cell, ...] | Group) -> Group:
    """A key as every engine gives it, and as JSON keeps it: 3 and 3.0 are one group, true and 1 are not."""
    return tuple(cell if type(cell) in PLAIN else _plain(cell) for cell in group)  # type: ignore[misc]


def _plain(cell: object) -> Category:
    if isinstance(cell, date):
        return cell.isoformat()
    if isinstance(cell, float | Decimal) and isfinite(cell) and cell == int(cell):
        return int(cell)
    return cell  # type: ignore[return-value]
