"""A grouped count over 100M rows of 10M people, and a cold process on a CSV: `python -m bench.large [rows in millions]`.

Each is measured in a process of its own: seconds from its start to the answer, and the most memory it held. Times hold
opening (with the check that nobody has a rank twice), planning, charge, run, noise and the ledger's commit.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

import duckdb

CHILD = """
import resource, sys, time
begun = time.perf_counter()
import obverse
with obverse.open(sys.argv[1]) as curator:
    curator.check()
    opened = time.perf_counter() - begun
    answer = curator.ask(sys.argv[2])
    used = resource.getrusage(resource.RUSAGE_SELF)
    print(opened, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)
"""
BARE = """
import resource, obverse
obverse.open
used = resource.getrusage(resource.RUSAGE_SELF)
print(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)
"""
RAW = """
import duckdb, time
begun = time.perf_counter()
duckdb.execute("SELECT grp, COUNT(*) FROM '{path}' GROUP BY grp").fetchall()
print(time.perf_counter() - begun)
"""
SETTINGS = """
[tables.t]
source = "{source}"
unit = {unit}
[tables.t.columns]
id = {{ type = "integer" }}
grp = {{ type = "integer", categories = [{groups}] }}
pay = {{ type = "real", low = 0, high = 90 }}
[policy]
epsilon = 100
"""
GROUPED = "DP-SELECT 1 grp, COUNT(*) FROM t GROUP BY grp"
MADE = """SELECT (i * 7919 % {people})::INTEGER AS id, (i * 31 % 97 % 20)::UTINYINT AS grp, i % 90000 / 1000.0 AS pay,
    (i // {people})::UTINYINT AS nr FROM range({rows}) r(i)"""


def child(code: str, *words: str) -> list[float]:
    """What a fresh process prints, and the seconds until it has ended."""
    begun = perf_counter()
    done = subprocess.run([sys.executable, "-c", code, *words], check=True, capture_output=True, text=True)
    return [*map(float, done.stdout.split()), perf_counter() - begun]


def asked(folder: Path, source: str, unit: str, question: str) -> list[float]:
    """Seconds until the table was open, seconds of the processor's, MiB, and seconds of the whole process."""
    for old in folder.glob("bench.ledger*"):
        old.unlink()  # but not the secret
    groups = ", ".join(map(str, range(20)))
    (folder / "bench.toml").write_text(SETTINGS.format(source=source, unit=unit, groups=groups))
    return child(CHILD, str(folder / "bench.toml"), question)


def line(name: str, goal: str, found: list[float]) -> None:
    opened, busy, memory, seconds = found
    print(f"{name:46} {goal:>22} {seconds:6.2f} s (open {opened:6.2f}, cpu {busy:6.2f}) {memory:7,.0f} MiB")


def main() -> None:
    rows = int(sys.argv[1] if len(sys.argv) > 1 else 100) * 1_000_000
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        cold(folder)
        duckdb.execute(f"COPY ({MADE.format(rows=rows, people=rows // 10)}) TO '{folder}/t.parquet'")
        (theirs, _) = child(RAW.format(path=folder / "t.parquet"))
        print(
            f"{rows // 10**6}M rows of {rows / 10**7:g}M people in Parquet; DuckDB itself takes {theirs:.2f} s"
        )
        by_rank = '{ column = "id", rows = 12, rank = "nr" }'
        first = asked(folder, "t.parquet", by_rank, GROUPED)
        line("grouped count, by ranks, first looked through", "printed", first)
        line("grouped count, by ranks", "<= 20 s, <= 8 GiB", asked(folder, "t.parquet", by_rank, GROUPED))
        scaled = '{ column = "id", rows = 12 }'
        line("grouped count, scaled", "<= 20 s, <= 8 GiB", asked(folder, "t.parquet", scaled, GROUPED))
        line("grouped count, each row a unit", "printed", asked(folder, "t.parquet", '"row"', GROUPED))


def cold(folder: Path) -> None:
    """From nothing to the first answer about a CSV of 1M rows of 100k people."""
    made = MADE.format(rows=1_000_000, people=100_000)
    duckdb.execute(f"COPY (SELECT id, grp, pay FROM ({made})) TO '{folder}/t.csv' (HEADER)")
    busy, memory, seconds = child(BARE)
    print(
        f"{'import':46} {'<= 0.5 s, <= 80 MiB':>22} {seconds:6.2f} s {f'(cpu {busy:6.2f})':>27} {memory:7,.0f} MiB"
    )
    question = "DP-SELECT 1 COUNT(*), SUM(pay) FROM t"
    people = '{ column = "id", rows = 12 }'
    line("cold, CSV of 1M rows of people", "<= 1.2 s, <= 450 MiB", asked(folder, "t.csv", people, question))
    line("cold, CSV of 1M rows", "<= 1.2 s, <= 450 MiB", asked(folder, "t.csv", '"row"', question))


if __name__ == "__main__":
    main()
