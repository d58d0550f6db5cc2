"""Ten private questions put to those that install from PyPI, each in an environment of its own: `python -m bench.peers`.

1M rows of 100k people, ε = 1 a question, at most 12 rows of a person; beside the engine's own time and ours in one run,
all on the same CSV (Qrlew on PostgreSQL). Then COUNT(*) of a table in which people have 5 rows in the median and up to
10,000, with at most 32 of each where a bound must be named: how far off each is, which none of them says.
A peer that cannot be installed or asked is printed so. An environment that is there is used: `--keep FOLDER` leaves them.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import venv
from collections.abc import Callable, Iterator
from math import exp
from pathlib import Path
from statistics import NormalDist
from time import perf_counter

QUESTIONS = (
    "SELECT COUNT(*) FROM t",
    "SELECT COUNT(*) FROM t WHERE age > 60",
    "SELECT SUM(pay) FROM t",
    "SELECT AVG(pay) FROM t",
    "SELECT MEDIAN(age) FROM t",
    "SELECT grp, COUNT(*) FROM t GROUP BY grp",
    "SELECT town, COUNT(*) FROM t GROUP BY town",
    "SELECT COUNT(DISTINCT id) FROM t",
    "SELECT COUNT(*) FROM t JOIN p ON t.id = p.id WHERE smokes",
    "SELECT grp, SUM(pay) FROM t GROUP BY grp",
)
PEERS = {
    "smartnoise": "smartnoise-sql",
    "qrlew": "pyqrlew",
    "tumult": "tmlt.analytics",
    "pipelinedp": "pipeline-dp",
    "opendp": "opendp[polars]",
}
SECONDS = 100  # for one peer
ROWS, GROUPS = 12, tuple(f"g{i}" for i in range(20))
Ask = Callable[[], object]


# ── In a peer's own environment: nothing of ours is imported ─────────────────────────────────────────────


def smartnoise(folder: str) -> Iterator[Ask]:
    import pandas
    import snsql

    def reader(name: str, most: int) -> object:
        columns = {
            "id": {"type": "int", "private_id": True},
            "age": {"type": "int", "lower": 17, "upper": 90},
            "pay": {"type": "float", "lower": 0.0, "upper": 90.0},
            "grp": {"type": "string"},
            "town": {"type": "int"},
        }
        table = {"row_privacy": False, "max_ids": most, "rows": 1_000_000, **columns}
        frame = pandas.read_csv(f"{folder}/{name}.csv")
        privacy = snsql.Privacy(epsilon=1.0, delta=1e-6)
        return snsql.from_df(frame, privacy=privacy, metadata={"": {"MySchema": {name: table}}})

    held = reader("t", ROWS)
    for sql in QUESTIONS:
        text = sql.replace("FROM t", "FROM MySchema.t").replace("JOIN p", "JOIN MySchema.p")
        yield lambda text=text: held.execute(text)  # type: ignore[attr-defined,misc]
    skewed = reader("skewed", 32)
    yield lambda: skewed.execute("SELECT COUNT(*) FROM MySchema.skewed")[1][0]  # type: ignore[attr-defined]


def qrlew(address: str) -> Iterator[Ask]:
    from pyqrlew import Dataset
    from sqlalchemy import create_engine, text

    engine = create_engine(address.replace("postgresql://", "postgresql+psycopg2://"))
    dataset = Dataset.from_database("bench", engine, "public")
    for column, low, high in (("age", 17, 90), ("pay", 0, 90)):
        dataset = dataset.with_range("public", "t", column, low, high)
    unit = [("t", [], "id"), ("p", [], "id"), ("skewed", [], "id")]

    def asked(sql: str) -> object:
        private = dataset.relation(sql).rewrite_with_differential_privacy(
            dataset, unit, {"epsilon": 1.0, "delta": 1e-6}
        )
        with engine.connect() as connection:
            return connection.execute(text(private.relation().to_query())).fetchall()

    for sql in QUESTIONS:
        yield lambda sql=sql: asked(sql)  # type: ignore[misc]
    yield lambda: asked("SELECT COUNT(*) FROM skewed")[0][0]  # type: ignore[index]


def tumult(folder: str) -> Iterator[Ask]:
    from pyspark.sql import SparkSession
    from tmlt.analytics import (
        AddRowsWithID,
        KeySet,
        MaxRowsPerID,
        PureDPBudget,
        QueryBuilder,
        Session,
    )

    spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()

    def session(name: str) -> Session:
        frame = spark.read.csv(f"{folder}/{name}.csv", header=True, inferSchema=True)
        return Session.from_dataframe(PureDPBudget(100), name, frame, protected_change=AddRowsWithID("id"))

    held = session("t")
    rows = QueryBuilder("t").enforce(MaxRowsPerID(ROWS))
    groups = KeySet.from_dict({"grp": list(GROUPS)})
    towns = KeySet.from_dict({"town": list(range(6686))})
    queries = (
        rows.count(),
        rows.filter("age > 60").count(),
        rows.sum("pay", 0, 90),
        rows.average("pay", 0, 90),
        rows.median("age", 17, 90),
        rows.groupby(groups).count(),
        rows.groupby(towns).count(),
        rows.count_distinct(["id"]),
        None,
        rows.groupby(groups).sum("pay", 0, 90),
    )
    for query in queries:
        yield lambda query=query: held.evaluate(query, PureDPBudget(1)).collect()  # type: ignore[misc]
    skewed = session("skewed")
    counted = QueryBuilder("skewed").enforce(MaxRowsPerID(32)).count()
    yield lambda: skewed.evaluate(counted, PureDPBudget(1)).collect()[0][0]


def pipelinedp(folder: str) -> Iterator[Ask]:
    import csv

    import pipeline_dp as dp

    def read(name: str) -> list[tuple[int, int, float, str, int]]:
        with open(f"{folder}/{name}.csv") as file:
            rows = csv.DictReader(file)
            return [(int(r["id"]), int(r["age"]), float(r["pay"]), r["grp"], int(r["town"])) for r in rows]

    def asked(rows: list, metric: object, by: object, public: object, most: int, value: int = 2) -> list:  # type: ignore[type-arg]
        budget = dp.NaiveBudgetAccountant(total_epsilon=1, total_delta=1e-6)
        engine = dp.DPEngine(budget, dp.LocalBackend())
        size = 1 if public == [0] else most
        parameters = dp.AggregateParams(
            metrics=[metric],
            max_partitions_contributed=size,
            max_contributions_per_partition=most if size == 1 else 1,
            min_value=0,
            max_value=90,
        )
        extract = dp.DataExtractors(
            partition_extractor=by,
            privacy_id_extractor=lambda r: r[0],
            value_extractor=lambda r: r[value],
        )
        found = engine.aggregate(rows, parameters, extract, public_partitions=public)
        budget.compute_budgets()
        return list(found)

    held, one = read("t"), [0]
    metrics = dp.Metrics
    old = [r for r in held if r[1] > 60]
    for rows, metric, by, public in (
        (held, metrics.COUNT, lambda r: 0, one),
        (old, metrics.COUNT, lambda r: 0, one),
        (held, metrics.SUM, lambda r: 0, one),
        (held, metrics.MEAN, lambda r: 0, one),
        (held, metrics.PERCENTILE(50), lambda r: 0, one),
        (held, metrics.COUNT, lambda r: r[3], list(GROUPS)),
        (held, metrics.COUNT, lambda r: r[4], None),
        (held, metrics.PRIVACY_ID_COUNT, lambda r: 0, one),
        (None, None, None, None),
        (held, metrics.SUM, lambda r: r[3], list(GROUPS)),
    ):
        yield lambda rows=rows, metric=metric, by=by, public=public: asked(rows, metric, by, public, ROWS)  # type: ignore[misc]
    skewed = read("skewed")
    yield lambda: asked(skewed, metrics.COUNT, lambda r: 0, one, 32)[0][1].count


def opendp(folder: str) -> Iterator[Ask]:
    import opendp.prelude as dp
    import polars as pl

    dp.enable_features("contrib", "honest-but-curious")

    def rows(name: str, most: int) -> object:
        context = dp.Context.compositor(
            data=pl.scan_csv(f"{folder}/{name}.csv"),
            privacy_unit=dp.unit_of(contributions=1, identifier=pl.col("id")),
            privacy_loss=dp.loss_of(epsilon=1.0),
            split_evenly_over=1,
            margins=[dp.polars.Margin(max_length=1_000_000)],
        )
        return context.query().truncate_per_group(most)

    count, paid = dp.len(), pl.col("pay").fill_nan(0).fill_null(0)
    asks: tuple[Callable[[], object], ...] = (
        lambda: rows("t", ROWS).select(count),  # type: ignore[attr-defined]
        lambda: rows("t", ROWS).filter(pl.col("age") > 60).select(count),  # type: ignore[attr-defined]
        lambda: rows("t", ROWS).select(paid.dp.sum((0.0, 90.0))),  # type: ignore[attr-defined]
        lambda: rows("t", ROWS).select(paid.dp.mean((0.0, 90.0))),  # type: ignore[attr-defined]
        lambda: rows("t", ROWS).select(pl.col("age").fill_null(0).dp.median(list(range(17, 91)))),  # type: ignore[attr-defined]
    )
    for ask in asks:
        yield lambda ask=ask: ask().release().collect()  # type: ignore[misc,attr-defined]
    for _ in range(5):  # keys, joins and distinct people: not tried here
        yield lambda: None
    yield lambda: rows("skewed", 32).select(count).release().collect().item()  # type: ignore[attr-defined]


def answer(peer: str, place: str) -> None:
    """All questions to one peer, the skewed table's first, a line each: the least of two times, or why there is none."""
    asks = list(enumerate(globals()[peer](place)))
    for number, ask in [asks[-1], *asks[:-1]]:
        line: dict[str, object] = {"question": number}
        try:
            taken = []
            for _ in range(1 if number == len(QUESTIONS) else 2):
                start = perf_counter()
                found = ask()
                taken.append(perf_counter() - start)
            line |= {"ms": 1e3 * min(taken), "found": float(found) if number == len(QUESTIONS) else 0}
            if found is None:
                line = {"question": number, "failed": "not tried"}
        except BaseException as error:  # noqa: BLE001  (a peer may fail in any way; that is what is printed)
            line["failed"] = f"{type(error).__name__}: {error}"[:60].replace("\n", " ")
        print("§" + json.dumps(line), flush=True)


# ── Here ─────────────────────────────────────────────────────────────────────────────────────────────────


def made(folder: Path) -> int:
    """The tables as CSV, and how many rows the skewed one has."""
    import duckdb

    people = [NormalDist().inv_cdf((i + 0.5) / 20_000) for i in range(20_000)]
    sizes = [(i, max(1, round(5 * exp(1.88 * z)))) for i, z in enumerate(people)]
    with duckdb.connect() as raw:
        raw.execute(
            "CREATE TABLE t AS SELECT (i * 7919 % 100000) AS id, 17 + i * 31 % 74 AS age, (i * 104729 % 90000) / 1000 "
            "AS pay, 'g' || (i % 20) AS grp, i % 6686 AS town FROM range(1000000) r(i)"
        )
        raw.execute("CREATE TABLE p AS SELECT i AS id, i % 2 = 0 AS smokes FROM range(100000) r(i)")
        raw.execute("CREATE TABLE sizes (id BIGINT, n BIGINT)")
        raw.execute("INSERT INTO sizes SELECT * FROM (VALUES " + ", ".join(map(str, sizes)) + ")")
        raw.execute(
            "CREATE TABLE skewed AS SELECT id, 30 AS age, 1.0 AS pay, 'g1' AS grp, 1 AS town FROM sizes, range(n)"
        )
        for table in ("t", "p", "skewed"):
            raw.execute(f"COPY {table} TO '{folder}/{table}.csv' (HEADER)")
    return sum(size for _, size in sizes)


def engine(folder: Path) -> list[float]:
    """The raw engine's own times."""
    import duckdb

    with duckdb.connect() as raw:
        for table in ("t", "p"):
            raw.execute(f"CREATE TABLE {table} AS SELECT * FROM '{folder}/{table}.csv'")
        return [least(lambda sql=sql: raw.execute(sql).fetchall()) for sql in QUESTIONS]  # type: ignore[misc]


def least(work: Callable[[], object], times: int = 3) -> float:
    """The least of several runs, in milliseconds."""
    taken = []
    for _ in range(times):
        start = perf_counter()
        work()
        taken.append(perf_counter() - start)
    return min(taken) * 1e3


SETTINGS = """
[tables.p]
source = "p.csv"
unit = {{ column = "id", rows = 1 }}
[tables.p.columns]
id = {{ type = "integer" }}
smokes = {{ type = "boolean" }}
[tables.t]
source = "t.csv"
unit = {{ column = "id", rows = 12 }}
[tables.t.columns]
id = {{ type = "integer", references = "p.id" }}
age = {{ type = "integer", low = 17, high = 90 }}
pay = {{ type = "real", low = 0, high = 90 }}
grp = {{ type = "text", categories = [{groups}] }}
town = {{ type = "integer", low = 0, high = 6685 }}
[tables.skewed]
source = "skewed.csv"
unit = {{ column = "id", rows = 32 }}
[tables.skewed.columns]
id = {{ type = "integer" }}
[policy]
epsilon = 1000
"""


def ours(folder: Path) -> tuple[list[float], float]:
    """Our times, planning and the ledger's commit included, and COUNT(*) of the skewed table."""
    import obverse

    text = SETTINGS.format(groups=", ".join(f'"{group}"' for group in GROUPS))
    (folder / "peers.toml").write_text(text)
    fresh = iter(range(1, 100))
    with obverse.open(folder / "peers.toml") as curator:
        curator.check()

        def ask(sql: str) -> float:
            return least(
                lambda: curator.ask(f"DP-SELECT 1.000{next(fresh):02d} {sql.removeprefix('SELECT')}")
            )

        times = [ask(sql) for sql in QUESTIONS]
        return times, float(curator.ask("DP-SELECT 1 COUNT(*) FROM skewed").rows[0][0])  # type: ignore[arg-type]


def asked(peer: str, home: Path, place: str) -> tuple[dict[int, dict[str, object]], str]:
    """What a peer answered in time, and what kept it from the rest."""
    if not (home / "bin/python").exists():
        venv.create(home, with_pip=True)
        install = [home / "bin/pip", "install", "--quiet", PEERS[peer]]
        if subprocess.run(install, capture_output=True, timeout=600).returncode:
            return {}, "could not be installed"
    command = [home / "bin/python", __file__, "--answer", peer, place]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    why = ""
    try:
        said, _ = running.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        running.kill()
        said, _ = running.communicate()
        why = f"stopped after {SECONDS} s"
    lines = [json.loads(line[1:]) for line in said.splitlines() if line.startswith("§")]
    return {line["question"]: line for line in lines}, why


def main() -> None:
    from tests.engines.server import serving

    with tempfile.TemporaryDirectory() as name, serving() as address:
        folder = Path(name)
        homes = Path(sys.argv[2]) if sys.argv[1:2] == ["--keep"] else folder / "peers"
        rows = made(folder)
        raw, (own, counted) = engine(folder), ours(folder)
        loaded(address, folder)
        print(f"{'1M rows of 100k people':58} {'DuckDB':>9} {'Obverse':>9} {'ratio':>8}")
        for sql, plain, mine in zip(QUESTIONS, raw, own, strict=True):
            print(f"{sql:58} {plain:6.1f} ms {mine:6.1f} ms {mine / plain:7.1f}x")
        print(f"{'COUNT(*), skewed, off by':58} {counted / rows - 1:28.1%}")
        for peer in PEERS:
            lines, why = asked(peer, homes / peer, address if peer == "qrlew" else name)
            print(f"\n{peer} {why}")
            for number, line in sorted(lines.items()):
                sql = "COUNT(*), skewed, off by" if number == len(QUESTIONS) else QUESTIONS[number]
                if "failed" in line:
                    print(f"{sql:58} {line['failed']}")
                elif number == len(QUESTIONS):
                    print(f"{sql:58} {float(str(line['found'])) / rows - 1:28.1%}")
                else:
                    taken = float(str(line["ms"]))
                    print(f"{sql:58} {raw[number]:6.1f} ms {taken:6.0f} ms {taken / raw[number]:7.0f}x")


def loaded(address: str, folder: Path) -> None:
    """The same tables in PostgreSQL."""
    import psycopg

    columns = "(id int8, age int8, pay float8, grp text, town int8)"
    with psycopg.connect(address, autocommit=True) as owner:
        for table, made in (("t", columns), ("p", "(id int8, smokes bool)"), ("skewed", columns)):
            owner.execute(f"CREATE TABLE {table} {made}".encode())
            with owner.cursor().copy(f"COPY {table} FROM STDIN (FORMAT csv, HEADER)".encode()) as copy:
                copy.write((folder / f"{table}.csv").read_bytes())
        owner.execute("VACUUM ANALYZE")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--answer"]:
        answer(sys.argv[2], sys.argv[3])
    else:
        main()
