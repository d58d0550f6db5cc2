"""A differentially private table: noisy counts of a fixed set of cells, with margins that add up.  [HRMS10]"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
from sqlglot import exp

from obverse.data.bounding import Measure, out_grid, own, sensitivity, totals
from obverse.data.schema import Schema
from obverse.data.table import Tables
from obverse.errors import BadParameter
from obverse.loss.calibrate import gaussian_variance, laplace_scale
from obverse.loss.loss import Loss, Sensitivity
from obverse.mechanisms.gaussian import Gaussian
from obverse.mechanisms.laplace import Laplace
from obverse.noise.entropy import Entropy
from obverse.release import Accuracy, Terms
from obverse.synthesise.measure import nearest
from obverse.tables.cube import Reading
from obverse.tables.dimension import Dimension
from obverse.tables.protect import Protection, Shape, counts_only
from obverse.tables.published import long, shown

ONE = Measure(None, 1, 1)


@dataclass(frozen=True)
class Private(Protection):
    """Counts with noise that costs ε (and δ), charged once for the whole table with all its margins.

    Only combinations of categories are counted, where people are disjoint; no count ends below 0, and margins
    are sums. Counting margins too and fitting all of it by least squares would share the noise out among h
    sets of cells: the variance summed over all cells is then L·h (Gaussian) or L·h² (Laplace) times that of one
    noise for L combinations, and L·h for sums of them, so it never gains on average.  [HRMS10, Section 4]
    """

    epsilon: Fraction | None = None
    delta: Fraction = Fraction(0)

    def settled(self, shape: Shape, terms: Terms) -> Private:
        counts_only(shape, "a private table")
        if not shape.schema.unit.told:
            raise BadParameter(
                f"a private table needs to know how many rows of one {shape.schema.unit.column} count: add rows to the "
                f"unit of {shape.schema.name}"
            )
        for dimension in shape.dimensions:
            if not dimension.closed:
                raise BadParameter(
                    f"a private table needs to know the values of {dimension.column} in advance: "
                    f"declare its categories or bounds, or give it a ladder"
                )
        epsilon = terms.epsilon if self.epsilon is None else Fraction(self.epsilon)
        settled = replace(self, epsilon=epsilon, delta=Fraction(self.delta))
        settled.guarantee(shape)
        return settled

    @property
    def at(self) -> Fraction:
        return self.delta

    def guarantee(self, shape: Shape) -> Loss:
        return self._mechanism(shape).loss(_apart(shape))

    def accuracy(self, shape: Shape) -> tuple[Accuracy, ...]:
        margin = self._mechanism(shape).interval(0.95) * float(_grid(shape))
        note = "before it is fitted to the others; a sum of n of them errs by about √n times as much"
        return (Accuracy("each combination of categories", margin, 0.95, note),)

    def _mechanism(self, shape: Shape) -> Laplace | Gaussian:
        assert self.epsilon is not None
        apart = _apart(shape)
        if self.delta:
            return Gaussian(gaussian_variance(self.epsilon, self.delta, apart))
        return Laplace(laplace_scale(self.epsilon, apart))

    def release(self, shape: Shape, reading: Reading, tables: Tables, entropy: Entropy) -> pa.Table:
        true = leaves(shape.schema, shape.dimensions, tables)
        noisy = self._mechanism(shape).release_many(true.ravel().tolist(), entropy)
        fitted = np.array(noisy, dtype=float).reshape(true.shape) * float(_grid(shape))
        value = nearest(fitted)
        for axis, dimension in enumerate(shape.dimensions):
            value = dimension.sums(value, axis)
        mask = shown(shape.dimensions, shape.by)
        return long(shape.dimensions, shape.by, mask, value, np.full(value.shape, "", dtype=object))


def _apart(shape: Shape) -> Sensitivity:
    """How far one person's coming or going moves all the counts together."""
    return sensitivity(own(shape.schema), ONE, grouped=True)


def _grid(shape: Shape) -> Fraction:
    """What one step of a bounded count is worth."""
    return out_grid(own(shape.schema), ONE, grouped=True)


def leaves(schema: Schema, dimensions: tuple[Dimension, ...], tables: Tables) -> np.ndarray:
    """The bounded count of every combination of categories, in steps of `out_grid`."""
    columns = [exp.column(dimension.column, quoted=True) for dimension in dimensions]
    keys = tuple(exp.cast(column, "TEXT") for column in columns)
    counts = np.zeros([len(dimension.leaves) for dimension in dimensions], np.int64)
    for *values, steps in tables.run(totals(own(schema), None, keys, (ONE,))):
        cell = tuple(_leaf(d, value) for d, value in zip(dimensions, values, strict=True))
        counts[cell] += int(steps or 0)
    return counts


def _leaf(dimension: Dimension, value: object) -> int:
    if value is None:
        return dimension.missing
    return dimension.places.get((0, str(value)), dimension.other)
