"""Ten private questions beside the same questions put to the engine: `python -m bench.engines [duckdb postgresql spark]`.

1M rows of 100k people, each with ten rows; 100 rows of ten more people for the bound to matter. Times hold the whole of a
question: planning, charge, run, noise, and the ledger's commit. The least of several runs of each, by turns.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from statistics import median
from time import perf_counter, process_time

import duckdb

import obverse
from obverse.curator.curator import Curator

MADE = """SELECT i * 7919::BIGINT % 100000 AS id, 17 + i * 31 % 74 AS age, (i * 104729::BIGINT % 90000) / 1000.0::DOUBLE AS pay,
    'g' || i % 20 AS grp, i % 6686 AS town, i // 100000 AS nr FROM range(1000000) r(i)"""
PEOPLE = "SELECT i AS id, i % 2 = 0 AS smokes, 0 AS nr FROM range(100000) r(i)"
GROUPS = ", ".join(f'"g{i}"' for i in range(20))
SETTINGS = """
[tables.p]
source = "{p}"
unit = {{ column = "id", rows = 1{rank} }}
prepared = {prepared}
[tables.p.columns]
id = {{ type = "integer" }}
smokes = {{ type = "boolean" }}
[tables.t]
source = "{t}"
unit = {{ column = "id", rows = 12{rank} }}
prepared = {prepared}
[tables.t.columns]
id = {{ type = "integer", references = "p.id" }}
age = {{ type = "integer", low = 17, high = 90 }}
pay = {{ type = "real", low = 0, high = 90 }}
grp = {{ type = "text", categories = [{groups}] }}
town = {{ type = "integer" }}
[policy]
epsilon = 1000
delta = 0.01

"""
QUESTIONS = {
    "COUNT(*) FROM t": "",
    "COUNT(*) FROM t WHERE age > 60": "",
    "SUM(pay) FROM t": "",
    "AVG(pay) FROM t": "",
    "MEDIAN(age) FROM t": "percentile_cont(0.5) WITHIN GROUP (ORDER BY age) FROM t",
    "grp, COUNT(*) FROM t GROUP BY grp": "",
    "town, COUNT(*) FROM t GROUP BY town WITH (delta = 1e-6)": "town, COUNT(*) FROM t GROUP BY town",
    "COUNT(DISTINCT id) FROM t": "",
    "COUNT(*) FROM t JOIN p ON t.id = p.id WHERE smokes": "",
    "grp, SUM(pay) FROM t GROUP BY grp": "",
}
Engine = tuple[str, str, Callable[[str], object], Curator]


def least(works: list[Callable[[], object]], times: int) -> list[tuple[float, float]]:
    """Of each the least milliseconds, and the least of the processor's in this process, run by turns."""
    found = [(float("inf"), float("inf"))] * len(works)
    for _ in range(times):
        for i, work in enumerate(works):
            wall, busy = perf_counter(), process_time()
            work()
            spent = (perf_counter() - wall) * 1e3, (process_time() - busy) * 1e3
            found[i] = min(found[i][0], spent[0]), min(found[i][1], spent[1])
    return found


@contextmanager
def on_duckdb(folder: Path) -> Iterator[Engine]:
    """Two files of Parquet, prepared; the engine beside it holds the same rows in memory."""
    with duckdb.connect() as raw:
        for name, made in (("t", MADE), ("p", PEOPLE)):
            raw.execute(f"CREATE TABLE {name} AS {made}")
            raw.execute(f"COPY {name} TO '{folder}/{name}.parquet'")
        said = SETTINGS.format(p="p.parquet", t="t.parquet", prepared="true", rank="", groups=GROUPS)
        (folder / "bench.toml").write_text(said)
        with obverse.open(folder / "bench.toml") as curator:
            yield "DuckDB", "<= 1.5x", lambda sql: raw.execute(sql).fetchall(), curator


@contextmanager
def on_postgresql(folder: Path) -> Iterator[Engine]:
    """Tables with a column of ranks, which a unique index keeps apart."""
    import psycopg
    from tests.engines.server import serving

    with serving() as address, psycopg.connect(address, autocommit=True) as raw:
        for name, made in (("t", MADE), ("p", PEOPLE)):
            select = (
                made.replace("range(", "generate_series(0, -1 + ")
                .replace("//", "/")
                .replace("BIGINT", "int8")
            )
            raw.execute(f"CREATE TABLE {name} AS {select.replace('DOUBLE', 'float8')}".encode())
            raw.execute(f"CREATE UNIQUE INDEX ON {name} (id, nr)".encode())
            raw.execute(f"VACUUM ANALYZE {name}".encode())
        said = SETTINGS.format(
            p=f"{address}#p", t=f"{address}#t", prepared="false", rank=', rank = "nr"', groups=GROUPS
        )
        (folder / "bench.toml").write_text(said)
        with obverse.open(folder / "bench.toml") as curator:
            yield "PostgreSQL", "<= 3x", lambda sql: raw.execute(sql.encode()).fetchall(), curator


@contextmanager
def on_spark(folder: Path) -> Iterator[Engine]:
    """Files of Parquet with a column of ranks, read by a Spark in this process."""
    from pyspark.sql import SparkSession

    with duckdb.connect() as raw:
        for name, made in (("t", MADE), ("p", PEOPLE)):
            raw.execute(f"COPY ({made}) TO '{folder}/{name}.parquet'")
    places = {name: f"spark://local#{folder}/{name}.parquet" for name in "pt"}
    (folder / "bench.toml").write_text(
        SETTINGS.format(**places, prepared="false", rank=', rank = "nr"', groups=GROUPS)
    )
    with obverse.open(folder / "bench.toml") as curator:
        curator.check()
        session = SparkSession.builder.getOrCreate()
        for name in "pt":
            session.read.parquet(f"{folder}/{name}.parquet").createOrReplaceTempView(name)
        yield "Spark", "printed", lambda sql: session.sql(sql).collect(), curator


ENGINES = {"duckdb": (on_duckdb, 7), "postgresql": (on_postgresql, 3), "spark": (on_spark, 2)}


def compare(name: str, goal: str, raw: Callable[[str], object], curator: Curator, times: int) -> None:
    fresh, ratios = count(1), []
    print(
        f"{'1M rows of 100k people':52} {'goal':>8} {name:>13} {'Obverse':>13} {'ratio':>7} {'planned':>10}"
    )
    for private, plain in QUESTIONS.items():

        def ours(ask: str = private) -> object:
            return curator.ask(f"DP-SELECT 0.9{next(fresh):04d} {ask}")

        (theirs, _), (mine, _) = least([lambda sql=plain or private: raw(f"SELECT {sql}"), ours], times)  # type: ignore[misc]
        ((planned, _),) = least(
            [lambda ask=private: curator.preview(obverse_ask(f"DP-SELECT 0.9{next(fresh):04d} {ask}"))],
            5,  # type: ignore[misc]
        )
        ratios.append(mine / theirs)
        print(
            f"{private:52} {goal:>8} {theirs:10.1f} ms {mine:10.1f} ms {mine / theirs:6.2f}x {planned:7.1f} ms"
        )
    print(f"{'median':52} {goal:>8} {median(ratios):34.2f}x\n")


def obverse_ask(sql: str) -> obverse.Ask:
    return obverse.Ask(sql)


def main() -> None:
    for wanted in sys.argv[1:] or list(ENGINES):
        opened, times = ENGINES[wanted]
        with tempfile.TemporaryDirectory() as folder, opened(Path(folder)) as (name, goal, raw, curator):
            compare(name, goal, raw, curator, times)


if __name__ == "__main__":
    main()
