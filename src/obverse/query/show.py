"""How an answer looks: on a terminal, in a notebook; each number rounded to what its ± leaves meaningful."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from html import escape
from math import ceil, floor, isfinite, log10
from typing import TYPE_CHECKING, Literal

from obverse.loss.loss import Loss
from obverse.release import Accuracy

if TYPE_CHECKING:
    from obverse.query.answer import Answer, Answered, Cell

Style = Literal["head", "margin", "note"]
Paint = Callable[[Style, str], str]
NOTHING = "–"
MOST_DIGITS = 6
MOST_ROWS = 100
LARGE, TINY = 1e5, 1e-15  # between, a number without a ± is written out to its whole part


def text(answered: Answered) -> str:
    """The table, then what it cost."""
    return "\n".join([*table(answered.value), "", *notes(answered)])


def html(answered: Answered) -> str:
    """The same for a notebook."""
    names, lines, right = _laid_out(answered.value)
    aligned = ["text-align:right" if each else "text-align:left" for each in right]
    head = "".join(f"<th style='{a}'>{escape(name)}</th>" for name, a in zip(names, aligned, strict=True))
    body = "".join(
        "<tr>"
        + "".join(f"<td style='{a}'>{escape(c)}</td>" for c, a in zip(line, aligned, strict=True))
        + "</tr>"
        for line in lines
    )
    below = "<br>".join(escape(note) for note in notes(answered))
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table><p><small>{below}</small></p>"


def table(answer: Answer, paint: Paint = lambda style, text: text) -> list[str]:
    """The lines of a table; behind each column of numbers one with its ±."""
    names, lines, right = _laid_out(answer)
    hidden, lines = len(lines) - MOST_ROWS, lines[:MOST_ROWS]
    widths = [max(map(len, column)) for column in zip(names, *lines, strict=True)]

    def line(cells: Sequence[str]) -> list[str]:
        return [
            cell.rjust(width) if each else cell.ljust(width)
            for cell, width, each in zip(cells, widths, right, strict=True)
        ]

    shown = ["  ".join(paint("head", cell) for cell in line(names)).rstrip()]
    for cells in lines:
        padded = zip(names, line(cells), strict=True)
        shown.append("  ".join(paint("margin", c) if name == "±" else c for name, c in padded).rstrip())
    return [*shown, f"… and {hidden:,} rows more"] if hidden > 0 else shown


def notes(answered: Answered) -> list[str]:
    """What was charged, for whom it holds, how sure the ± is, and of rows that they are nobody's."""
    receipt = answered.receipt
    paid = f"cost {cost(answered.loss)}, for {holds_for(answered)}"
    if receipt.again:
        paid = f"asked before: the same answer, free (it {paid})"
    from obverse.query.bias import told
    from obverse.query.within import kept_to

    *said, last = answered.plan.notes
    aim = kept_to(answered.plan, answered.value)
    return [paid, *aim, *said, f"{last}; receipt {receipt.number}", *told(answered.plan)]


def cost(loss: Loss) -> str:
    """A loss in the plainest figure that bounds it."""
    if loss.pure is not None:
        return figure("ε", loss.pure)
    if loss.rho is not None:
        return f"{figure('ρ', loss.rho)} (zCDP; ε = {loss.epsilon(1e-6):.3g} at δ = 10⁻⁶)"
    return f"ε = {loss.epsilon(1e-6):.3g} at δ = 10⁻⁶"


def plus_minus(stated: Accuracy) -> str:
    """A stated accuracy in words."""
    note = f" ({stated.note})" if stated.note else ""
    return f"{stated.name} ± {stated.margin:,.4g}{note}"


def holds_for(answered: Answered) -> str:
    """Whom an answer protects."""
    return answered.plan.protects


def figure(name: str, number: Fraction) -> str:
    """A number as a decimal where it is one, else nearly.

    >>> figure("ε", Fraction(1, 8)), figure("ε", Fraction(1, 3)), figure("ε", Fraction(2))
    ('ε = 0.125', 'ε ≈ 0.3333333', 'ε = 2')
    """
    shown = f"{float(number):.7g}"
    return f"{name} {'=' if Fraction(shown) == number else '≈'} {shown}"


def _laid_out(answer: Answer) -> tuple[list[str], list[list[str]], list[bool]]:
    """Names, lines and whether a column stands to the right, with the ± columns in their places."""
    names, right, columns = list[str](), list[bool](), list[list[str]]()
    for place, name in enumerate(answer.columns):
        cells = [row[place] for row in answer.rows]
        margins = [row[place] for row in answer.margins]
        whole = all(isinstance(cell, int) for cell in cells)
        digits = 0 if whole else _digits(margins)
        names.append(_printable(name))
        right.append(all(isinstance(cell, int | float | None) for cell in cells))
        columns.append([_shown(cell, digits) for cell in cells])
        if any(margin is not None for margin in margins):
            names.append("±")
            right.append(True)
            columns.append([_wide(margin, digits) for margin in margins])
    return names, [list(line) for line in zip(*columns, strict=True)], right


def _digits(margins: Sequence[float | None]) -> int | None:
    """Decimals enough for two figures of the smallest ±; none where nothing has a ±."""
    known = [margin for margin in margins if margin is not None and isfinite(margin) and margin > 0]
    return min(MOST_DIGITS, max(0, 1 - floor(log10(min(known))))) if known else None


def _shown(cell: Cell, digits: int | None) -> str:
    if cell is None:
        return NOTHING
    if isinstance(cell, tuple):
        return f"[{', '.join(_shown(each, digits) for each in cell)}]"
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, str):
        return _printable(cell)
    if isinstance(cell, int):
        return f"{cell:,}"
    if digits is None:
        digits = 0 if LARGE <= abs(cell) < 1 / TINY else None
    return f"{cell:,.6g}" if digits is None else f"{cell:,.{digits}f}"


def _wide(margin: float | None, digits: int | None) -> str:
    """A ± rounded up, so that it still holds."""
    if margin is None:
        return ""
    if not isfinite(margin):
        return "any"
    places = digits or 0
    return f"{ceil(margin * 10**places) / 10**places:,.{places}f}"


def _printable(text: str) -> str:
    """A text that cannot steer a terminal."""
    return "".join(c if c.isprintable() else "�" for c in text)
