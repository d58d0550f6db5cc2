"""Who stands out: how many sample uniques are alone in the population too, and who is unique on few columns.

A sample shows how many classes have one, two, three … rows; four models of the population turn that into an
estimate.  [Zay91; CK98; Hos01; DEED12]  SUDA2 looks for the least sets of values that single a row out.  [MHK08]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import exp, lgamma, log, log1p, prod

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from obverse.anonymise.codes import encode, group
from obverse.anonymise.measure import class_of_rows
from obverse.errors import BadParameter

Sizes = dict[int, int]


@dataclass(frozen=True)
class Uniqueness:
    """How many rows are unique in the sample, and how many of them probably in the population, by four models."""

    sample: int
    zayatz: float
    negative_binomial: float | None
    pitman: float | None

    def dankar(self, share: float) -> float:
        """[DEED12, Figure 4]: Pitman for a small sample, else the lower of the two others."""
        if share <= 0.1 and self.pitman is not None:
            return self.pitman
        return self.zayatz if self.negative_binomial is None else min(self.zayatz, self.negative_binomial)


def population_uniques(table: pa.Table, quasi: Sequence[str], population: int) -> Uniqueness:
    """The estimates for a sample of a population of this size."""
    if population < len(table):
        raise BadParameter(f"a population of {population} cannot hold a sample of {len(table)}")
    _, counts = class_of_rows(table, quasi)
    found, often = np.unique(counts, return_counts=True)
    sizes = {int(size): int(n) for size, n in zip(found, often, strict=True)}
    alone, rows = sizes.get(1, 0), len(table)
    if not alone or rows == population:
        return Uniqueness(alone, float(alone), float(alone), float(alone))
    share = rows / population
    return Uniqueness(
        alone, zayatz(sizes, share), negative_binomial(sizes, population), pitman(sizes, population)
    )


def zayatz(sizes: Sizes, share: float) -> float:
    """The population's classes are as large as the sample's; Bayes then says how many singles are single.  [Zay91]"""
    total = sum(sizes.values())
    single = {j: n / total * j * share * (1 - share) ** (j - 1) for j, n in sizes.items()}
    return sizes[1] * single[1] / sum(single.values())


def negative_binomial(sizes: Sizes, population: int) -> float | None:
    """Class sizes less one are negative binomial; moments of a thinned sample give its parameters.  [CK98]

    With generating function G(s) = s·(p/(1 − q·s))^a, a sampled class has 0 rows with G(1 − π) and 1 with π·G′(1 − π).
    """
    rows, seen, alone = sum(j * n for j, n in sizes.items()), sum(sizes.values()), sizes[1]
    s = 1 - rows / population

    def terms(p: float, a: float) -> tuple[float, float, float]:
        base = exp(a * (log(p) - log1p(-(1 - p) * s)))
        none, one = s * base, (1 - s) * base * (1 + a * (1 - p) * s / (1 - (1 - p) * s))
        return none, one, 1 + a * (1 - p) / p

    def shape(p: float) -> float:
        return _root(lambda a: terms(p, a)[2] / (1 - terms(p, a)[0]) - population / seen, 1e-9, 1e6)

    def gap(p: float) -> float:
        none, one, _ = terms(p, shape(p))
        return one / (1 - none) - alone / seen

    grid = [i / 200 for i in range(1, 200)]
    gaps = [gap(p) for p in grid]
    for low, high, x, y in zip(grid, grid[1:], gaps, gaps[1:], strict=False):
        if x * y <= 0:
            p = _root(gap, low, high)
            none, _, _ = terms(p, shape(p))
            return min(float(alone), float(seen / (1 - none) * p ** shape(p)))
    return None


def pitman(sizes: Sizes, population: int) -> float | None:
    """Pitman's sampling formula, fitted by likelihood; its expected number of singles in the population.  [Hos01]"""
    rows, seen = sum(j * n for j, n in sizes.items()), sum(sizes.values())

    def likelihood(theta: float, a: float) -> float:
        classes = (seen - 1) * log(a) + lgamma(theta / a + seen) - lgamma(theta / a + 1)
        inside = sum(n * (lgamma(j - a) - lgamma(1 - a)) for j, n in sizes.items())
        return classes - lgamma(theta + rows) + lgamma(theta + 1) + inside

    def best(a: float) -> float:
        return _peak(lambda x: likelihood(exp(x) - a * (1 - 1e-9), a), -20, 25)

    a = _peak(lambda x: likelihood(exp(best(x)) - x * (1 - 1e-9), x), 1e-6, 1 - 1e-6)
    theta = exp(best(a)) - a * (1 - 1e-9)
    if theta + a <= 0:
        return None
    n = population
    grown = lgamma(theta + a + n - 1) - lgamma(theta + a) + lgamma(theta + 1) - lgamma(theta + n)
    return min(float(sizes[1]), n * exp(grown))


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    """Where a function changes its sign, by halving."""
    rising = function(low) < 0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if (function(middle) < 0) == rising else (low, middle)
    return (low + high) / 2


def _peak(function: Callable[[float], float], low: float, high: float) -> float:
    """Where a function with one peak is largest, by golden section."""
    golden = (5**0.5 - 1) / 2
    for _ in range(60):
        a, b = high - golden * (high - low), low + golden * (high - low)
        low, high = (a, high) if function(a) < function(b) else (low, b)
    return (low + high) / 2


@dataclass(frozen=True)
class Special:
    """For each row its minimal sets of columns on which nobody is like it, and a score: smaller sets weigh more."""

    sets: tuple[tuple[tuple[str, ...], ...], ...]
    score: NDArray[np.float64]


def suda(table: pa.Table, columns: Sequence[str], most: int = 3) -> Special:
    """Minimal sample uniques of up to `most` columns, scored as SUDA does.  [EMF02; MHK08]"""
    if not 1 <= most <= len(columns):
        raise BadParameter(f"between 1 and {len(columns)} columns can single a row out, not {most}")
    coded = {name: encode(name, table[name]) for name in columns}
    found: list[list[tuple[str, ...]]] = [[] for _ in range(len(table))]
    score, special = np.zeros(len(table)), dict[tuple[str, ...], NDArray[np.bool_]]()
    for size in range(1, most + 1):
        for names in combinations(columns, size):
            _, inverse, counts = group([coded[n][1] for n in names], [coded[n][0].size for n in names])
            alone = counts[inverse] == 1
            for part in combinations(names, size - 1):
                if part:
                    alone = alone & ~special[part]
            for row in np.flatnonzero(alone):
                found[row].append(names)
            score += alone * float(prod(len(columns) - i for i in range(size, most + 1)))
            reached = [special[part] for part in combinations(names, size - 1) if part]
            special[names] = np.logical_or.reduce([alone, *reached])
    return Special(tuple(map(tuple, found)), score)
