"""The chance of every outcome, written down anew from the papers: an independent word on what is charged.

For a mechanism with a law here, δ(ε) = Σ max(0, P(x) − e^ε·Q(x)) is summed over its outcomes and compared with the
profile it is charged by, and a million draws are compared with P.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from math import erfc, exp, factorial, sqrt
from typing import Any

import numpy as np

from obverse.mechanisms.base import Mechanism
from obverse.mechanisms.exponential import Exponential
from obverse.mechanisms.gaussian import Gaussian
from obverse.mechanisms.laplace import Laplace
from obverse.mechanisms.partition import NamedCounts, Partition
from obverse.mechanisms.permute_and_flip import PermuteAndFlip
from obverse.mechanisms.randomized_response import RandomizedResponse

Law = dict[object, float]
REACH = 44  # scales from the middle, beyond which less than e⁻⁴⁴ is left


def law(mechanism: Mechanism[Any, Any], value: object) -> Law | None:
    """The chance of every outcome, or None where none is written down here."""
    written = [LAWS[kind] for kind in type(mechanism).__mro__ if kind in LAWS]
    return written[0](mechanism, value) if written else None


def delta(ours: Mapping[object, float], theirs: Mapping[object, float], epsilon: float) -> float:
    """The hockey-stick divergence of two laws.  [DR14, Definition 2.4]"""
    return sum(max(0.0, p - exp(epsilon) * theirs.get(outcome, 0.0)) for outcome, p in ours.items())


def _two_sided(weight: Callable[[int], float], middle: int, far: int) -> Law:
    weights = {middle + x: weight(x) for x in range(-far, far + 1)}
    total = sum(weights.values())
    return {outcome: each / total for outcome, each in weights.items()}


def _laplace(mechanism: Laplace, value: int) -> Law:
    scale = float(mechanism.scale)
    return _two_sided(lambda x: exp(-abs(x) / scale), value, int(REACH * scale) + 2)


def _gaussian(mechanism: Gaussian, value: int) -> Law:
    variance = float(mechanism.variance)
    return _two_sided(lambda x: exp(-x * x / (2 * variance)), value, int(10 * sqrt(variance)) + 2)


def _exponential(mechanism: Exponential, scores: Sequence[int]) -> Law:
    """P(i) ∝ exp(rate·score).  [MT07]"""
    best = max(scores)
    weights = [exp(float(mechanism.rate) * (score - best)) for score in scores]
    return {place: weight / sum(weights) for place, weight in enumerate(weights)}


def _permute_and_flip(mechanism: PermuteAndFlip, scores: Sequence[int]) -> Law:
    """P(i) = p_i·Σ over sets S of the others of Π(−p_j)/(|S| + 1), p = exp(rate·(score − best)).  [MS20, Lemma 2]"""
    best = max(scores)
    heads = [exp(float(mechanism.rate) * (score - best)) for score in scores]
    chances: Law = {}
    for place, head in enumerate(heads):
        others = heads[:place] + heads[place + 1 :]
        total = sum(
            (-1) ** size * float(np.prod(chosen)) / (size + 1)
            for size in range(len(others) + 1)
            for chosen in combinations(others, size)
        )
        chances[place] = head * total
    return chances


def _randomized_response(mechanism: RandomizedResponse, values: Sequence[int]) -> Law:
    """[KOV16]: the truth with chance e^ε/(e^ε + k − 1), every other answer with 1/(e^ε + k − 1)."""
    k, odds = mechanism.categories, exp(float(mechanism.epsilon))
    one = [
        {answer: (odds if answer == value else 1) / (odds + k - 1) for answer in range(k)} for value in values
    ]
    laws: Law = {(): 1.0}
    for chances in one:
        laws = {(*so_far, a): p * q for so_far, p in laws.items() for a, q in chances.items()}  # type: ignore[misc]
    return laws


def _partition(mechanism: Partition, people: Sequence[int]) -> Law:
    laws: Law = {(): 1.0}
    for n in people:
        named = _named(float(mechanism.epsilon), float(mechanism.delta), n)
        laws = {(*s, a): p * q for s, p in laws.items() for a, q in ((True, named), (False, 1 - named))}  # type: ignore[misc]
    return laws


def _named(epsilon: float, small: float, people: int) -> float:
    """π(n) = min(e^ε·π(n−1) + δ, 1 − e^−ε·(1 − π(n−1) − δ), 1), π(0) = 0.  [DVGM22, Theorem 1]"""
    chance = 0.0
    for _ in range(people):
        chance = min(exp(epsilon) * chance + small, 1 - exp(-epsilon) * (1 - chance - small), 1.0)
    return chance


def _named_counts(mechanism: NamedCounts, people: Sequence[int]) -> Law:
    """Noise cut off at k, and nothing where the noisy count is not above k.  [DVGM22, Section 4]"""
    cut, epsilon = mechanism.cut, float(mechanism.epsilon)
    weights = {x: exp(-epsilon * abs(x)) for x in range(-cut, cut + 1)}
    total = sum(weights.values())
    laws: Law = {(): 1.0}
    for n in people:
        one: dict[int, float] = {}
        for x, weight in weights.items():
            outcome = n + x if n > 0 and n + x > cut else 0
            one[outcome] = one.get(outcome, 0.0) + weight / total
        laws = {(*s, a): p * q for s, p in laws.items() for a, q in one.items()}  # type: ignore[misc]
    return laws


LAWS: dict[type, Callable[[Any, Any], Law]] = {
    Laplace: _laplace,
    Gaussian: _gaussian,
    Exponential: _exponential,
    PermuteAndFlip: _permute_and_flip,
    RandomizedResponse: _randomized_response,
    Partition: _partition,
    NamedCounts: _named_counts,
}


def misfit(draws: Sequence[object], chances: Mapping[object, float]) -> float:
    """How rarely honest draws fit their law as badly: Pearson's χ², outcomes of less than 20 together.  [Pea00]"""
    seen = Counter(_plain(draw) for draw in draws)
    total, rest_seen, rest_wanted, statistic, cells = len(draws), len(draws), float(len(draws)), 0.0, 0
    for outcome, chance in chances.items():
        wanted = total * chance
        if wanted >= 20:
            found = seen[_plain(outcome)]
            statistic += (found - wanted) ** 2 / wanted
            rest_seen, rest_wanted, cells = rest_seen - found, rest_wanted - wanted, cells + 1
    if rest_wanted >= 1:
        statistic += (rest_seen - rest_wanted) ** 2 / rest_wanted
        cells += 1
    elif rest_seen > 40 + rest_wanted:
        return 0.0
    return _chi_squared_above(statistic, cells - 1)


def _plain(outcome: object) -> object:
    if isinstance(outcome, np.ndarray):
        outcome = tuple(outcome.tolist())
    return tuple(int(each) for each in outcome) if isinstance(outcome, tuple) else int(outcome)  # type: ignore[call-overload]


def _chi_squared_above(statistic: float, freedom: int) -> float:
    """P(χ² ≥ statistic): a finite sum for even degrees of freedom, else the Wilson–Hilferty cube root.  [AS64, 26.4]"""
    if freedom <= 0:
        return 1.0
    if freedom % 2 == 0 and freedom <= 100:
        half = statistic / 2
        return exp(-half) * sum(half**k / factorial(k) for k in range(freedom // 2)) if half < 700 else 0.0
    spread = 2 / (9 * freedom)
    return erfc(((statistic / freedom) ** (1 / 3) - 1 + spread) / sqrt(spread) / sqrt(2)) / 2
