"""Servers for attacks through an account: one that answers exactly, and Obverse, on the same people."""

import tempfile
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import duckdb
import numpy as np
import pyarrow as pa

import obverse
from obverse.attack.base import words
from obverse.noise.entropy import Keyed

SETTINGS = """
[tables.people]
source = "people.csv"
[tables.people.columns]
id = { type = "integer", low = 0, high = 200 }
secret = { type = "boolean" }
[policy]
epsilon = 1
[accounts.adversary]
epsilon = 1
"""


@dataclass(frozen=True)
class People:
    """So many people, each with a secret: an independent fair coin."""

    count: int

    def coins(self):
        return words(self.count, Keyed("secrets")) >> np.uint64(63) == 1

    def table(self):
        return pa.table({"id": range(self.count), "secret": self.coins()})

    def account(self):
        """The same people behind Obverse, with ε = 1 in all."""
        folder = Path(tempfile.mkdtemp())
        (folder / "people.toml").write_text(SETTINGS)
        rows = "".join(f"{i},{str(secret).lower()}\n" for i, secret in enumerate(self.coins()))
        (folder / "people.csv").write_text("id,secret\n" + rows)
        return obverse.open(folder / "people.toml").account("adversary")


class Exact:
    """A server that answers exactly."""

    def __init__(self, people):
        self.database = duckdb.connect()
        self.database.register("people", people.table())

    def ask(self, sql):
        return SimpleNamespace(rows=self.database.execute(sql).fetchall())
