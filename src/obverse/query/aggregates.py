"""An aggregate as a question spells it: of what, which of it, and at which ranks; or why there is none such."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, floor

from sqlglot import exp

from obverse.data.schema import Type
from obverse.errors import BadQuestion
from obverse.query.ranked import SPELLINGS, ranked
from obverse.query.typed import Read, Typed, condition, shown

MODE, MOST_LISTED = "MODE", 1000
PER_GROUP, PER_ROW = "contribution_bounds_per_group", "contribution_bounds_per_row"
FUNCTIONS: dict[type[exp.Expr], str] = {
    exp.Count: "COUNT",
    exp.ApproxDistinct: "COUNT",
    exp.Sum: "SUM",
    exp.Avg: "AVG",
    exp.Variance: "VAR",
    exp.VariancePop: "VAR_POP",
    exp.Stddev: "STDDEV",
    exp.StddevSamp: "STDDEV",
    exp.StddevPop: "STDDEV_POP",
}
PAIRS: dict[type[exp.Expr], str] = {
    exp.CovarPop: "COVAR_POP",
    exp.CovarSamp: "COVAR_SAMP",
    exp.Corr: "CORR",
    exp.RegrSlope: "REGR_SLOPE",
    exp.RegrIntercept: "REGR_INTERCEPT",
    exp.RegrR2: "REGR_R2",
    exp.RegrCount: "REGR_COUNT",
    exp.RegrAvgx: "REGR_AVGX",
    exp.RegrAvgy: "REGR_AVGY",
    exp.RegrSxx: "REGR_SXX",
    exp.RegrSyy: "REGR_SYY",
    exp.RegrSxy: "REGR_SXY",
}
ANSWERED = (
    f"{', '.join(dict.fromkeys(FUNCTIONS.values()))}, {SPELLINGS}, MODE, APPROX_TOP_K, COVAR_POP, COVAR_SAMP, "
    "CORR and REGR_…"
)
_ONE_ROW = "is decided by a single row: ask how many, with COUNT_IF"
_OF_ROWS = "hands out what single rows hold: ask for MODE, MEDIAN, or COUNT by group"
_BY_GROUP = (
    "is a question by group: SELECT x, COUNT(*) … GROUP BY x, or WIDTH_BUCKET(x, low, high, n) for ranges"
)
_WHY_NOT = {
    **dict.fromkeys(("LOGICALOR", "LOGICALAND", "BOOL_OR", "BOOL_AND", "EVERY", "ANY"), _ONE_ROW),
    **dict.fromkeys(("ANYVALUE", "FIRST", "LAST", "ARRAYAGG", "GROUPCONCAT", "ARGMAX", "ARGMIN"), _OF_ROWS),
    "HISTOGRAM": _BY_GROUP,
    "APPROX_TOP_COUNT": "lists values with their counts: APPROX_TOP_K(x, k) lists the values, GROUP BY x the counts",
    "PRODUCT": "grows without bound: ask for SUM(LN(x)) of x between bounds",
}


@dataclass(frozen=True)
class Aggregate:
    """One aggregate of the rows: COUNT, SUM, AVG … of a total expression; `value` None counts rows.

    `ranks` are shares of values below what MIN, MAX and quantiles find, `other` is the second of a pair, `most` how
    many of the commonest values are asked for. What is `listed` is answered as a list.
    """

    function: str
    value: Typed | None
    distinct: bool
    text: str
    ranks: tuple[Fraction, ...] = ()
    other: Typed | None = None
    most: int = 0
    listed: bool = False


def is_aggregate(node: exp.Expr) -> bool:
    """Whether it stands for many rows, answered or not."""
    named = isinstance(node, exp.Anonymous) and (node.name.upper() in _WHY_NOT or _is_bounded(node))
    return named or isinstance(node, (exp.AggFunc, exp.Filter, exp.WithinGroup, exp.IgnoreNulls))


def aggregate(node: exp.Expr, read: Read) -> Aggregate:
    """What an aggregate asks, over the columns that `read` knows."""
    inner, only = (node.this, node.expression.this) if isinstance(node, exp.Filter) else (node, None)
    inner = inner.this if isinstance(inner, exp.IgnoreNulls) else inner
    if isinstance(inner, exp.Anonymous) and _is_bounded(inner):
        found = _bounded(inner, read)
        return found if only is None else _filtered(found, condition(only, read))
    if any(each is not inner and is_aggregate(each) for each in _arguments(inner).walk()):
        raise BadQuestion(f"{shown(node)}: an aggregate of an aggregate is not answered")
    found = _of(inner, read, shown(node))
    return found if only is None else _filtered(found, condition(only, read))


def _is_bounded(node: exp.Anonymous) -> bool:
    return node.name.lower() in (PER_GROUP, PER_ROW)


def _bounded(node: exp.Anonymous, read: Read) -> Aggregate:
    """SUM(x, contribution_bounds_per_row => (0, 100)): of values within bounds that may only be narrower than declared.

    Per group is the same where each row is a unit: it is one row of one group.
    """
    found, name = aggregate(node.expressions[0], read), node.name.lower()
    ends = [read(each) for each in node.expressions[1:]]
    if len(ends) != 2 or not all(end.literal and end.interval for end in ends):
        raise BadQuestion(f"{found.text}: its contribution bounds are two numbers, as in {name} => (0, 100)")
    low, high = (end.interval[0] for end in ends if end.interval)
    text = f"{found.text[:-1]}, {name} => ({float(low):g}, {float(high):g}))"
    if found.value is None or found.function == "COUNT":
        if not low <= 1 <= high:
            raise BadQuestion(f"{text}: of one person one row counts here, so that bounds hold 1: (0, 1)")
        return replace(found, text=text)
    declared = found.value.interval
    if low > high or (found.value.type is Type.INTEGER and ceil(low) > floor(high)):
        raise BadQuestion(f"{text}: no value lies between these bounds: write the smaller first")
    if declared is not None and not declared[0] <= low <= high <= declared[1]:
        known = f"{float(declared[0]):g} … {float(declared[1]):g}"
        raise BadQuestion(f"{text}: it lies in {known} as declared, and a question can only narrow that")
    value = replace(found.value, interval=(low, high), domain=None, column=None)
    return replace(found, value=value, text=text)


def _arguments(node: exp.Expr) -> exp.Expr:
    """PERCENTILE_CONT(q) WITHIN GROUP (ORDER BY x) is one aggregate, of x."""
    return node.expression if isinstance(node, exp.WithinGroup) else node


def _of(node: exp.Expr, read: Read, text: str) -> Aggregate:
    if (chosen := _commonest(node, read, text)) is not None:
        return chosen
    if (by_rank := ranked(node)) is not None:
        value = read(by_rank.of)
        return Aggregate(by_rank.function, value, False, text, by_rank.ranks, listed=by_rank.listed)
    if (pair := PAIRS.get(type(node))) is not None:
        if node.args.get("expression") is None:
            raise BadQuestion(f"{text} is of two numbers: say of which, as in {pair}(y, x)")
        return Aggregate(pair, read(node.this), False, text, other=read(node.expression))
    if isinstance(node, exp.CountIf):
        return _filtered(Aggregate("COUNT", None, False, text), condition(node.this, read))
    return _plain(node, read, text)


def _plain(node: exp.Expr, read: Read, text: str) -> Aggregate:
    """An aggregate of one expression, or of different values."""
    function = FUNCTIONS.get(type(node))
    if function is None:
        named = node.name if isinstance(node, exp.Anonymous) else type(node).__name__
        raise BadQuestion(f"{text} {_WHY_NOT.get(named.upper(), f'is not answered: {ANSWERED} are')}")
    argument, distinct = node.this, isinstance(node.this, exp.Distinct)
    if distinct:
        if function != "COUNT" or len(argument.expressions) != 1:
            raise BadQuestion(f"{text}: DISTINCT goes with COUNT of one expression")
        argument = argument.expressions[0]
    if node.expressions:
        raise BadQuestion(f"{text}: {function} takes one expression")
    value = None if isinstance(argument, exp.Star) else read(argument)
    return Aggregate(function, value, distinct or isinstance(node, exp.ApproxDistinct), text)


def _commonest(node: exp.Expr, read: Read, text: str) -> Aggregate | None:
    """MODE(x), MODE() WITHIN GROUP (ORDER BY x), APPROX_TOP_K(x, k)."""
    if isinstance(node, exp.WithinGroup) and isinstance(node.this, exp.Mode) and node.this.this is None:
        terms = node.expression.expressions
        if len(terms) != 1:
            raise BadQuestion(f"{text}: MODE is of one expression")
        return Aggregate(MODE, read(terms[0].this), False, text, most=1)
    if isinstance(node, exp.Mode) and node.this is not None:
        return Aggregate(MODE, read(node.this), False, text, most=1)
    if isinstance(node, exp.ApproxTopK):
        count = node.expression
        if not isinstance(count, exp.Literal) or not count.name.isdigit() or node.args.get("counters"):
            raise BadQuestion(f"{text}: as in APPROX_TOP_K(occupation, 3)")
        if not 1 <= int(count.name) <= MOST_LISTED:
            raise BadQuestion(f"{text}: the commonest 1 to {MOST_LISTED:,}")
        return Aggregate(MODE, read(node.this), False, text, most=int(count.name), listed=True)
    return None


def _filtered(found: Aggregate, only: exp.Expr) -> Aggregate:
    """The aggregate of the rows where the filter holds: of what is NULL elsewhere."""
    return replace(found, value=_where(found.value, only))


def _where(value: Typed | None, only: exp.Expr) -> Typed:
    kept = exp.Literal.number("1") if value is None else value.sql
    sql = exp.Case(ifs=[exp.If(this=only, true=kept)])
    if value is None:
        return Typed(sql, Type.INTEGER, size=1)
    return replace(value, sql=sql, column=None, literal=False)
