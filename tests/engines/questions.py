"""Questions made at random over everything that a row's expressions, groups, joins and subqueries may hold.

The table is full of traps: NULL, NaN, infinities, the largest and the smallest numbers, halves, leap days, letters that
change case in their own ways. What engines must agree on is what goes into the noise: whole numbers, group by group.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import date, datetime
from fractions import Fraction
from math import inf, nan
from pathlib import Path

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
from sqlglot import exp

from obverse.data.schema import Column, Schema, Type, Unit
from obverse.data.table import Cell, Tables
from obverse.errors import BadQuestion
from obverse.noise.entropy import Keyed
from obverse.query.ask import Ask
from obverse.query.create import request
from obverse.query.groups import folded, within
from obverse.query.plan import AskPlan
from obverse.query.register import Register
from obverse.release import Terms
from obverse.synthesise.measure import Read

COLUMNS = (
    Column("id", Type.INTEGER),
    Column("age", Type.INTEGER, low=Fraction(0), high=Fraction(120)),
    Column("sex", Type.TEXT, categories=("f", "m")),
    Column("pay", Type.REAL, low=Fraction(-10), high=Fraction(1000, 3)),
    Column("wild", Type.REAL),
    Column("Given Name", Type.TEXT),
    Column("born", Type.DATE),
    Column("seen", Type.TIMESTAMP),
    Column("smokes", Type.BOOLEAN, categories=(False, True)),
)
TYPES = pa.schema(
    [
        ("id", pa.int64()),
        ("age", pa.int64()),
        ("sex", pa.string()),
        ("pay", pa.float64()),
        ("wild", pa.float64()),
        ("Given Name", pa.string()),
        ("born", pa.date32()),
        ("seen", pa.timestamp("us")),
        ("smokes", pa.bool_()),
    ]
)
PAYS = (0.5, -0.5, 1.5, 2.5, -2.5, 13.25, 333.3333333333333, -10.0, 1e6, 0.0, None, nan, inf, 99.9, 7.0)
WILDS = (1.7e308, 5e-324, 1e200, -1e200, 1e-200, 0.0, nan, -inf, None, 3.0, 0.1, 2.5, 1e16, 123456.5)
NAMES = (
    "Ann",
    "bob",
    "BOB",
    "Ångström",
    "ÅNGSTRÖM",
    "straße",
    " İpek ",
    "a_b",
    "50%",
    "x\\y",
    "",
    None,
    "zoë",
)
NAMES += (
    "12",
    "-007",
    "2024-02-30",
    "2023-02-29",
    "2024-02-29",
    "1e5",
    "12\n",
    " 12",
    "+5",
    "0x1F",
    "९",
    "1_000",
)
NAMES += ("12.50", "-1.5e-3", "2024-1-1", "99999999999999999999", "0000-01-01", "--5", "1e400", "1900-02-29")
NAMES += ("e\u0301", "\u00a0pad\u2003", "ΣΑΣ", "日本", "it's", "😀")
DAYS = (date(1970, 1, 1), date(2024, 2, 29), date(1899, 12, 31), None, date(2001, 10, 5))
TIMES = (datetime(2024, 2, 29, 23, 59, 59, 500000), datetime(1969, 7, 20, 20, 17), None, datetime(2000, 1, 1))


Row = tuple[Cell | date, ...]


def rows(count: int = 240) -> list[Row]:
    made: list[Row] = []
    for i in range(count):
        who = i * i % 37
        ages = (i % 130 - 5, None, 2**62, 30)
        made.append(
            (
                who if i % 41 else None,
                ages[0] if i % 11 else ages[i % 4],
                ("f", "m", "x", None)[i % 7 % 4],
                PAYS[i % len(PAYS)],
                WILDS[i % len(WILDS)],
                NAMES[i % len(NAMES)],
                DAYS[i % len(DAYS)],
                TIMES[i % len(TIMES)],
                (True, False, None)[i % 3],
            )
        )
    return made


def numbered(made: Iterable[Row]) -> list[Row]:
    """The rows, and behind each its rank among its person's."""
    had: Counter[object] = Counter()
    found = []
    for row in made:
        found.append((*row, had[row[0]]))
        had[row[0]] += 1
    return found


def written(path: Path, made: Iterable[Row] | None = None) -> None:
    """The rows as a file of Parquet or Arrow."""
    columns = zip(*numbered(rows() if made is None else made), strict=True)
    types = TYPES.append(pa.field("nr", pa.int64()))
    arrays = [pa.array(column, field.type) for column, field in zip(columns, types, strict=True)]
    write = pyarrow.parquet.write_table if path.suffix == ".parquet" else pyarrow.feather.write_feather
    write(pa.table(arrays, schema=types), path)


def schemas(source: str) -> dict[str, Schema]:
    """One table as rows, as people, as what these people did (of which ranks are written), as what followed of that, and as
    public facts.

    A `{table}` in the source stands for the table's name, where each has rows of its own.
    """
    known = (
        Schema("t", source, _pointing("id", "b.id")),
        Schema("u", source, COLUMNS, Unit("id", rows=3)),
        Schema("v", source, _pointing("id", "u.id"), Unit("id", rows=40, rank="nr")),
        Schema("w", source, _pointing("age", "v.age"), Unit("age", rows=5)),
        Schema("b", source, COLUMNS, public=True),
    )
    return {schema.name: replace(schema, source=source.replace("{table}", schema.name)) for schema in known}


def _pointing(name: str, references: str) -> tuple[Column, ...]:
    """The columns, one of which names rows of another table."""
    return tuple(
        replace(column, references=references) if column.name == name else column for column in COLUMNS
    )


CUT = (  # questions of v with rows = 2, which ranks cut
    "SELECT COUNT(*), SUM(pay), COUNT(DISTINCT id), COUNT(DISTINCT age), MEDIAN(age) FROM v",
    "SELECT sex, COUNT(*), AVG(pay), COUNT(DISTINCT id) FROM v GROUP BY sex",
    "SELECT smokes, COUNT(*) FROM (SELECT id, smokes FROM v UNION ALL SELECT id, smokes FROM v) AS s GROUP BY smokes",
    "SELECT COUNT(*), SUM(a.age) FROM v AS a JOIN v AS b ON a.id = b.id",
    "SELECT COUNT(*), MAX(age) FROM v WHERE smokes",
    'SELECT "Given Name", COUNT(*) FROM v GROUP BY 1 WITH (delta = 1e-6)',
)


def cut(known: dict[str, Schema]) -> Iterator[AskPlan]:
    """The plans of questions whose rows are those of the lowest ranks."""
    few = {**known, "v": replace(known["v"], unit=Unit("id", rows=2, rank="nr"))}
    for question in CUT:
        plan = Ask(question).plan(few, Terms())
        assert isinstance(plan, AskPlan)
        yield plan


CLAUSE = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, {bound} = {{few}})"
AGAINST = ("=", "<>", "<", "<=", ">", ">=")
BESIDE = 'o.id, i.age, o.sex, i.pay, o.wild, o."Given Name", i.born, o.seen, i.smokes'
GRAMMAR: dict[str, tuple[str, ...]] = {
    "leaf number": ("age", "pay", "wild", "pay", "age", "3", "0.5", "-7", "0", "1e18", "id", "2.5"),
    "leaf text": ('"Given Name"', '"Given Name"', "sex"),
    "leaf test": (
        *("smokes", "sex = 'f'", "smokes IS NOT TRUE", "pay IS NULL", "age < 30", "age >= 30", "wild > pay"),
        *("born > DATE '2001-10-05'", "seen <= '2000-01-01'", "smokes = (age > 30)", "TRUE"),
    ),
    "number": (
        *("({number} + {number})", "({number} - {number})", "({number} * {number})", "({number} / {number})"),
        *("({number} // {number})", "({number} % {number})", "-({number})", "FLOOR({number})"),
        *("CEIL({number})", "ROUND({number})", "ABS({number})", "SQRT({number})", "LN({number})"),
        "CASE WHEN {test} THEN {number} ELSE {number} END",
        "CASE WHEN {test} THEN {number} END",
        *("COALESCE({number}, {number})", "LENGTH({text})", "EXTRACT({part} FROM seen)", "{day}(born)"),
        *("POWER({number}, 2)", "POWER({number}, 3)", "SIGN({number})", "GREATEST({number}, {number})"),
        *("LEAST({number}, 3, {number})", "ROUND({number}, 1)", "ROUND({number}, -1)", "TRUNC({number})"),
        *(
            "NULLIF({number}, {number})",
            "WIDTH_BUCKET({number}, -5, 100.5, 7)",
            "POSITION({word2} IN {text})",
        ),
        *("DATE_DIFF('day', {date}, {date})", "({date} - {date})", "DATE_DIFF('month', {date}, seen)"),
        *("EXTRACT({part} FROM {date})", "CAST({text} AS INTEGER)", "CAST({text} AS DOUBLE)"),
        *("CAST({number} AS INTEGER)", "CAST(smokes AS INTEGER)", "CAST({number} AS DECIMAL(9, 1))"),
        *("EXP(pay / 50)", "LOG10(age)", "LOG2(age + 1)", "{day}({date})", "TRUNC({number}, 2)"),
    ),
    "leaf date": ("born", "born", "CAST(seen AS DATE)"),
    "date": (
        *("DATE_TRUNC('{unit}', {date})", "DATE_TRUNC('{unit}', seen)", "({date} + INTERVAL 1 MONTH)"),
        *("({date} - INTERVAL 40 DAY)", "({date} + 3)", "CAST({text} AS DATE)", "({date} - INTERVAL 3 YEAR)"),
        *("COALESCE({date}, DATE '2000-02-29' + INTERVAL 1 YEAR)", "GREATEST({date}, born)"),
    ),
    "unit": ("day", "week", "month", "quarter", "year"),
    "word2": ("'b'", "'2'", "'-'", "'ß'", "'日本'"),
    "part": ("YEAR", "QUARTER", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND", "DOW", "ISODOW", "DOY", "WEEK"),
    "day": ("YEAR", "MONTH", "DAY", "QUARTER", "ISODOW", "DAYOFWEEK", "DAYOFYEAR", "WEEK"),
    "text": (
        *("LOWER({text})", "UPPER({text})", "TRIM({text})", "COALESCE({text}, 'none')"),
        "CASE WHEN {test} THEN {text} ELSE 'Other' END",
        *(
            "SUBSTRING({text}, 2, 3)",
            "LEFT({text}, 2)",
            "RIGHT({text}, 2)",
            "REPLACE({text}, {word2}, 'x''y')",
        ),
        *("({text} || {text})", "CONCAT({text}, '-', {text})", "LTRIM({text})", "RTRIM({text})"),
        *("CAST(age AS TEXT)", "NULLIF({text}, {word})", "GREATEST({text}, {text})"),
    ),
    "test": (
        *(f"{{number}} {sign} {{number}}" for sign in AGAINST),
        *(f"{{text}} {sign} {{word}}" for sign in AGAINST),
        *("{number} BETWEEN {number} AND {number}", "{number} IN (1, 2.5, 30, -7)", "{number} IS NULL"),
        *(
            "{text} IN ('bob', {word}, 'f')",
            "{text} LIKE {like}",
            "{text} ILIKE {like}",
            "{text} NOT LIKE {like}",
        ),
        *("({test} AND {test})", "({test} OR {test})", "NOT ({test})"),
        *("STARTS_WITH({text}, {word2})", "ENDS_WITH({text}, {word2})", "CONTAINS({text}, {word2})"),
        *("{number} IS DISTINCT FROM {number}", "{text} IS NOT DISTINCT FROM {text}", "{date} >= {date}"),
    ),
    "word": ("'BOB'", "'a_b'", "'Å'", "'zoë'", "'straße'", "'ſ'", "''"),
    "like": (
        *("'%b%'", "'a_b'", r"'5_\%'", r"'%\%'", "'ån%'", "'_'", "'%ß%'", "'日_'", "'%''%'", "'%ς'", "'ΣΑσ'"),
        *("'%İ%'", "'%i%'"),
    ),
    "bounded": ("age", "pay", "age * 2 - pay", "ABS(pay)", "FLOOR(pay / 3)", "pay * pay", "ROUND(pay)"),
    "counted": ("age", "id", "sex", "smokes", "pay", "wild", "{text}", "{number}", "{day}(born)"),
    "aggregate": (
        *("COUNT(*)", "COUNT({number})", "COUNT(*) FILTER (WHERE {test})", "COUNT(DISTINCT {counted})"),
        *(
            "SUM({bounded})",
            "SUM(CASE WHEN {test} THEN {bounded} ELSE 1 END)",
            "AVG({bounded})",
            "STDDEV(pay)",
            "MEDIAN({bounded})",
            "CORR({bounded}, {bounded})",
            "MODE({key})",
            "MAX({bounded})",
        ),
    ),
    "key": (
        *(
            "sex",
            "smokes",
            "FLOOR(age / 30)",
            "age // 25",
            "MONTH(born)",
            "EXTRACT(HOUR FROM seen)",
            "({test})",
        ),
        *("CASE WHEN {test} THEN 'low' ELSE 'high' END", "ROUND(pay / 40)", "FLOOR(ABS(pay) % 7)"),
        *(
            "SIGN(pay)",
            "WIDTH_BUCKET(age, 0, 100, 5)",
            "ISODOW({date})",
            "NULLIF(sex, 'f')",
            "GREATEST(age, 100)",
            "FLOOR(pay * pay * pay / 10000000)",
            "ROUND((pay * pay * pay - pay * pay * pay) / 1000000)",
        ),
    ),
    "found": (
        '"Given Name"',
        'LOWER("Given Name")',
        "born",
        "seen",
        "wild",
        "age",
        "ROUND(wild)",
        "{date}",
        "{text}",
        "wild * wild",
        "wild * 1e18 * wild - wild",
    ),
    "source": (
        *("t", "t", "u", "u", "(SELECT * FROM t WHERE {test}) AS s", "(SELECT DISTINCT * FROM u) AS s"),
        "(SELECT * FROM u UNION ALL SELECT * FROM v WHERE {test}) AS s",
        '(SELECT id, {number} AS age, sex, pay, wild, {text} AS "Given Name", born, seen, smokes FROM u) AS s',
        *("w", f"(SELECT {BESIDE} FROM {{pair}} WHERE {{test of pair}}) AS s"),
        '(SELECT id, SUM(age) AS age, sex, AVG(pay) AS pay, MAX(wild) AS wild, "Given Name", born, seen, smokes '
        'FROM {whole} GROUP BY id, sex, "Given Name", born, seen, smokes) AS s',
    ),
    "whole": ("u", "v"),
    "all": (  # without WHERE, so that it is ranks that bound a person's rows where there are any
        *(
            "u",
            "v",
            "w",
            "(SELECT * FROM u) AS s",
            "(SELECT * FROM v) AS s",
            "(SELECT DISTINCT * FROM v) AS s",
        ),
        "(SELECT * FROM u UNION ALL SELECT * FROM v) AS s",
        f"(SELECT {BESIDE} FROM {{pair}}) AS s",
        "(SELECT * FROM (SELECT * FROM u) AS r UNION ALL SELECT * FROM u) AS s",
    ),
    "pair": (
        *(
            "u AS o JOIN v AS i ON o.id = i.id",
            "v AS o JOIN u AS i ON o.id = i.id",
            "u AS o JOIN u AS i USING (id)",
        ),
        *("u AS o LEFT JOIN v AS i ON o.id = i.id AND {test of pair}", "t AS o JOIN b AS i ON o.id = i.id"),
        *("u AS o JOIN b AS i ON o.age = i.age AND {test of pair}", "t AS o LEFT JOIN b AS i ON o.id = i.id"),
        *(
            "v AS o JOIN w AS i ON o.age = i.age",
            "w AS i LEFT JOIN v AS o ON i.age = o.age AND {test of pair}",
        ),
        "b AS i JOIN v AS o ON o.born < i.born AND o.age = i.age",
    ),
    "test of pair": ("o.age > i.age", "i.pay < 9", "o.smokes", "i.sex IS NULL", "o.pay * i.pay > 4", "TRUE"),
    "whose": (
        "COUNT(*)",
        "COUNT({number})",
        "SUM(pay)",
        "SUM(age)",
        "AVG(pay)",
        "MIN(pay)",
        "MAX(age)",
        "MAX(wild)",
    ),
    "side": ("u", "u", "v"),
    "few": ("1", "2", "30"),
    "both": ("u.age > v.age", "v.pay < 9", "u.smokes", "v.sex IS NULL", "u.pay * v.pay > 4"),
    "question": (
        *("SELECT {aggregate}, {aggregate} FROM {source} WHERE {test}",) * 3,
        *("SELECT {key}, {aggregate}, {aggregate} FROM {source} WHERE {test} GROUP BY 1",) * 3,
        "SELECT {key}, {key}, {aggregate} FROM {source} GROUP BY 1, 2",
        "SELECT {aggregate}, {aggregate} FROM {all}",
        "SELECT {found}, {aggregate} FROM {source} GROUP BY 1 WITH (delta = 1e-6)",
        "WITH s AS (SELECT * FROM {whole} WHERE {test}) SELECT {key}, {aggregate} FROM s GROUP BY 1 HAVING COUNT(*) > 2",
        "SELECT COUNT(*), AVG(n) FROM (SELECT id, {whose} AS n FROM v WHERE {test} GROUP BY id) AS s WHERE n > 1",
        "SELECT k, COUNT(*), SUM(n) FROM (SELECT id, sex AS k, COUNT(DISTINCT {counted}) + 1 AS n FROM {whole} "
        "GROUP BY id, sex HAVING COUNT(*) > 1 AND SUM(age) < 90) AS s GROUP BY k",
        "SELECT COUNT(*), SUM(n) FROM (SELECT age, COUNT(*) FILTER (WHERE {test}) AS n FROM w GROUP BY age "
        "HAVING {whose} > 0) AS s",
        "SELECT COUNT(*), COUNT(DISTINCT age) FROM (SELECT DISTINCT age, sex FROM w) AS s",
        "SELECT COUNT(*), SUM(u.pay), SUM(v.age) FROM u JOIN v ON u.id = v.id WHERE {both}",
        "SELECT COUNT(*), COUNT(DISTINCT {side}.id) FROM u LEFT JOIN v ON u.id = v.id WHERE {both}",
        "SELECT COUNT(*), SUM(n) FROM (SELECT {side}.id, COUNT(*) AS n FROM u LEFT JOIN v ON u.id = v.id AND {both} "
        "GROUP BY {side}.id) AS s",
        f"{CLAUSE.format(bound='max_rows_contributed')} {{aggregate}}, {{aggregate}} FROM {{all}}",
        f"{CLAUSE.format(bound='max_rows_contributed')} {{key}}, {{aggregate}} FROM {{all}} GROUP BY 1",
        f"{CLAUSE.format(bound='max_groups_contributed')} {{key}}, AVG({{bounded}}) FROM {{source}} GROUP BY 1",
    ),
}


class Questions:
    """Questions that follow from a key; expressions nest so deep at most."""

    def __init__(self, key: str, depth: int = 3) -> None:
        self._entropy, self._depth = Keyed(key), depth

    def made(self, what: str, depth: int | None = None) -> str:
        """One of its forms, filled in; below a certain depth, a leaf."""
        depth = self._depth if depth is None else depth
        if f"leaf {what}" in GRAMMAR:
            if depth == 0 or self._entropy.bits(2) == 0:
                what = f"leaf {what}"
            depth -= 1
        forms = GRAMMAR[what]
        form = forms[self._entropy.bits(32) % len(forms)]
        return re.sub(r"{([\w ]+)}", lambda part: self.made(part[1], depth), form)

    def planned(self, schemas: dict[str, Schema], count: int) -> Iterator[AskPlan]:
        """The plans of so many questions that are answered."""
        while count:
            try:
                plan = Ask(self.made("question")).plan(schemas, Terms())
            except BadQuestion:
                continue
            count -= 1
            yield plan


def inputs(plan: AskPlan, tables: Tables) -> list[list[tuple[object, ...]]]:
    """All that goes into the noise: of each SELECT its groups, and their totals in whole numbers."""
    keys = tuple(key.sql for key in plan.question.keys)
    selects = [(select, len(keys)) for _, select in (*plan.selects, *plan.histograms)]
    selects += [(select, len(keys) + 1) for _, select in plan.choices]
    if plan.naming is not None:
        rows, where = plan.question.relation.rows, within(plan.question)
        selects.append((plan.naming.select(rows, where, keys, ()), len(keys)))
    return [
        sorted(
            ((*folded(row[:held]), *(int(cell or 0) for cell in row[held:])) for row in tables.run(select)),
            key=repr,
        )
        for select, held in selects
    ]


CELLS = (
    "SELECT age, sex, smokes FROM {table}",
    "SELECT wild, pay, born FROM {table} WHERE age > 3 OR sex = 'f'",
    "SELECT seen, FLOOR(age / 10) FROM {table} WHERE pay / (age - 30) < 4",
    "CREATE RELEASE x AS SELECT COUNT(*) FROM {table} GROUP BY RANGES(age), CUBE(sex), smokes",
    "CREATE RELEASE x AS SELECT COUNT(*) FROM {table} GROUP BY RANGES(pay, 0.5), born",
    "CREATE RELEASE x AS SELECT COUNT(*) FROM {table} GROUP BY RANGES(age, 7), RANGES(wild)",
)


def bounded(source: str) -> dict[str, Schema]:
    """The same tables, where numbers and days have bounds too."""
    ends = {
        "wild": (Fraction(-1000), Fraction(200_000)),
        "born": (date(1969, 1, 1), date(2024, 12, 31)),
        "seen": (datetime(2000, 1, 1), datetime(2024, 3, 1)),
    }
    return {
        name: replace(
            schema,
            columns=tuple(
                replace(c, low=ends[c.name][0], high=ends[c.name][1]) if c.name in ends else c
                for c in schema.columns
            ),
        )
        for name, schema in schemas(source).items()
    }


def cells(source: str) -> Iterator[tuple[str, Read]]:
    """What is read for rows and for releases of each table."""
    known = bounded(source)
    for table in ("t", "u", "v", "w"):
        for text in CELLS:
            plan = request(text.format(table=table)).plan(known, Terms())
            assert not isinstance(plan, AskPlan)
            yield f"{table}: {text}", plan.read


def registered(source: str) -> Iterator[tuple[str, exp.Select]]:
    """What registrations of rows, people and what they did count: of `wild` too, which has no bounds."""
    for table in ("t", "u", "v", "w"):
        plan = Register(table, Fraction(1)).plan(schemas(source), Terms())
        for place, histogram in enumerate(plan.histograms):
            yield f"{table} {place}", histogram.select


FOUND = (
    'SELECT "Given Name", COUNT(*) FROM v GROUP BY 1 WITH (delta = 1e-6)',
    "SELECT pay, COUNT(*) FROM v WHERE smokes GROUP BY 1 WITH (delta = 1e-6)",
    "SELECT born, COUNT(*) FROM w GROUP BY 1 WITH (delta = 1e-6)",
    "SELECT seen, sex, COUNT(*) FROM v GROUP BY 1, 2 WITH (delta = 1e-6)",
)


def weighed(known: dict[str, Schema], tables: Tables, first: Tables) -> Iterator[tuple[str, list[str]]]:
    """By what groups are named, in each round: of one key without some that `first` finds."""
    for question in FOUND:
        plan = Ask(question).plan(known, Terms())
        assert isinstance(plan, AskPlan) and plan.naming is not None
        rows, keys = plan.question.relation.rows, tuple(key.sql for key in plan.question.keys)
        found = sorted(
            (folded(row[:-1]) for row in first.run(plan.naming.select(rows, None, keys, ()))), key=repr
        )
        some = tuple(group[0] for group in found[::3]) if len(keys) == 1 else ()
        for named in ((), some):
            select = plan.naming.select(rows, plan.question.where, keys, named)
            held = [repr((*folded(row[:-1]), int(row[-1] or 0))) for row in tables.run(select)]
            yield f"{question} without {len(named)}", sorted(held)
