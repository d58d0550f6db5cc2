"""Trackers: what a limit on the size of groups refuses, put together from answers that it allows.  [DDS79]

A count of few people is refused, and so is a count of nearly all. With a group T of middling size,
count(C) = count(C or T) + count(C or not T) − count(T) − count(not T), and all four are allowed.
"""

from __future__ import annotations

from dataclasses import dataclass

from obverse.attack.base import Attack, Claims, View
from obverse.attack.differencing import number, of_differences
from obverse.errors import BadSource


@dataclass(frozen=True)
class Tracker(Attack):
    """Claims for each target whether anybody fits his condition, which names him and his secret.

    `conditions` is an auxiliary table with a column `condition`; `tracker` is a condition that about half of
    `table` meets.
    """

    table: str
    conditions: str
    tracker: str

    harm = "inference"

    @property
    def threat(self) -> str:
        return "Somebody with an account whose questions about few people are refused pads them with a large group."

    def claim(self, view: View) -> Claims:
        door = view.door()
        conditions = view.table(self.conditions, ["condition"])["condition"].to_pylist()
        if not all(isinstance(condition, str) for condition in conditions):
            raise BadSource(f"{self.conditions} must hold a condition as text for every target")

        def count(where: str) -> float:
            return number(door, f"SELECT COUNT(*) FROM {self.table} WHERE {where}")

        everybody = count(self.tracker) + count(f"NOT ({self.tracker})")
        padded = [
            count(f"({c}) OR ({self.tracker})") + count(f"({c}) OR NOT ({self.tracker})") for c in conditions
        ]
        return of_differences([(both, everybody) for both in padded])
