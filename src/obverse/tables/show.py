"""A protected table as people read it: the last column across, the others down, hidden cells by their mark."""

from __future__ import annotations

from html import escape

import pyarrow as pa

Grid = list[list[str]]
NOTE = "c: confidential; hidden, or hidden so that others cannot be worked out"


def crosstab(table: pa.Table) -> list[str]:
    """Lines for a terminal.

    >>> table = pa.table({"sex": ["F", "Total"], "job": ["cook", "cook"], "value": [4, None], "mark": ["", "c"]})
    >>> print("\\n".join(crosstab(table)))
    sex    cook
    F         4
    Total     c
    """
    down, grid = _grid(table)
    widths = [max(len(row[place]) for row in grid) for place in range(len(grid[0]))]
    return [
        "  ".join(
            cell.ljust(width) if place < down else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in grid
    ]


def html(table: pa.Table, title: str = "") -> str:
    """An HTML table with its headings marked as such."""
    down, grid = _grid(table)
    caption = f"<caption>{escape(title)}</caption>" if title else ""
    head = "".join(
        f'<th scope="col" align="{"left" if place < down else "right"}">{escape(cell)}</th>'
        for place, cell in enumerate(grid[0])
    )
    body = "\n".join(
        "<tr>"
        + "".join(
            f'<th scope="row" align="left">{escape(cell)}</th>'
            if place < down
            else f'<td align="right">{escape(cell)}</td>'
            for place, cell in enumerate(row)
        )
        + "</tr>"
        for row in grid[1:]
    )
    note = f"<p>{escape(NOTE)}</p>" if any(table["mark"].to_pylist()) else ""
    rows = f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>"
    return f"<table cellpadding=4>{caption}\n{rows}\n</table>{note}\n"


def page(table: pa.Table, title: str = "") -> str:
    """The same as a file of its own, in letters of any language."""
    head = f'<!doctype html>\n<meta charset="utf-8">\n<title>{escape(title)}</title>\n'
    return head + html(table, title)


def _grid(table: pa.Table) -> tuple[int, Grid]:
    """How many columns are headings, and all rows of text with the headings first."""
    by = [name for name in table.column_names if name not in ("value", "mark")]
    labels = list(zip(*(table[name].to_pylist() for name in by), strict=True))
    shown = [
        mark or _number(value)
        for value, mark in zip(table["value"].to_pylist(), table["mark"].to_pylist(), strict=True)
    ]
    if len(by) == 1:
        rows = [[label, text] for (label,), text in zip(labels, shown, strict=True)]
        return 1, [[by[0], ""], *rows]
    across = list(dict.fromkeys(label[-1] for label in labels))
    cells = dict(zip(labels, shown, strict=True))
    heads = list(dict.fromkeys(label[:-1] for label in labels))
    body = [[*head, *(cells.get((*head, last), "") for last in across)] for head in heads]
    return len(by) - 1, [[*by[:-1], *across], *body]


def _number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.2f}"
