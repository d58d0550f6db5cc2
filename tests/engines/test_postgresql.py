"""PostgreSQL puts into the noise what DuckDB does, fails on no row, and says nothing of its own."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from math import inf, isnan, nan
from pathlib import Path

import numpy as np
import psycopg
import pyarrow as pa
import pytest
from sqlglot import exp, parse_one

import obverse
from obverse.audit.replay import Record, replayed
from obverse.data.bounding import ranked
from obverse.data.schema import Column, Schema, Type, Unit
from obverse.engines import postgresql
from obverse.engines._ranks import statements
from obverse.engines.duckdb import DuckDB
from obverse.engines.postgresql import PostgreSQL, open_tables
from obverse.errors import BadSource, Withheld
from obverse.noise.entropy import Keyed
from obverse.query.ask import Ask
from obverse.query.plan import AskPlan
from obverse.release import Terms
from obverse.tables import cube
from obverse.tables.dimension import Dimension
from tests.engines.questions import (
    Questions,
    cells,
    cut,
    inputs,
    numbered,
    registered,
    rows,
    schemas,
    weighed,
    written,
)

Owner = psycopg.Connection[tuple[object, ...]]
SECRET = "Rumpelstiltskin"
TRAPS = """CREATE TABLE traps (id int8, age int8, sex text, pay float8, wild float8, "Given Name" text, born date,
    seen timestamp, smokes bool, nr int8); CREATE UNIQUE INDEX ON traps (id, nr)"""


def filled(owner: Owner, table: str, values: Sequence[Sequence[object]]) -> None:
    with owner.cursor() as cursor, cursor.copy(f"COPY {table} FROM STDIN".encode()) as copy:
        for row in values:
            copy.write_row(row)


@pytest.fixture(scope="module")
def traps(server: str, owner: Owner) -> PostgreSQL:
    owner.execute(TRAPS)
    filled(owner, "traps", numbered(rows()))
    return open_tables(schemas(f"{server}#traps").values())


@pytest.mark.parametrize("top", [0, 2], ids=["counts", "amounts"])
def test_a_cube_is_refused_in_words(traps: PostgreSQL, top: int) -> None:
    """GROUPING SETS are asked of files alone, as the page on tables says."""
    by = Dimension.from_rungs("id", [], closed=False)
    with pytest.raises(Withheld, match="does not answer this; put the table into a file"):
        cube.read(cube.Reading("t", (by,), "id" if top else None, top=top), traps)


def test_cells_are_counted_alike(traps: PostgreSQL, tmp_path: Path) -> None:
    """What rows are drawn from, and what releases publish."""
    written(tmp_path / "traps.parquet")
    duckdb = DuckDB(schemas(str(tmp_path / "traps.parquet")).values())
    for text, read in cells(str(tmp_path / "traps.parquet")):
        ours, theirs = read.held(duckdb), read.held(traps)
        assert ours.total and np.array_equal(ours.codes, theirs.codes), text
        assert np.array_equal(ours.steps, theirs.steps), text


def test_people_are_registered_in_the_same_bins(traps: PostgreSQL, tmp_path: Path) -> None:
    written(tmp_path / "traps.parquet")
    duckdb = DuckDB(schemas(str(tmp_path / "traps.parquet")).values())
    for name, select in registered(str(tmp_path / "traps.parquet")):
        ours, theirs = (sorted(tuple(map(int, row)) for row in each.run(select)) for each in (duckdb, traps))  # type: ignore[arg-type]
        assert ours and ours == theirs, name


def test_people_are_shared_out_alike_among_groups_that_are_found(traps: PostgreSQL, tmp_path: Path) -> None:
    written(tmp_path / "traps.parquet")
    known = schemas(str(tmp_path / "traps.parquet"))
    duckdb = DuckDB(known.values())
    for ours, theirs in zip(weighed(known, duckdb, duckdb), weighed(known, traps, duckdb), strict=True):
        assert ours[1] and ours == theirs, ours[0]


@pytest.mark.slow
def test_2000_questions_come_to_the_same_whole_numbers(traps: PostgreSQL, tmp_path: Path) -> None:
    written(tmp_path / "traps.parquet")
    known = schemas(str(tmp_path / "traps.parquet"))
    duckdb = DuckDB(known.values())
    for plan in [*cut(known), *Questions("2000 questions").planned(known, 2000)]:
        assert inputs(plan, traps) == inputs(plan, duckdb), plan.text


EDGES = (0.0, -0.0, 1.0, -1.0, 0.5, 5e-324, 2.0**-1022, 1.7976931348623157e308, -(2.0**1023), inf, -inf, nan)
EDGES += (0.1, 2.0**512, 2.0**-537, 2.0**-538, 2.0**970, 2.0**969, 2.0**53, 2.0**53 + 2, 7.5, 1 - 2.0**-53)


def test_guarded_arithmetic_is_that_of_ieee(owner: Owner) -> None:
    """Sum, product, quotient and remainder of edges, of random bits, and of pairs beside the ends of the numbers."""
    random = [struct.unpack("d", Keyed("bits").bytes(8 * 2000)[8 * i : 8 * i + 8])[0] for i in range(2000)]
    pairs = [*product(EDGES, EDGES), *zip(random, reversed(random), strict=True)]
    with np.errstate(all="ignore"):
        for end in (1.7976931348623157e308, 5e-324):
            for x in np.array(random):
                pairs += [
                    (x, y) for near in (end / x, x / end) for y in np.nextafter(near, [-inf, near, inf])
                ]
        a, b = np.array(pairs).T
        zero = np.where(b == 0, nan, b)
        expected = {"SUM": a + b, "PRODUCT": a * b, "QUOTIENT": a / zero, "REMAINDER": np.fmod(a, zero)}
    owner.execute("CREATE TEMP TABLE pairs (place int, x float8, y float8)")
    filled(owner, "pairs", [(i, repr(float(x)), repr(float(y))) for i, (x, y) in enumerate(pairs)])
    for name, values in expected.items():
        formula = f"(SELECT {getattr(postgresql, name)} FROM (SELECT x AS a, y AS b OFFSET 0) AS o)"
        found = owner.execute(f"SELECT {formula} FROM pairs ORDER BY place".encode()).fetchall()
        for (mine,), theirs, pair in zip(found, values, pairs, strict=True):
            same = isnan(theirs) if mine is None or isnan(mine) else repr(mine) == repr(float(theirs))
            assert same, (name, pair, mine, theirs)


@pytest.mark.slow
def test_neighbours_differ_by_no_more_than_is_charged(server: str, owner: Owner) -> None:
    owner.execute("CREATE TABLE near (id int8, age int8, sex text, pay float8, nr int8)")
    owner.execute("CREATE UNIQUE INDEX ON near (id, nr)")
    open_engines: list[PostgreSQL] = []

    def stored(known: Schema) -> Schema:
        unit = replace(known.unit, rank="nr") if ranked(known) else known.unit
        return replace(known, source=f"{server}#near", unit=unit)

    def engine(records: Sequence[Record], known: Schema) -> PostgreSQL:
        owner.execute("TRUNCATE near")
        had: Counter[object] = Counter()
        for record in records:
            filled(owner, "near", [[*record.values(), had[record["id"]]]])
            had[record["id"]] += 1
        if not open_engines or open_engines[-1]._schemas["t"] != stored(known):
            open_engines.append(open_tables([stored(known)]))
        return open_engines[-1]

    def ask(sql: str, schemas: dict[str, Schema]) -> AskPlan:
        return Ask(sql).plan({name: stored(schema) for name, schema in schemas.items()}, Terms())

    for finding in replayed(engine=engine, ask=ask):
        assert not finding.lies, finding.note
    for each in open_engines:
        each.close()


@pytest.mark.parametrize(
    ("made", "said"),
    [
        ("(id int8, nr int8)", 'kept apart by nothing: CREATE UNIQUE INDEX ON "loose" \\("id", "nr"\\)'),
        ("(id int8, nr numeric, UNIQUE (id, nr))", "no whole number"),
        ("(id numeric, nr int8, UNIQUE (id, nr))", "who is who is none"),
        ("(id int8, nr int8, x int8, UNIQUE (id, nr, x))", "kept apart by nothing"),
        ("(id int8, nr int8, x int8, UNIQUE (id, x))", "kept apart by nothing"),
        ("(id int8, nr int8); CREATE UNIQUE INDEX ON loose (id, nr) WHERE nr > 3", "kept apart by nothing"),
        ("(id int8, nr int8); CREATE UNIQUE INDEX ON loose (id, (nr + 1))", "kept apart by nothing"),
        ("(id int8, nr int8); CREATE INDEX ON loose (id, nr)", "kept apart by nothing"),
    ],
)
def test_ranks_that_no_unique_index_keeps_apart_are_refused(
    server: str, owner: Owner, made: str, said: str
) -> None:
    owner.execute(f"CREATE TABLE loose {made}".encode())
    known = Schema("t", f"{server}#loose", (Column("id", Type.INTEGER),), Unit("id", rows=2, rank="nr"))
    with pytest.raises(BadSource, match=said):
        open_tables([known])
    owner.execute("DROP TABLE loose; CREATE TABLE loose (id int8, nr int8, UNIQUE (nr, id) INCLUDE (nr))")
    tables = open_tables([known])
    assert tables.run(Ask("SELECT COUNT(*) FROM t").plan({"t": known}, Terms()).selects[0][1]) == [(0,)]
    tables.close()
    owner.execute("DROP TABLE loose")


def test_printed_sql_writes_ranks_and_numbers_later_rows_behind_them(server: str, owner: Owner) -> None:
    owner.execute("CREATE TABLE stays AS SELECT NULLIF(i % 7, 0) AS id FROM generate_series(1, 100) i")
    bare = Schema("s", f"{server}#stays", (Column("id", Type.INTEGER),), Unit("id", rows=9))
    owner.execute(statements(bare, "nr").encode())
    first = set(owner.execute("SELECT id, nr FROM stays WHERE id IS NOT NULL").fetchall())
    assert all(len({rank for who, rank in first if who == i}) in (14, 15) for i in range(1, 7))
    assert max(rank for _, rank in first) == 14 and min(rank for _, rank in first) == 0  # type: ignore[type-var]
    tables = open_tables([replace(bare, unit=Unit("id", rows=9, rank="nr"))])
    owner.execute("INSERT INTO stays (id) SELECT 3 FROM generate_series(1, 5)")
    owner.execute(statements(bare, "nr").encode())
    later = set(owner.execute("SELECT id, nr FROM stays WHERE id IS NOT NULL").fetchall())
    assert first < later and {who for who, _ in later - first} == {3} and len(later) == len(first) + 5
    tables.close()


def test_numbers_and_dates_beyond_a_type_are_missing(server: str, owner: Owner) -> None:
    owner.execute(
        "CREATE TABLE odd (n numeric, x numeric, d date, s timestamptz, r float4, c char(9), i smallint)"
    )
    owner.execute(
        "INSERT INTO odd VALUES (1e30, 1e400, 'infinity', '-infinity', 'NaN', 'b', 1), "
        "('NaN', 1e-400, '4000-01-01 BC', '20000-01-01', '-Infinity', NULL, 2), "
        "(2.5, 0.1, '2024-02-29', '2024-02-29 01:00+02', 0.5, 'ß', NULL)"
    )
    types = zip("nxdsrci", ["integer", "real", "date", "timestamp", "real", "text", "integer"], strict=True)
    columns = tuple(Column(name, Type(type_)) for name, type_ in types)
    tables = open_tables([Schema("odd", f"{server}#public.odd", columns)])
    select = exp.select(*(exp.column(name, quoted=True) for name in "nxdsrci")).from_("odd")
    found = pa.Table.from_batches(list(tables.batches(select))).to_pydict()
    assert found["n"] == [None, None, 3] and found["x"] == [None, 0, 0.1] and found["r"] == [None, None, 0.5]
    assert [str(day) for day in found["d"]] == ["None", "None", "2024-02-29"]
    assert [str(time) for time in found["s"]] == ["None", "None", "2024-02-28 23:00:00"]
    assert found["c"] == ["b", None, "ß"] and found["i"] == [1, 2, None]
    tables.close()


@pytest.mark.parametrize(
    ("made", "said"),
    [
        ("VIEW refused AS SELECT 1 AS age", "a view or foreign"),
        ("TABLE refused (age text)", "age is not kept as integer"),
        ("TABLE refused (years int)", "has no column age"),
        ("SEQUENCE refused", "a view or foreign"),
    ],
)
def test_what_cannot_be_read_as_declared_is_refused(server: str, owner: Owner, made: str, said: str) -> None:
    owner.execute(f"CREATE {made}".encode())
    with pytest.raises(BadSource, match=said) as refused:
        open_tables([Schema("t", f"{server}#refused", (Column("age", Type.INTEGER),))])
    assert "hush" not in str(refused.value)
    owner.execute(f"DROP {made.split()[0]} refused".encode())


def test_rows_that_a_role_may_not_see_are_not_silently_left_out(server: str, owner: Owner) -> None:
    owner.execute(
        "CREATE TABLE hidden (age int); ALTER TABLE hidden ENABLE ROW LEVEL SECURITY; "
        "CREATE ROLE guest LOGIN; GRANT SELECT ON hidden TO guest"
    )
    address = server.replace("obverse:hush", "guest")
    with pytest.raises(BadSource, match="row security"):
        open_tables([Schema("t", f"{address}#hidden", (Column("age", Type.INTEGER),))])


def test_no_password_is_told_when_there_is_no_server(tmp_path: Path) -> None:
    with pytest.raises(BadSource, match="cannot be reached") as refused:
        open_tables([Schema("t", f"postgresql://me:hush@/d?host={tmp_path}&password=hush#t", ())])
    assert "hush" not in str(refused.value) and refused.value.__suppress_context__


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT CAST(name AS BIGINT) FROM people",
        "SELECT SUM(age) FROM pg_class",
        "SELECT pg_sleep(9) FROM people",
    ],
)
def test_what_fails_or_is_not_declared_says_nothing(server: str, owner: Owner, sql: str) -> None:
    owner.execute("CREATE TABLE IF NOT EXISTS people (age int, name text)")
    owner.execute(f"INSERT INTO people VALUES (30, '{SECRET}')".encode())
    columns = Column("age", Type.INTEGER), Column("name", Type.TEXT)
    tables = open_tables([Schema("people", f"{server}#people", columns)])
    with pytest.raises(Withheld) as withheld:
        tables.run(parse_one(sql, dialect="duckdb"))
    assert SECRET not in str(withheld.value)
    assert withheld.value.__context__ is None or withheld.value.__suppress_context__
    assert repr(tables) == "PostgreSQL(people)"
    with pytest.raises(psycopg.Error, match="read-only"):
        tables._connection.execute("DELETE FROM public.people")
    tables.close()


def test_every_write_makes_another_version_and_no_reading_does(server: str, owner: Owner) -> None:
    owner.execute("CREATE TABLE versions (age int)")
    tables = open_tables([Schema("v", f"{server}#versions", (Column("age", Type.INTEGER),))])
    seen = [tables.version("v")]
    writes = (
        "INSERT INTO versions VALUES (1)",
        "UPDATE versions SET age = 2",
        "DELETE FROM versions",
        "TRUNCATE versions",
    )
    for write in writes:
        owner.execute(write.encode())
        seen.append(tables.version("v"))
        tables.run(parse_one("SELECT COUNT(*) FROM v"))
        assert tables.version("v") == seen[-1]
    assert len(set(seen)) == len(seen)
    tables.close()


def test_a_curator_answers_from_postgresql_and_keeps_the_answer(
    server: str, owner: Owner, tmp_path: Path
) -> None:
    owner.execute("CREATE TABLE clinic AS SELECT i AS id, i % 90 AS age FROM generate_series(1, 5000) i")
    (tmp_path / "clinic.toml").write_text(f"""
[tables.people]
source = "{server}#clinic"
[tables.people.columns]
id = {{ type = "integer" }}
age = {{ type = "integer", low = 0, high = 120 }}
[policy]
epsilon = 5
""")
    with obverse.open(tmp_path / "clinic.toml") as curator:
        curator.check()
        first = curator.ask("DP-SELECT 1 COUNT(*) AS n, AVG(age) AS age FROM people WHERE age < 45")
        again = curator.ask("DP-SELECT 1 COUNT(*) AS n, AVG(age) AS age FROM people WHERE age < 45")
        assert first.rows == again.rows
        assert first.rows[0][0] == pytest.approx(2500, abs=100)
        assert first.rows[0][1] == pytest.approx(22, abs=5)
        spent = curator.budget()
        owner.execute("DELETE FROM clinic WHERE id = 1")
        curator.ask("DP-SELECT 1 COUNT(*) AS n, AVG(age) AS age FROM people WHERE age < 45")
        assert curator.budget() != spent
