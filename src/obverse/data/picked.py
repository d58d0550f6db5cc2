"""Which of a person's rows count, where rows cannot be scaled down: their values, and the groups they are in."""

from __future__ import annotations

from sqlglot import exp

from obverse.data.bounding import (
    BIGINT,
    DOUBLE,
    SCALED,
    TEXT,
    Measure,
    Rows,
    by_key,
    by_row,
    most_groups,
    most_weighted,
    read,
    whose,
)
from obverse.data.schema import Category


def histogram(rows: Rows, where: exp.Expr | None, keys: tuple[exp.Expr, ...], measure: Measure) -> exp.Select:
    """How often each group has each value, at most `rows` rows of one person: which, a hash of their content says.

    The order goes on by the content itself, so that rows that tie are equal and it is no matter which is kept: what
    is kept of a person depends on their own rows alone. Who has no more than their rows need not be ordered, which is
    what takes time.
    """
    assert measure.value is not None
    if rows.unit.column is None or rows.bounded:
        return by_key(read(rows, where), (*keys, measure.value), [exp.Count(this=exp.Star())])
    columns = [*(exp.column(f"k{i}") for i in range(len(keys))), exp.column("v")]
    parts = [exp.alias_(sql, c.name) for sql, c in zip((*keys, measure.value), columns, strict=True)]
    held = read(rows, where).select(exp.alias_(whose(rows), "u"), *parts)
    most = str(rows.unit.rows)
    held = exp.select("*").from_(held.subquery("read")).where("NOT v IS NULL")
    many = exp.select("u").from_('"§held"').group_by("u").having(f"COUNT(*) > {most}")
    few = exp.select(*columns).from_('"§held"').where('NOT u IN (SELECT u FROM "§many")')
    ranked = exp.select(*columns, exp.alias_(_by_content("u", columns), "r")).from_('"§held"')
    ranked = ranked.where('u IN (SELECT u FROM "§many")')
    some = exp.select(*columns).from_(ranked.subquery("ranked")).where(f"r <= {most}")
    kept = exp.select().from_(exp.union(few, some, distinct=False).subquery("kept"))
    counted = by_key(kept, tuple(columns), [exp.Count(this=exp.Star())])
    return counted.with_('"§held"', as_=held, copy=False).with_('"§many"', as_=many, copy=False)


def _by_content(person: str, columns: list[exp.Column]) -> exp.Expr:
    """The place of a row among its person's, by a hash of what is in it, and then by what is in it."""
    whole = [exp.column(person), *columns]
    texts = [exp.func("COALESCE", exp.Cast(this=c, to=TEXT), exp.Literal.string("")) for c in whole]
    hashed = exp.MD5(
        this=exp.func("CONCAT", *[part for text in texts for part in (text, exp.Literal.string("|"))])
    )
    order = exp.Order(expressions=[exp.Ordered(this=each) for each in (hashed, *columns)])
    return exp.Window(this=exp.RowNumber(), partition_by=[exp.column(person)], order=order)


def people(rows: Rows, where: exp.Expr | None, keys: tuple[exp.Expr, ...]) -> exp.Select:
    """How many units each group has, a unit in at most `most_groups` of them: which, a hash of unit and group says."""
    if rows.unit.column is None:
        return by_key(read(rows, where), keys, [exp.Count(this=exp.Star())])
    if rows.bounded and most_groups(rows) == rows.unit.rows:
        return by_row(rows, where, keys, (Measure(whose(rows), 1, 1, distinct=True, people=True),))
    named = [exp.alias_(key, f"k{i}") for i, key in enumerate(keys)]
    pairs = read(rows, where).select(exp.alias_(whose(rows), "u"), *named).distinct()
    columns = [exp.column(f"k{i}") for i in range(len(keys))]
    ranked = exp.select(*columns, exp.alias_(_by_content("u", columns), "r")).from_(pairs.subquery("pairs"))
    most = exp.Literal.number(str(most_groups(rows)))
    kept = exp.select().from_(ranked.subquery("ranked")).where(exp.LTE(this=exp.column("r"), expression=most))
    return by_key(kept, tuple(columns), [exp.Count(this=exp.Star())])


def weights(
    rows: Rows, where: exp.Expr | None, keys: tuple[exp.Expr, ...], named: tuple[Category, ...] = ()
) -> exp.Select:
    """The sum of each group's weights: of a person in n groups each gets ⌊SCALED/√n⌋, at most `most_weighted` of them.

    Groups that are `named` already are left out, of one key, and a person's n does not count them. Whole numbers below
    2³² have square roots that are exact to less than what rounding down may miss.
    """
    apart = _apart(keys, named)
    kept = apart if where is None else exp.and_(where, *([] if apart is None else [apart]), copy=False)
    aliased = [exp.alias_(key, f"k{i}") for i, key in enumerate(keys)]
    pairs = read(rows, kept).select(exp.alias_(whose(rows), "u"), *aliased).distinct()
    columns = [exp.column(f"k{i}") for i in range(len(keys))]
    sizes = exp.select(exp.alias_("u", "p"), exp.alias_(exp.Count(this=exp.Star()), "n"))
    sizes = sizes.from_('"§pairs"').group_by("u")
    if rows.bounded and rows.unit.rows <= most_weighted(rows):  # nobody is in more groups
        each = exp.select("p", exp.alias_(_weight(), "w")).from_(sizes.subquery("sizes"))
        held = exp.select().from_('"§pairs"').join(each.subquery("each"), on="u = p", join_type="INNER")
        summed = by_key(held, tuple(columns), [exp.Sum(this=exp.column("w"))])
        return summed.with_('"§pairs"', as_=pairs, copy=False)
    counted = exp.select("u", *columns, "n").from_('"§pairs"')
    counted = counted.join(sizes.subquery("sizes"), on="u = p", join_type="INNER")
    most = str(most_weighted(rows))
    few = exp.select(*columns, "n").from_('"§counted"').where(f"n <= {most}")
    ranked = exp.select(*columns, exp.alias_(_by_content("u", columns), "r")).from_('"§counted"')
    ranked = ranked.where(f"n > {most}")
    some = exp.select(*columns, exp.alias_(exp.Literal.number(most), "n")).from_(ranked.subquery("ranked"))
    both = exp.union(few, some.where(f"r <= {most}"), distinct=False)
    summed = by_key(exp.select().from_(both.subquery("kept")), tuple(columns), [exp.Sum(this=_weight())])
    return summed.with_('"§pairs"', as_=pairs, copy=False).with_('"§counted"', as_=counted, copy=False)


def _weight() -> exp.Expr:
    """⌊SCALED/√n⌋"""
    root = exp.Sqrt(this=exp.Cast(this=exp.column("n"), to=DOUBLE))
    whole = exp.Cast(this=exp.Literal.number(str(SCALED)), to=DOUBLE)
    return exp.Cast(this=exp.Floor(this=exp.Div(this=whole, expression=root)), to=BIGINT)


def _apart(keys: tuple[exp.Expr, ...], named: tuple[Category, ...]) -> exp.Expr | None:
    """That a row is in none of these groups."""
    if not named:
        return None
    (key,) = keys
    known = exp.In(this=key, expressions=[exp.convert(each) for each in named])
    return exp.Not(this=exp.func("COALESCE", known, exp.false()))
