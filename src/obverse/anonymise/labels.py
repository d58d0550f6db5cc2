"""What a label says: which values it contains, as a reader would understand it."""

from __future__ import annotations

import re

from obverse.anonymise.codes import CELL, NONE, ROW
from obverse.data.hierarchy import is_quoted

NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
BETWEEN = re.compile(rf"^([\[(])?\s*({NUMBER})\s*(?:-|–|,|\.\.|…|to)\s*({NUMBER})\s*([\])])?$")
ABOVE = re.compile(rf"^(?:(>=|≥|>)\s*({NUMBER})|({NUMBER})\s*\+)$")
BELOW = re.compile(rf"^(<=|≤|<)\s*({NUMBER})$")
PARTS = re.compile(r'\s*"((?:[^"\\]|\\.)*)"\s*(?=,|$)|([^,]+)')
ESCAPED = re.compile(r"\\(.)")


def contains(label: str | None, value: str | None) -> bool:
    """Whether a label is true of a value. A missing value is only in `∅`, in sets that list it, and in `*`.

    >>> contains("[0, 10)", "10"), contains("60+", "60"), contains("1*", "1243"), contains("{a, b}", "b")
    (False, True, True, True)
    """
    if label in (CELL, ROW):
        return True
    if label is None or value is None:
        return label == value or (label is not None and NONE in (label, *_plain(label)))
    if label == value or (is_quoted(label) and members(f"({label})") == [value]):
        return True
    if label.startswith("{") and label.endswith("}"):
        return value in members(label)
    number = _number(value)
    if number is not None and (found := BETWEEN.match(label)):
        low, high = float(found[2]), float(found[3])
        above = number > low if found[1] == "(" else number >= low
        return above and (number < high if found[4] == ")" else number <= high)
    if number is not None and (found := ABOVE.match(label)):
        least = float(found[2] or found[3])
        return number > least if found[1] == ">" else number >= least
    if number is not None and (found := BELOW.match(label)):
        return number < float(found[2]) if found[1] == "<" else number <= float(found[2])
    if (within := BETWEEN.match(value)) and any(p.match(label) for p in (BETWEEN, ABOVE, BELOW)):
        return contains(label, within[2]) and contains(label, within[3])  # a value that is a range itself
    if label.startswith("[") and label.endswith("]") and len(ends := members(label)) == 2:
        return ends[0] <= value <= ends[1]
    return label.endswith("*") and value.startswith(label.rstrip("*"))


def members(label: str) -> list[str]:
    """The values that a set label lists, or the ends of a range.

    >>> members('{a, "b, c"}')
    ['a', 'b, c']
    """
    found = PARTS.findall(label[1:-1])
    return [plain.strip() or ESCAPED.sub(r"\1", quoted) for quoted, plain in found]


def _plain(label: str) -> list[str]:
    """The members of a set label that stand without quotes."""
    listed = label.startswith("{") and label.endswith("}")
    return [plain.strip() for _, plain in PARTS.findall(label[1:-1])] if listed else []


def numeric(label: str) -> bool:
    """Whether a label speaks of numbers."""
    return any(pattern.match(label) for pattern in (BETWEEN, ABOVE, BELOW)) or _number(label) is not None


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
