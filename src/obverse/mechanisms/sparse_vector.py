"""The sparse vector technique: which of many answers lie above a threshold, paying only for those that do.  [LSL17]

This is the standard form, Algorithm 7 of [LSL17]; four of the six forms in the papers before it are not private. What
they get wrong: no noise on a question's answer, the noisy answer itself given out with its old noise, the noise not
growing with the number of hits, no stop after the last hit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from obverse.errors import BadParameter, Withheld
from obverse.loss.curves import pure_profile
from obverse.loss.loss import Sensitivity
from obverse.loss.number import positive
from obverse.mechanisms.base import Mechanism
from obverse.mechanisms.laplace import Laplace
from obverse.mechanisms.lazily import Whole, whole
from obverse.mechanisms.score import Score, apart
from obverse.noise.draws import add_laplace
from obverse.noise.entropy import Entropy


@dataclass(frozen=True)
class SparseVector(Mechanism[Sequence[int] | Whole, tuple[bool, ...]]):
    """Whether each answer is at least the threshold, until `hits` of them were; the rest is not asked.

    The threshold gets Laplace noise of `threshold_scale` once, each answer of `answer_scale`; `one_way` where one
    person moves all answers the same way. On whole numbers the proof of [LSL17, Theorem 4] holds as it stands: it
    shifts the noise by whole sensitivities.

    >>> from obverse.noise.entropy import Keyed
    >>> vector = SparseVector.at(Fraction(4), Score.count("add-remove"), threshold=50, hits=2)
    >>> vector.release([1, 90, 7, 80, 99], Keyed("example"))
    (False, True, False, True)
    """

    threshold: int
    hits: int
    threshold_scale: Fraction
    answer_scale: Fraction
    one_way: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "threshold_scale", positive(self.threshold_scale, "the threshold's scale"))
        object.__setattr__(self, "answer_scale", positive(self.answer_scale, "the answers' scale"))
        if self.hits < 1:
            raise BadParameter(f"a sparse vector stops after 1 hit or more, not {self.hits}")

    @classmethod
    def at(cls, epsilon: Fraction, score: Score, *, threshold: int, hits: int) -> SparseVector:
        """The one that costs ε, shared as 1 : (2·hits)^⅔, or 1 : hits^⅔ where answers move one way.  [LSL17, Eq. 12]"""
        exact = positive(epsilon, "ε")
        weight = Fraction((hits * score.apart / score.most) ** (2 / 3)).limit_denominator(1000)
        first = exact / (1 + weight)
        return cls(threshold, hits, score.most / first, hits * score.apart / (exact - first), score.one_way)

    def draw(self, value: Sequence[int] | Whole, entropy: Entropy) -> tuple[bool, ...]:
        vector = Watching(self, entropy)
        found = []
        for answer in whole(value).tolist():
            found.append(vector.above(answer))
            if vector.left == 0:
                break
        return tuple(found)

    def pure(self, sensitivity: Sensitivity) -> Fraction:
        """Δ/threshold_scale + hits·(Δ or 2Δ)/answer_scale.  [LSL17, Theorems 4 and 5]"""
        each = apart(sensitivity, self.one_way) / self.answer_scale
        return sensitivity.most / self.threshold_scale + self.hits * each

    def profile(self, epsilon: float, sensitivity: Sensitivity) -> float:
        return pure_profile(float(self.pure(sensitivity)), epsilon)

    def interval(self, confidence: float, answers: int) -> int:
        """Answers further than this from the threshold are all told right in this share of runs.  [DR14, Theorem 3.24]

        Half the chance of error is the threshold's, the other half shared by all that are asked.
        """
        spare = (1 - confidence) / 2
        own = Laplace(self.threshold_scale).interval(1 - spare)
        return own + Laplace(self.answer_scale).interval(1 - spare / answers)


class Watching:
    """A sparse vector at work, for answers that come one by one, each perhaps in reply to what was said before."""

    def __init__(self, vector: SparseVector, entropy: Entropy) -> None:
        self._vector, self._entropy, self.left = vector, entropy, vector.hits
        self._noisy = add_laplace(vector.threshold, vector.threshold_scale, entropy)

    def above(self, answer: int) -> bool:
        """Whether the answer is above; refused after the last hit."""
        if self.left == 0:
            raise Withheld("the last hit is spent: no more can be said of any answer")
        hit = add_laplace(answer, self._vector.answer_scale, self._entropy) >= self._noisy
        self.left -= hit
        return hit
