"""What no pass reads is refused: no question is changed in silence, and none is too large to be made total."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest
from sqlglot import exp

from obverse.data.schema import Schema
from obverse.errors import BadQuestion
from obverse.query.ask import Ask
from obverse.query.clauses import READ, check
from obverse.query.parse import parse
from obverse.query.plan import AskPlan
from obverse.query.resolve import resolve
from obverse.release import Terms

QUESTIONS = (
    "WITH x AS (SELECT * FROM people) SELECT COUNT(*), COUNT(age), COUNT(DISTINCT sex) FROM x WHERE age = 3",
    "SELECT sex, SUM(age) FILTER (WHERE smokes) AS n FROM people GROUP BY sex HAVING n > 3 ORDER BY n LIMIT 3 OFFSET 1",
    "SELECT PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY age), MEDIAN(age), QUANTILE_CONT(age, 0.5) FROM people",
    "SELECT COUNT(*) FROM (SELECT DISTINCT age, id FROM visits) AS s JOIN visits AS v ON s.id = v.id",
    "SELECT COUNT(*) FROM (SELECT id FROM visits UNION ALL SELECT id FROM visits) AS s JOIN visits USING (id)",
    "SELECT AVG(n) FROM (SELECT id, COUNT(*) AS n FROM visits GROUP BY id) AS s WHERE n BETWEEN 1 AND 3",
    "SELECT COUNT_IF(sex LIKE 'a' OR sex ILIKE 'b' OR sex IN ('c', 'd')), MIN(age), MAX(age) FROM people",
    "SELECT COUNT(CASE WHEN IF(age IS NULL, TRUE, FALSE) THEN COALESCE(age, 1) ELSE CAST(age AS DOUBLE) END) FROM people",
    "SELECT STDDEV(FLOOR(pay) + CEIL(pay) - ROUND(pay) * ABS(pay) / SQRT(pay)), VAR_POP(age // 2 % 3) FROM people",
    "SELECT COUNT(LENGTH(TRIM(LOWER(UPPER(sex))))), COUNT(LN(pay)), COUNT(YEAR(born)) FROM people WHERE NOT -age < 2",
    "SELECT COUNT(TRUNC(ROUND(pay, 1), 2)), SUM(WIDTH_BUCKET(age, 0, 9, 3)), MODE(sex), CORR(age, pay) FROM people",
    "SELECT COUNT(LTRIM(SUBSTRING(sex, 1, 2) || LEFT(sex, 1))), COUNT(CONCAT(sex, 'x')), COUNT(EXP(LOG10(pay))) FROM people",
    "SELECT COUNT(REPLACE(sex, 'a', 'b')), SUM(LEAST(GREATEST(income, 0), 9)) FROM people WHERE POSITION('a' IN sex) > 1",
    "SELECT COUNT(DATE_TRUNC('month', born)), COUNT(DATE_DIFF('day', born, born + INTERVAL 3 DAY)), COUNT(WEEK(born)) FROM people",
    "SELECT APPROX_TOP_K(age, 3), APPROX_QUANTILES(age, 4), COUNT(SIGN(POWER(pay, 2))) FROM people WHERE age IS DISTINCT FROM 3",
    "SELECT AVG(EXTRACT(MONTH FROM born)), SUM(age) / NULLIF(COUNT(*), 0) FROM people WHERE born > DATE '2001-01-01'",
)
SAME = {
    (exp.CTE, "materialized"),  # how an engine may go about it, and nothing else
    (exp.Count, "big_int"),  # the parser's own
    (exp.Coalesce, "is_nvl"),  # how it was spelt
    (exp.Coalesce, "is_null"),
    (exp.TryCast, "safe"),
    (exp.Identifier, "quoted"),
    (exp.Identifier, "temporary"),
    (exp.Identifier, "global_"),
    (exp.Div, "typed"),  # the parser's own: of this dialect a division is always one of DOUBLE
    (exp.Div, "safe"),
    (exp.Star, "this"),
    (exp.Table, "alias"),  # names alone
    (exp.Subquery, "alias"),
    (exp.Column, "table"),
    (exp.Literal, "is_string"),
    (exp.Join, "on"),  # no parser reads ON beside USING, or a side that is no word
    (exp.Join, "side"),
    (exp.Join, "kind"),
    (exp.Join, "method"),
    (exp.Group, "all"),  # beside the keys
    (exp.Distinct, "expressions"),  # of a SELECT DISTINCT
    (exp.Column, "db"),  # without a table before it
    (exp.Column, "catalog"),
    (exp.If, "false"),  # of a branch of CASE, which has none
    (exp.Group, "all"),  # of a question that is grouped by the same column
    (exp.Concat, "safe"),  # the parser's own
    (exp.Concat, "coalesce"),
    (exp.DPipe, "safe"),
    (exp.Greatest, "ignore_nulls"),
    (exp.Least, "ignore_nulls"),
    (exp.DateDiff, "date_part_boundary"),
    (exp.Ordered, "nulls_first"),  # of a quantile, which leaves NULL out
}


UNREADABLE = (
    BadQuestion,
    AttributeError,
    TypeError,
    KeyError,
    AssertionError,
    ValueError,
    IndexError,
)  # no parser made the tree


def said(select: exp.Select, schemas: dict[str, Schema]) -> str:
    """Everything that the passes made of a tree, but for the names of columns."""
    check(select)
    question = resolve(select, schemas)
    aggregates = tuple(replace(each, text="") for each in question.aggregates)
    return repr(
        replace(
            question, aggregates=aggregates, items=tuple(replace(each, name="") for each in question.items)
        )
    )


@pytest.mark.parametrize("question", QUESTIONS)
def test_no_part_of_a_question_is_dropped_in_silence(question: str, schemas: dict[str, Schema]) -> None:
    """Every part that the parser knows of every kind of expression, put in by hand: refused, or it makes a difference."""
    before = said(parse(question).select, schemas)
    count = len(list(parse(question).select.walk()))
    fill = (True, "OTHER", exp.Literal.number("7"), [exp.column("age")])
    for place in range(count):
        node = list(parse(question).select.walk())[place]
        for name, value in product(type(node).arg_types, fill):
            if node.args.get(name) or (type(node), name) in SAME or isinstance(node, exp.DataType):
                continue
            if isinstance(node, exp.Select) and name in READ[exp.Select]:
                continue  # clauses, which hold more than these, and of which each has its tests
            select = parse(question).select
            list(select.walk())[place].set(name, value)
            try:
                after = said(select, schemas)
            except UNREADABLE:
                continue
            assert after != before, f"{type(node).__name__}.{name} = {value!r} was dropped"


def test_every_kind_that_is_listed_is_one_that_passes_read() -> None:
    """The list names parts that the parser has, so that a new name for one is noticed."""
    for kind, names in READ.items():
        assert names <= set(kind.arg_types), f"{kind.__name__} has no {names - set(kind.arg_types)}"


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) FROM people WHERE " + "SQRT(" * 60 + "pay" + ")" * 60 + " > 1",
        "SELECT COUNT(*) FROM people WHERE "
        + "CASE " * 40
        + "age"
        + " WHEN 1 THEN 2 WHEN 2 THEN 3 END" * 40
        + " > 1",
        "SELECT COUNT(*) FROM people WHERE " + "(" * 60 + "smokes" + " BETWEEN FALSE AND TRUE)" * 60,
        "SELECT COUNT(*) FROM people WHERE age = 1" + " OR age = 1" * 4000,
        "SELECT COUNT(*)" + " + 1" * 4000 + " FROM people",
        "SELECT COUNT(*) FROM people WHERE " + "NOT " * 4000 + "smokes",
        "SELECT COUNT(*) FROM people WHERE age > " + "-" * 1 + "9" * 5000,
        "SELECT " + "COUNT(*), " * 1000 + "COUNT(*) FROM " + "(SELECT * FROM " * 90 + "people" + ")" * 90,
    ],
)
def test_what_would_grow_or_nest_without_bounds_is_refused(sql: str, schemas: dict[str, Schema]) -> None:
    with pytest.raises(BadQuestion):
        Ask(sql).plan(schemas, Terms())


def test_what_is_just_not_too_deep_is_planned_and_shown(schemas: dict[str, Schema]) -> None:
    plan = Ask("SELECT COUNT(*) FROM people WHERE age = 1" + " OR age = 1" * 100).plan(schemas, Terms())
    assert isinstance(plan, AskPlan) and plan.selects[0][1].sql(dialect="duckdb").count("OR") == 100
