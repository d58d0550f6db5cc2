"""RAPPOR: a permanent noisy answer, kept on the device, and a noisy report of it each time.  [EPK14]

The permanent answer is drawn once for each true answer and remembered, so that however often somebody is asked, what
leaks in all is the permanent answer's ε: 2·ln((1 − f/2)/(f/2)). Bits stand for categories (no Bloom filter).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, log

import numpy as np
from numpy.typing import NDArray

from obverse.errors import BadParameter
from obverse.local.estimate import Estimate, counts
from obverse.loss.curves import pure_profile
from obverse.loss.loss import Sensitivity
from obverse.loss.number import chance
from obverse.mechanisms.base import Mechanism
from obverse.mechanisms.coins import coins, exactly
from obverse.mechanisms.lazily import Whole, whole
from obverse.noise.entropy import Entropy

Bits = NDArray[np.bool_]


@dataclass(frozen=True)
class Rappor(Mechanism[Sequence[int] | Whole, Bits]):
    """The permanent answers: each bit of a row with one bit set is told as it is, but for a share `noise` of coins.

    With chance f = `noise` a bit is replaced by a fair coin; a report then sets a bit with chance `if_set` where the
    permanent one is set and `if_not` where it is not.

    >>> from obverse.noise.entropy import Keyed
    >>> rappor = Rappor(4, Fraction(1, 2), Fraction(3, 4), Fraction(1, 4))
    >>> permanent = rappor.release([2], Keyed("device"))      # once, and kept
    >>> rappor.report(permanent, Keyed("today")).shape        # as often as asked
    (1, 4)
    """

    categories: int
    noise: Fraction
    if_set: Fraction
    if_not: Fraction

    def __post_init__(self) -> None:
        for name, what in (("noise", "the share of noise"), ("if_set", "a chance"), ("if_not", "a chance")):
            object.__setattr__(self, name, chance(getattr(self, name), what))
        if not self.if_not < self.if_set:
            raise BadParameter("a report sets a bit more often where the permanent answer does")
        if not 2 <= self.categories <= 1 << 16:
            raise BadParameter(f"categories are 2 to 65536, not {self.categories}")

    def draw(self, value: Sequence[int] | Whole, entropy: Entropy) -> Bits:
        answers = whole(value)
        if answers.size and not 0 <= answers.min() <= answers.max() < self.categories:
            raise BadParameter(f"answers are numbered 0 to {self.categories - 1}")
        true = np.arange(self.categories) == answers[:, None]
        replaced = coins(exactly(self.noise), true.size, entropy).reshape(true.shape)
        fair = coins(exactly(Fraction(1, 2)), true.size, entropy, first=8).reshape(true.shape)
        return np.where(replaced, fair, true)

    def report(self, permanent: Bits, entropy: Entropy) -> Bits:
        """Today's report of permanent answers that were kept."""
        bits = [coins(exactly(p), permanent.size, entropy) for p in (self.if_set, self.if_not)]
        return np.where(permanent, *(drawn.reshape(permanent.shape) for drawn in bits))

    def pure(self, sensitivity: Sensitivity) -> Fraction:
        """2·ln((1 − f/2)/(f/2)), rounded up, for any number of reports of one permanent answer.  [EPK14, Theorem 1]"""
        odds = (1 - self.noise / 2) / (self.noise / 2)
        return Fraction(ceil(2 * log(odds) * (1 + 2.0**-48) * 2**40) + 1, 2**40) * sensitivity.l1

    def profile(self, epsilon: float, sensitivity: Sensitivity) -> float:
        return pure_profile(float(self.pure(sensitivity)), epsilon)

    def estimate(self, reports: Bits) -> Estimate:
        """How many people have each answer, from one report of each.  [EPK14, Section 4]"""
        half, up, down = (float(part) for part in (self.noise / 2, self.if_set, self.if_not))
        p, q = ((1 - keep) * down + keep * up for keep in (1 - half, half))
        return counts(reports.sum(axis=0, dtype=np.int64).astype(np.float64), len(reports), p, q)
