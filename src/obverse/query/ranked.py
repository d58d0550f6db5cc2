"""MIN, MAX, MEDIAN and quantiles in every spelling: of which expression, and at which ranks."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from sqlglot import exp

from obverse.errors import BadQuestion
from obverse.query.typed import shown

QUANTILE = "QUANTILE"
SPELLINGS = "MIN, MAX, MEDIAN, PERCENTILE_CONT, QUANTILE_CONT, APPROX_QUANTILE, APPROX_QUANTILES"
MOST_RANKS = 1000
_ENDS: dict[type[exp.Expr], tuple[str, Fraction]] = {
    exp.Min: ("MIN", Fraction(0)),
    exp.Max: ("MAX", Fraction(1)),
    exp.Median: (QUANTILE, Fraction(1, 2)),
}
_SHARES: dict[type[exp.Expr], str] = {
    exp.PercentileCont: "expression",
    exp.PercentileDisc: "expression",
    exp.Quantile: "quantile",
    exp.ApproxQuantile: "quantile",
    exp.ApproxQuantiles: "expression",
}
RANKED = ("MIN", "MAX", QUANTILE)


_SHARE = re.compile(r"0?\.[0-9]{1,4}|[01](\.0*)?")


@dataclass(frozen=True)
class ByRank:
    """What is found by its rank: of which expression, at which shares of values below, one or a list of them."""

    function: str
    of: exp.Expr
    ranks: tuple[Fraction, ...]
    listed: bool = False


def ranked(node: exp.Expr) -> ByRank | None:
    """MIN, MAX and quantiles; None for other aggregates."""
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
        return ByRank(function, node.this, (q,))
    if isinstance(node, exp.ApproxQuantiles):
        return ByRank(QUANTILE, node.this, _evenly(node), listed=True)
    asked = node.args.get(share)
    return ByRank(QUANTILE, node.this, _shares(asked, node), isinstance(asked, exp.Array))


def _within_group(node: exp.WithinGroup) -> ByRank:
    """PERCENTILE_CONT(q) WITHIN GROUP (ORDER BY x); DESC counts from the other end."""
    terms = node.expression.expressions if isinstance(node.expression, exp.Order) else []
    known = type(node.this) in (exp.PercentileCont, exp.PercentileDisc) and len(node.this.args) <= 2
    if not known or node.this.args.get("expression") is not None or len(terms) != 1:
        raise BadQuestion(f"{shown(node)}: as in PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY age)")
    ranks = _shares(node.this.this, node)
    if terms[0].args.get("desc"):
        ranks = tuple(1 - q for q in ranks)
    return ByRank(QUANTILE, terms[0].this, ranks, isinstance(node.this.this, exp.Array))


def _evenly(node: exp.ApproxQuantiles) -> tuple[Fraction, ...]:
    """APPROX_QUANTILES(x, n): the least, n − 1 quantiles between, and the greatest."""
    parts = node.expression
    if (
        not isinstance(parts, exp.Literal)
        or not parts.name.isdigit()
        or not 1 <= int(parts.name) < MOST_RANKS
    ):
        raise BadQuestion(
            f"{shown(node)}: into 1 to {MOST_RANKS - 1:,} parts, as in APPROX_QUANTILES(age, 4)"
        )
    return tuple(Fraction(place, int(parts.name)) for place in range(int(parts.name) + 1))


def _shares(node: exp.Expr | None, whole: exp.Expr) -> tuple[Fraction, ...]:
    """One share, or a list of them."""
    given = node.expressions if isinstance(node, exp.Array) else [node]
    texts = [each.name for each in given if isinstance(each, exp.Literal) and not each.is_string]
    if 1 <= len(texts) == len(given) <= MOST_RANKS and all(_SHARE.fullmatch(text) for text in texts):
        return tuple(map(Fraction, texts))
    raise BadQuestion(
        f"{shown(whole)}: a share is a number from 0 to 1, such as 0.9, of at most four decimals, or a list of such"
    )
