"""The one-page report: seconds on Adult, and on a million rows drawn from it with noise on age and weight."""

from __future__ import annotations

import tempfile
from pathlib import Path
from time import perf_counter, process_time

import numpy as np
import pyarrow as pa
import pyarrow.parquet

import obverse
from obverse.evaluate.examine import examine
from obverse.evaluate.held import against

ADULT = Path(obverse.__file__).parent / "sample" / "adult.parquet"
QUASI = ("age", "education", "marital-status", "race", "sex", "native-country")
SENSITIVE = ("salary-class", "occupation")


def million(table: pa.Table) -> pa.Table:
    """A million rows of Adult's, drawn again, with age and weight moved a little."""
    drawn = np.random.default_rng(3)
    rows = table.take(drawn.integers(0, table.num_rows, 1_000_000))
    age = np.clip(rows["age"].to_numpy() + drawn.integers(-3, 4, rows.num_rows), 17, 90)
    weight = rows["fnlwgt"].to_numpy() + drawn.integers(-20_000, 20_001, rows.num_rows)
    moved = {"age": pa.array(age), "fnlwgt": pa.array(weight)}
    return pa.table({name: moved.get(name, rows[name]) for name in rows.column_names})


def timed(what: str, people: pa.Table, goal: str) -> None:
    """All of a table but its weights is released, and held against the table."""
    with tempfile.TemporaryDirectory() as folder:
        held, file = Path(folder) / "people.parquet", Path(folder) / "release.parquet"
        pyarrow.parquet.write_table(people, held)
        pyarrow.parquet.write_table(people.drop_columns(["fnlwgt"]), file)
        started, cpu = perf_counter(), process_time()
        report = examine(file, against(held, quasi=QUASI, sensitive=SENSITIVE))
        report.html(curator=True)
    took = f"{perf_counter() - started:.1f} s, {process_time() - cpu:.1f} CPU s"
    print(f"{what:30} {goal:>8}  {took}  {report.found.verdict[0]}", flush=True)


def main() -> None:
    adult = pyarrow.parquet.read_table(ADULT)
    timed("the report on Adult", adult, "<= 60 s")
    timed("the report on 1,000,000 rows", million(adult), "<= 300 s")


if __name__ == "__main__":
    main()
