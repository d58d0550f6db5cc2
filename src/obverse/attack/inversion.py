"""What a model gives away about a column it was asked with: inversion, and the guess it must beat.  [FJR15; WFJN16]

An attribute that strangers' records predict as well is no leak of the model. So every inversion stands beside
`imputed`: the same secret, from the same knowledge, without the model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from obverse.attack.base import Attack, Claims, Harm, View
from obverse.attack.membership import Confidence, Score
from obverse.attack.mixed import encode
from obverse.attack.nearest import Nearest
from obverse.attack.synthetic import categories

NEIGHBOURS = 25


@dataclass(frozen=True)
class Inversion(Attack):
    """The secret value under which the model is least surprised, weighed by how common it is.  [FJR15, Figure 2]

    The view's `release` is a model; its `targets` have every column but the `secret`, the `population` all of
    them in the order the model was trained with.
    """

    label: str
    secret: str
    harm: ClassVar[Harm] = "inference"

    @property
    def threat(self) -> str:
        return f"Somebody who knows a person but for {self.secret} asks the model which value would fit."

    def claim(self, view: View) -> Claims:
        population = view.table("population", [self.label, self.secret])
        columns = population.column_names
        targets = view.table("targets", [name for name in columns if name != self.secret])
        score: Score = Confidence(self.label, nearby=0)
        values, counts = np.unique(population[self.secret].to_numpy(), return_counts=True)
        fits = [
            score(view.release("release"), _with(targets, self.secret, value, population))[0]
            for value in values
        ]
        weight = np.array(fits).T * counts / counts.sum()
        return _largest(values, weight)


def imputed(population: pa.Table, targets: pa.Table, secret: str) -> Claims:
    """The commonest secret among strangers who are most like each target: what no release had to tell."""
    columns = [name for name in population.column_names if name != secret]
    strangers, people = encode([population, targets], columns)
    _, index = Nearest(strangers).search(people.low, NEIGHBOURS)
    values, codes = categories(population, secret)
    asked = codes[index]
    votes = np.zeros((len(asked), len(values)))
    np.add.at(votes, (np.arange(len(asked))[:, None], asked), 1.0)
    return _largest(values, votes)


def _with(targets: pa.Table, secret: str, value: object, population: pa.Table) -> pa.Table:
    """The targets as though all had this secret, in the columns' order."""
    filled = pa.array([value] * targets.num_rows, population[secret].type)
    return targets.append_column(secret, filled).select(population.column_names)


def _largest(values: NDArray[np.generic], weight: NDArray[np.float64]) -> Claims:
    """The value of most weight, and no claim where two have as much."""
    order = np.sort(weight, axis=1)
    lead = order[:, -1] - (order[:, -2] if order.shape[1] > 1 else 0)
    return Claims(cast(NDArray[np.generic], values[weight.argmax(axis=1)]), lead, lead > 0)
