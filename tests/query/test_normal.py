"""Questions that ask the same are one question, and free after the first; those that might not be are two."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from obverse.data.schema import Schema
from obverse.data.table import Tables
from obverse.engines.duckdb import open_tables
from obverse.errors import BadQuestion
from obverse.noise.entropy import Keyed
from obverse.query.ask import Ask
from obverse.query.groups import folded
from obverse.query.plan import AskPlan
from obverse.release import Terms
from tests.engines.questions import AGAINST, Questions, schemas, written

SAME = (
    (
        "COUNT(*) FROM t",
        "count( * ) AS n FROM T AS x -- again",
        "COUNT(1) FROM t WHERE TRUE",
        "COUNT(*) + 1 FROM t",
    ),
    (
        "COUNT(*) FROM t HAVING COUNT(*) > 3 ORDER BY 1 LIMIT 5",
        "COUNT(*) FROM t WITH (confidence = 0.9, nonnegative = true)",
    ),
    (
        "COUNT(*) FROM t WHERE age > 30 AND smokes",
        "COUNT(*) FROM t WHERE smokes AND 31 <= age AND (age > 30)",
    ),
    ("COUNT(*) FROM t WHERE age BETWEEN 3 AND 9", "COUNT(*) FROM t WHERE NOT (age < 3 OR age >= 10)"),
    ("COUNT(*) FROM t WHERE sex IN ('f', 'm')", "COUNT(*) FROM t WHERE sex = 'm' OR 'f' = sex OR sex = 'f'"),
    (
        "COUNT(*) FROM t WHERE sex NOT IN ('f')",
        "COUNT(*) FROM t WHERE sex <> 'f'",
        "COUNT(*) FROM t WHERE NOT sex = 'f'",
    ),
    (
        "COUNT(*) FROM t WHERE age > 10 + 20",
        "COUNT(*) FROM t WHERE age > 30",
        "COUNT(*) FROM t WHERE age >= 62 / 2",
    ),
    ("COUNT(*) FROM t WHERE pay < 0.1 + 0.2", "COUNT(*) FROM t WHERE 0.3 > pay"),
    ("SUM(age * 2 + pay) FROM t", "SUM((pay + 2 * age)) FROM t"),
    ("SUM(age), COUNT(*) FROM u", "COUNT(*), SUM(age) AS s, SUM(age) / COUNT(*) FROM u"),
    (
        "sex, smokes, COUNT(*) FROM u GROUP BY sex, smokes",
        "COUNT(*), smokes, sex FROM u GROUP BY smokes, sex",
    ),
    ("COUNT(*) FROM u WHERE age > 3", "COUNT(*) FROM (SELECT age AS years, id FROM u) AS s WHERE years > 3"),
    (
        "COUNT(*) FROM (SELECT * FROM u WHERE age > 3) AS s WHERE smokes",
        "COUNT(*) FROM u WHERE smokes AND age > 3",
    ),
    (
        "AVG(n) FROM (SELECT id, COUNT(*) AS n FROM v GROUP BY id) AS s",
        "AVG(rows) FROM (SELECT COUNT(*) AS rows, id AS who FROM v GROUP BY id) AS per_person",
    ),
    (
        "COUNT(*) FROM u AS a JOIN v AS b ON a.id = b.id AND a.smokes",
        "COUNT(*) FROM u JOIN v ON u.smokes AND v.id = u.id",
    ),
    (
        '"Given Name", COUNT(*) FROM t GROUP BY 1 WITH (delta = 1e-6)',
        'COUNT(*), "Given Name" FROM t GROUP BY 2 WITH (delta = 1e-6)',
    ),
)
TWO = (
    (
        "COUNT(*) FROM t",
        "COUNT(*) FROM u",
        "COUNT(age) FROM t",
        "COUNT(*) FROM t WHERE age = age",
        "COUNT(*), SUM(age) FROM t",
    ),
    (
        "COUNT(*) FROM t WHERE age > 30",
        "COUNT(*) FROM t WHERE age > 30.5",
        "COUNT(*) FROM t WHERE age + 1 > 31",
    ),
    (
        "COUNT(*) FROM t WHERE smokes",
        "COUNT(*) FROM t WHERE smokes IS NOT FALSE",
        "COUNT(*) FROM t WHERE NOT smokes",
    ),
    (
        "COUNT(*) FROM t WHERE sex LIKE 'f'",
        "COUNT(*) FROM t WHERE sex NOT LIKE 'f'",
        "COUNT(*) FROM t WHERE sex = 'f'",
    ),
    (
        "COUNT(*) FROM t WHERE wild > 3 OR NOT (wild > 3)",
        "COUNT(*) FROM t WHERE wild IS NOT NULL",
        "COUNT(*) FROM t",
    ),
    ("SUM(pay - age) FROM t", "SUM(age - pay) FROM t", "SUM(pay) FROM t"),
    ("SUM((pay + age) + wild // 1 % 7) FROM t", "SUM(pay + (age + wild // 1 % 7)) FROM t"),
    (
        "COUNT(*) FROM u JOIN v ON u.id = v.id WHERE u.age > 3",
        "COUNT(*) FROM u JOIN v ON u.id = v.id WHERE v.age > 3",
    ),
    (
        "COUNT(*) FROM (SELECT DISTINCT age, id FROM u) AS s",
        "COUNT(*) FROM (SELECT DISTINCT age, sex, id FROM u) AS s",
    ),
    ("COUNT(DISTINCT age) FROM t", "COUNT(age) FROM t"),
    ("MEDIAN(age) FROM t", "MIN(age) FROM t", "QUANTILE_CONT(age, 0.4) FROM t"),
    ("sex, smokes, MEDIAN(age) FROM u GROUP BY 1, 2", "smokes, sex, MEDIAN(age) FROM u GROUP BY 1, 2"),
    (
        "COUNT(*) FROM t WHERE age IN (1, 9007199254740993, 2.5)",
        "COUNT(*) FROM t WHERE age IN (1, 2.5) OR age = 9007199254740993",
    ),
)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("normal") / "traps.parquet"
    written(path)
    return path


@pytest.fixture(scope="module")
def known(source: Path) -> dict[str, Schema]:
    return schemas(str(source))


@pytest.fixture(scope="module")
def tables(known: dict[str, Schema]) -> Iterator[Tables]:
    engine = open_tables(list(known.values()))
    yield engine
    engine.close()


def plan(sql: str, known: dict[str, Schema]) -> AskPlan:
    made = Ask(f"DP-SELECT 1 {sql}").plan(known, Terms())
    assert isinstance(made, AskPlan)
    return made


@pytest.mark.parametrize("questions", SAME)
def test_the_same_in_other_words_is_one_question(
    questions: tuple[str, ...], known: dict[str, Schema]
) -> None:
    assert len({plan(sql, known).key for sql in questions}) == 1


@pytest.mark.parametrize("questions", TWO)
def test_what_may_come_to_something_else_is_another_question(
    questions: tuple[str, ...], known: dict[str, Schema]
) -> None:
    assert len({plan(sql, known).key for sql in questions}) == len(questions)


def exact(made: AskPlan, tables: Tables) -> object:
    """All that goes into the noise, in the order it is kept in."""
    groups = made.groups() if made.naming is None else _present(made, tables)
    places = {folded(group): place for place, group in enumerate(groups)}
    found = {**made._totals(places, tables), **made._values(places, tables), **made._counts(places, tables)}
    by_number = [found[place] for place, each in enumerate(made.noisy) for _ in range(each.width)]
    return sorted(
        ([group[k] for k in made.form.keys], [_plain(by_number[n][place]) for n in made.form.numbers])
        for group, place in places.items()
    )


def _plain(held: object) -> object:
    return held if isinstance(held, int) else sorted(int(each) for each in held)  # type: ignore[attr-defined]


def _present(made: AskPlan, tables: Tables) -> tuple[tuple[object, ...], ...]:
    found = {row[: len(made.question.keys)] for _, select in made.selects for row in tables.run(select)}
    return tuple(folded(group) for group in found if None not in group)


SWAPS = (
    *((f" {one} ", f" {other} ") for one in AGAINST for other in AGAINST if one != other),
    *(
        (" AND ", " OR "),
        (" OR ", " AND "),
        ("NOT (", "("),
        ("(", "NOT ("),
        (" + ", " - "),
        (" + ", " * "),
        ("30", "31"),
    ),
    *(
        ("u.age", "v.age"),
        ("IS NOT", "IS"),
        ("NOT LIKE", "LIKE"),
        ("age", "(age + 0)"),
        ("pay", "pay * 1"),
        ("f", "m"),
    ),
    *(
        ("FROM u", "FROM (SELECT * FROM u) AS u"),
        ("smokes", "(smokes AND TRUE)"),
        ("{test}", "({test})"),
        ("pay", "age"),
    ),
)
TERM = re.compile(r"\(([^()]*|\([^()]*\)) (AND|OR|\+|\*|=|<>) ([^()]*|\([^()]*\))\)")
ORDER = re.compile(r"([\w.]+) (<=|>=|<|>) ([\w.]+)")
MIRRORED = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}


def varied(sql: str, entropy: Keyed) -> str:
    """The question changed once: its operands exchanged, or a word put for another, which may or may not be the same."""
    what = entropy.bits(2)
    if what == 0:
        return TERM.sub(r"(\3 \2 \1)", sql)
    if what == 1:
        return ORDER.sub(lambda m: f"{m[3]} {MIRRORED[m[2]]} {m[1]}", sql)
    one, other = SWAPS[entropy.bits(32) % len(SWAPS)]
    return sql.replace(one, other, 1 + entropy.bits(1))


def test_questions_of_one_key_have_the_same_exact_totals(known: dict[str, Schema], tables: Tables) -> None:
    """Random questions and random changes of them, on a table of traps: NULL, NaN, infinities, halves, 2⁶²."""
    questions, entropy, equal = Questions("normal"), Keyed("normal"), 0
    for _ in range(600):
        sql = questions.made("question").removeprefix("SELECT ")
        other = varied(sql, entropy)
        for _ in range(entropy.bits(1)):
            other = varied(other, entropy)
        try:
            one, two = plan(sql, known), plan(other, known)
        except BadQuestion:
            continue
        if sql != other and one.key == two.key:
            equal += 1
            assert exact(one, tables) == exact(two, tables), f"{sql}\n{other}"
    assert equal > 25, "there are enough that are the same"


@pytest.mark.parametrize("unit", ["", 'unit = { column = "id", rows = 4 }'])
def test_asked_in_other_words_it_is_free_and_shown_as_it_is_asked(
    source: Path, tmp_path: Path, unit: str
) -> None:
    import obverse

    fresh = count()
    settings = tmp_path / "a.toml"
    settings.write_text(f"""
        [tables.t]
        source = "{source}"
        {unit}
        [tables.t.columns]
        id = {{ type = "integer" }}
        age = {{ type = "integer", low = 0, high = 120 }}
        sex = {{ type = "text", categories = ["f", "m"] }}
        smokes = {{ type = "boolean", categories = [false, true] }}
        [policy]
        epsilon = 10
    """)
    with obverse.open(settings) as curator:
        asked = [
            curator.ask(sql)
            for sql in (
                "DP-SELECT 1 sex, smokes, COUNT(*) AS n, SUM(age) AS s FROM t GROUP BY sex, smokes",
                "DP-SELECT 1 smokes, SUM(age), sex, COUNT(*) FROM t GROUP BY smokes, sex",
                "DP-SELECT 1 sex, SUM(age) / COUNT(*) AS m, COUNT(*) FROM t GROUP BY smokes, sex HAVING COUNT(*) > 0 LIMIT 2",
            )
        ]
        first, second, third = asked
        assert [next(fresh) for each in asked if not each.receipt.again] == [0], "the first alone is charged"
        assert {(row[0], row[1]): row[2:] for row in first.rows} == {
            (row[2], row[0]): (row[3], row[1]) for row in second.rows
        }
        assert [row[:2] for row in first.rows] == [("f", False), ("f", True), ("m", False), ("m", True)]
        assert [(row[0], row[2]) for row in second.rows] == [
            (False, "f"),
            (False, "m"),
            (True, "f"),
            (True, "m"),
        ]
        counts = {row[2] for row in first.rows}
        assert third.rows and all(row[2] in counts and row[2] > 0 for row in third.rows)
        ends = curator.ask(
            "DP-SELECT 1 sex, smokes, COUNT(*) AS n, SUM(age) AS s FROM t GROUP BY 1, 2 WITH (confidence = 0.5)"
        )
        assert ends.receipt.again and ends.rows == first.rows and ends.margins[0][2] < first.margins[0][2]
