"""Whatever is written in place of a request for rows or a release, it is planned or refused in words."""

from __future__ import annotations

import random

from obverse.errors import Refusal
from obverse.query.create import request
from obverse.query.plan import AskPlan
from obverse.release import Terms
from tests.engines.questions import CELLS, bounded

WORDS = [
    "SELECT",
    "DP-SELECT",
    "0.5",
    "1e-3",
    "*",
    ",",
    "(",
    ")",
    "FROM",
    "t",
    "u",
    "w",
    "b",
    "WHERE",
    "age",
    "sex",
    "pay",
    "wild",
    "born",
    "seen",
    "smokes",
    "id",
    "=",
    "<>",
    "<",
    ">=",
    "AND",
    "OR",
    "NOT",
    "IN",
    "BETWEEN",
    "1",
    "-3",
    "0",
    "10",
    "1e308",
    "'f'",
    "'m'",
    "DATE",
    "'2020-01-01'",
    "NULL",
    "IS",
    "GROUP",
    "BY",
    "RANGES",
    "CUBE",
    "ROLLUP",
    "ORDER",
    "LIMIT",
    "OFFSET",
    "AS",
    "x",
    "COUNT(*)",
    "DISTINCT",
    "FLOOR",
    "CASE",
    "WHEN",
    "THEN",
    "ELSE",
    "END",
    "CREATE",
    "RELEASE",
    "WITH",
    "fresh",
    "true",
    "epsilon",
    "2",
    ";",
    "--",
    "/*",
    '"',
    "'",
    "+",
    "/",
    "%",
    "||",
    "INTEGER",
    "JOIN",
    "ON",
    "HAVING",
    "OVER",
    "UNION",
    "ALL",
    "t.*",
    "EXCLUDE",
    "ROUND",
    "COALESCE",
    "ABS",
]


def test_texts_at_random_are_planned_or_refused() -> None:
    """250 statements of a fixed seed, each changed in up to four places."""
    draw, known, planned = random.Random(7), bounded("/nowhere/{table}.parquet"), 0
    seeds = [text.format(table=table).split(" ") for text in CELLS for table in "tuvwb"]
    for _ in range(250):
        words = list(draw.choice(seeds))
        for _ in range(draw.randrange(5)):
            at = draw.randrange(len(words) + 1)
            words[at : at + draw.randrange(2)] = draw.choices(WORDS, k=draw.randrange(2))
        try:
            plan = request(" ".join(words)).plan(known, Terms())
        except Refusal as refusal:
            assert 0 < len(str(refusal)) < 600
            continue
        planned += 1
        assert hash(plan) and plan.key and plan.guarantee.epsilon() > 0 and plan.accuracy
        assert isinstance(plan, AskPlan) or plan.told
    assert planned > 25
