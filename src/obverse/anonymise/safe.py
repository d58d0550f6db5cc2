"""A k-anonymous table with an ε: rows are sampled, labels are public, small classes vanish.  [BKP18; LQS12]

    SafeAnonymise("people", epsilon=Fraction(1), delta=1e-6, steps=(("age", 2), ("sex", 0)))

Unlike `Anonymise`, this is charged as a loss. Only the columns with a step leave, since an untouched column would name
its owner; the steps are the analyst's, so that nothing about the rows decides them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import expm1

import numpy as np
import pyarrow as pa

from obverse.anonymise.anonymise import ladder_of
from obverse.anonymise.codes import encode, group
from obverse.anonymise.reading import read
from obverse.anonymise.recode import Recoding, Test
from obverse.anonymise.release import Anonymised
from obverse.data.hierarchy import Ladder, from_rows, number, numbers
from obverse.data.schema import Column, Neighbours, Schema, Type
from obverse.data.table import Tables
from obverse.errors import BadParameter, BadQuestion
from obverse.loss.loss import Loss, Sensitivity
from obverse.mechanisms.sampled_classes import SampledClasses, spill
from obverse.noise.entropy import Entropy
from obverse.release import Accuracy, Kind, Terms

WIDEST = 10_000
LARGEST_CLASS = 100_000


@dataclass(frozen=True)
class SafeAnonymise:
    """An anonymised sample with an ε and a δ; `steps` says how far each column climbs its ladder."""

    table: str
    epsilon: Fraction
    delta: float
    steps: tuple[tuple[str, int], ...]

    def __post_init__(self) -> None:
        if not self.epsilon > 0 or not 0 < self.delta < 1 or not self.steps:
            raise BadParameter(
                "this needs ε above 0, δ between 0 and 1, and a step for each column that leaves"
            )

    def plan(self, schemas: Mapping[str, Schema], terms: Terms) -> SafePlan:
        """The share of rows and the least class that keep ε and δ; from public facts alone."""
        if self.table not in schemas:
            raise BadQuestion(f"there is no table {self.table}; there are {', '.join(schemas)}")
        schema = schemas[self.table]
        if schema.unit.column is not None:
            raise BadQuestion(
                f"{schema.name} has several rows a person: only tables of one row each can be sampled"
            )
        rows = 2 if schema.neighbours is Neighbours.REPLACE else 1
        one = self.epsilon / rows
        share = Fraction(round(-expm1(-float(one)) * 1024 * 0.9) or 1, 1024)
        limit = self.delta * expm1(float(one)) / expm1(float(one) * rows)
        mechanism = SampledClasses(share, least_class(share, float(one), limit), one)
        ladders = tuple(public_ladder(schema, name) for name, _ in self.steps)
        for (name, step), ladder in zip(self.steps, ladders, strict=True):
            if not 0 <= step <= ladder.height:
                raise BadParameter(f"{name} has steps 0 to {ladder.height}, not {step}")
        return SafePlan(self, schema, ladders, mechanism, rows)


def least_class(share: Fraction, epsilon: float, delta: float) -> int:
    """The least class size whose δ is small enough, by doubling and halving."""
    high = 2
    while spill(high, share, epsilon) > delta:
        high *= 2
        if high > LARGEST_CLASS:
            raise BadParameter("no class is large enough for this ε and δ: ask for a larger ε or δ")
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if spill(middle, share, epsilon) <= delta else (middle, high)
    return high


def public_ladder(schema: Schema, name: str) -> Ladder:
    """A column's ladder, from declarations alone."""
    column = schema.column(name)
    if found := ladder_of(schema, name):
        return found
    if column.categories:
        return from_rows(name, [(str(value), "*") for value in column.categories])
    if column.type is Type.INTEGER and column.bounded:
        return _of_integers(column)
    raise BadQuestion(f"{name} needs a hierarchy, declared categories, or whole numbers with bounds")


def _of_integers(column: Column) -> Ladder:
    low, high = int(column.low), int(column.high)  # type: ignore[arg-type]
    if high - low > WIDEST:
        raise BadQuestion(f"{column.name} has too wide bounds for a ladder: give it a hierarchy")
    return numbers(column.name, range(low, high + 1), low, high, whole=True)


@dataclass(frozen=True)
class SafePlan:
    """All that will be done; made from public facts alone."""

    request: SafeAnonymise
    schema: Schema
    ladders: tuple[Ladder, ...]
    mechanism: SampledClasses
    rows: int
    kind: Kind = "table"

    @property
    def tables(self) -> tuple[str, ...]:
        return (self.schema.name,)

    @property
    def guarantee(self) -> Loss:
        return self.mechanism.loss(Sensitivity.of(self.rows))

    @property
    def delta(self) -> Fraction:
        return Fraction(self.request.delta)

    @property
    def accuracy(self) -> tuple[Accuracy, ...]:
        return ()

    @property
    def key(self) -> str:
        return f"safe {self.request!r}\n{self.ladders!r}"

    def run(self, tables: Tables, entropy: Entropy) -> Anonymised:
        """The shown rows, class after class: nothing in them but their class's labels."""
        names = [ladder.column for ladder in self.ladders]
        table = read(tables, self.schema, names)
        tests = tuple(_tests(x, step) for x, (_, step) in zip(self.ladders, self.request.steps, strict=True))
        recoding = Recoding(tuple(names), tests)
        texts = pa.table({name: _texts(table[name]) for name in names})
        labelled = recoding.apply(texts)
        coded = [encode(name, labelled[name]) for name in names]
        first, number_of, _ = group([codes for _, codes in coded], [domain.size for domain, _ in coded])
        shown = self.mechanism.release(tuple(sorted(number_of.tolist())), entropy)
        made = labelled.take(pa.array(first[list(shown)] if shown else np.zeros(0, np.int64)))
        promise = f"ε = {float(self.request.epsilon):g}, δ = {self.request.delta:g}"
        told = (
            ("promise", promise),
            ("share of rows kept", f"{float(self.mechanism.share):.3f}"),
            ("smallest class", f"at least {self.mechanism.least}"),
            ("rows", str(len(made))),
        )
        return Anonymised(made, told, recoding)

    def pack(self, value: Anonymised) -> bytes:
        return value.pack()

    def unpack(self, kept: bytes) -> Anonymised:
        return Anonymised.unpack(pa.py_buffer(kept))


def _tests(ladder: Ladder, step: int) -> tuple[Test, ...]:
    """The labels of one step with the values under them."""
    under: dict[str, list[str]] = {}
    for leaf, label in zip(ladder.levels[0], ladder.levels[step], strict=True):
        under.setdefault(label, []).append(leaf)
    return tuple(Test(label, among=tuple(values)) for label, values in under.items())


def _texts(column: pa.ChunkedArray) -> pa.Array:
    """Values as a ladder writes them."""
    numeric = pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
    return pa.array(
        [None if v is None else number(v) if numeric else str(v) for v in column.to_pylist()], pa.string()
    )
