"""Reconstruction: a million bits by Fourier, five thousand by least squares, the toy block, two censuses of blocks."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from time import perf_counter, process_time

import numpy as np
import pyarrow as pa
import pyarrow.csv

from obverse.attack import census
from obverse.attack.base import View, words
from obverse.attack.counts import Counts
from obverse.attack.reconstruction import Answers, Fourier, Reconstruction, transform
from obverse.attack.tables import Published, Statistic, sums
from obverse.noise.entropy import Keyed

DATA = Path(__file__).parent.parent / "tests" / "fixtures" / "attacks"


def bits(count: int, key: str) -> np.ndarray:
    return words(count, Keyed(key)) >> np.uint64(63) == 1


def gaussian(count: int, key: str) -> np.ndarray:
    u, v = (words(count, Keyed(f"{key} {part}")) / 2.0**64 for part in "uv")
    return np.sqrt(-2 * np.log(1 - u)) * np.cos(2 * np.pi * v)


def from_answers() -> None:
    people = 1 << 20
    truth = bits(people, "million")
    answers = (transform(truth) + truth.sum()) / 2 + 0.1 * people**0.5 * gaussian(people, "million")
    view = View({"answers": answers})
    runs = [Fourier("answers").run(view) for _ in range(5)]
    seconds, share = min(run.seconds for run in runs), float((runs[0].values == truth).mean())
    print(f"reconstruction: 2^20 bits by Fourier, right  0.993  {share:.4f}  {share / 0.993:.4f}")
    print(f"reconstruction: 2^20 bits by Fourier  0.05 s  {seconds:.4f} s  {seconds / 0.05:.3f}")
    people, asked = 5_000, 20_000
    truth = bits(people, "dense")
    questions = (
        np.unpackbits(np.frombuffer(Keyed("questions").bytes(people * asked // 8), np.uint8)).reshape(
            asked, people
        )
        > 0
    )
    exact = questions.astype(np.float32) @ truth.astype(np.float32)
    answers = Answers(questions, exact.astype(np.float64) + 0.1 * people**0.5 * gaussian(asked, "dense"))
    run = Reconstruction("answers").run(View({"answers": answers}))
    share = float((run.values == truth).mean())
    print(
        f"reconstruction: 5,000 bits from 20,000 dense questions  5 s  {run.seconds:.2f} s ({share:.4f} right)  {run.seconds / 5:.3f}"
    )


def toy() -> None:
    block = json.loads((DATA / "acmqueue_block.json").read_text())
    lines = [
        Statistic(line["id"], line["group"], line["count"], "age", line["median"], line["mean"])
        for line in block["published"]
    ]
    columns = {"sex": "FM", "age": range(126), "race": "BW", "marital": "MS"}
    sums([1], [(np.array([0]), 1)], 1)  # the solver is loaded
    started, used, right = perf_counter(), process_time(), 0
    for name, expected in block["expected"].items():
        dropped = name.removeprefix("drop ").split(",")
        kept = tuple(line for line in lines if line.name not in dropped)
        found = Published(columns, kept, ({"marital": "M", "age": range(15)},)).worlds()
        right += len(found) == expected["solutions"]
    seconds, used = perf_counter() - started, process_time() - used
    print(f"tables: toy block, variants with their number of worlds  7  {right}  {right / 7:.3f}")
    print(f"tables: toy block, all seven  0.5 s  {seconds:.3f} s ({used:.3f} s CPU)  {used / 0.5:.3f}")


def rows(people: pa.Table) -> list[tuple[object, ...]]:
    return list(zip(*(people[name].to_pylist() for name in ("block", *census.RECORD)), strict=True))


def blocks() -> None:
    text = pa.csv.ConvertOptions(column_types={"block": pa.string()})
    people = {
        name: census.records(
            pa.csv.read_csv(DATA / f"census_{name}_2010_blocks.csv.gz", convert_options=text)
        )
        for name in ("rhdf", "rmdf")
    }
    truth = Counter(rows(people["rhdf"]))
    modes: dict[object, Counter[object]] = {}
    for block, *_, race, hispanic in truth.elements():
        modes.setdefault(block, Counter())[race, hispanic] += 1
    mode = {block: counted.most_common(1)[0][0] for block, counted in modes.items()}
    rare = Counter({person: n for person, n in truth.items() if person[3:] != mode[person[0]]})
    attack = Counts(tuple(census.TABLES), "kinds", census.RECORD, "block", "places")
    for name, exact_goal, rare_goal in (("rhdf", ">= 0.9990", ">= 0.981"), ("rmdf", "<= 0.22", "<= 0.065")):
        places = people[name].select(["block", "tract"])
        view = View(census.published(people[name]), {"kinds": census.kinds(), "places": places})
        claims = attack.run(view)
        guessed, made = Counter(claims.values), Counter(claims.values[claims.made])
        exact = (guessed & truth).total() / truth.total()
        found = (guessed & rare).total() / rare.total()
        open_blocks = {person[0] for person in claims.values[~claims.made]}
        unique = 1 - len(open_blocks) / len({person[0] for person in claims.values})
        print(f"tables: {name}, exact  {exact_goal}  {exact:.4f}  -")
        print(f"tables: {name}, people who are not modal  {rare_goal}  {found:.4f}  -")
        print(
            f"tables: {name}, blocks proved unique  {'>= 0.995' if name == 'rhdf' else '-'}  {unique:.4f}  -"
        )
        print(
            f"tables: {name}, claims of every world that are right  -  {(made & truth).total()} of {made.total()}  -"
        )
        print(f"tables: {name}, seconds  2 s  {claims.seconds:.2f} s  {claims.seconds / 2:.3f}")


def main() -> None:
    from_answers()
    toy()
    blocks()


if __name__ == "__main__":
    main()
