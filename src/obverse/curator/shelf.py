"""What was published, found in the ledger: releases that answer later questions free, for every account."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from threading import Lock

from obverse.data.schema import Schema
from obverse.errors import BadQuestion, Refusal
from obverse.ledger.journal import Logged, digest
from obverse.ledger.ledger import Ledger
from obverse.query.plan import AskPlan
from obverse.query.publication import PublishPlan
from obverse.query.publish import Publish, published
from obverse.query.published import FromRelease, from_releases
from obverse.query.show import figure
from obverse.query.weights import Published
from obverse.release import Charge, Receipt, Terms

ABOUT = "CREATE RELEASE "
Keyed = Callable[[PublishPlan], str]


@dataclass(frozen=True, eq=False)
class Volume:
    """One release as the ledger has it: its line, what it was asked as, and what was kept."""

    entry: Logged
    request: Publish
    kept: bytes

    def __str__(self) -> str:
        charged, epsilon = self.entry.charged, self.request.epsilon or Fraction(0)
        by = ", ".join(map(str, self.request.cuts))
        paid = f"{figure('ε', epsilon)}, by {charged.account}, {charged.time}, receipt {self.entry.number}"
        return f"{self.request.name}  {self.request.table} by {by}  {paid}"


class Shelf:
    """The releases of one ledger, whoever published them and in whichever process."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._upto = 0
        self._waiting: list[Logged] = []
        self._volumes: dict[str, Volume] = {}
        self._read: dict[str, Published | None] = {}
        self._looking = Lock()

    def volumes(self) -> list[Volume]:
        """All of them, the oldest first. Only lines that came since the last look are read."""
        with self._looking:
            self._upto, fresh = self._ledger.named(ABOUT, self._upto)
            waiting = []
            for entry in (*self._waiting, *fresh):
                kept = None if entry.charged.key in self._volumes else self._ledger.kept_for(entry)
                if kept is not None:
                    self._volumes[entry.charged.key] = Volume(entry, published(kept), kept)
                elif entry.charged.key not in self._volumes:
                    waiting.append(entry)  # charged, and still being counted
            self._waiting = waiting
            return list(self._volumes.values())

    def about(self, tables: tuple[str, ...]) -> list[Volume]:
        """Those of these tables."""
        return [volume for volume in self.volumes() if volume.entry.charged.tables == tables]

    def check(self, plan: PublishPlan, key: str) -> None:
        """Refuse a second release of one name."""
        for volume in self.volumes():
            if (
                volume.request.name.lower() == plan.request.name.lower()
                and volume.entry.charged.key != digest(key)
            ):
                raise BadQuestion(f"a release is called {volume.request.name} already: {volume}")

    def answer(
        self, plan: AskPlan, volumes: list[Volume], schemas: Mapping[str, Schema], key: Keyed | None
    ) -> tuple[FromRelease, Receipt] | None:
        """A question's plan from the release that tells it best; with `key` only from one of the data as it is."""
        found = {}
        for volume in volumes:
            opened = self._open(volume, schemas)
            if opened is not None and (key is None or digest(key(opened.plan)) == volume.entry.charged.key):
                found[volume.entry.number] = volume, opened
        told = from_releases(plan, [opened for _, opened in found.values()])
        return None if told is None else (told, _receipt(found[told.number][0]))

    def _open(self, volume: Volume, schemas: Mapping[str, Schema]) -> Published | None:
        """A release with its cells; None where the schema is another by now, and it has no such cells."""
        key = volume.entry.charged.key
        if key not in self._read:
            self._read[key] = _opened(volume, schemas)
        return self._read[key]


def _opened(volume: Volume, schemas: Mapping[str, Schema]) -> Published | None:
    try:
        plan = volume.request.plan(schemas, Terms())
        answer = plan.unpack(volume.kept)
    except (Refusal, ValueError):
        return None
    if len(answer.totals) != prod(plan.read.shape):
        return None
    return Published(volume.request.name, volume.entry.number, plan, plan.counts(answer))


def _receipt(volume: Volume) -> Receipt:
    """What the release left: the answer is part of it."""
    entry, line = volume.entry, volume.entry.charged
    charge = Charge(
        line.account, line.tables, line.kind, line.key, entry.guarantee, line.about, line.protects
    )
    return Receipt(entry.number, charge, entry.seal)
