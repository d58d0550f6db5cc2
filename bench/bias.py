"""What bounds take off where nobody told how many rows people have, and how many unknown keys are named.

`python -m bench.bias`: 1M rows of 100k people, of whom half have 5 rows or fewer and one has 10,357; then 1M rows of 50k
people, 20 each, of keys by Zipf's law (k^−1.5). PipelineDP answers the second beside us, in an environment of its own.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from time import process_time

import numpy as np
import pyarrow as pa
from pyarrow import feather

from obverse.curator.curator import CURATOR, Curator
from obverse.data.schema import Column, Schema, Type, Unit
from obverse.engines.duckdb import DuckDB
from obverse.ledger.ledger import Ledger
from obverse.ledger.policy import Account, Policy, limits
from obverse.noise.entropy import Keyed
from obverse.query.answer import Answered
from obverse.query.bias import expected
from obverse.release import KINDS

PEOPLE, LARGEST, MEDIAN = 100_000, 10_357, 5
RUNS = 32
INCOMES = tuple(f"income{k}" for k in range(8))
PEER = Path("/tmp/bench_pipelinedp")
ASKED = """
import sys, time, numpy, pipeline_dp as p
ids, keys = numpy.load(sys.argv[1])
rows = list(zip(ids.tolist(), keys.tolist()))
for count in (True, False):
    start, budget = time.process_time(), p.NaiveBudgetAccountant(total_epsilon=1, total_delta=1e-6)
    engine = p.DPEngine(budget, p.LocalBackend())
    of = p.DataExtractors(privacy_id_extractor=lambda r: r[0], partition_extractor=lambda r: r[1],
                          value_extractor=lambda r: 0)
    if count:
        wanted = p.AggregateParams(metrics=[p.Metrics.COUNT], noise_kind=p.NoiseKind.LAPLACE,
                                   max_partitions_contributed=20, max_contributions_per_partition=1)
        found = engine.aggregate(rows, wanted, of)
    else:
        found = engine.select_partitions(rows, p.SelectPartitionsParams(max_partitions_contributed=20), of)
    budget.compute_budgets()
    named = [each[0] if count else each for each in found]
    print(int(count), time.process_time() - start, *named)
"""


def skewed() -> pa.Table:
    """Rows a person by a Pareto law with this median and largest; what each row spent, and people's incomes, anew in each
    of several columns, since chance alone decides what the few with most rows earn."""
    tail = np.log(PEOPLE / 2) / np.log(LARGEST / MEDIAN)
    people = np.arange(1, PEOPLE + 1)
    rows = np.maximum(1, np.round(LARGEST * people ** (-1 / tail))).astype(np.int64)
    draw = np.random.default_rng(4)
    ids = np.repeat(draw.permutation(PEOPLE), rows)
    incomes = {name: np.exp(draw.normal(10.3, 0.6, PEOPLE)).round(2)[ids] for name in INCOMES}
    spent = np.exp(draw.normal(10.3, 0.6, len(ids))).round(2)
    return pa.table({"id": ids, "spent": spent, **incomes})


def zipf(people: int = 50_000, each: int = 20) -> pa.Table:
    """So many rows a person, of keys 1, 2, 3, … with chance k^−1.5."""
    chances = np.arange(1.0, 10**6 + 1) ** -1.5
    keys = np.searchsorted(np.cumsum(chances) / chances.sum(), np.random.default_rng(7).random(people * each))
    return pa.table({"id": np.repeat(np.arange(people), each), "key": keys.astype(np.int64)})


def held(folder: Path, rows: pa.Table, schema: Schema) -> DuckDB:
    feather.write_feather(rows, schema.source)
    return DuckDB([schema])


def fresh(folder: Path, schema: Schema, tables: DuckDB, runs: int) -> Iterator[Curator]:
    """As many curators of the same table, each with a ledger and noise of its own."""
    for run in range(runs):
        policy = Policy(limits("9", "0.1"), accounts=(Account(CURATOR, kinds=KINDS),))
        ledger = Ledger(
            folder / f"{schema.name}{run}.ledger", policy, lambda: datetime(2026, 1, 1, tzinfo=UTC)
        )
        yield Curator([schema], ledger, Keyed(f"{schema.name} {run}"), {"duckdb": tables})
        ledger.close()


def nothing_told(folder: Path) -> None:
    names = ("spent", *INCOMES)
    columns = (Column("id", Type.INTEGER), *(Column(name, Type.REAL) for name in names))
    schema = Schema("visits", str(folder / "visits.arrow"), columns, Unit("id", told=False))
    rows = skewed()
    tables = held(folder, rows, schema)
    counts = np.unique(rows["id"].to_numpy(), return_counts=True)[1]
    print(
        f"{len(rows):,} rows of {PEOPLE:,} people: median {np.median(counts):.0f}, largest {counts.max():,}"
    )
    print(f"nothing told; {RUNS} runs, each with a registration of ε = 0.1 of the rows and one column")
    print(
        f"{'':46}{'goal':>7}{'median':>9}{'95 %':>8}{'mean':>9}{'stated':>9}{'stated bias + ±, of the 95 % seen':>36}"
    )
    incomes = [f"AVG({name})" for name in INCOMES]
    cases = (
        ("COUNT(*)", ["COUNT(*)"], "2 %"),
        ("AVG of income, one a person", incomes, "0.8 %"),
        ("AVG of what rows spent", ["AVG(spent)"], "0.8 %"),
    )
    for name, questions, goal in cases:
        for epsilon, how in ((0.9, "0.1 of ε = 1"), (1, "beside ε = 1")):
            found = []
            for run, curator in enumerate(fresh(folder, schema, tables, RUNS)):
                question = questions[run % len(questions)]
                column = question[4:-1] if question.startswith("AVG") else "spent"
                values = rows[column].to_numpy()
                curator.register("visits", Fraction(1, 10), (column,))
                answer = curator.ask(f"DP-SELECT {epsilon} {question} FROM visits")
                truth = float(len(values) if question == "COUNT(*)" else values.mean())
                found.append(off(answer, truth, float(values.std())))
            for each in folder.glob("*.ledger*"):
                each.unlink()
            print(f"{name:29}{how:17}{goal:>7}{_row(np.array(found))}", flush=True)
    tables.close()


def off(answer: Answered, truth: float, spread: float) -> tuple[float, float, float, float]:
    """How far off an answer is, the bias and the ± that it states, and how far it may move besides; as shares."""
    (bias,) = expected(answer.plan)  # type: ignore[arg-type]
    value, margin = float(answer.rows[0][0]), float(answer.margins[0][0] or 0)  # type: ignore[arg-type]
    return value / truth - 1, bias.share or 0.0, margin / truth, bias.moved * spread / truth


def _row(found: np.ndarray) -> str:
    """Medians over runs; stated is the bias, ± how far an average may move."""
    error, bias, noise, moved = found.T
    seen = np.quantile(np.abs(error), 0.95)
    ratio = (np.median(np.abs(bias)) + np.median(np.hypot(noise, 2 * moved))) / seen
    figures = (np.median(np.abs(error)), seen, np.mean(error), np.median(bias))
    one, two, three, four = (f"{100 * each:.2f} %" for each in figures)
    besides = f" and ± {100 * np.median(moved):.2f} %" if moved.any() else ""
    return f"{one:>9}{two:>8}{three:>9}{four:>9}{besides:14}{ratio:>20.2f}×"


def unknown_keys(folder: Path) -> None:
    columns = (Column("id", Type.INTEGER), Column("key", Type.INTEGER))
    schema = Schema("t", str(folder / "t.arrow"), columns, Unit("id", rows=20))
    rows = zipf()
    tables = held(folder, rows, schema)
    true = np.bincount(rows["key"].to_numpy())
    print(f"\n{len(rows):,} rows of 50,000 people, 20 each; {np.count_nonzero(true):,} keys; ε = 1, δ = 10⁻⁶")
    print(f"{'':40}{'keys':>8}{'mass':>8}{'false':>7}{'CPU s':>8}")
    asked = "DP-SELECT 1 key, COUNT(*) AS n FROM t GROUP BY key WITH (delta = 1e-6)"
    for curator in fresh(folder, schema, tables, 3):
        start = process_time()
        named = [int(key) for key, _ in curator.ask(asked).rows]  # type: ignore[arg-type]
        print(_named("Obverse, keys and their counts", named, true, process_time() - start))
    print("goal: ≥ 300 keys or ≥ 0.955 of the mass")
    for name, found, seconds in peers(folder, rows):
        print(_named(name, found, true, seconds))
    tables.close()


def _named(name: str, keys: list[int], true: np.ndarray, seconds: float) -> str:
    false = sum(not 0 <= key < len(true) or true[key] == 0 for key in keys)
    mass = sum(int(true[key]) for key in set(keys)) / true.sum()
    return f"{name:40}{len(keys):>8,}{mass:>8.4f}{false:>7}{seconds:>8.1f}"


def peers(folder: Path, rows: pa.Table) -> Iterator[tuple[str, list[int], float]]:
    """PipelineDP on the same rows; where it cannot be installed, it says so."""
    python = PEER / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", PEER], check=True)
    installed = subprocess.run([python, "-m", "pip", "install", "-q", "pipeline-dp"], capture_output=True)
    if installed.returncode:
        print("PipelineDP could not be installed here")
        return
    np.save(folder / "rows.npy", np.stack([rows["id"].to_numpy(), rows["key"].to_numpy()]))
    said = subprocess.run(
        [python, "-c", ASKED, folder / "rows.npy"], capture_output=True, text=True, check=True
    )
    for line in said.stdout.splitlines():
        count, seconds, *keys = line.split()
        what = "keys and their counts" if count == "1" else "only keys, ε all for them"
        yield f"PipelineDP, {what}", [int(key) for key in keys], float(seconds)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        nothing_told(Path(folder))
        unknown_keys(Path(folder))


if __name__ == "__main__":
    main()
