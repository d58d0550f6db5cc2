"""An answer as text and as HTML: numbers with their ±, and what it cost."""

from __future__ import annotations

from html import escape
from math import floor, isfinite, log10
from typing import TYPE_CHECKING

from obverse.loss.loss import Loss

if TYPE_CHECKING:
    from obverse.query.answer import Answered, Cell

MOST_ROWS = 60


def number(cell: Cell, margin: float | None = None) -> str:
    """A cell as a person reads it: as many digits as its ± allows.

    >>> number(37.81234, 0.23)
    '37.81'
    """
    if cell is None:
        return "–"
    if isinstance(cell, bool | str):
        return str(cell)
    if isinstance(cell, int) and (margin is None or margin >= 1):
        return f"{cell:,}"
    digits = 2 if not margin or not isfinite(margin) else max(0, 1 - floor(log10(margin)))
    return f"{cell:,.{min(digits, 12)}f}"


def plus_minus(margin: float | None) -> str:
    """A margin as a person reads it, rounded up.

    >>> plus_minus(0.2279)
    '± 0.23'
    """
    if margin is None:
        return ""
    if not isfinite(margin):
        return "± any"
    if margin == 0:
        return "± 0"
    digits = max(0, 1 - floor(log10(margin)))
    scale = 10.0**digits
    return f"± {-floor(-margin * scale * (1 - 1e-12)) / scale:,.{digits}f}"


def cost(loss: Loss, delta: float = 0) -> str:
    """A loss in words.

    >>> from fractions import Fraction
    >>> from obverse.loss.loss import Sensitivity
    >>> from obverse.mechanisms.laplace import Laplace
    >>> cost(Laplace(Fraction(2)).loss(Sensitivity.of(1)))
    'ε = 0.5'
    """
    if loss.pure is not None:
        return f"ε = {float(loss.pure):.4g}"
    delta = delta or 1e-6
    return f"ε = {loss.epsilon(delta):.4g} at δ = {delta:g}"


def grid(answer: Answered) -> tuple[list[str], list[list[str]], list[bool]]:
    """Heads, cells and which columns are numbers; every number column is followed by its ±."""
    heads, numeric, columns = list[str](), list[bool](), list[list[str]]()
    for place, name in enumerate(answer.columns):
        cells = [row[place] for row in answer.rows]
        margins = [margins[place] for margins in answer.margins]
        heads.append(name)
        numeric.append(any(isinstance(cell, int | float) and not isinstance(cell, bool) for cell in cells))
        columns.append([number(cell, margin) for cell, margin in zip(cells, margins, strict=True)])
        if any(margin is not None for margin in margins):
            heads.append("±")
            numeric.append(True)
            columns.append([plus_minus(margin).removeprefix("± ") for margin in margins])
    return heads, [list(row) for row in zip(*columns, strict=True)], numeric


def foot(answer: Answered) -> str:
    """One line: what it cost, and what the ± means."""
    paid = "asked before: free" if answer.receipt.again else f"cost {cost(answer.loss)}"
    return (
        f"{paid} · receipt {answer.receipt.number} · ± holds in {float(answer.plan.confidence):.0%} of runs"
    )


def text(answer: Answered) -> str:
    """A table for the terminal."""
    heads, rows, numeric = grid(answer)
    shown = rows[:MOST_ROWS]
    widths = [max(len(line[i]) for line in [heads, *shown]) for i in range(len(heads))]

    def line(cells: list[str]) -> str:
        aligned = zip(cells, widths, numeric, strict=True)
        return "  ".join(
            cell.rjust(width) if right else cell.ljust(width) for cell, width, right in aligned
        ).rstrip()

    rule = "  ".join("─" * width for width in widths)
    more = [f"… {len(rows) - MOST_ROWS:,} more rows"] if len(rows) > MOST_ROWS else []
    return "\n".join([line(heads), rule, *(line(row) for row in shown), *more, foot(answer)])


def html(answer: Answered) -> str:
    """A table for a notebook."""
    heads, rows, numeric = grid(answer)

    def line(cells: list[str], tag: str) -> str:
        aligned = zip(cells, numeric, strict=True)
        made = [
            f'<{tag} style="text-align:{"right" if r else "left"}">{escape(c)}</{tag}>' for c, r in aligned
        ]
        return f"<tr>{''.join(made)}</tr>"

    body = "".join(line(row, "td") for row in rows[:MOST_ROWS])
    head = line(heads, "th")
    return (
        f"<table><thead>{head}</thead><tbody>{body}</tbody><caption>{escape(foot(answer))}</caption></table>"
    )
