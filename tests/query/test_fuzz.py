"""Whatever text is sent, it is answered or refused in words: no other error, no hang, no warning.

Questions are made at random and then broken at random: tokens left out, doubled, exchanged, put in from a list of what
lexers and parsers stumble over. All from fixed keys, so that the same texts are tried in every run.
"""

from __future__ import annotations

import logging
import re
from time import process_time

import pytest

from obverse.errors import Refusal
from obverse.noise.entropy import Entropy, Keyed
from obverse.query.ask import Ask
from obverse.query.choose import NoisyChoice
from obverse.query.explain import explain, statement
from obverse.query.plan import AskPlan
from obverse.query.released import Row, value
from obverse.query.rows import RowsPlan
from obverse.release import Terms
from tests.engines.questions import Questions, schemas

ROUNDS, EACH = 8, 500
TOKENS = re.compile(r"\s+|\w+|'[^']*'|\"[^\"]*\"|.", re.DOTALL)
HEADS = ("", "", "DP-SELECT 0.5 ", "dp_select ε ", "DP - SELECT ", "EXPLAIN ", "WITH x AS (SELECT * FROM t) ")
HEADS += ("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, max_groups_contributed = 2) ",)
TAILS = (
    "",
    "",
    "",
    ";",
    " WITHIN 5 CONFIDENCE 0.9",
    " WITHIN 5 PERCENT",
    " WITH (delta = 1e-6)",
    " LIMIT 3",
    " ORDER BY 1",
)
ODD = (
    *(
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        ",",
        ".",
        ";",
        ":",
        "::",
        "=>",
        "->",
        "*",
        "**",
        "/",
        "//",
        "%",
        "^",
        "@",
        "#",
        "$1",
    ),
    *(
        "'",
        '"',
        "`",
        "--",
        "/*",
        "*/",
        "\\",
        "\x00",
        "\u202e",
        "½",
        "２",
        "İ",
        "\ud7ff",
        "\U0010ffff",
        "😀",
        "\n",
        "\t",
    ),
    *(
        "0",
        "-0",
        "1e400",
        "1e-400",
        "1e",
        "0x",
        "1_0",
        ".",
        "1.",
        "9" * 40,
        "'x'",
        "''",
        "NULL",
        "TRUE",
        "DATE '2020-02-30'",
    ),
    *(
        "SELECT",
        "FROM",
        "WHERE",
        "GROUP BY",
        "HAVING",
        "ORDER BY",
        "LIMIT",
        "OFFSET",
        "UNION ALL",
        "JOIN",
        "LEFT JOIN",
    ),
    *(
        "ON",
        "USING (id)",
        "AS",
        "DISTINCT",
        "ALL",
        "FILTER (WHERE smokes)",
        "OVER ()",
        "WITHIN GROUP (ORDER BY age)",
        "CASE",
    ),
    *(
        "WHEN",
        "THEN",
        "ELSE",
        "END",
        "NOT",
        "IN",
        "IN ()",
        "BETWEEN",
        "AND",
        "OR",
        "IS",
        "LIKE",
        "ESCAPE '!'",
        "COLLATE nocase",
    ),
    *(
        "CAST(age AS INT)",
        "age::TEXT",
        "COUNT(*)",
        "SUM(age)",
        "AVG(",
        "MEDIAN(",
        "QUANTILE_CONT(age, 0.5)",
        "LATERAL",
        "PIVOT",
    ),
    *(
        "ROLLUP (sex)",
        "CUBE (sex)",
        "GROUPING SETS (())",
        "QUALIFY",
        "WINDOW",
        "TABLESAMPLE 1%",
        "FOR UPDATE",
        "INTO x",
        "t",
    ),
    *(
        "u",
        "v",
        "u.age",
        "t.*",
        "*",
        "rowid",
        "read_csv('x')",
        "information_schema.tables",
        "x -> x + 1",
        "[1, 2]",
        "{'a': 1}",
    ),
    *(
        "INTERVAL 1 DAY",
        "CURRENT_DATE",
        "EXTRACT(YEAR FROM born)",
        "DP-SELECT",
        "DP_SELECT 1",
        "ε",
        "WITHIN 5",
        "WITH (epsilon = 1)",
    ),
    *(
        "IF(COUNT(*) > 1, 2, 3)",
        "CAST(COUNT(*) AS INT)",
        "SQRT(SUM(age)) // COUNT(*)",
        "POWER(COUNT(*), 3)",
        "ROUND(SUM(age), -2)",
        "GREATEST(COUNT(*), 1)",
        "DP_INTERVAL_HIGH(COUNT(*))",
        "IF(age > 3, 1, 2)",
        "VAR(age)",
        "(SELECT id, COUNT(*) + 1 AS n FROM t GROUP BY id HAVING n > 2)",
        "contribution_bounds_per_group => (0, 1)",
        "DP_INTERVAL_LOW(n)",
        "SQRT(LN(age))",
        "§",
        '"§owner"',
        "1 + 1",
        "SET",
        "COPY",
    ),
)


def broken(text: str, entropy: Entropy) -> str:
    """The text with one to four random faults."""
    parts = TOKENS.findall(text)
    for _ in range(1 + entropy.bits(2)):
        at = entropy.bits(32) % (len(parts) or 1)
        other = entropy.bits(32) % (len(parts) or 1)
        what = entropy.bits(32) % 6
        if what == 0:
            parts[at : at + 1] = []
        elif what == 1:
            parts[at:at] = parts[other : other + 1 + entropy.bits(3)]
        elif what == 2 and parts:
            parts[at], parts[other] = parts[other], parts[at]
        elif what == 3:
            parts[at:at] = [" ", ODD[entropy.bits(32) % len(ODD)], " "]
        elif what == 4:
            parts[at : at + 1] = [ODD[entropy.bits(32) % len(ODD)]]
        else:
            parts = parts[: at + 1]
    return "".join(parts)


def asked(text: str) -> None:
    """Read, plan and explain it, or refuse it."""
    try:
        said = statement(text)
        plan = Ask(text if said is None else said[1]).plan(schemas("t.parquet"), Terms())
        assert plan.key and (explain(plan) if isinstance(plan, AskPlan) else plan.told)
        shown(plan)
    except Refusal as refusal:
        assert 10 < len(str(refusal)) < 1000, text


def shown(plan: AskPlan | RowsPlan) -> None:
    """What is made of released numbers fails on none of them: nothing, little, less than nothing and very much."""
    if isinstance(plan, RowsPlan):
        rows = [Row((held,) * len(plan.read.axes), ()) for held in (None, 0, "x", 10**18)]
        assert [[value(each.tree, row) for each in plan.columns] for row in rows]
        return
    groups = (plan.groups() or (("x",) * len(plan.question.keys),))[:2]
    for steps in (0, 1, -7, 10**15):
        found = tuple(0 if isinstance(each, NoisyChoice) else steps for each in plan.numbers)
        assert plan.present(groups, (found,) * len(groups), plan.confidence).columns


@pytest.mark.parametrize("key", range(ROUNDS))
def test_whatever_is_sent_is_answered_or_refused_in_words(key: int, caplog: pytest.LogCaptureFixture) -> None:
    entropy, questions = Keyed(f"fuzz {key}"), Questions(f"fuzz {key}")
    caplog.set_level(logging.WARNING)
    for _ in range(EACH):
        head, tail = HEADS[entropy.bits(32) % len(HEADS)], TAILS[entropy.bits(32) % len(TAILS)]
        question = questions.made("question")
        question = question.removeprefix("SELECT ") if "SELECT" in head and "WITH x" not in head else question
        text = head + question + tail
        before = process_time()
        asked(broken(text, entropy) if entropy.bits(3) else text)
        assert process_time() - before < 5, text
    assert not caplog.records, "a parser's own warnings quote the question"


@pytest.mark.parametrize("key", range(2))
def test_noise_of_characters_is_refused_in_words(key: int) -> None:
    entropy = Keyed(f"characters {key}")
    for _ in range(EACH):
        asked(
            "".join(
                ODD[entropy.bits(32) % len(ODD)] + " " * entropy.bits(1) for _ in range(1 + entropy.bits(5))
            )
        )
