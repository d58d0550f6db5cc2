"""What a registration told, as people read it: its histograms with their ±, and what follows from them."""

from __future__ import annotations

from obverse.data.learnt import Binned, Learnt, Sizes
from obverse.mechanisms.laplace import Laplace
from obverse.query.chosen import sides

USE = "questions choose their bounds from this, and say what they are expected to take off"


def text(learnt: Learnt) -> list[str]:
    """The lines of a table for each histogram, and what it means for questions."""
    lines = []
    if learnt.rows is not None:
        lines += _histogram(f"rows of one {learnt.unit}", learnt.rows, learnt.rows.expected)
        lines += [_people(learnt.rows), ""]
    for sizes in learnt.values:
        lines += [*_column(sizes), ""]
    return [*lines, USE]


def _histogram(name: str, binned: Binned, expected: tuple[float, ...]) -> list[str]:
    """Each bin from the first to the last that is expected to hold anybody."""
    width = Laplace(binned.scale).interval(0.95)
    held = [k for k, people in enumerate(expected) if people > 0.5]
    if not held:
        return [f"{name}: too few people stand out of the noise of ± {width:,}; spend more ε"]
    lines = [(name, "people", "±", "expected")]
    for k in range(held[0], held[-1] + 1):
        low, high = 2.0 ** (binned.first + k), 2.0 ** (binned.first + k + 1)
        said = f"{low:,.7g} … {high - 1:,.7g}" if binned.whole and high - low > 1 else f"{low:,.7g} …"
        lines.append((said, f"{binned.counts[k]:,}", f"{width:,}", f"{expected[k]:,.1f}"))
    widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
    return ["  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in lines]


def _people(rows: Binned) -> str:
    if not rows.expected:
        return "how many rows of a person count cannot be chosen"
    beyond = f"nobody is expected to have {int(rows.largest):,} or more"
    return f"about {rows.people:,.0f} people with {rows.total:,.0f} rows; {beyond}"


def _column(sizes: Sizes) -> list[str]:
    lines = []
    parts = (("above 0", sizes.positive), ("below 0", sizes.negative), ("of both signs", sizes.mixed))
    for name, part in parts:
        if part.expected:
            lines += _histogram(f"largest |{sizes.column}|, {name}", part, part.expected)
    above, below = (max((each.largest for each in side), default=0) for side in sides(sizes))
    if not lines:
        return [
            f"{sizes.column}: too few people stand out of the noise; spend more ε, or declare low and high"
        ]
    return [*lines, f"{sizes.column} is expected to lie in {float(-below):,.7g} … {float(above):,.7g}"]
