"""An event that is likelier on one table than on its neighbour: chosen on one half of the draws, scored on the other.

The chosen event is fixed before the second half is looked at, so that its two counts are binomial and the
Clopper–Pearson bounds hold, however the choice was made. From P ≥ p and Q ≤ q follows ε ≥ ln((p − δ)/q).  [JUO20]
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import exp, inf, log, sqrt

import numpy as np
from numpy.typing import NDArray

from obverse.attack.interval import lower, upper

DOUBT = 1e-6  # how often, at most, an honest mechanism is called a liar in one case
SEEN_OFTEN = 10  # outcomes are taken one by one where each is seen as often, so that the choice is no luck
CUTS = 60
Column = NDArray[np.float64]


@dataclass(frozen=True)
class Witness:
    """An event, and how often it was seen in the second halves: `here` of `of`, `there` of `of`."""

    event: str
    here: int
    there: int
    of: int
    doubt: float

    @property
    def chances(self) -> tuple[float, float]:
        """P(event) is at least the first, Q(event) at most the second, beyond `doubt`."""
        return lower(self.here, self.of, self.doubt / 2), upper(self.there, self.of, self.doubt / 2)

    def epsilon(self, delta: float = 0.0) -> float:
        """The ε that is proved at this δ; 0 if none is."""
        p, q = self.chances
        return max(0.0, log((p - delta) / q)) if p > delta and q > 0 else 0.0

    def exceeds(self, profile: Callable[[float], float], epsilons: Sequence[float]) -> bool:
        """Whether the event breaks δ(ε) at one of these ε."""
        p, q = self.chances
        return any(p > exp(epsilon) * q + profile(epsilon) for epsilon in epsilons)


def witness(ours: Sequence[object], theirs: Sequence[object], doubt: float = DOUBT) -> Witness:
    """The event that speaks most against the two samples coming from neighbours."""
    half = min(len(ours), len(theirs)) // 2
    best: tuple[float, str, Callable[[Column], NDArray[np.bool_]], str] | None = None
    features = _features([*ours[:half], *theirs[:half]])
    for name, feature in features.items():
        mine, other = feature(ours[:half]), feature(theirs[:half])
        for event, test in _events(mine, other):
            found = _strength(int(test(mine).sum()), int(test(other).sum()), half)
            if best is None or found > best[0]:
                best = found, f"{name} {event}".strip(), test, name
    assert best is not None
    _, event, test, name = best
    feature = features[name]
    here, there = (int(test(feature(draws[half : 2 * half])).sum()) for draws in (ours, theirs))
    return Witness(event, here, there, half, doubt)


def _strength(here: int, there: int, of: int) -> float:
    """A quick guess of the ε that the second half will prove: a normal bound on the logarithm of the ratio."""
    if here < 8:
        return -inf
    ratio = log(here / (there + 1))
    return ratio - 4.5 * sqrt(1 / here - 1 / of + 1 / (there + 1))


Feature = Callable[[Sequence[object]], Column]


def _features(draws: Sequence[object]) -> dict[str, Feature]:
    """What of an output may tell: itself; of a number its low bits; of several numbers each, and their sum."""
    sample = draws[0]
    if any(type(draw) is not type(sample) for draw in draws):
        return {"outcome": _codes}
    if isinstance(sample, bool | int | np.integer | np.bool_):
        return {"": _numbers}
    if isinstance(sample, float | np.floating):
        return {"": _numbers, "lowest set bit of": _lowest_bit, "low bits of": _low_bits}
    if isinstance(sample, tuple | list | np.ndarray) and len(sample) and _numeric(sample):
        features: dict[str, Feature] = {"outcome": _codes, "sum of": _sum}
        for place in range(min(len(sample), 4)):
            features[f"number {place} of"] = partial(_number, place)
        return features
    return {"outcome": _codes}


def _numeric(sample: tuple[object, ...] | list[object] | NDArray[np.float64]) -> bool:
    return all(isinstance(each, int | float | np.number | np.bool_) for each in sample)


def _numbers(draws: Sequence[object]) -> Column:
    return np.asarray(draws, dtype=np.float64)


def _matrix(draws: Sequence[object]) -> Column:
    widest = max(len(draw) for draw in draws)  # type: ignore[arg-type]
    filled = np.full((len(draws), widest), np.nan)
    for row, draw in enumerate(draws):
        filled[row, : len(draw)] = draw  # type: ignore[arg-type]
    return filled


def _sum(draws: Sequence[object]) -> Column:
    total: Column = np.nansum(_matrix(draws), axis=1)
    return total


def _number(place: int, draws: Sequence[object]) -> Column:
    return _matrix(draws)[:, place]


def _codes(draws: Sequence[object]) -> Column:
    """A number for each outcome, the same in every run."""
    return np.array([hash(_hashable(draw)) % (1 << 52) for draw in draws], dtype=np.float64)


def _hashable(draw: object) -> object:
    if isinstance(draw, np.ndarray):
        return tuple(draw.tolist())
    return tuple(draw) if isinstance(draw, list) else draw


def _bits(draws: Sequence[object]) -> NDArray[np.int64]:
    return _numbers(draws).view(np.int64)


def _lowest_bit(draws: Sequence[object]) -> Column:
    """The exponent of a float's lowest set bit: noise that is not rounded to a grid spreads it.  [Mir12; HMDS22]"""
    numbers = np.nan_to_num(_numbers(draws))
    mantissa, exponent = np.frexp(numbers)
    whole = (np.abs(mantissa) * 2.0**53).astype(np.int64)
    trailing = np.where(whole == 0, 60, np.log2(np.maximum(whole & -whole, 1)))
    return trailing + exponent


def _low_bits(draws: Sequence[object]) -> Column:
    return (_bits(draws) & 63).astype(np.float64)


Event = tuple[str, Callable[[Column], NDArray[np.bool_]]]


def _events(mine: Column, other: Column) -> list[Event]:
    """Both tails at many cuts; and, where there are few outcomes, all those that are likelier on our side."""
    events: list[Event] = []
    both = np.concatenate((mine, other))
    if len(values := np.unique(both)) * SEEN_OFTEN <= len(both):
        here, there = Counter(mine.tolist()), Counter(other.tolist())
        for bar in (1.0, 1.5, 2.5, 6.0, 20.0):
            likely = np.array([v for v in values.tolist() if here[v] > bar * (there[v] + 1)])
            if len(likely):
                events.append((f"is one of {len(likely)}", partial(_among, likely)))
    finite = both[np.isfinite(both)]
    if len(finite) < len(both):
        events.append(("is no finite number", _no_number))
    cuts = np.unique(np.quantile(finite, np.linspace(0, 1, CUTS))) if len(finite) else finite
    for cut in cuts:
        events.append((f">= {cut:.6g}", partial(_least, cut)))
        events.append((f"<= {cut:.6g}", partial(_most, cut)))
    return events


def _among(likely: Column, x: Column) -> NDArray[np.bool_]:
    return np.isin(x, likely)


def _no_number(x: Column) -> NDArray[np.bool_]:
    return ~np.isfinite(x)


def _least(cut: float, x: Column) -> NDArray[np.bool_]:
    return x >= cut


def _most(cut: float, x: Column) -> NDArray[np.bool_]:
    return x <= cut
