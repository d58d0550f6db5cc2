"""Was this person among those it was made from? Asked of anything that can be made again: models, synthesisers.

The attacker makes references himself, each from half of a pool by independent coins, sees how a score differs
with a person in and out, and reads the release's own score by it.  [SSSS17; YGFJ18; CCN+22; ZLS24; BTR+23; Brä26]
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import lgamma
from typing import ClassVar, Literal, Protocol, TypeAlias, cast, get_args

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from obverse.attack.base import Attack, Claims, Controls, Harm, View, words
from obverse.attack.mixed import encode
from obverse.attack.nearest import Nearest
from obverse.errors import BadParameter, Missing
from obverse.noise.entropy import Entropy, Keyed

Scores: TypeAlias = NDArray[np.float64]
Coins: TypeAlias = NDArray[np.bool_]
Make: TypeAlias = Callable[[pa.Table, Entropy], object]
"""How a release of this kind is made from a table: a model with `predict_proba`, or a synthetic table."""
Score: TypeAlias = Callable[[object, pa.Table], Scores]
"""How well each row of a table fits a release, from 0 to 1: one or more ways of telling, a line each."""
Rule = Literal["loss", "gaussian", "relative", "conjugate", "quantile"]

FALSE_ALARMS = 0.01  # the share of outsiders whom the attacker is willing to name
FLOOR = 1e-3  # below which a fit is rounding
DIGITS = 9  # of a score: the rest is rounding, and would make of a tie a claim
SPREAD, MEAN = 8.0, 4.0  # how many observations the priors on a row's spread and mean are worth


class Classifier(Protocol):
    """What a model must offer."""

    def predict_proba(self, rows: NDArray[np.float64]) -> NDArray[np.float64]: ...


@dataclass(frozen=True)
class Confidence:
    """The chance that a model gives to a row's own label; and how far it falls in the row's neighbourhood.

    A model that remembers a row is surer of it than of rows a tenth of a spread away, `nearby` of which are
    asked. What both models and rows have in common cancels in the difference.
    """

    label: str
    nearby: int = 4

    def __call__(self, release: object, table: pa.Table) -> Scores:
        rows, labels = matrix(table.drop_columns([self.label])), table[self.label].to_numpy()
        own = _chance(release, rows, labels)
        if not self.nearby:
            return own[None]
        spread = 0.15 * np.median(np.abs(rows - np.median(rows, axis=0)), axis=0)
        signs = 2.0 * (words(self.nearby * rows.shape[1], Keyed("nearby")) % 2) - 1
        moves = signs.reshape(self.nearby, -1) * spread
        around = np.mean([_chance(release, rows + move, labels) for move in moves], axis=0)
        return np.stack([own, (1 + own - around) / 2])


@dataclass(frozen=True)
class Nearness:
    """How near the nearest record of a released table is: 1 for the same, a half at distance `half`.  [HHB19]"""

    half: float = 0.01

    def __call__(self, release: object, table: pa.Table) -> Scores:
        records, people = encode([cast(pa.Table, release), table], table.column_names)
        distance = Nearest(records).search(people.low)[0][:, 0].astype(float)
        return np.asarray(self.half / (self.half + distance), dtype=np.float64)[None]


@dataclass(frozen=True)
class Membership(Attack):
    """Tells members from others by what the release's score of them would be, had they been in or out.

    The view's `release` was made by `make`; its `targets` and `population` have the same columns. "loss" looks
    at the score alone [YGFJ18], "quantile" at how unusual it is for such a row [BTR+23]; the rest make
    `references`: "gaussian" is LiRA [CCN+22], "relative" RMIA [ZLS24], "conjugate" BaVarIA [Brä26].
    """

    make: Make
    score: Score
    rule: Rule = "conjugate"
    references: int = 32
    seed: str = "membership"
    harm: ClassVar[Harm] = "membership"

    def __post_init__(self) -> None:
        if self.rule not in get_args(Rule):
            raise BadParameter(f"no rule {self.rule}; there are {', '.join(get_args(Rule))}")

    @property
    def threat(self) -> str:
        return (
            "Somebody with a person's record, who can make such releases from other people's records, tells "
            "whether that person was among those it was made from."
        )

    def claim(self, view: View) -> Claims:
        release, targets = view.release("release"), view.table("targets")
        population = view.table("population", targets.column_names).select(targets.column_names)
        asked = pa.concat_tables([targets, population]).combine_chunks()
        own = self.score(release, asked)
        inside = np.arange(asked.num_rows) < targets.num_rows
        if self.rule == "loss":
            scores = own[0] - np.quantile(own[0][~inside], 1 - FALSE_ALARMS)
        elif self.rule == "quantile":
            scores = own[0] - _usual(asked, own[0], ~inside)
        else:
            scores = self._by_references(own, asked)
        scores = np.round(scores, DIGITS)
        return Claims(np.ones(inside.sum(), bool), scores[inside], scores[inside] > 0)

    def _by_references(self, own: Scores, asked: pa.Table) -> Scores:
        """The ratio, above what it is for outsiders of a reference that is attacked in the same way."""
        if self.references < 4:
            raise BadParameter(
                "membership by references needs at least 4 of them, so that people are in and out"
            )
        entropy, found, coins = Keyed(self.seed), [], []
        for _ in range(self.references):
            coin = words(asked.num_rows, entropy) % 2 == 1
            found.append(self.score(self.make(asked.filter(pa.array(coin)), entropy), asked))
            coins.append(coin)
        fits, inside = np.array(found), np.array(coins)
        idle = self._ratio(fits[0], fits[1:], inside[1:])[~inside[0]]
        return self._ratio(own, fits, inside) - float(np.quantile(idle, 1 - FALSE_ALARMS))

    def _ratio(self, own: Scores, found: Scores, inside: Coins) -> Scores:
        """The log ratio, added up over the ways of telling; RMIA knows one way."""
        if self.rule == "relative":
            return relative(own[0], found[:, 0], inside)
        ratio = gaussian if self.rule == "gaussian" else conjugate
        return np.asarray(sum(ratio(own[way], found[:, way], inside) for way in range(len(own))))


def dealt(claims: Claims, coins: Coins) -> tuple[Claims, Controls]:
    """For the judge: claims of a mixed list, dealt into members and the people who were left out."""
    parts = [
        Claims(claims.values[who], claims.scores[who], claims.made[who], claims.seconds)
        for who in (coins, ~coins)
    ]
    return parts[0], Controls(parts[1])


def gaussian(own: Scores, found: Scores, inside: Coins) -> Scores:
    """log N(logit; in) − log N(logit; out), a mean for each row and one spread for all.  [CCN+22, Algorithm 1]"""
    own, found = _logit(own), _logit(found)
    parts = []
    for coin in (inside, ~inside):
        _, mean, _, usual = _moments(found, coin)
        parts.append(-0.5 * ((own - mean) ** 2 / usual + np.log(usual)))
    return np.asarray(parts[0] - parts[1])


def relative(own: Scores, found: Scores, inside: Coins) -> Scores:
    """The row's fit to the release against its mean fit to the references, half in and half out.  [ZLS24]

    RMIA counts the strangers whose ratio is smaller; among targets of one release the order is the same.
    """
    mean = (_moments(found, inside)[1] + _moments(found, ~inside)[1]) / 2
    return np.asarray(np.log(own + FLOOR) - np.log(mean + FLOOR))


def conjugate(own: Scores, found: Scores, inside: Coins) -> Scores:
    """The ratio of two Student predictions, each row drawn towards rows like it.  [Brä26, BaVarIA-t]

    Normal-inverse-gamma posteriors of the fit's angle asin(√p), whose spread hardly depends on p; the mean of
    a row when in is drawn to the cubic that predicts it from its mean when out, and the other way round.
    """
    own, found = np.arcsin(np.sqrt(own)), np.arcsin(np.sqrt(found))
    sides = [_moments(found, inside), _moments(found, ~inside)]
    parts = []
    for (count, mean, squares, usual), (_, other, _, _) in (sides, sides[::-1]):
        powers = np.vander(other, 4)
        prior = powers @ np.linalg.lstsq(powers, mean)[0]
        weight, freedom = MEAN + count, SPREAD + count
        centre = (MEAN * prior + count * mean) / weight
        squares = SPREAD * usual + squares + MEAN * count / weight * (mean - prior) ** 2
        spread = squares / freedom * (1 + 1 / weight)
        shape = [lgamma((f + 1) / 2) - lgamma(f / 2) - 0.5 * np.log(f) for f in range(1, len(found) + 10)]
        tail = (freedom + 1) / 2 * np.log1p((own - centre) ** 2 / (freedom * spread))
        parts.append(np.array(shape)[freedom.astype(int) - 1] - 0.5 * np.log(spread) - tail)
    return np.asarray(parts[0] - parts[1])


def matrix(table: pa.Table) -> NDArray[np.float64]:
    """A table of numbers as a matrix; names of things must be made numbers by whoever made the model."""
    texts = [
        field.name
        for field in table.schema
        if not (pa.types.is_integer(field.type) or pa.types.is_floating(field.type))
    ]
    if texts:
        raise BadParameter(f"a model's rows are numbers: encode {', '.join(texts)} as it was for the model")
    return np.column_stack([table[name].to_numpy().astype(float) for name in table.column_names])


def _moments(found: Scores, coin: Coins) -> tuple[Scores, Scores, Scores, float]:
    """By row, over references whose coin fell so: how many, mean, squares about it; and everybody's variance."""
    count = coin.sum(axis=0).astype(float)
    everybody = np.where(coin, found, 0).sum() / max(coin.sum(), 1)
    mean = np.where(count > 0, np.where(coin, found, 0).sum(axis=0) / np.maximum(count, 1), everybody)
    squares = np.where(coin, (found - mean) ** 2, 0).sum(axis=0)
    usual = max(squares.sum() / max(count.sum() - (count > 0).sum(), 1), 1e-12)
    return count, mean, squares, float(usual)


def _logit(fit: Scores) -> Scores:
    fit = np.clip(fit, FLOOR, 1 - FLOOR)
    return np.asarray(np.log(fit / (1 - fit)), dtype=np.float64)


def _chance(model: object, rows: NDArray[np.float64], labels: NDArray[np.generic]) -> Scores:
    """The chance of each row's own label; none where the model has never heard of it."""
    chances = cast(Classifier, model).predict_proba(rows)
    classes = np.asarray(getattr(model, "classes_", np.arange(chances.shape[1])))
    place = np.clip(np.searchsorted(classes, labels), 0, len(classes) - 1)
    return np.where(classes[place] == labels, chances[np.arange(len(labels)), place], 0.0)


def _usual(asked: pa.Table, own: Scores, outside: Coins) -> Scores:
    """The score that so few outsiders like this one exceed.  [BTR+23]"""
    try:
        from sklearn.ensemble import HistGradientBoostingRegressor
    except ImportError:
        raise Missing("the quantile rule needs scikit-learn: pip install obverse[attack]") from None
    rows = matrix(asked)
    learner = HistGradientBoostingRegressor(loss="quantile", quantile=1 - FALSE_ALARMS, random_state=0)
    return np.asarray(learner.fit(rows[outside], own[outside]).predict(rows), dtype=np.float64)
