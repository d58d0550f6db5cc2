"""One line of an audit: what was tried, what was found, and whether it can be true of an honest mechanism."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """What one check says of one thing: `below` is the ε proved from what was seen, `charged` the ε that is paid."""

    check: str
    name: str
    lies: bool
    below: float | None = None
    charged: float | None = None
    note: str = ""

    def __str__(self) -> str:
        verdict = "LIES" if self.lies else "ok"
        figures = ""
        if self.below is not None and self.charged is not None:
            figures = f"ε ≥ {self.below:.4f} seen, {self.charged:.4f} charged"
        return f"{verdict:5}{self.check:14}{self.name:34}{figures:40}{self.note}".rstrip()
