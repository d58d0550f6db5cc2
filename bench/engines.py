"""Ten private questions beside the same questions put to PostgreSQL: `python -m bench.engines`.

1M rows of 100k people. Times hold the whole of a question: planning, charge, run, noise, and the ledger's commit.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from itertools import count
from pathlib import Path
from statistics import median
from time import perf_counter

import psycopg
from tests.engines.server import serving

import obverse

MADE = """
CREATE TABLE t AS SELECT (i * 7919::int8 % 100000) AS id, 17 + i * 31 % 74 AS age, (i * 104729::int8 % 90000) / 1000.0::float8
    AS pay, 'g' || i % 20 AS grp, i % 6686 AS town FROM generate_series(1, 1000000) i;
CREATE TABLE p AS SELECT i AS id, i % 2 = 0 AS smokes FROM generate_series(0, 99999) i;
VACUUM ANALYZE t; VACUUM ANALYZE p
"""
GROUPS = ", ".join(f'"g{i}"' for i in range(20))
SETTINGS = """
[tables.p]
source = "{address}#p"
unit = {{ column = "id", rows = 1 }}
[tables.p.columns]
id = {{ type = "integer" }}
smokes = {{ type = "boolean" }}
[tables.t]
source = "{address}#t"
unit = {{ column = "id", rows = 12 }}
[tables.t.columns]
id = {{ type = "integer", references = "p.id" }}
age = {{ type = "integer", low = 17, high = 90 }}
pay = {{ type = "real", low = 0, high = 90 }}
grp = {{ type = "text", categories = [{groups}] }}
town = {{ type = "integer", low = 0, high = 6685 }}
[policy]
epsilon = 1000
"""
QUESTIONS = {
    "COUNT(*) FROM t": "",
    "COUNT(*) FROM t WHERE age > 60": "",
    "SUM(pay) FROM t": "",
    "AVG(pay) FROM t": "",
    "MEDIAN(age) FROM t": "percentile_cont(0.5) WITHIN GROUP (ORDER BY age) FROM t",
    "grp, COUNT(*) FROM t GROUP BY grp": "",
    "town, COUNT(*) FROM t GROUP BY town": "",
    "COUNT(DISTINCT id) FROM t": "",
    "COUNT(*) FROM t JOIN p ON t.id = p.id WHERE smokes": "",
    "grp, SUM(pay) FROM t GROUP BY grp": "",
}


def best(work: Callable[[], object], times: int = 3) -> float:
    """The least of several runs, in milliseconds."""
    taken = []
    for _ in range(times):
        start = perf_counter()
        work()
        taken.append(perf_counter() - start)
    return min(taken) * 1e3


def main() -> None:
    fresh = count(1)
    with tempfile.TemporaryDirectory() as folder, serving() as address:
        settings = Path(folder) / "bench.toml"
        settings.write_text(SETTINGS.format(address=address, groups=GROUPS))
        with psycopg.connect(address, autocommit=True) as raw, obverse.open(settings) as curator:
            for statement in MADE.split(";"):
                raw.execute(statement.encode())
            ratios = []
            print(
                f"{'1M rows of 100k people':58} {'goal':>7} {'PostgreSQL':>13} {'Obverse':>13} {'ratio':>8}"
            )
            for private, plain in QUESTIONS.items():
                sql = f"SELECT {plain or private}".encode()
                theirs = best(lambda sql=sql: raw.execute(sql).fetchall())
                ours = best(lambda ask=private: curator.ask(f"DP-SELECT 0.{next(fresh):04d}1 {ask}"))
                ratios.append(ours / theirs)
                print(f"{private:58} {'<= 3x':>7} {theirs:10.1f} ms {ours:10.1f} ms {ours / theirs:7.2f}x")
            print(f"{'median':58} {'<= 3x':>7} {median(ratios):36.2f}x")


if __name__ == "__main__":
    main()
