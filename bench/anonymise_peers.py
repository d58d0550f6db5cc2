"""Anonymised tables beside anonypy and pycanon: the same rows, CPU seconds of the same run.

    python -m venv /tmp/peers && /tmp/peers/bin/pip install anonypy pycanon pyarrow
    python -m bench.anonymise_peers /tmp/peers/bin/python

ARX needs Java and its own jar, which no package index has: beside it there are only its published figures
(`bench.anonymise`).
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import pyarrow.csv as pc
from bench.anonymise import QUASI, adult, found, line, prepared, timed

from obverse.anonymise.measure import measure
from obverse.anonymise.rules import Rule

ROWS, K = 8_000, 10
CUT = """
import json, sys, time
import pandas as pd
from anonypy.mondrian import Mondrian

table, quasi = pd.read_csv(sys.argv[1], keep_default_na=False), sys.argv[3].split(",")
for name in quasi:
    if table[name].dtype == object:
        table[name] = table[name].astype("category")
start = time.process_time()
parts = Mondrian(table, quasi).partition(int(sys.argv[2]))
spent, lost = time.process_time() - start, 0.0
for name in quasi:
    words = table[name].dtype.name == "category"
    whole = table[name].nunique() - 1 if words else table[name].max() - table[name].min()
    for part in parts:
        values = table[name][part]
        lost += len(part) * (values.nunique() - 1 if words else values.max() - values.min()) / whole
print(json.dumps([spent, lost / len(table) / len(quasi)]))
"""
VERIFY = """
import json, sys, time
import pandas as pd
from pycanon import anonymity

table, quasi, secret = pd.read_csv(sys.argv[1], keep_default_na=False), sys.argv[3].split(","), ["salary-class"]
start = time.process_time()
k, l = anonymity.k_anonymity(table, quasi), anonymity.l_diversity(table, quasi, secret)
t = anonymity.t_closeness(table, quasi, secret)
print(json.dumps([time.process_time() - start, int(k), int(l), float(t)]))
"""


def asked(python: str, script: str, file: Path) -> list[float]:
    """What a peer says, run in its own environment."""
    command = [python, "-c", script, str(file), str(K), ",".join(QUASI)]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    numbers: list[float] = json.loads(run.stdout.splitlines()[-1])
    return numbers


def main(python: str = "/tmp/peers/bin/python") -> None:
    """Information lost and CPU seconds, each beside the peer's."""
    if not Path(python).exists():
        print(f"left out: {python} is not there; the first lines of {__file__} say how to make it")
        return
    print(f"{'':58s}{'theirs':>10}{'ours':>12}{'ratio':>9}")
    table = adult().select([*QUASI, "salary-class"]).slice(0, ROWS)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "adult.csv"
        pc.write_csv(table, file)
        theirs, lost = asked(python, CUT, file)
        for how in ("mondrian", "members"):
            made, ours = found(prepared(table, QUASI, "set", {}), table, how, K)
            line(f"{how}, {ROWS:,} rows, k = {K}: GCP, beside anonypy", lost, made.loss)
            line(f"{how}, {ROWS:,} rows, k = {K}: CPU s, beside anonypy", theirs, ours)
        theirs, *verdict = asked(python, VERIFY, file)
    rules = [Rule("distinct", "salary-class", 1), Rule("t", "salary-class", 1)]
    figures, ours = timed(lambda: measure(table, QUASI, rules, sensitive=["salary-class"]))
    line(f"k, l and t of {ROWS:,} rows: CPU s, beside pycanon", theirs, ours)
    said = figures.k, *(figure for _, figure, _ in figures.rules)
    print(f"    k, l, t: ours {said[0]}, {said[1]:g}, {said[2]:.4f}; pycanon's {verdict}")


if __name__ == "__main__":
    main(*sys.argv[1:])
