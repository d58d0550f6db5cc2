"""Synthetic rows of Adult beside the real ones: `python -m bench.rows`.

Total variation distance of every column's, and every pair of columns', shares: 0 where alike, 1 where nothing is
shared. Beside ours: real columns put together at random (what no pair would leave), and a fresh sample of the same
people as large as the table (what luck alone would leave). Numbers with many values are cut at their real deciles.
"""

from __future__ import annotations

import tempfile
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from time import perf_counter, process_time

import numpy as np
import pyarrow.csv

import obverse
from obverse.cli.demo import unpack

EPSILONS = ("0.1", "1", "10")
MANY = 40


def coded(columns: dict[str, list[object]], real: dict[str, list[object]]) -> dict[str, np.ndarray]:
    """Each value as a whole number, the same for the same value in both tables."""
    found = {}
    for name, values in columns.items():
        known = sorted(set(real[name]), key=str)
        if len(known) > MANY and all(isinstance(v, int) for v in known):
            cuts = np.unique(np.quantile(np.array(real[name]), np.linspace(0.1, 0.9, 9)))
            found[name] = np.searchsorted(cuts, np.array(values, float), side="right")
        else:
            places = {value: place for place, value in enumerate(known)}
            found[name] = np.array([places.get(value, len(known)) for value in values])
    return found


def apart(one: dict[str, np.ndarray], other: dict[str, np.ndarray], names: tuple[str, ...]) -> float:
    """Total variation distance over these columns."""
    sizes = [max(one[name].max(), other[name].max()) + 1 for name in names]
    shares = []
    for table in (one, other):
        cells = np.ravel_multi_index([table[name] for name in names], sizes)
        counts = np.bincount(cells, minlength=int(np.prod(sizes)))
        shares.append(counts / counts.sum())
    return float(np.abs(shares[0] - shares[1]).sum() / 2)


def line(name: str, table: dict[str, np.ndarray], real: dict[str, np.ndarray], note: str = "") -> None:
    alone = [apart(table, real, (each,)) for each in real]
    both = [apart(table, real, pair) for pair in combinations(real, 2)]
    print(
        f"{name:34} {np.mean(alone):7.3f} {max(alone):7.3f}   {np.mean(both):7.3f} {max(both):7.3f}  {note}",
        flush=True,
    )


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        unpack(Path(folder))
        settings = Path(folder) / "census.toml"
        settings.write_text(settings.read_text().replace("epsilon = 3 ", "epsilon = 300 "))
        held = pyarrow.csv.read_csv(
            Path(folder) / "adult.csv", convert_options=pyarrow.csv.ConvertOptions(strings_can_be_null=True)
        )
        truth = {name: held[name].to_pylist() for name in held.column_names}
        truth = {name: [None if v == "" else v for v in values] for name, values in truth.items()}
        real = coded(truth, truth)
        draw = np.random.default_rng(1)
        rows = held.num_rows
        print(
            f"{'Adult, 15 columns, 105 pairs':34} {'column: mean':>9} {'max':>5}   {'pair: mean':>7} {'max':>7}"
        )
        line("columns put together at random", {n: draw.permutation(c) for n, c in real.items()}, real)
        again = draw.integers(0, rows, rows)
        line("a fresh sample of the same people", {n: c[again] for n, c in real.items()}, real)
        with obverse.open(settings) as curator:
            curator.check()
            for epsilon in EPSILONS:
                start, busy = perf_counter(), process_time()
                answer = curator.ask(f"DP-SELECT {epsilon} * FROM people")
                note = f"{perf_counter() - start:.1f} s, {process_time() - busy:.1f} s of CPU, {len(answer):,} rows"
                line(
                    f"SELECT *, ε = {epsilon}",
                    coded(dict(zip(answer.columns, zip(*answer.rows, strict=False), strict=True)), truth),
                    note=note,
                    real=real,
                )
                assert answer.loss.pure is not None and answer.loss.pure <= Fraction(epsilon)


if __name__ == "__main__":
    main()
