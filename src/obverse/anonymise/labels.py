"""What a label says: which values it contains, as a reader would understand it."""

from __future__ import annotations

import re

from obverse.anonymise.codes import CELL, NONE, ROW

NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
BETWEEN = re.compile(rf"^([\[(])?\s*({NUMBER})\s*(?:-|–|,|\.\.|…|to)\s*({NUMBER})\s*([\])])?$")
ABOVE = re.compile(rf"^(?:(>=|≥|>)\s*({NUMBER})|({NUMBER})\s*\+)$")
BELOW = re.compile(rf"^(<=|≤|<)\s*({NUMBER})$")
PARTS = re.compile(r'"((?:[^"\\]|\\.)*)"|([^,]+)')


def contains(label: str | None, value: str | None) -> bool:
    """Whether a label is true of a value. A missing value is only in `∅`, in sets that list it, and in `*`.

    >>> contains("[0, 10)", "10"), contains("60+", "60"), contains("1*", "1243"), contains("{a, b}", "b")
    (False, True, True, True)
    """
    if label in (CELL, ROW):
        return True
    if label is None or value is None:
        return label == value or (label or "").strip("{}").split(", ").count(NONE) > 0
    if label == value or label == f'"{value}"':
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
    if label.startswith("[") and label.endswith("]") and ", " in label:
        low_text, _, high_text = label[1:-1].partition(", ")
        return low_text <= value <= high_text
    return label.endswith("*") and value.startswith(label.rstrip("*"))


def members(label: str) -> list[str]:
    """The values that a set label lists."""
    found = PARTS.findall(label[1:-1])
    return [
        quoted.replace('\\"', '"').replace("\\\\", "\\") if quoted else plain.strip()
        for quoted, plain in found
    ]


def numeric(label: str) -> bool:
    """Whether a label speaks of numbers."""
    return any(pattern.match(label) for pattern in (BETWEEN, ABOVE, BELOW)) or _number(label) is not None


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
