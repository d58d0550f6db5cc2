"""What a resolved expression means: a text that two expressions share only if they agree on every row of every table.

Equal questions are asked once, however they are spelt. Each rule here is an identity of three-valued logic or of the
numbers as engines compute them, NULL included, which the passes have made total before (no NaN, no error):

- AND and OR are commutative, associative and idempotent; TRUE and FALSE drop out; NOT goes inward (De Morgan), and
  NOT a < b is b ≤ a, since what is compared is of one type and totally ordered.
- a > b is b < a; between whole numbers a ≤ 30 is a < 31; a = b is b = a; a IN (1, 2) is a = 1 OR a = 2.
- + and × of two numbers commute. They do not associate: DOUBLE rounds.
- A column of a subquery is what the subquery computes; a subquery that only renames and filters is its WHERE.

Where no rule applies, only the very same expression is the same. When in doubt, two questions are two.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlglot import exp

Names = Mapping[str, str]
NOTHING: Names = {}
Members = tuple[str, frozenset[str]]


@dataclass(frozen=True)
class Meant:
    """Rows: where they come from, the conditions on them, and what each named column means."""

    base: str
    where: tuple[str, ...] = ()
    names: Names | None = None

    @property
    def text(self) -> str:
        return f"{self.base} where {sorted(set(self.where))}" if self.where else self.base


def told(thing: object, names: Names = NOTHING) -> str:
    """A description by its parts, where expressions stand for what they mean."""
    if isinstance(thing, exp.Expr):
        return meaning(thing, names)
    if isinstance(thing, tuple):
        return f"({', '.join([told(each, names) for each in thing])})"
    parts = vars(thing) if hasattr(thing, "__dataclass_fields__") else {}
    for part in parts.values():
        if isinstance(part, (exp.Expr, tuple)) or hasattr(part, "__dataclass_fields__"):
            each = [f"{name}={told(value, names)}" for name, value in parts.items()]
            return f"{type(thing).__name__}({', '.join(each)})"
    return repr(thing)


def meaning(tree: exp.Expr, names: Names = NOTHING) -> str:
    """A text that is the same for expressions that agree on every row.

    >>> from sqlglot import parse_one
    >>> meaning(parse_one("NOT (a > 1 OR b = 2)")) == meaning(parse_one("b <> 2 AND 1 >= a"))
    True
    """
    if isinstance(tree, exp.Paren):
        return meaning(tree.this, names)
    if isinstance(tree, exp.Column):
        return names.get(tree.name, f"{tree.table}.{tree.name!r}")
    if isinstance(tree, exp.Literal):
        return repr(tree.name) if tree.is_string else tree.name
    if isinstance(tree, exp.Boolean):
        return "true" if tree.this else "false"
    if isinstance(tree, _LOGICAL):
        return _logical(tree, names, negated=False)
    if isinstance(tree, exp.Add | exp.Mul):
        one, other = sorted((meaning(tree.this, names), meaning(tree.expression, names)))
        return f"{tree.key}({one}, {other})"
    parts = []
    for name, value in sorted(tree.args.items()):
        if isinstance(value, exp.Expr):
            parts.append(f"{name}={meaning(value, names)}")
        elif isinstance(value, list):
            parts.append(f"{name}=[{', '.join([told(each, names) for each in value])}]")
        elif value is not None and value is not False:
            parts.append(f"{name}={value!r}")
    return f"{tree.key}({', '.join(parts)})"


_MIRRORED: dict[type[exp.Expr], type[exp.Expr]] = {exp.GT: exp.LT, exp.GTE: exp.LTE}
_OPPOSITE: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.EQ: exp.NEQ,
    exp.NEQ: exp.EQ,
    exp.LT: exp.GTE,
    exp.GTE: exp.LT,
    exp.GT: exp.LTE,
    exp.LTE: exp.GT,
}
_COMPARED = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.In)
_LOGICAL = (exp.And, exp.Or, exp.Not, *_COMPARED)


def terms(tree: exp.Expr, names: Names = NOTHING) -> tuple[str, ...]:
    """What is joined by AND."""
    return tuple(sorted(_parts(tree, names, negated=False, every=True) - {"true"}))


def _logical(tree: exp.Expr, names: Names, *, negated: bool) -> str:
    """A condition, or NOT of it."""
    if isinstance(tree, exp.Paren | exp.Not):
        inner, turned = tree.this, isinstance(tree, exp.Not) != negated
        return _logical(inner, names, negated=turned)
    if isinstance(tree, exp.And | exp.Or):
        return _connected(tree, names, negated=negated)
    if isinstance(tree, _COMPARED):
        return _compared(tree, names, negated=negated)
    return f"not({meaning(tree, names)})" if negated else meaning(tree, names)


def _connected(tree: exp.And | exp.Or, names: Names, *, negated: bool) -> str:
    every = isinstance(tree, exp.And) != negated  # NOT (a OR b) is NOT a AND NOT b
    found = _parts(tree, names, negated=negated, every=every)
    neutral, decisive = ("true", "false") if every else ("false", "true")
    found.discard(neutral)
    if decisive in found:
        return decisive
    if len(found) < 2:
        return found.pop() if found else neutral
    return f"{'and' if every else 'or'}({', '.join(sorted(found))})"


def _parts(tree: exp.Expr, names: Names, *, negated: bool, every: bool) -> set[str]:
    """What a chain of AND (`every`) or of OR joins; of OR the constants one expression may equal are one part."""
    found: set[str] = set()
    equal: dict[str, frozenset[str]] = {}
    nodes = [(tree, negated)]
    while nodes:
        node, turned = nodes.pop()
        if isinstance(node, exp.Paren | exp.Not):
            nodes.append((node.this, isinstance(node, exp.Not) != turned))
        elif isinstance(node, exp.And | exp.Or) and (isinstance(node, exp.And) != turned) == every:
            nodes += [(node.this, turned), (node.expression, turned)]
        elif not every and turned == isinstance(node, exp.NEQ) and (among := _among(node, names)) is not None:
            equal[among[0]] = equal.get(among[0], frozenset()) | among[1]
        else:
            found.add(_logical(node, names, negated=turned))
    return found | {_equal(each) for each in equal.items()}


def _compared(tree: exp.Expr, names: Names, *, negated: bool) -> str:
    kind = _OPPOSITE.get(type(tree), type(tree)) if negated else type(tree)
    if isinstance(tree, exp.In | exp.EQ | exp.NEQ):
        among = _among(tree, names)
        if among is not None:
            equal = _equal(among)
        elif isinstance(tree, exp.In):
            equal = f"in({meaning(tree.this, names)}, {[meaning(each, names) for each in tree.expressions]})"
        else:
            equal = f"eq({', '.join(sorted((meaning(tree.this, names), meaning(tree.expression, names))))})"
        return f"not({equal})" if kind is exp.NEQ or (negated and kind is exp.In) else equal
    low, high = tree.this, tree.expression
    if kind in _MIRRORED:
        low, high, kind = high, low, _MIRRORED[kind]
    if kind is exp.LTE and (whole := _whole(high)) is not None:
        return f"lt({meaning(low, names)}, {whole + 1})"
    if kind is exp.LTE and (whole := _whole(low)) is not None:
        return f"lt({whole - 1}, {meaning(high, names)})"
    ends = [str(whole) if (whole := _whole(end)) is not None else meaning(end, names) for end in (low, high)]
    return f"{'lt' if kind is exp.LT else 'lte'}({ends[0]}, {ends[1]})"


def _whole(tree: exp.Expr) -> int | None:
    """A whole number that stands bare: then what it is compared with is whole too, or it would be a DOUBLE."""
    if isinstance(tree, exp.Paren):
        return _whole(tree.this)
    if isinstance(tree, exp.Neg) and isinstance(tree.this, exp.Literal):
        inner = _whole(tree.this)
        return None if inner is None else -inner
    if isinstance(tree, exp.Literal) and not tree.is_string and tree.name.isdigit():
        return int(tree.name)
    return None


def _constant(tree: exp.Expr) -> tuple[str, str] | None:
    """Of which kind a constant is, and its text."""
    if (whole := _whole(tree)) is not None:
        return "whole", str(whole)
    if isinstance(tree, exp.Literal) and tree.is_string:
        return "text", repr(tree.name)
    if isinstance(tree, exp.Cast) and isinstance(tree.this, exp.Literal):
        return f"as {tree.to.sql()}", meaning(tree)
    return None


def _among(tree: exp.Expr, names: Names) -> Members | None:
    """What is compared with constants of one kind, and with which: for x = 1 and x <> 1, and for x IN (1, 2)."""
    if isinstance(tree, exp.In):
        found = [_constant(each) for each in tree.expressions]
        if not found or None in found or len({each[0] for each in found if each}) > 1:
            return None
        kind = found[0][0] if found[0] else ""
        return f"{kind} {meaning(tree.this, names)}", frozenset(each[1] for each in found if each)
    if not isinstance(tree, exp.EQ | exp.NEQ):
        return None
    for one, other in ((tree.this, tree.expression), (tree.expression, tree.this)):
        if (constant := _constant(other)) is not None and _constant(one) is None:
            return f"{constant[0]} {meaning(one, names)}", frozenset({constant[1]})
    return None


def _equal(among: Members) -> str:
    return f"among({among[0]}, {sorted(among[1])})"


def rows(tree: exp.Expr) -> Meant:
    """What stands in FROM."""
    if isinstance(tree, exp.Table):
        return Meant(f"table {tree.name!r}")
    if isinstance(tree, exp.Subquery) and isinstance(tree.this, exp.Select):
        return _selected(tree.this)
    if isinstance(tree, exp.Subquery) and isinstance(tree.this, exp.Union):
        return _united(tree.this)
    return Meant(tree.sql(dialect="duckdb"))


_READ = {"expressions", "from_", "joins", "where", "group", "distinct"}


def _selected(select: exp.Select) -> Meant:
    if any(value and name not in _READ for name, value in select.args.items()):
        return Meant(select.sql(dialect="duckdb"))
    inner = rows(select.args["from_"].this)
    for join in select.args.get("joins") or ():
        inner = _joined(inner, join)
    known = inner.names or NOTHING
    where = inner.where
    if (clause := select.args.get("where")) is not None:
        where += terms(clause.this, known)
    names: dict[str, str] = {}
    for each in select.expressions:
        if isinstance(each, exp.Star):
            names |= known
        elif isinstance(each, exp.Alias):
            names[each.alias] = meaning(each.this, known)
        else:
            return Meant(select.sql(dialect="duckdb"))
    group, distinct = select.args.get("group"), select.args.get("distinct")
    if group is None and distinct is None:
        return Meant(inner.base, where, names)
    keys = sorted({meaning(each, known) for each in group.expressions}) if group is not None else None
    kept = sorted(set(names.values())) if distinct is not None else None
    return Meant(f"each({Meant(inner.base, where).text}, {keys}, {kept})", (), names)


def _joined(inner: Meant, join: exp.Join) -> Meant:
    """Side by side: a column says of which side it is, since both may be of one table."""
    other = rows(join.this)
    if inner.names is None or other.names is None or join.args.get("on") is None:
        return Meant(f"{inner.text} {join.sql(dialect='duckdb')}", (), inner.names)
    names = {name: f"left({text})" for name, text in inner.names.items()}
    names |= {name: f"right({text})" for name, text in other.names.items()}
    on = sorted(set(terms(join.args["on"], names)))
    return Meant(f"join({inner.text}, {join.side}, {join.kind}, {other.text}, {on})", (), names)


def _united(union: exp.Union) -> Meant:
    """All rows of both, column by column."""
    halves = [
        _selected(each) if isinstance(each, exp.Select) else None for each in (union.this, union.expression)
    ]
    one, other = halves
    if one is None or other is None or union.args.get("distinct") or not one.names or not other.names:
        return Meant(union.sql(dialect="duckdb"))
    columns = [list(half.names.values()) for half in (one, other) if half.names]
    names = {name: f"column {place}" for place, name in enumerate(one.names)}
    return Meant(f"union({one.text}, {columns[0]}, {other.text}, {columns[1]})", (), names)
