"""Collect: one question to many people who need not trust us; what each device runs, and what we may conclude."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np

from obverse.errors import BadParameter, BadSource
from obverse.local.device import script
from obverse.local.estimate import Estimate
from obverse.local.frequency import Frequency, HadamardResponse, UnaryEncoding
from obverse.local.means import Duchi
from obverse.loss.amplify import shuffled
from obverse.loss.loss import Loss, Sensitivity
from obverse.loss.number import positive
from obverse.mechanisms.lazily import Whole
from obverse.mechanisms.randomized_response import RandomizedResponse
from obverse.noise.entropy import Entropy

How = Literal["auto", "response", "unary", "hadamard"]
FEW = (
    3  # categories: below about 3·e^ε + 2 plain randomised response is the most exact  [WBLJ17, Section 4.4]
)


@dataclass(frozen=True)
class Collect:
    """A question with given answers, or about a number between bounds; a report costs its sender ε.

    >>> from obverse.noise.entropy import Keyed
    >>> collect = Collect(("yes", "no"), Fraction(2))
    >>> reports = [collect.report(answer, Keyed(str(i))) for i, answer in enumerate(["yes"] * 600 + ["no"] * 400)]
    >>> bool(abs(collect.estimate(reports).values[0] - 600) < 120)
    True
    """

    answers: tuple[str, ...]
    epsilon: Fraction
    how: How = "auto"
    low: Fraction | None = None
    high: Fraction | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", positive(self.epsilon, "ε"))
        if self.low is not None and self.high is not None:
            if self.answers or not self.low < self.high:
                raise BadParameter("a number has bounds, low before high, and no listed answers")
        elif len(self.answers) < 2 or len(set(self.answers)) < len(self.answers):
            raise BadParameter("a question has two different answers or more, or a low and a high bound")

    @property
    def protocol(self) -> Frequency | RandomizedResponse | Duchi:
        """What is run: the most exact of those with short reports, for this ε and so many answers."""
        if self.low is not None:
            return Duchi(self.epsilon, 1 << 20)
        size = len(self.answers)
        how = self.how
        if how == "auto":
            how = "response" if size < FEW * 2.7182 ** min(float(self.epsilon), 20.0) + 2 else "hadamard"
        if how == "response":
            return RandomizedResponse(self.epsilon, size)
        return UnaryEncoding(self.epsilon, size) if how == "unary" else HadamardResponse(self.epsilon, size)

    def loss(self, questions: int = 1) -> Loss:
        """What somebody loses who answers so many such questions: k attributes cost kε."""
        return RandomizedResponse(self.epsilon).loss(Sensitivity.of(1, numbers=questions))

    def shuffled(self, people: int, delta: float) -> float:
        """ε at δ, where a shuffler hands over the reports of so many people without their senders.  [FMT23]"""
        return shuffled(self.epsilon, people, delta)

    def report(self, answer: str, entropy: Entropy) -> str:
        """The respondent's side, as `script` does it: one line of text that may be sent."""
        protocol = self.protocol
        if isinstance(protocol, Duchi):
            return str(protocol.release([self._steps(answer)], entropy)[0])
        if answer not in self.answers:
            raise BadParameter(f"the answers are {', '.join(self.answers)}")
        said = protocol.release([self.answers.index(answer)], entropy)[0]
        return (
            "".join(map(str, np.atleast_1d(said).astype(int)))
            if isinstance(protocol, UnaryEncoding)
            else str(said)
        )

    def script(self) -> str:
        """A program of a few lines for the respondent's own machine; it needs Python and nothing else."""
        protocol = self.protocol
        if isinstance(protocol, Duchi):
            assert self.low is not None and self.high is not None
            return script("mean", self.epsilon, 0, low=self.low, high=self.high)
        kinds = {RandomizedResponse: "response", UnaryEncoding: "unary", HadamardResponse: "hadamard"}
        return script(kinds[type(protocol)], self.epsilon, len(self.answers), self.answers)

    def estimate(self, reports: Sequence[str]) -> Estimate:
        """The curator's side: how many gave each answer, or the mean; unbiased, with standard errors."""
        protocol = self.protocol
        if not reports:
            raise BadSource("there are no reports")
        if isinstance(protocol, UnaryEncoding):
            rows = [[bit == "1" for bit in line.strip()] for line in reports]
            if {len(row) for row in rows} != {protocol.categories}:
                raise BadSource(f"each report is a line of {protocol.categories} bits")
            return protocol.estimate(np.array(rows))
        lines = _numbers(reports)
        if isinstance(protocol, Duchi):
            return self._scaled(protocol.estimate(lines))
        most = protocol.columns if isinstance(protocol, HadamardResponse) else len(self.answers)
        if not 0 <= lines.min() <= lines.max() < most:
            raise BadSource(f"each report is a whole number below {most}")
        found = protocol.estimate(lines)
        return found if isinstance(found, Estimate) else Estimate(*found)

    def _steps(self, answer: str) -> int:
        """The number on the grid of 2²⁰ steps on either side of the middle."""
        assert self.low is not None and self.high is not None
        try:
            exact = Fraction(answer)
        except (ValueError, ZeroDivisionError):
            raise BadParameter("the answer is a number") from None
        middle = (self.low + self.high) / 2
        return round((min(max(exact, self.low), self.high) - middle) / (self.high - middle) * (1 << 20))

    def _scaled(self, steps: Estimate) -> Estimate:
        assert self.low is not None and self.high is not None
        half = float(self.high - self.low) / 2 / (1 << 20)
        return Estimate(float(self.low + self.high) / 2 + half * steps.values, half * steps.errors)


def _numbers(reports: Sequence[str]) -> Whole:
    try:
        return np.array([int(line) for line in reports], np.int64)
    except (ValueError, OverflowError):
        raise BadSource("each report is a line with one whole number") from None
