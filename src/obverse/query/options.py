"""What a question says beside its SELECT: ε, δ, how sure, how accurate, and bounds on what one person adds."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from obverse.errors import BadQuestion

EPSILON_RANGE = (Fraction(1, 2**40), Fraction(2**10))
LARGEST_COUNT = 2**31
NUMBER = re.compile(r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]{1,3})?", re.IGNORECASE)

Strategy = Literal["LAPLACE_THRESHOLD", "PUBLIC_GROUPS"]
STRATEGIES: tuple[Strategy, ...] = ("LAPLACE_THRESHOLD", "PUBLIC_GROUPS")


@dataclass(frozen=True)
class Within:
    """How far a number may be off: by so much, or by so many hundredths of itself."""

    margin: Fraction
    percent: bool = False

    def __str__(self) -> str:
        return f"{float(self.margin):g}{' PERCENT' if self.percent else ''}"


@dataclass(frozen=True)
class Aim:
    """A ± that was asked for, the most ε that may be spent on it, and whether that takes two steps."""

    within: Within
    most: Fraction
    steps: bool = False


@dataclass(frozen=True)
class Clause:
    """BigQuery's privacy clause beyond ε and δ: bounds on what one person adds, and which groups are named."""

    groups: int | None = None
    rows: int | None = None
    unit: str | None = None
    strategy: Strategy | None = None


@dataclass(frozen=True)
class Options:
    """What a question says beside its SELECT."""

    epsilon: Fraction | None = None
    delta: Fraction | None = None
    confidence: Fraction | None = None
    nonnegative: bool = False
    fresh: bool = False
    within: Within | None = None
    clause: Clause | None = None


def epsilon_of(text: str) -> Fraction:
    """ε exactly as it is written."""
    low, high = EPSILON_RANGE
    epsilon = exact("ε", text)
    if not low <= epsilon <= high:
        raise BadQuestion(f"ε lies between 2⁻⁴⁰ and {high}, not {text[:40]}")
    return epsilon


def share_of(name: str, text: str) -> Fraction:
    """A number between 0 and 1, exactly."""
    share = exact(name, text)
    if not 0 < share < 1:
        raise BadQuestion(f"{name} lies between 0 and 1, not {text[:40]}")
    return share


def exact(name: str, text: str) -> Fraction:
    """A number as it is written, of a size that can be computed with."""
    if not NUMBER.fullmatch(text):
        raise BadQuestion(f"{name} is a number above 0, not {text[:40]}")
    return Fraction(text)


def count_of(name: str, text: str) -> int:
    """A whole number above 0."""
    if not (text.isascii() and text.isdigit() and len(text) <= 10 and 0 < int(text) <= LARGEST_COUNT):
        raise BadQuestion(f"{name} is a whole number from 1 to 2³¹, not {text[:40]}")
    return int(text)


def flag_of(name: str, text: str) -> bool:
    if text not in ("true", "false"):
        raise BadQuestion(f"{name} is true or false, not {text[:40]}")
    return text == "true"
