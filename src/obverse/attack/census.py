"""The person tables of the 2010 Census, Summary File 1, as anybody could have made them from the records.  [Abo23]

A person is a sex, an age, six races each yes or no, and whether Hispanic. Ages are told one by one up to 21 and
in 16 bins after that (a bin is named by its first year), as block tables and tract tables agree on them.
"""

from __future__ import annotations

from itertools import product

import duckdb
import pyarrow as pa

RACES = ("white", "black", "aian", "asian", "nhpi", "sor")
OLDER = (22, 25, 30, 35, 40, 45, 50, 55, 60, 62, 65, 67, 70, 75, 80, 85)
AGES = (*range(22), *OLDER)
GROUPS = (0, 5, 10, 15, 18, 20, 21, *OLDER)
RECORD = ("sex", "age", "race", "hispanic")
TABLES = {
    "P12 and P14": ("block", "sex", "age"),
    "P12A to P12G": ("block", "sex", "age_group", "race_alone"),
    "P12H": ("block", "sex", "age_group", "hispanic"),
    "P12I": ("block", "sex", "age_group", "white_not_hispanic"),
    "P8 to P11": ("block", "adult", "hispanic", "race"),
    "PCT12A to PCT12G": ("tract", "sex", "age", "race_alone"),
    "PCT12H": ("tract", "sex", "age", "hispanic"),
    "PCT12I to PCT12O": ("tract", "sex", "age", "race_alone_not_hispanic"),
}
CLASSES = f"""
    {{age}} AS age, list_max(list_filter({list(GROUPS)}, lambda x: x <= {{age}})) AS age_group, age >= 18 AS adult,
    CASE WHEN length(replace(race, 'N', '')) = 1 THEN race ELSE 'two or more' END AS race_alone,
    CASE WHEN NOT hispanic THEN race_alone END AS race_alone_not_hispanic,
    race = 'YNNNNN' AND NOT hispanic AS white_not_hispanic"""


def kinds() -> pa.Table:
    """Every kind of person: 2 sexes, 38 ages, 63 sets of races, Hispanic or not, with the classes tables use."""
    races = ["".join(race) for race in product("YN", repeat=len(RACES)) if "Y" in race]
    every = list(product(("male", "female"), AGES, races, (True, False)))
    columns = {name: list(column) for name, column in zip(RECORD, zip(*every, strict=True), strict=True)}
    return _run("SELECT * EXCLUDE (age), " + CLASSES.format(age="age") + " FROM people", pa.table(columns))


def records(people: pa.Table) -> pa.Table:
    """Records as files have them (block, sex, age, a Y or N for each race, hisp) with the classes tables use."""
    binned = f"list_max(list_filter({list(AGES)}, lambda x: x <= age))"
    race = " || ".join(RACES)
    raced = f"SELECT block, sex, age::INTEGER AS age, {race} AS race, hisp = 'Y' AS hispanic FROM people"
    return _run(
        f"SELECT block, left(block, 11) AS tract, sex, race, hispanic, {CLASSES.format(age=binned)} FROM ({raced})",
        people,
    )


def published(people: pa.Table) -> dict[str, pa.Table]:
    """The tables that would be published about these `records`."""
    return {name: _table(people, columns) for name, columns in TABLES.items()}


def _table(people: pa.Table, columns: tuple[str, ...]) -> pa.Table:
    """Counts by these columns, without the people whom a missing class leaves out."""
    named = ", ".join(columns)
    known = " AND ".join(f"{column} IS NOT NULL" for column in columns)
    return _run(
        f"SELECT {named}, count(*) AS count FROM people WHERE {known} GROUP BY ALL ORDER BY ALL", people
    )


def _run(query: str, people: pa.Table) -> pa.Table:
    database = duckdb.connect()
    database.register("people", people)
    return database.sql(query).to_arrow_table()
