"""Linkage on the shared roll and hospital set, clean and misspelt, and how unique its columns are.  [Swe97; FS69]

splink stands beside our fuzzy linkage where a venv of its own has it, bench/.env-splink or /tmp/env-splink:
    python3 -m venv /tmp/env-splink && /tmp/env-splink/bin/pip install splink
Both see visits of people of whom one in six is on the list, with a quarter of the keys wrong or missing. Of splink's
thresholds the one with the best F1 by the truth is taken, which no attacker could choose; ours claims above 1/2.
"""

from __future__ import annotations

import datetime
import json
import subprocess
import tempfile
from pathlib import Path
from time import perf_counter, process_time

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from obverse.attack.base import Contest, View, words
from obverse.attack.fuzzy import FuzzyLinkage
from obverse.attack.linkage import Key, Linkage, chain, persons, uniqueness
from obverse.noise.entropy import Keyed

DATA = Path(__file__).parent.parent / "tests" / "fixtures" / "attacks"

VENVS = (Path(__file__).parent / ".env-splink", Path("/tmp/env-splink"))
PEER = next((venv / "bin" / "python" for venv in VENVS if venv.exists()), None)
KEYS = (Key("zip"), Key("birth_date"), Key("sex"))
ASKS_PEER = """
import json, os, sys, warnings, logging
warnings.filterwarnings("ignore"); logging.disable(logging.CRITICAL)
import duckdb
import splink.comparison_library as cl
from splink import DuckDBAPI, Linker, SettingsCreator, block_on
db = DuckDBAPI()
read = lambda name: duckdb.connect().sql(f"FROM read_csv('{sys.argv[1]}/{name}.csv', all_varchar=true)").to_arrow_table()
tables = [db.register(read("rows"), dataset_display_name="a"), db.register(read("people"), dataset_display_name="b")]
started = sum(os.times()[:4])
linker = Linker(tables, SettingsCreator(
    link_type="link_only",
    unique_id_column_name="id",
    comparisons=[
        cl.DamerauLevenshteinAtThresholds("zip", [1]).configure(term_frequency_adjustments=True),
        cl.DamerauLevenshteinAtThresholds("birth_date", [1, 2]).configure(term_frequency_adjustments=True),
        cl.ExactMatch("sex"),
    ],
    blocking_rules_to_generate_predictions=[
        block_on("birth_date"), block_on("zip", "substr(birth_date, 1, 7)"), block_on("zip", "substr(birth_date, 6, 5)"),
        block_on("zip", "substr(birth_date, 1, 4)", "substr(birth_date, 9, 2)"),
        block_on("substr(zip, 1, 4)", "substr(birth_date, 1, 8)", "sex"),
    ],
))
linker.training.estimate_probability_two_random_records_match([block_on("zip", "birth_date", "sex")], recall=0.7)
linker.training.estimate_u_using_random_sampling(max_pairs=2e6, seed=1)
for rule in (block_on("birth_date"), block_on("zip", "substr(birth_date, 1, 7)")):
    linker.training.estimate_parameters_using_expectation_maximisation(rule)
pairs = linker.inference.predict(threshold_match_probability=0.01).as_duckdbpyrelation()
rows = pairs.select("source_dataset_l, id_l, id_r, match_probability").fetchall()
took = sum(os.times()[:4]) - started
print(json.dumps([[(l if s == "a" else r), (r if s == "a" else l), p] for s, l, r, p in rows]))
print(took)
"""


def main() -> None:
    text = pa.csv.ConvertOptions(column_types={"zip": pa.string()})
    visits, truth, roll = (
        pa.csv.read_csv(DATA / f"weld_{name}.csv.gz", convert_options=text)
        for name in ("hospital", "truth", "voters")
    )
    voter = dict(zip(truth["visit"].to_pylist(), truth["voter_id"].to_pylist(), strict=True))
    named = np.array([voter[visit] for visit in visits["visit"].to_pylist()], dtype=object)
    view = View({"visits": visits}, {"roll": roll})
    for what, keep, goal in (("dates", None, 7454), ("months", 7, 404), ("years", 4, 7)):
        keys = (Key("zip"), Key("birth_date", keep=keep), Key("sex"))
        got = Contest(Linkage("visits", "roll", "voter_id", keys), view, named).evidence()
        print(
            f"linkage: right of claims by {what} of birth  {goal} of {goal}  {got.right} of {got.claims}  {got.right / goal}"
        )
        print(f"linkage: {what} of birth, seconds  -  {got.seconds:.3f}  -")
    keys = (Key("zip"), Key("birth_date"), Key("sex"))
    got = Contest(FuzzyLinkage("visits", "roll", "voter_id", keys), view, named).evidence()
    print(
        f"linkage: fuzzy, right of claims on clean keys  7454  {got.right} of {got.claims}  {got.right / 7454}"
    )
    known = {"birth_date": datetime.date(1945, 7, 31), "sex": "M", "zip": "02138"}
    left = " → ".join(str(count) for _, count in chain(roll, known))
    print(f"linkage: the Governor's chain  6 → 3 → 1  {left}  -")
    started = perf_counter()
    worst = uniqueness(roll, ["zip", "birth_date", "sex"])[0]
    print(
        f"linkage: unique by {', '.join(worst.columns)}  -  {worst.share:.4f} in {perf_counter() - started:.2f} s  -"
    )
    misspelt()


def misspelt() -> None:
    """Our fuzzy linkage and splink's, on the same rows with wrong and missing keys."""
    rows, roll, truth = noisy()
    started = process_time()
    attack = FuzzyLinkage("rows", "list", "voter_id", KEYS)
    claims = attack.run(View({"rows": rows}, {"list": roll}))
    took = process_time() - started
    ours = scored(claims.values, claims.made, truth)
    said("splink: precision, recall, F1 of ours", ours, f"{took:.1f} CPU s")
    if PEER is None:
        return
    pairs, seconds = _peer(rows, roll)
    theirs = [claimed(pairs, len(truth), bar) for bar in (0.5, *np.linspace(0.02, 0.99, 50))]
    scores = [scored(values, values != None, truth) for values in theirs]  # noqa: E711
    said("splink: its own, above 1/2", scores[0], f"{seconds:.1f} CPU s, {seconds / took:.1f} of ours")
    said("splink: its own, at the best threshold by the truth", max(scores, key=lambda each: each[2]), "-")


def said(what: str, figures: tuple[float, float, float], more: str) -> None:
    print(f"linkage: {what}  -  {' '.join(f'{each:.4f}' for each in figures)}  {more}", flush=True)


def noisy() -> tuple[pa.Table, pa.Table, np.ndarray]:
    """Visits with wrong keys, a list of a sixth of the people, and who of the list each visit is."""
    text = pa.csv.ConvertOptions(column_types={"zip": pa.string(), "birth_date": pa.string()})
    visits, truth, roll = (
        pa.csv.read_csv(DATA / f"weld_{name}.csv.gz", convert_options=text)
        for name in ("hospital", "truth", "voters")
    )
    listed = roll.slice(0, roll.num_rows // 6)
    whole = visits.join(truth, "visit").sort_by("visit")
    known = pc.is_in(whole["voter_id"], listed["voter_id"])
    mixed = pa.concat_tables([whole.filter(known), whole.filter(pc.invert(known)).slice(0, 3000)])
    named = pc.if_else(pc.is_in(mixed["voter_id"], listed["voter_id"]), mixed["voter_id"], None)
    luck = words(mixed.num_rows, Keyed("misspelt")) / 2.0**64
    worse = [
        _worse(*each)
        for each in zip(mixed["zip"].to_pylist(), mixed["birth_date"].to_pylist(), luck, strict=True)
    ]
    zips, dates = (pa.array(column, pa.string()) for column in zip(*worse, strict=True))
    return pa.table({"zip": zips, "birth_date": dates, "sex": mixed["sex"]}), listed, persons(named)


def _worse(zip_: str, date: str, luck: float) -> tuple[str, str | None]:
    """A tenth of the dates with two digits swapped, a tenth of the ZIP codes wrong, a twentieth of the dates lost."""
    if luck < 0.1:
        return zip_, date[:8] + date[9] + date[8]
    if luck < 0.2:
        return zip_[:4] + "9", date
    return (zip_, None) if luck < 0.25 else (zip_, date)


def claimed(pairs: list[tuple[str, str, float]], rows: int, bar: float) -> np.ndarray:
    """Each row's likeliest person above the bar; none where two tie."""
    best: dict[int, tuple[float, str | None]] = {}
    for row, person, chance in pairs:
        held = best.get(int(row), (bar, None))
        if chance > held[0]:
            best[int(row)] = chance, person
        elif chance == held[0]:
            best[int(row)] = chance, None
    values = np.full(rows, None, dtype=object)
    for row, (_, person) in best.items():
        values[row] = None if person is None else int(person)
    return values


def scored(values: np.ndarray, made: np.ndarray, truth: np.ndarray) -> tuple[float, float, float]:
    right = int((made & (values == truth)).sum())
    precision, recall = right / max(int(made.sum()), 1), right / sum(name is not None for name in truth)
    return precision, recall, 2 * precision * recall / max(precision + recall, 1e-9)


def _peer(rows: pa.Table, roll: pa.Table) -> tuple[list[tuple[str, str, float]], float]:
    with tempfile.TemporaryDirectory() as folder:
        numbered = rows.append_column("id", pa.array(range(rows.num_rows)))
        pa.csv.write_csv(numbered, f"{folder}/rows.csv")
        people = roll.rename_columns(["id" if name == "voter_id" else name for name in roll.column_names])
        pa.csv.write_csv(people, f"{folder}/people.csv")
        ran = subprocess.run([str(PEER), "-c", ASKS_PEER, folder], capture_output=True, text=True, check=True)
    pairs, seconds = ran.stdout.splitlines()[-2:]
    return json.loads(pairs), float(seconds)


if __name__ == "__main__":
    main()
