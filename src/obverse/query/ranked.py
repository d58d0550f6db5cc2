"""MIN, MAX, MEDIAN and quantiles in every spelling: of which expression, and at which rank."""

from __future__ import annotations

import re
from fractions import Fraction

from sqlglot import exp

from obverse.errors import BadQuestion
from obverse.query.typed import shown

LEAST, GREATEST, QUANTILE = "MIN", "MAX", "QUANTILE"
SPELLINGS = "MIN, MAX, MEDIAN, PERCENTILE_CONT, QUANTILE_CONT, APPROX_QUANTILE"
_ENDS: dict[type[exp.Expr], tuple[str, Fraction]] = {
    exp.Min: (LEAST, Fraction(0)),
    exp.Max: (GREATEST, Fraction(1)),
    exp.Median: (QUANTILE, Fraction(1, 2)),
}
_SHARES: dict[type[exp.Expr], str] = {
    exp.PercentileCont: "expression",
    exp.PercentileDisc: "expression",
    exp.Quantile: "quantile",
    exp.ApproxQuantile: "quantile",
}


_SHARE = re.compile(r"0?\.[0-9]{1,4}|[01](\.0*)?")


def ranked(node: exp.Expr) -> tuple[str, exp.Expr, Fraction] | None:
    """What is asked (MIN, MAX or a QUANTILE), of what, and the share of values below it; None for other aggregates."""
    if isinstance(node, exp.WithinGroup):
        return _within_group(node)
    share = _SHARES.get(type(node))
    if type(node) not in _ENDS and share is None:
        return None
    known = {"this", share} - {None}
    if any(value for name, value in node.args.items() if name not in known):
        raise BadQuestion(f"{shown(node)}: {SPELLINGS} take one expression, and a quantile its share")
    if share is None:
        function, q = _ENDS[type(node)]
    else:
        function, q = QUANTILE, _share(node.args.get(share), node)
    return function, node.this, q


def _within_group(node: exp.WithinGroup) -> tuple[str, exp.Expr, Fraction]:
    """PERCENTILE_CONT(q) WITHIN GROUP (ORDER BY x); DESC counts from the other end."""
    terms = node.expression.expressions if isinstance(node.expression, exp.Order) else []
    if type(node.this) not in (exp.PercentileCont, exp.PercentileDisc) or len(terms) != 1:
        raise BadQuestion(f"{shown(node)}: as in PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY age)")
    q = _share(node.this.this, node)
    return QUANTILE, terms[0].this, 1 - q if terms[0].args.get("desc") else q


def _share(node: exp.Expr | None, whole: exp.Expr) -> Fraction:
    if isinstance(node, exp.Literal) and not node.is_string and _SHARE.fullmatch(node.name):
        return Fraction(node.name)
    raise BadQuestion(
        f"{shown(whole)}: the share is one number from 0 to 1, such as 0.9, of at most four decimals"
    )
