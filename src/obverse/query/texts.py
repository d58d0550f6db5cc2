"""Rules for texts: pieces, places and replacements by constants, counted in characters of Unicode.

No pattern, length or place comes from a row, so that what a row costs does not depend on what another column holds.
What makes a text longer takes no more of it than leaves the result short: functions in each other would else make a
text of one row as long as all memory, and only where that row has one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import reduce

from sqlglot import exp

from obverse.data.schema import Type
from obverse.errors import BadQuestion
from obverse.query.typed import Read, Typed, derived, shown

LONGEST = 1000
LONG = 1 << 16  # letters of a text that is made longer, at most
COLUMN = 1 << 14  # of which so many are a column's
MOST_TIMES = 64


def text(node: exp.Expr, read: Read, whole: exp.Expr) -> Typed:
    """A total text."""
    found = read(node)
    if found.type not in (Type.TEXT, None):
        raise BadQuestion(
            f"{shown(whole)}: {_name(whole)} takes a text; CAST(x AS TEXT) makes one of a number"
        )
    return found


def _name(node: exp.Expr) -> str:
    return node.sql_name() if isinstance(node, exp.Func) else "||"


def _changed(node: exp.Func, read: Read) -> Typed:
    """LOWER, UPPER, and TRIM of blanks at both ends or at one."""
    if node.args.get("expression"):
        raise BadQuestion(
            f"{shown(node)}: TRIM takes blanks off, and nothing else: TRIM(x), LTRIM(x), RTRIM(x)"
        )
    inner = text(node.this, read, node)
    made = type(node)(this=inner.sql)
    if side := node.args.get("position"):
        made.set("position", side)
    blanks: dict[str, Callable[[str], str]] = {
        "LEADING": lambda x: x.lstrip(" "),
        "TRAILING": lambda x: x.rstrip(" "),
    }
    known: dict[type[exp.Expr], Callable[[str], str]] = {exp.Lower: str.lower, exp.Upper: str.upper}
    change = known.get(type(node)) or blanks.get(str(side or "").upper(), lambda x: x.strip(" "))
    return derived(Typed(made, Type.TEXT), change, inner)


def _length(node: exp.Length, read: Read) -> Typed:
    inner = text(node.this, read, node)
    sql = exp.Length(this=inner.sql)
    made = derived(Typed(sql, Type.INTEGER, size=2.0**63, half=(Fraction(0), None)), len, inner)
    known = [int(each) for each in made.domain or ()]
    return replace(made, interval=(Fraction(known[0]), Fraction(known[-1]))) if known else made


def _number(node: exp.Expr | None, least: int, whole: exp.Expr) -> int:
    plain = isinstance(node, exp.Literal) and not node.is_string and node.name.isdigit()
    if node is not None and plain and least <= int(node.name) < 2**31:
        return int(node.name)
    raise BadQuestion(f"{shown(whole)}: places and lengths are constants from {least} on")


def _constant(node: exp.Expr | None, whole: exp.Expr) -> str:
    if (
        isinstance(node, exp.Literal)
        and node.is_string
        and 0 < len(node.name) <= LONGEST
        and "\0" not in node.name
    ):
        return node.name
    raise BadQuestion(
        f"{shown(whole)}: what is looked for is a constant of 1 to {LONGEST:,} characters, as in 'abc'"
    )


def _piece(value: Typed, start: int, length: int | None) -> Typed:
    pieces = [exp.Literal.number(str(each)) for each in (start, 2**31 - 1 if length is None else length)]
    size = value.size if length is None else min(value.size, length)
    sql = exp.Substring(this=value.sql, start=pieces[0], length=pieces[1])
    end = None if length is None else start - 1 + length
    return derived(Typed(sql, Type.TEXT, size=size), lambda x: x[start - 1 : end], value)


def _short(value: Typed, most: int, kept: int | None = None) -> Typed:
    """A text that is about to grow: where it may have more letters than `most`, as many as are `kept` of it."""
    if value.type is None:
        return replace(value, size=0)
    return value if value.size <= most else _piece(value, 1, most if kept is None else kept)


def _substring(node: exp.Substring, read: Read) -> Typed:
    length = node.args.get("length")
    size = None if length is None else _number(length, 0, node)
    return _piece(text(node.this, read, node), _number(node.args.get("start"), 1, node), size)


def _left(node: exp.Left, read: Read) -> Typed:
    return _piece(text(node.this, read, node), 1, _number(node.expression, 0, node))


def _right(node: exp.Right, read: Read) -> Typed:
    value, size = text(node.this, read, node), _number(node.expression, 0, node)
    sql = exp.Right(this=value.sql, expression=exp.Literal.number(str(size)))
    return derived(
        Typed(sql, Type.TEXT, size=min(value.size, size)), lambda x: x[max(0, len(x) - size) :], value
    )


def _replaced(node: exp.Replace, read: Read) -> Typed:
    value, old = text(node.this, read, node), _constant(node.expression, node)
    new = node.args.get("replacement")
    if not isinstance(new, exp.Literal) or not new.is_string or len(new.name) > LONGEST or "\0" in new.name:
        raise BadQuestion(f"{shown(node)}: as in REPLACE(x, 'old', 'new'), with constants")
    times = -(-len(new.name) // len(old))
    if times > MOST_TIMES:
        raise BadQuestion(f"{shown(node)}: what stands instead is at most {MOST_TIMES} times as long")
    if times > 1:
        value = _short(value, LONG // times)
    sql = exp.Replace(this=value.sql, expression=exp.Literal.string(old), replacement=new.copy())
    made = Typed(sql, Type.TEXT, size=value.size * max(times, 1))
    return derived(made, lambda x: x.replace(old, new.name), value)


def _place(node: exp.StrPosition, read: Read) -> Typed:
    """Where a constant first stands, from 1; 0 where it does not."""
    if node.args.get("position") or node.args.get("occurrence"):
        raise BadQuestion(f"{shown(node)}: as in POSITION('a' IN x), from the start")
    value, sought = text(node.this, read, node), _constant(node.args.get("substr"), node)
    sql = exp.StrPosition(this=value.sql, substr=exp.Literal.string(sought))
    return Typed(sql, Type.INTEGER, size=2.0**31, half=(Fraction(0), None))


def _begins(node: exp.Expr, read: Read) -> Typed:
    """STARTS_WITH and ENDS_WITH: whether the first or last characters are these."""
    value, sought = text(node.this, read, node), _constant(node.expression, node)
    size = exp.Literal.number(str(len(sought)))
    piece = (
        _piece(value, 1, len(sought)).sql
        if isinstance(node, exp.StartsWith)
        else exp.Right(this=value.sql, expression=size)
    )
    return _truth(exp.EQ(this=piece, expression=exp.Literal.string(sought)))


def _contains(node: exp.Contains, read: Read) -> Typed:
    value, sought = text(node.this, read, node), _constant(node.expression, node)
    place = exp.StrPosition(this=value.sql, substr=exp.Literal.string(sought))
    return _truth(exp.GT(this=place, expression=exp.Literal.number("0")))


def _truth(sql: exp.Expr) -> Typed:
    return Typed(exp.Paren(this=sql), Type.BOOLEAN, domain=(False, True))


def _joined(node: exp.Concat, read: Read) -> Typed:
    """CONCAT, which leaves out what is NULL."""
    parts = [text(each, read, node) for each in node.expressions]
    empty = exp.Literal.string("")
    known = [_or_empty(part, empty) for part in parts]
    return reduce(_beside, known)


def _beside(one: Typed, other: Typed) -> Typed:
    one, other = _short(one, LONG, COLUMN), _short(other, LONG, COLUMN)
    sql = exp.Paren(this=exp.DPipe(this=one.sql, expression=other.sql))
    return derived(Typed(sql, Type.TEXT, size=one.size + other.size), lambda x, y: x + y, one, other)


def _or_empty(part: Typed, empty: exp.Expr) -> Typed:
    """A text, or none of it where it is NULL."""
    made = replace(part, sql=exp.Coalesce(this=part.sql, expressions=[empty.copy()]))
    if part.literal or part.domain is None:
        return made
    return replace(made, domain=(*part.domain, ""), along=None)


def _appended(node: exp.DPipe, read: Read) -> Typed:
    """a || b, which is NULL where one is."""
    return _beside(text(node.this, read, node), text(node.expression, read, node))


def _pattern(node: exp.Expr, read: Read) -> Typed:
    raise BadQuestion(
        f"{shown(node)}: how long a regular expression takes depends on the row on some engines: "
        "use LIKE, STARTS_WITH, CONTAINS"
    )


TEXTS: dict[type[exp.Expr], Callable[..., Typed]] = {
    exp.Lower: _changed,
    exp.Upper: _changed,
    exp.Trim: _changed,
    exp.Length: _length,
    exp.Substring: _substring,
    exp.Left: _left,
    exp.Right: _right,
    exp.Replace: _replaced,
    exp.StrPosition: _place,
    exp.StartsWith: _begins,
    exp.EndsWith: _begins,
    exp.Contains: _contains,
    exp.Concat: _joined,
    exp.DPipe: _appended,
    **dict.fromkeys((exp.RegexpLike, exp.SimilarTo, exp.RegexpILike, exp.Glob), _pattern),
}
