"""What of SQL is read at all: of each kind of expression the parts that some pass looks at, and no others.

A parser knows more than a private engine answers. A part that no pass reads would be dropped in silence, and another
question answered than the one that was asked; so whatever is not listed here is refused, with what would work. Kinds
of expressions that are not listed are refused by the passes, which have no rule for them.

A question also has a size once it is total: a function that guards its argument writes it twice, one inside another
2ⁿ times. It is bounded here, before it is written.
"""

from __future__ import annotations

from sqlglot import exp

from obverse.errors import BadQuestion
from obverse.query.options import NUMBER

LARGEST_TREE = 50_000
DEEPEST_TREE = 120
LONGEST_NUMBER = 100

_ONE, _TWO = frozenset({"this"}), frozenset({"this", "expression"})
_LIST = frozenset({"expressions"})
READ: dict[type[exp.Expr], frozenset[str]] = {
    exp.Select: frozenset(
        {
            "with_",
            "expressions",
            "distinct",
            "from_",
            "joins",
            "where",
            "group",
            "having",
            "order",
            "limit",
            "offset",
        }
    ),
    exp.With: _LIST,
    exp.CTE: frozenset({"this", "alias", "materialized"}),
    exp.Table: frozenset({"this", "alias", "db"}),
    exp.Subquery: frozenset({"this", "alias"}),
    exp.TableAlias: _ONE,
    exp.Union: frozenset({"this", "expression", "distinct"}),
    exp.Join: frozenset({"this", "on", "using", "side", "kind", "method"}),
    exp.Distinct: _LIST,
    exp.Order: _LIST,
    exp.Ordered: frozenset({"this", "desc", "nulls_first"}),
    exp.Limit: frozenset({"expression"}),
    exp.Offset: frozenset({"expression"}),
    exp.Star: frozenset(),
    exp.Column: frozenset({"this", "table", "db", "catalog"}),
    exp.Count: frozenset({"this", "expressions", "big_int"}),
    exp.Coalesce: frozenset({"this", "expressions", "is_nvl", "is_null"}),
    exp.Between: frozenset({"this", "low", "high"}),
    exp.In: frozenset({"this", "expressions", "query", "unnest"}),
    exp.Like: frozenset({"this", "expression", "negate"}),
    exp.ILike: frozenset({"this", "expression", "negate"}),
    exp.Is: _TWO,
    exp.Cast: frozenset({"this", "to"}),
    exp.TryCast: frozenset({"this", "to", "safe"}),
    exp.Round: frozenset({"this", "decimals"}),
    exp.Floor: _ONE,
    exp.Ceil: _ONE,
    exp.Trunc: frozenset({"this", "decimals"}),
    exp.Trim: frozenset({"this", "position", "expression"}),
    exp.Substring: frozenset({"this", "start", "length"}),
    exp.StrPosition: frozenset({"this", "substr"}),
    exp.Replace: frozenset({"this", "expression", "replacement"}),
    exp.Concat: frozenset({"expressions", "safe", "coalesce"}),
    exp.DPipe: frozenset({"this", "expression", "safe"}),
    exp.Greatest: frozenset({"this", "expressions", "ignore_nulls"}),
    exp.Least: frozenset({"this", "expressions", "ignore_nulls"}),
    exp.Log: _TWO,
    exp.WidthBucket: frozenset({"this", "min_value", "max_value", "num_buckets"}),
    exp.TimestampTrunc: frozenset({"this", "unit"}),
    exp.DateDiff: frozenset({"this", "expression", "unit", "date_part_boundary"}),
    exp.Interval: frozenset({"this", "unit"}),
    exp.DateAdd: _TWO,
    exp.DateSub: _TWO,
    exp.Week: _ONE,
    exp.Left: _TWO,
    exp.Right: _TWO,
    exp.Mode: _ONE,
    exp.Corr: _TWO,
    exp.ApproxTopK: _TWO,
    exp.ApproxQuantiles: _TWO,
    exp.Length: _ONE,
    exp.If: frozenset({"this", "true", "false"}),
    exp.Case: frozenset({"this", "ifs", "default"}),
    exp.Filter: _TWO,
    exp.WithinGroup: _TWO,
    exp.CountIf: _ONE,
}
PLAIN = "SELECT aggregates FROM one table WHERE … GROUP BY …"
INSTEAD: dict[str, str] = {
    "qualify": "QUALIFY picks rows by their place: GROUP BY, and HAVING on what is released",
    "windows": "WINDOW is not answered: group instead",
    "sample": "SAMPLE is not answered, since its noise would come on top: ask of all rows, or filter them in WHERE",
    "laterals": "LATERAL is not answered: join declared tables ON a column",
    "pivots": "PIVOT and UNPIVOT are not answered: GROUP BY the column, each value is a row then",
    "locks": "FOR UPDATE is not answered: nothing is locked, since nothing is changed; leave it out",
    "into": "INTO is not answered: nothing is written; leave it out, and keep what comes back",
    "hint": "hints are not answered: leave them out",
    "on": "DISTINCT ON is not answered, since which row is kept would depend on others: GROUP BY, or MIN and MAX",
    "except_": "* EXCLUDE is not answered: list the columns",
    "replace": "* REPLACE is not answered: list the columns",
    "rename": "* RENAME is not answered: list the columns, each AS its name",
    "columns": "a table's columns are not renamed behind its name: SELECT … AS … in a subquery",
    "by_name": "UNION ALL BY NAME is not answered: list the columns on both sides in one order",
    "symmetric": "BETWEEN SYMMETRIC is not answered: write the smaller bound first",
    "catalog": "a question reads declared tables, each by its name alone, as in FROM people",
    "limit_options": "LIMIT is a number of rows, not PERCENT or WITH TIES",
    "position": "POSITION looks from the start: POSITION('a' IN x)",
    "with_fill": "ORDER BY … WITH FILL is not answered: GROUP BY declared values, which are all shown",
    "recursive": "WITH RECURSIVE is not answered, since how long it runs would depend on rows: ask one step",
}
_OF_SOMETHING = (
    exp.Count,
    exp.CountIf,
    exp.Round,
    exp.Floor,
    exp.Ceil,
    exp.Trim,
    exp.Length,
    exp.Coalesce,
    exp.If,
)
_COMPARED = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.In, exp.Is)
_COPIES: dict[type[exp.Expr], int] = {
    **dict.fromkeys(
        (*_COMPARED, exp.Sqrt, exp.Ln, exp.Log, exp.Between, exp.Nullif, exp.Greatest, exp.Least), 2
    ),
    **dict.fromkeys((exp.NullSafeEQ, exp.NullSafeNEQ), 4),
    **dict.fromkeys((exp.TimestampTrunc, exp.Interval), 4),
    **dict.fromkeys((exp.Exp, exp.Sign, exp.WidthBucket, exp.DateDiff), 8),
    **dict.fromkeys((exp.Pow, exp.Cast, exp.TryCast), 12),
}


def check(select: exp.Select) -> None:
    """Refuse a tree that says anything no pass would read, or that would grow without bounds."""
    nodes: list[tuple[exp.Expr, int]] = [(select, 0)]
    for node, depth in nodes:  # it grows while it is walked: parents before their children
        kind = type(node)
        known = READ.get(kind)
        if depth > DEEPEST_TREE:
            raise BadQuestion(
                f"a question nests at most {DEEPEST_TREE} deep: write many = … OR = … as IN (…), and long sums shorter"
            )
        if kind is exp.Literal and not node.args["is_string"]:
            if len(node.name) > LONGEST_NUMBER or not NUMBER.fullmatch(node.name):
                raise BadQuestion(
                    f"{node.name[:40]} is no number that can be computed with: write it as 12.5 or 1e-6"
                )
        elif isinstance(node, exp.Func) and _of_nothing(node):
            raise BadQuestion(
                f"{_called(node)}() is of nothing: say of what, as in {_called(node)}({_given(kind)})"
            )
        elif isinstance(node, exp.Join) and (node.method or node.kind not in ("", "INNER", "OUTER", "CROSS")):
            words = " ".join(word for word in (node.method, node.side, node.kind) if word)
            raise BadQuestion(f"{words} JOIN is not answered: INNER and LEFT JOIN … ON … are")
        for name, value in node.args.items():
            if not value:
                continue
            if known is not None and name not in known:
                raise BadQuestion(_instead(kind, name))
            if isinstance(value, exp.Expr):
                nodes.append((value, depth + 1))
            elif isinstance(value, list):
                nodes += [(each, depth + 1) for each in value if isinstance(each, exp.Expr)]
    if _size([node for node, _ in nodes]) > LARGEST_TREE:
        raise BadQuestion(
            "this expression grows too large once it cannot fail: nest fewer functions in each other"
        )


def _called(node: exp.Expr) -> str:
    return node.sql_name() if isinstance(node, exp.AggFunc) else type(node).__name__.upper()


def _given(kind: type[exp.Expr]) -> str:
    """What a function takes, in letters."""
    return "x, y" if kind.arg_types.get("expression") else "x"


def _of_nothing(node: exp.Expr) -> bool:
    """Whether it is a function of something that is not there, as in MIN(), MAX(DISTINCT) and CORR(x)."""
    if type(node) in _OF_SOMETHING:
        return node.args.get("this") is None
    if not isinstance(node, exp.AggFunc):
        return False
    empty = isinstance(node.this, exp.Distinct) and not node.this.expressions
    return empty or any(needed and node.args.get(name) is None for name, needed in node.arg_types.items())


def _instead(kind: type[exp.Expr], name: str) -> str:
    if kind is exp.Order:
        return "ORDER BY inside an aggregate is not answered, since no aggregate here depends on an order: leave it out"
    clause = name.strip("_").upper()
    words = clause if kind is exp.Select else f"{kind.__name__.upper()} … {clause}"
    return INSTEAD.get(name, f"{words} is not answered: {PLAIN}")


def _size(nodes: list[exp.Expr]) -> int:
    """How many nodes a tree has when what is guarded is written twice; a CASE writes its subject for each branch."""
    sizes: dict[int, int] = {}
    for node in reversed(nodes):
        size = sizes.pop(id(node), 0) + 1
        size *= _COPIES.get(type(node), 1)
        if isinstance(node, (exp.Add, exp.Sub)) and isinstance(node.expression, exp.Interval):
            size *= 3
        elif isinstance(node, exp.Case) and isinstance(node.this, exp.Expr):
            size *= len(node.args["ifs"])
        parent = id(node.parent)
        sizes[parent] = min(sizes.get(parent, 0) + size, 2 * LARGEST_TREE)
    return max(sizes.values())
