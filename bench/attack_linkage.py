"""Linkage on the shared roll and hospital set, and how unique its columns are.  [Swe97]"""

from __future__ import annotations

import datetime
from pathlib import Path
from time import perf_counter

import numpy as np
import pyarrow as pa
import pyarrow.csv

from obverse.attack.base import Contest, View
from obverse.attack.fuzzy import FuzzyLinkage
from obverse.attack.linkage import Key, Linkage, chain, uniqueness

DATA = Path(__file__).parent.parent / "tests" / "fixtures" / "attacks"


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


if __name__ == "__main__":
    main()
