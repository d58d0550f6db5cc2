"""The reusable holdout: checks that hold back what only holds by chance, and may be asked adaptively.  [DFHPRR15]"""

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
from obverse.noise.draws import add_laplace
from obverse.noise.entropy import Entropy

Pairs = Sequence[tuple[int, int]]


@dataclass(frozen=True)
class Thresholdout(Mechanism[Pairs, tuple[int, ...]]):
    """For each pair (on the training part, on the holdout): the first, unless they differ; then a noisy second.

    With σ = `scale`: T̂ = threshold + Lap(2σ) and a pair differs where |difference| > T̂ + Lap(4σ); then the answer is
    the holdout's + Lap(σ), and T̂ is drawn again. After `hits` differences nothing more is said. The training part is
    the analyst's own: only the holdout's numbers move between neighbours.

    >>> from obverse.noise.entropy import Keyed
    >>> checks = Thresholdout(threshold=100, scale=Fraction(5), hits=2)
    >>> said = checks.release([(700, 702), (900, 300)], Keyed("example"))
    >>> said[0], abs(said[1] - 300) < 60
    (700, True)
    """

    threshold: int
    scale: Fraction
    hits: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive(self.scale, "σ"))
        if self.threshold < 0 or self.hits < 1:
            raise BadParameter("a threshold is 0 or more, and there is at least one hit to spend")

    def draw(self, value: Pairs, entropy: Entropy) -> tuple[int, ...]:
        checks, said = Checks(self, entropy), list[int]()
        for training, holdout in value:
            said.append(checks.check(training, holdout))
            if not checks.left:
                break
        return tuple(said)

    def pure(self, sensitivity: Sensitivity) -> Fraction:
        """hits·(Δ/(2σ) + 2Δ/(4σ) + Δ/σ) = 2·hits·Δ/σ: sparse vectors of one hit each, and their answers.

        [DFHPRR15, Theorem 10; LSL17, Theorem 4], with Δ what one person moves on the holdout.
        """
        return 2 * self.hits * sensitivity.most / self.scale

    def profile(self, epsilon: float, sensitivity: Sensitivity) -> float:
        return pure_profile(float(self.pure(sensitivity)), epsilon)

    def interval(self, confidence: float, questions: int) -> int:
        """How far any answer is from the holdout's own, at most, in this share of runs.  [DFHPRR15, Theorem 11]"""
        spare = (1 - confidence) / (3 * questions)
        thresholds = Laplace(2 * self.scale).interval(1 - spare)
        unsaid = self.threshold + thresholds + Laplace(4 * self.scale).interval(1 - spare)
        return max(unsaid, Laplace(self.scale).interval(1 - spare))


class Checks:
    """A reusable holdout at work, for questions that come one by one, each perhaps in reply to the last answer."""

    def __init__(self, holdout: Thresholdout, entropy: Entropy) -> None:
        self._holdout, self._entropy, self.left = holdout, entropy, holdout.hits
        self._noisy = self._threshold()

    def _threshold(self) -> int:
        return add_laplace(self._holdout.threshold, 2 * self._holdout.scale, self._entropy)

    def check(self, training: int, holdout: int) -> int:
        """The training part's number where the holdout bears it out, else the holdout's with noise."""
        if not self.left:
            raise Withheld("the holdout is spent: every difference that was paid for has been found")
        if abs(training - holdout) <= add_laplace(self._noisy, 4 * self._holdout.scale, self._entropy):
            return training
        self.left -= 1
        answer = add_laplace(holdout, self._holdout.scale, self._entropy)
        self._noisy = self._threshold()
        return answer
