"""Reconstruction from answers: too many answers, too exact, give the bits back.  [DN03; DMT07; DY08]

Each person has a secret bit; a question names some people and is answered by roughly how many of them have it.
Exhaustive search beats any error below n/4 but takes 2ⁿ steps; a linear programme or least squares in the box
beats errors below √n in no time; and where the questions are parities, one Fourier transform does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import highspy
import numba
import numpy as np
from numpy.typing import NDArray

from obverse.attack.base import Attack, Claims, View
from obverse.errors import BadParameter, BadSource

Floats = NDArray[np.floating]
Method = Literal["exhaustive", "linear programme", "least squares"]


@dataclass(frozen=True, eq=False)
class Answers:
    """Questions, one row each with True for everybody it names, and their answers."""

    questions: NDArray[np.bool_]
    answers: NDArray[np.float64]

    def __post_init__(self) -> None:
        if self.questions.ndim != 2 or len(self.questions) != len(self.answers) or not self.questions.size:
            raise BadSource(
                "every answer needs a question, and every question a True or False for each person"
            )
        if not np.isfinite(self.answers).all():
            raise BadSource("an answer is a number: leave out questions that were not answered")


@dataclass(frozen=True)
class Reconstruction(Attack):
    """Finds everybody's bit from the answers in `release`; targets are the people, in the questions' order.

    >>> questions = np.array([[1, 1, 0], [0, 1, 1], [1, 0, 1]], dtype=bool)
    >>> answers = Answers(questions, questions @ np.array([1.0, 0.0, 1.0]) + 0.3)
    >>> Reconstruction("answers", "exhaustive").run(View({"answers": answers})).values.tolist()
    [True, False, True]
    """

    release: str
    method: Method = "least squares"

    harm = "reconstruction"

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise BadParameter(f"no method {self.method}; there are {', '.join(METHODS)}")

    @property
    def threat(self) -> str:
        return "Somebody who may name groups of people and read how many have the property wants everybody's bit."

    def claim(self, view: View) -> Claims:
        answers = view.release(self.release)
        if not isinstance(answers, Answers):
            raise BadSource(f"{self.release} holds no questions and answers")
        return rounded(METHODS[self.method](answers))


@dataclass(frozen=True)
class Fourier(Attack):
    """Finds everybody's bit from one answer for each parity; targets are the 2ᵏ people.  [DY08]

    Answer j counts the people i with the bit whose i AND j has an even number of ones.

    >>> bits = np.array([1, 0, 0, 1])
    >>> Fourier("parities").run(View({"parities": (transform(bits) + bits.sum()) / 2})).values.tolist()
    [True, False, False, True]
    """

    release: str

    harm = "reconstruction"

    @property
    def threat(self) -> str:
        return "Somebody who asks one count for each parity of people's numbers wants everybody's bit."

    def claim(self, view: View) -> Claims:
        answers = view.release(self.release)
        if not isinstance(answers, np.ndarray) or answers.ndim != 1 or len(answers).bit_count() != 1:
            raise BadSource(f"{self.release} must be one answer for each parity: 2, 4, 8 … numbers")
        if not np.isfinite(answers).all():
            raise BadSource(f"{self.release} lacks an answer: each is a number")
        # Answer j is Σ (1 + (−1)^(i·j))/2 over the bits, so 2·answer − total is the transform of the bits; answer 0
        # names everybody and is the total.
        return rounded(transform(2 * answers.astype(np.float32) - np.float32(answers[0])) / len(answers))


def rounded(likely: Floats) -> Claims:
    """The nearer of 0 and 1 for each person; where both are as near there is no claim."""
    sure = np.abs(likely.astype(np.float64) - 0.5)
    return Claims(likely > 0.5, sure, sure > 1e-9)


def worlds(answers: Answers) -> NDArray[np.bool_]:
    """All worlds whose largest error is least, one a row.  [DN03, Theorem 3]

    If no answer is wrong by more than E, all of them differ from the truth in no more than 4E bits.
    """
    people = answers.questions.shape[1]
    if people > 20:
        raise BadParameter(f"an exhaustive search of 2^{people} worlds would not end; use least squares")
    asked, told = answers.questions.T.astype(np.float32), answers.answers.astype(np.float32)
    best: list[NDArray[np.bool_]] = []
    least = np.inf
    for start in range(0, 1 << people, 4096):
        some = np.arange(start, min(start + 4096, 1 << people))
        bits = (some[:, None] >> np.arange(people) & 1) > 0
        errors = np.abs(bits.astype(np.float32) @ asked - told).max(axis=1)
        kept = best if errors.min() > least - 1e-4 else []
        least = min(least, float(errors.min()))
        best = [*kept, bits[errors < least + 1e-4]]
    return np.concatenate(best)


def exhaustive(answers: Answers) -> Floats:
    """0 or 1 where the best worlds agree, and a half where they do not."""
    share = worlds(answers).mean(axis=0)
    return np.where((share == 0) | (share == 1), share, 0.5)


def linear_programme(answers: Answers) -> Floats:
    """Bits between 0 and 1 with the least sum of errors.  [DMT07]"""
    count, people = answers.questions.shape
    model = highspy.Highs()
    model.setOptionValue("output_flag", False)
    bits = [model.addVariable(0, 1) for _ in range(people)]
    errors = [model.addVariable(0, highspy.kHighsInf, 1) for _ in range(count)]
    for named, answer, error in zip(answers.questions, answers.answers, errors, strict=True):
        total = model.qsum(bits[i] for i in np.flatnonzero(named))
        model.addConstr(total - error <= answer)
        model.addConstr(total + error >= answer)
    model.run()
    return np.array(model.getSolution().col_value[:people])


def least_squares(answers: Answers, rounds: int = 25) -> Floats:
    """Bits between 0 and 1 with the least squared error, by accelerated projected gradients.  [BT09]

    Questions and answers are centred, as in a regression with an intercept: random questions are then nearly
    orthogonal, and few rounds are enough.
    """
    questions = answers.questions.astype(np.float32)
    questions -= questions.mean(axis=0)
    wanted = (answers.answers - answers.answers.mean()).astype(np.float32) - questions.sum(axis=1) / 2
    step = _step(questions)
    bits = ahead = np.zeros(questions.shape[1], dtype=np.float32)  # above a half
    momentum = 1.0
    for _ in range(rounds):
        new = np.clip(ahead - step * ((questions @ ahead - wanted) @ questions), -0.5, 0.5)
        later = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        ahead = new + np.float32((momentum - 1) / later) * (new - bits)
        bits, momentum = new, later
    return bits + 0.5


def _step(questions: NDArray[np.float32]) -> np.float32:
    """One over the largest eigenvalue, by power iteration with half of it to spare."""
    vector = np.cos(np.arange(questions.shape[1], dtype=np.float32) ** 2)
    for _ in range(6):
        vector = (questions @ vector) @ questions
        size = np.float32(np.linalg.norm(vector)) or np.float32(1)
        vector /= size
    return np.float32(1 / (1.5 * size))


METHODS: dict[str, Callable[[Answers], Floats]] = {
    "exhaustive": exhaustive,
    "linear programme": linear_programme,
    "least squares": least_squares,
}


def transform(values: Floats | NDArray[np.int64]) -> NDArray[np.float32]:
    """The Walsh–Hadamard transform Σᵢ (−1)^(i·j) vᵢ, in n log n additions."""
    out = values.astype(np.float32)
    _butterflies(out)
    return out


@numba.njit(cache=True, fastmath=True)
def _butterflies(v: NDArray[np.float32]) -> None:
    """In place, two levels at a time."""
    n = len(v)
    h = 1
    while h < n:
        if 2 * h < n:
            for i in range(0, n, 4 * h):
                for j in range(i, i + h):
                    a, b, c, d = v[j], v[j + h], v[j + 2 * h], v[j + 3 * h]
                    v[j], v[j + h] = a + b + (c + d), a - b + (c - d)
                    v[j + 2 * h], v[j + 3 * h] = a + b - (c + d), a - b - (c - d)
            h *= 4
        else:
            for j in range(h):
                v[j], v[j + h] = v[j] + v[j + h], v[j] - v[j + h]
            h *= 2
