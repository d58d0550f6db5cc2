"""Private questions beside the same questions put to DuckDB: `python -m bench.query`.

Times hold the whole of a question: planning, charge, run, noise, and the ledger's durable commit.
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Callable
from itertools import count
from pathlib import Path
from time import perf_counter

import duckdb

import obverse
from obverse.cli.demo import unpack
from obverse.curator.curator import Curator

ROWS, PEOPLE = 10_000_000, 1_000_000
COLUMNS = """
id = { type = "integer" }
age = { type = "integer", low = 17, high = 90 }
pay = { type = "real", low = 0, high = 90 }
grp = { type = "text", categories = ["a", "b", "c", "d", "e"] }
"""
SETTINGS = f"""
[tables.t]
source = "t.parquet"
prepared = true
[tables.t.columns]{COLUMNS}
[tables.u]
source = "t.parquet"
prepared = true
unit = {{ column = "id", rows = 8 }}
[tables.u.columns]{COLUMNS}
[policy]
epsilon = 1000
"""
MADE = f"""
SELECT (random() * {PEOPLE})::BIGINT AS id, (17 + random() * 73)::BIGINT AS age, random() * 100 AS pay,
    ['a', 'b', 'c', 'd', 'e'][1 + (random() * 4.99)::INT % 5] AS grp FROM range({ROWS})
"""
BY_ROW = (
    "COUNT(*) FROM t WHERE age > 60",
    "SUM(pay) FROM t",
    "AVG(pay) FROM t",
    "AVG(age) FROM t WHERE pay < 50",
    "grp, COUNT(*) FROM t GROUP BY grp",
    "grp, AVG(pay) FROM t GROUP BY grp",
)
CLAMPED = "CASE WHEN pay > 90 THEN 90 WHEN pay < 0 THEN 0 ELSE pay END"
BY_PERSON = {
    "COUNT(*) FROM u": "SELECT SUM(LEAST(n, 8)) FROM (SELECT id, COUNT(*) n FROM t GROUP BY id)",
    "SUM(pay) FROM u": f"""SELECT SUM(CASE WHEN n <= 8 THEN s ELSE s * 8 / n END)
        FROM (SELECT id, COUNT(*) n, SUM({CLAMPED}) s FROM t GROUP BY id)""",
    "grp, COUNT(*) FROM u GROUP BY grp": """SELECT grp, SUM(CASE WHEN n <= 8 THEN m ELSE m * 8 / n END)
        FROM (SELECT id, grp, COUNT(*) m, SUM(COUNT(*)) OVER (PARTITION BY id) n FROM t GROUP BY id, grp) GROUP BY grp""",
}


def best(work: Callable[[], object], times: int) -> float:
    """The least of several runs, in milliseconds."""
    taken = []
    for _ in range(times):
        start = perf_counter()
        work()
        taken.append(perf_counter() - start)
    return min(taken) * 1e3


def frames(work: Callable[[], object]) -> int:
    """How many Python frames a call opens."""
    opened = 0

    def opening(frame: object, event: str, argument: object) -> None:
        nonlocal opened
        opened += event == "call"

    sys.setprofile(opening)
    work()
    sys.setprofile(None)
    return opened


def line(name: str, goal: str, raw: float, ours: float) -> None:
    print(f"{name:44} {goal:>16} {raw:9.1f} ms {ours:9.1f} ms {ours / raw:7.2f}x")


def main() -> None:
    fresh = count(1)
    with tempfile.TemporaryDirectory() as folder, duckdb.connect() as raw:
        path = Path(folder)
        _adult(path, fresh)
        raw.execute(f"COPY ({MADE}) TO '{path}/t.parquet'")
        raw.execute(f"CREATE TABLE t AS FROM '{path}/t.parquet'")
        (path / "t.toml").write_text(SETTINGS)
        with obverse.open(path / "t.toml") as curator:
            print(f"{'10M rows':44} {'goal':>16} {'DuckDB':>12} {'Obverse':>12} {'ratio':>8}")
            for question in BY_ROW:
                theirs = best(lambda q=question: raw.execute("SELECT " + q).fetchall(), 5)
                line(question, "<= 1.2x", theirs, best(lambda q=question: _ask(curator, q, fresh), 5))
            for question, by_hand in BY_PERSON.items():
                theirs = best(lambda q=by_hand: raw.execute(q).fetchall(), 3)
                line(question, "<= 1.1x by hand", theirs, best(lambda q=question: _ask(curator, q, fresh), 3))


def _ask(curator: Curator, question: str, fresh: count[int]) -> object:
    """A question that was not asked before: every time at another ε."""
    return curator.ask(f"DP-SELECT 0.{next(fresh):06d}1 {question}")


def _adult(folder: Path, fresh: count[int]) -> None:
    """One COUNT on the Adult extract: Python frames, and milliseconds beyond the engine's."""
    unpack(folder)
    settings = folder / "census.toml"
    settings.write_text(re.sub("epsilon = [0-9.]+", "epsilon = 100", settings.read_text()))
    question = "COUNT(*) FROM people WHERE age > 60"
    with obverse.open(settings) as curator, duckdb.connect() as raw:
        raw.execute(f"CREATE TABLE people AS FROM '{folder}/adult.csv'")
        for _ in range(20):
            _ask(curator, question, fresh)
        opened = frames(lambda: _ask(curator, question, fresh))
        print(f"{'one COUNT on Adult: Python frames':44} {'<= 1,500':>16} {opened:>9,}")
        theirs = best(lambda: raw.execute("SELECT " + question).fetchall(), 50)
        ours = best(lambda: _ask(curator, question, fresh), 50)
        print(f"{'one COUNT on Adult: beyond DuckDB':44} {'<= 5 ms':>16} {ours - theirs:9.2f} ms")


if __name__ == "__main__":
    main()
