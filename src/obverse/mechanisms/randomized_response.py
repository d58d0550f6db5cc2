"""Randomised response between two answers or many, with its unbiased estimate.  [War65; KOV16]"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import exp, expm1, sqrt

import numpy as np
from numpy.typing import NDArray

from obverse.errors import BadParameter
from obverse.loss.curves import pure_profile
from obverse.loss.loss import Sensitivity
from obverse.loss.number import positive
from obverse.mechanisms.base import Mechanism
from obverse.mechanisms.coins import coins, dice, odds
from obverse.mechanisms.lazily import Whole, whole
from obverse.noise.entropy import Entropy

MOST = 1 << 16  # categories; beyond, the truth is told so rarely that Hadamard response is the thing to use


@dataclass(frozen=True)
class RandomizedResponse(Mechanism[Sequence[int] | Whole, Whole]):
    """Answers in 0 … categories − 1: each the truth with probability e^ε/(e^ε + categories − 1), else any other.

    >>> from obverse.noise.entropy import Keyed
    >>> RandomizedResponse(Fraction(50)).release([0, 1, 1, 0], Keyed("example")).tolist()
    [0, 1, 1, 0]
    """

    epsilon: Fraction
    categories: int = 2

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", positive(self.epsilon, "ε"))
        if not 2 <= self.categories <= MOST:
            raise BadParameter(
                f"categories are 2 to {MOST}, not {self.categories}: use Hadamard response for more"
            )

    def draw(self, value: Sequence[int] | Whole, entropy: Entropy) -> Whole:
        answers = whole(value)
        if answers.size and not 0 <= answers.min() <= answers.max() < self.categories:
            raise BadParameter(f"answers are numbered 0 to {self.categories - 1}")
        others = self.categories - 1
        truth = coins(odds(self.epsilon, others), answers.size, entropy)
        lies = (answers + 1 + dice(others, answers.size, entropy)) % self.categories
        return np.where(truth, answers, lies)

    def pure(self, sensitivity: Sensitivity) -> Fraction:
        """ε for each answer a person gives: k attributes cost kε.  [War65; KOV16]"""
        return self.epsilon * sensitivity.l1

    def profile(self, epsilon: float, sensitivity: Sensitivity) -> float:
        return pure_profile(float(self.pure(sensitivity)), epsilon)

    @property
    def truth(self) -> float:
        """How likely the truth is told."""
        return 1 / (1 + (self.categories - 1) * exp(-float(self.epsilon)))

    def estimate(self, answers: Sequence[int] | Whole) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """How many people have each answer, without bias (so perhaps below 0), and the standard error of each.

        E[count] = n·q + (p − q)·true; a true answer varies by p(1 − p), another by q(1 − q).
        """
        p, n = self.truth, len(answers)
        q = (1 - p) / (self.categories - 1)
        counts = np.bincount(whole(answers), minlength=self.categories).astype(np.float64)
        share = -expm1(-float(self.epsilon)) * p  # p − q, without cancelling
        true: NDArray[np.float64] = (counts - n * q) / share
        variance = (n * q * (1 - q) + true * (p * (1 - p) - q * (1 - q))) / share**2
        error: NDArray[np.float64] = np.sqrt(
            np.maximum(variance, n * min(p * (1 - p), q * (1 - q)) / share**2)
        )
        return true, error

    def interval(self, confidence: float, people: int) -> float:
        """How far an estimated count is off, at most, in this share of runs, by the normal approximation."""
        from statistics import NormalDist

        p = self.truth
        q = (1 - p) / (self.categories - 1)
        worst = max(p * (1 - p), q * (1 - q))
        return NormalDist().inv_cdf((1 + confidence) / 2) * sqrt(people * worst) / (p - q)
