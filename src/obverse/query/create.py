"""Text → a request: a question, or `CREATE RELEASE name AS SELECT … GROUP BY RANGES(age), CUBE(sex)`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction

from sqlglot import exp

from obverse.errors import BadQuestion
from obverse.mechanisms.strategy import Strategy
from obverse.query.ask import Ask
from obverse.query.options import Options
from obverse.query.parse import parse
from obverse.query.publish import Cut, Publish
from obverse.query.typed import shown

_CREATE = re.compile(r'\s*CREATE\s+RELEASE\s+("[^"]*"|\S+)\s+AS\s+(.*)', re.IGNORECASE | re.DOTALL)
_MEANT = re.compile(r"\s*(CREATE|DROP|ALTER)\s+(OR\s+REPLACE\s+)?RELEASE\b", re.IGNORECASE)
EXAMPLE = "CREATE RELEASE ages AS SELECT COUNT(*) FROM people GROUP BY RANGES(age)"


def request(sql: str) -> Ask | Publish:
    """What a text asks for.

    >>> request("CREATE RELEASE jobs AS DP-SELECT 0.5 sex, job, COUNT(*) FROM people GROUP BY CUBE(sex, job)").cuts
    (Cut(column='sex', way='total', step=None), Cut(column='job', way='total', step=None))
    """
    found = _CREATE.fullmatch(sql)
    if found is not None:
        return _publish(found[1].strip('"'), found[2])
    if _MEANT.match(sql):
        raise BadQuestion(f"a release is made and stays: what was published cannot be taken back; {EXAMPLE}")
    return Ask(sql)


def _publish(name: str, text: str) -> Publish:
    parsed = parse(text)
    select, options = parsed.select, parsed.options
    if options.delta is not None:
        raise BadQuestion("a release has a pure ε: leave delta away")
    if options != Options(epsilon=options.epsilon):
        raise BadQuestion(
            "a release is made for an ε alone, as in CREATE RELEASE … WITH (epsilon = 0.5): how sure, how accurate and "
            "how it is shown is for the questions that it answers"
        )
    known = ("expressions", "from_", "group")
    if other := [clause for clause, given in select.args.items() if given and clause not in known]:
        raise BadQuestion(
            f"{other[0].strip('_').upper()} is not for a release: publish all cells, and ask of them later"
        )
    source, group = select.args.get("from_"), select.args.get("group")
    if source is None or not isinstance(source.this, exp.Table) or group is None:
        raise BadQuestion(f"a release counts the cells of one table, as in {EXAMPLE}")
    cuts = tuple(_cuts(group))
    _only_counts(select, {cut.column.lower() for cut in cuts})
    return Publish(name, source.this.name, cuts, options.epsilon)


def _cuts(group: exp.Expr) -> Iterator[Cut]:
    """The columns, and how each is cut."""
    for clause, given in group.args.items():
        if given and clause not in ("expressions", "cube"):
            raise BadQuestion(f"GROUP BY {clause.upper()} of a release: name columns, RANGES(…) or CUBE(…)")
    for node in group.expressions:
        if isinstance(node, exp.Anonymous) and node.name.upper() == "RANGES":
            yield from _ranges(node)
        elif isinstance(node, exp.Cube):
            yield from (Cut(_named(each), "total") for each in node.expressions)
        else:
            yield Cut(_named(node))
    for cube in group.args.get("cube") or []:
        yield from (Cut(_named(each), "total") for each in cube.expressions)


def _ranges(node: exp.Anonymous) -> Iterator[Cut]:
    """RANGES(age, pay), or with the width of its cells RANGES(pay, 10)."""
    way: Strategy = "hats"
    *columns, last = node.expressions or [exp.Null()]
    if isinstance(last, exp.Literal) and not last.is_string and len(columns) == 1:
        yield Cut(_named(columns[0]), way, Fraction(last.name))
    else:
        yield from (Cut(_named(each), way) for each in node.expressions)


def _named(node: exp.Expr) -> str:
    if not isinstance(node, exp.Column):
        raise BadQuestion(
            f"{shown(node)}: a release is by columns; expressions of them are answered from it later"
        )
    return node.name


def _only_counts(select: exp.Select, columns: set[str]) -> None:
    """A release holds how many rows each cell has; the columns may be named beside it."""
    for node in select.expressions:
        inner = node.this if isinstance(node, exp.Alias) else node
        counted = isinstance(inner, exp.Count) and isinstance(inner.this, exp.Star)
        if not counted and not (isinstance(inner, exp.Column) and inner.name.lower() in columns):
            raise BadQuestion(
                f"{shown(inner)}: a release holds COUNT(*) of its cells; sums and averages of its columns follow"
            )
