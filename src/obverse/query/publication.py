"""What a release will do, and what it is worth: cells counted with one noise, and the ± of any total of them."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import log, sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from obverse.data.schema import protected
from obverse.data.table import Tables
from obverse.loss.loss import Loss
from obverse.mechanisms.long_ranges import LongRanges
from obverse.mechanisms.ranges import LaplaceRanges
from obverse.mechanisms.strategy import Floats
from obverse.noise.entropy import Entropy
from obverse.query.answer import Answer
from obverse.query.relation import Relation
from obverse.query.show import cost
from obverse.release import Accuracy, Kind
from obverse.synthesise.domain import Axis, Span
from obverse.synthesise.measure import Read

if TYPE_CHECKING:
    from obverse.query.publish import Publish

FINE = 1 << 16  # steps of a row: what least squares makes of counts is no whole number any more
SHOWN = 2000
Counts = NDArray[np.int64]
Weights = tuple[tuple[int, ...], Floats]


@dataclass(frozen=True)
class PublishPlan:
    """All that will be done for a release; made from public facts alone."""

    request: Publish
    relation: Relation
    read: Read
    mechanism: LaplaceRanges | LongRanges
    confidence: Fraction
    kind: Kind = "answer"
    delta: Fraction = Fraction(0)

    @property
    def tables(self) -> tuple[str, ...]:
        return self.relation.tables

    @property
    def guarantee(self) -> Loss:
        """A person moves the cells by `sensitivity` together, each measured number by no more than its column says."""
        return self.mechanism.loss(self.read.sensitivity)

    @property
    def protects(self) -> str:
        return protected(self.relation.private)

    @cached_property
    def key(self) -> str:
        return f"release {self.request}\n{self.mechanism}\n{self.read.rows.unit}"

    @property
    def accuracy(self) -> tuple[Accuracy, ...]:
        confidence = float(self.confidence)
        one = [((i,), np.eye(size)[0]) for i, size in enumerate(self.read.shape)]
        return (
            Accuracy("rows of one cell", self.margin(tuple(one), confidence), confidence),
            Accuracy("all rows", self.margin((), confidence), confidence),
        )

    @property
    def notes(self) -> tuple[str, ...]:
        names = ", ".join(each.name for each in self.read.axes)
        free = f"published as {self.request.name}: questions about {names} are answered from it, free, for everybody"
        return free, f"each ± holds in {float(100 * self.confidence):.4g} % of runs"

    @property
    def told(self) -> str:
        """The plan in words."""
        lines = [f"protects    {self.protects}", f"publishes   {self.request}"]
        lines += [
            f"column      {each.name}: {len(each.holds):,} cells, and rows without a value"
            for each in self.read.axes
        ]
        lines += [f"bounds      {self.read.bounds}"] if self.read.bounds else []
        lines += [f"reads       {self.read.select.sql(dialect='duckdb')}"]
        lines += [
            f"±           {each.name}  ± {each.margin:,.4g} in {each.confidence:.0%} of runs"
            for each in self.accuracy
        ]
        return "\n".join([*lines, f"cost        {cost(self.guarantee)}; nothing was read, nothing charged"])

    def margin(self, weights: tuple[Weights, ...], confidence: float) -> float:
        """How far a weighted total of the published cells is off, in rows.

        The noise is a sum of Laplace noises of known variance: at most as wide, for its variance, as the wider of one
        Laplace and a normal law; that is held to by trial, not by a theorem.
        """
        return wide(confidence) * self.spread(*weights)

    def spread(self, *weights: Weights) -> float:
        """The standard deviation of a weighted total of the published cells, in rows."""
        if isinstance(self.mechanism, LongRanges):
            ones = np.ones(self.mechanism.size)
            variance = self.mechanism.variance_of(weights[0][1] if weights else ones)
        else:
            variance = self.mechanism.variance_of(*weights)
        return float(sqrt(variance) * self.read.grid)

    def run(self, tables: Tables, entropy: Entropy) -> Answer:
        exact = self.read.held(tables).marginal(*range(len(self.read.axes)))
        noisy = np.asarray(self.mechanism.release(exact, entropy), np.float64) * float(self.read.grid)
        return self.shown(np.rint(noisy * FINE).astype(np.int64))

    def shown(self, counts: Counts) -> Answer:
        """The cells as a table, if they are not too many to read; all of them stay within its totals."""
        shape, names = self.read.shape, tuple(each.name for each in self.read.axes)
        rows, margins = [], []
        if counts.size <= SHOWN:
            one = tuple(((i,), np.eye(size)[0]) for i, size in enumerate(shape))
            wide = self.margin(one, float(self.confidence))
            for cell in product(*(range(size) for size in shape)):
                said = (_said(each, place) for each, place in zip(self.read.axes, cell, strict=True))
                rows.append((*said, int(counts[cell]) / FINE))
                margins.append((*(None,) * len(shape), wide))
        steps = tuple((step,) for step in counts.ravel().tolist())
        return Answer((*names, "COUNT(*)"), tuple(rows), tuple(margins), steps)

    def counts(self, answer: Answer) -> Counts:
        """The published cells, in steps of 1/FINE of a row."""
        return np.array([step for (step,) in answer.totals], np.int64).reshape(self.read.shape)

    def at(self, answer: Answer, confidence: Fraction) -> Answer:
        """The same cells, with the ± of another confidence."""
        return replace(self, confidence=confidence).shown(self.counts(answer))

    def pack(self, value: Answer) -> bytes:
        cuts = [
            (cut.column, cut.way, None if cut.step is None else str(cut.step)) for cut in self.request.cuts
        ]
        spec = {
            "name": self.request.name,
            "table": self.request.table,
            "cuts": cuts,
            "epsilon": str(self.request.epsilon),
        }
        return json.dumps([spec, [step for (step,) in value.totals]], separators=(",", ":")).encode()

    def unpack(self, kept: bytes) -> Answer:
        return self.shown(np.array(json.loads(kept)[1], np.int64).reshape(self.read.shape))


def wide(confidence: float) -> float:
    """How many standard deviations hold a sum of Laplace noises with this confidence."""
    return max(NormalDist().inv_cdf((1 + confidence) / 2), log(1 / (1 - confidence)) / sqrt(2))


def _said(axis: Axis, place: int) -> str | int | bool | None:
    """A cell by its value, or by its first value and the first beyond it."""
    if place == len(axis.holds):
        return None
    held = axis.holds[place]
    return f"{decimal(held.low)} … {decimal(held.high)}" if isinstance(held, Span) else held


def decimal(number: Fraction) -> str:
    """A number as it is written in SQL, where it can be."""
    return str(number.numerator) if number.denominator == 1 else repr(float(number))
