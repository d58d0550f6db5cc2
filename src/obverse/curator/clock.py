"""The time of day, for the dates in a ledger; nothing else asks it."""

from __future__ import annotations

from datetime import UTC, datetime


def now() -> datetime:
    """The time now."""
    return datetime.now(UTC)
