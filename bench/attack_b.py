"""The adversary on synthetic tables: agreement with Anonymeter, seconds; the closest record.

Anonymeter runs beside us where a venv of its own has it, bench/.env-anonymeter or /tmp/env-anonymeter:
    python3 -m venv /tmp/env-anonymeter && /tmp/env-anonymeter/bin/pip install anonymeter
On the leaky table it draws twice from fixed seeds: its figures are means, its interval as wide as one run's.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, process_time

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

import obverse
from obverse.attack.base import Contest, Controls, Evidence, View, judge
from obverse.attack.mixed import encode
from obverse.attack.nearest import Nearest
from obverse.attack.synthetic import Inferring, Linking, SinglingOut, halves, plain

ADULT = Path(obverse.__file__).parent / "sample" / "adult.parquet"
VENVS = (Path(__file__).parent / ".env-anonymeter", Path("/tmp/env-anonymeter"))
PEER = next((venv / "bin" / "python" for venv in VENVS if venv.exists()), None)
ASKED = 1000  # targets of the peer, and of ours where it is timed
DRAWS = 10_000  # targets of ours where figures are compared, so that the distance is the peer's own chance
SECRET = "salary-class"
ASKS_PEER = """
import json, os, sys, warnings
import numpy as np
import pandas as pd
import polars as pl
warnings.filterwarnings("ignore")
from anonymeter.evaluators import InferenceEvaluator, LinkabilityEvaluator, SinglingOutEvaluator
ori, ctl, syn = (pd.read_csv(f"{sys.argv[1]}/{name}.csv") for name in ("people", "others", "release"))
columns, out = list(ori.columns), {}
def say(name, make, **more):
    risks, started = [], sum(os.times()[:4])
    for seed in range(int(sys.argv[2])):
        np.random.seed(seed)
        pl.set_random_seed(seed)
        risks.append(make(seed).evaluate(**more).risk())
    mean = np.mean([[risk.value, *risk.ci] for risk in risks], axis=0).tolist()
    out[name] = [*mean, (sum(os.times()[:4]) - started) / len(risks)]
say("singling out", lambda seed: SinglingOutEvaluator(ori=ori, syn=syn, control=ctl, n_attacks=1000, n_cols=3, max_attempts=200000, seed=seed), mode="multivariate")
say("linkability", lambda seed: LinkabilityEvaluator(ori=ori, syn=syn, control=ctl, n_attacks=1000, aux_cols=(columns[::2], columns[1::2]), n_neighbors=1))
say("inference", lambda seed: InferenceEvaluator(ori=ori, syn=syn, control=ctl, aux_cols=[c for c in columns if c != "salary-class"], secret="salary-class", n_attacks=1000))
print(json.dumps(out))
"""


Timed = tuple[Evidence, float]


def said(name: str, goal: str, measured: str, ratio: str = "") -> None:
    print(f"{name:48} {goal:>16} {measured:>24} {ratio}", flush=True)


def whole() -> pa.Table:
    """Everybody; a missing value is a category of its own."""
    table = pyarrow.parquet.read_table(ADULT)
    text = {name: table[name].fill_null("?") for name in table.column_names if table[name].null_count}
    return pa.table({name: text.get(name, table[name]) for name in table.column_names})


def adult() -> tuple[pa.Table, pa.Table]:
    """Two disjoint halves."""
    table = whole()
    order = np.random.default_rng(1).permutation(table.num_rows)
    return table.take(order[:15_000]), table.take(order[15_000:30_000])


def three(release: pa.Table, people: pa.Table, others: pa.Table, single: bool, size: int) -> dict[str, Timed]:
    """The three risks of `size` targets and CPU seconds: as Anonymeter asks, or as we do."""
    known = tuple(name for name in people.column_names if name != SECRET)
    parts = [table.slice(0, size) for table in (people, others)]
    views = [View({"release": release}, {"targets": table}) for table in parts]
    yes = np.ones(size, bool)
    truths = [plain(table, SECRET) for table in parts]
    linking = Linking(*halves(people.column_names), neighbours=int(single))
    inferring = Inferring(known, SECRET, single)
    return {
        "singling out": _timed(lambda: _singled(release, people, others, 3 if single else 0, size)),
        "linkability": _timed(lambda: Contest(linking, views[0], yes, views[1], yes).evidence()),
        "inference": _timed(lambda: Contest(inferring, views[0], truths[0], views[1], truths[1]).evidence()),
    }


def _timed(work: Callable[[], Evidence]) -> Timed:
    started = process_time()
    return work(), process_time() - started


def _singled(release: pa.Table, people: pa.Table, others: pa.Table, size: int, count: int) -> Evidence:
    attack = SinglingOut(size, count)
    claims, truth = attack.run(View({"release": release})), attack.truths(release, people, others)
    return judge(attack, claims, truth[0], Controls(claims, truth[1]))


def anonymeter() -> None:
    people, others = adult()
    three(people.slice(0, 2000), people, others, True, 100)  # compiled before it is timed
    for kind, release, runs in (("leaky", leaky(people, others), 2), ("copy", people, 1)):
        ours = three(release, people, others, True, DRAWS)
        timed = three(release, people, others, True, ASKED)
        print(f"{kind}: asking Anonymeter, for a minute or so", flush=True)
        theirs = _peer(people, others, release, runs) if PEER else {}
        for name, (got, _) in ours.items():
            risk, seconds = got.risk, timed[name][1]
            value, low, high, took = theirs.get(name, (np.nan,) * 4)
            said(
                f"{kind}: {name}, as Anonymeter asks",
                f"{low:.3f}..{high:.3f}",
                f"{risk:.3f}",
                f"peer {value:.3f}: {'inside' if low <= risk <= high else 'OUTSIDE'}",
            )
            said("  the same, CPU seconds", ">= 20x faster", f"{seconds:.2f}", f"{took / seconds:.0f}x")
    for name, (got, seconds) in three(people, people, others, False, DRAWS).items():
        said(
            f"a copy, our {name}", ">= 0.95", f"{got.risk:.3f}", f"{seconds:.2f} CPU s for {DRAWS:,} targets"
        )


def leaky(people: pa.Table, others: pa.Table) -> pa.Table:
    """What a leaky synthesiser makes: two fifths copied, the rest put together column by column from others."""
    drawn = np.random.default_rng(2)
    both = pa.concat_tables([people, others])
    replaced, columns = drawn.permutation(15_000)[:9_000], {}
    for name in both.column_names:
        rows = np.arange(15_000)
        rows[replaced] = 15_000 + drawn.permutation(15_000)[:9_000]
        columns[name] = both[name].take(rows)
    return pa.table(columns)


def _peer(people: pa.Table, others: pa.Table, release: pa.Table, runs: int) -> dict[str, list[float]]:
    with tempfile.TemporaryDirectory() as folder:
        for name, table in (("people", people), ("others", others), ("release", release)):
            pyarrow.csv.write_csv(table, f"{folder}/{name}.csv")
        ran = subprocess.run(
            [str(PEER), "-c", ASKS_PEER, folder, str(runs)], capture_output=True, text=True, check=True
        )
    return json.loads(ran.stdout.splitlines()[-1])


def closest() -> None:
    """Adult, drawn again with noise on its numbers: 100,000 × 100,000 × 15, and a holdout of as many."""
    table, drawn = whole(), np.random.default_rng(3)
    parts = []
    for _ in range(3):
        rows = table.take(drawn.integers(0, table.num_rows, 100_000))
        moved = {
            name: rows[name].to_numpy() + drawn.integers(-width, width + 1, rows.num_rows)
            for name, width in (("age", 3), ("fnlwgt", 20_000), ("hours-per-week", 4))
        }
        parts.append(pa.table({name: moved.get(name, rows[name]) for name in rows.column_names}))
    Nearest(encode([parts[0].slice(0, 100)], table.column_names)[0]).search(np.zeros((1, 15), np.float32))
    started, cpu = perf_counter(), process_time()
    boxes = encode(parts, table.column_names)
    trees = [Nearest(each) for each in boxes[1:]]
    shares = [tree.search(boxes[0].low)[0][:, 0] for tree in trees]
    nearer = float((shares[0] < shares[1]).mean())
    said(
        "closest record with holdout, 100k x 100k x 15",
        "< 60 s",
        f"{perf_counter() - started:.1f} s",
        f"{process_time() - cpu:.1f} CPU s, nearer {nearer:.3f}",
    )


def main() -> None:
    closest()
    anonymeter()


if __name__ == "__main__":
    main()
