"""A share with its interval as a bar of inline SVG, readable in black and white."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

WIDTH, HEIGHT = 180, 18


@dataclass(frozen=True)
class Mark:
    """What is drawn: a risk with its interval, or the tick of a guess or a control."""

    kind: Literal["risk", "control", "guess"]
    share: float
    low: float = 0.0
    high: float = 0.0


def bar(marks: Sequence[Mark], threshold: float) -> str:
    """From 0 to 1: the threshold dashed, the risk a dot on its interval, guess and control as ticks."""
    said = ", ".join(f"{mark.kind} {100 * mark.share:.1f} %" for mark in marks)
    drawn = "".join(_drawn(mark) for mark in marks)
    edge = f'<line class=threshold x1="{_x(threshold)}" x2="{_x(threshold)}" y1="0" y2="{HEIGHT}"/>'
    axis = f'<line class=axis x1="{_x(0)}" x2="{_x(1)}" y1="{HEIGHT / 2}" y2="{HEIGHT / 2}"/>'
    ends = "".join(
        f'<line class=axis x1="{_x(end)}" x2="{_x(end)}" y1="6" y2="{HEIGHT - 6}"/>' for end in (0, 0.5, 1)
    )
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{said}, threshold {100 * threshold:.0f} %">'
        f"{axis}{ends}{edge}{drawn}</svg>"
    )


def _drawn(mark: Mark) -> str:
    x, middle = _x(mark.share), HEIGHT / 2
    if mark.kind == "guess":
        return f'<path class=guess d="M{x} {HEIGHT - 5}l-3 5h6z"/>'
    if mark.kind == "control":
        return f'<path class=control d="M{x} 5l-3 -5h6z"/>'
    return (
        f'<line class=interval x1="{_x(mark.low)}" x2="{_x(mark.high)}" y1="{middle}" y2="{middle}"/>'
        f'<circle class=risk cx="{x}" cy="{middle}" r="3.4"/>'
    )


def _x(share: float) -> float:
    return round(5 + (WIDTH - 10) * min(1.0, max(0.0, share)), 1)
