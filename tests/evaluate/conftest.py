"""A small world for reports: people, others of the same kind, and three releases of the people."""

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

QUASI, SENSITIVE = ("age", "town"), ("ill",)


SETTINGS = """
[policy]
epsilon = 3

[tables.people]
source = "people.csv"

[tables.people.columns]
age = { type = "integer", role = "quasi-identifier", low = 0, high = 120 }
town = { type = "text", role = "quasi-identifier" }
ill = { type = "text", role = "sensitive" }
"""


def world(seed, rows=2500):
    drawn = np.random.default_rng(seed)
    age, town = drawn.integers(18, 90, rows), drawn.integers(0, 6, rows)
    ill = np.where(drawn.random(rows) < 0.5, age // 30, drawn.integers(0, 4, rows))
    return pa.table(
        {
            "age": age,
            "town": [f"town {i}" for i in town],
            "income": drawn.integers(10, 90, rows) * 1000,
            "ill": [f"ill {i}" for i in ill],
        }
    )


@pytest.fixture(scope="session")
def files(tmp_path_factory):
    """Paths: people, others, and the releases `copy`, `fresh` (never saw them) and `banded`."""
    folder = tmp_path_factory.mktemp("report")
    people = world(0)
    band = people["age"].to_numpy() // 30 * 30
    tables = {
        "people": people,
        "others": world(1),
        "copy": people,
        "fresh": world(2),
        "banded": pa.table(
            {
                "age": [f"{a}-{a + 29}" for a in band],
                "town": ["*"] * people.num_rows,
                "ill": people["ill"],
            }
        ),
    }
    for name, table in tables.items():
        pa.csv.write_csv(table, folder / f"{name}.csv")
    return {name: folder / f"{name}.csv" for name in tables}
