"""A released file, or a release of our own, attacked and written up: from two names to one report."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from obverse.evaluate.alone import alone, worst
from obverse.evaluate.dates import dated
from obverse.evaluate.exposed import exposed
from obverse.evaluate.fixes import Search, cheapest
from obverse.evaluate.held import Held, fingerprint, rows
from obverse.evaluate.own import Released
from obverse.evaluate.report import About, Report
from obverse.evaluate.risk import assess
from obverse.evaluate.tried import THRESHOLD


@dataclass(frozen=True)
class Said:
    """What the file itself does not tell: to whom, when, what the ledger charged, and how to ask again."""

    to: str = "not said"
    date: str = "not said"
    epsilon: float | None = None
    delta: float = 0.0
    spent: float | None = None
    left: float | None = None
    threshold: float = THRESHOLD
    seed: str = "assess"
    command: str = ""


def examine(released: str | Path | Released, known: Held, said: Said = Said()) -> Report:
    """Attack a released file, or a release of our own, with what the curator holds; look for fixes where it fails."""
    started = perf_counter()
    if not isinstance(released, Released):
        path, table = Path(released), rows(released, known.people)
        released = Released(path.name, fingerprint(path), table, said.to, said.date, said.epsilon, said.delta)
    release = dated(released.table, known.people)
    found = assess(
        release,
        known,
        seed=said.seed,
        threshold=said.threshold,
        epsilon=released.epsilon,
        delta=released.delta,
    )
    read = release.drop_columns(list(found.unread))
    above = any(each.word(said.threshold) != "low" for each in found.worst.values())
    fixes = cheapest(read, known, seed=said.seed, threshold=said.threshold) if above else Search()
    about = About(
        file=released.name,
        sha256=released.sha256,
        rows=release.num_rows,
        columns=release.num_columns,
        against=known.name,
        command=said.command,
        to=released.to,
        date=released.date,
        charged=released.epsilon,
        spent=said.spent,
        left=said.left,
    )
    listed = tuple(exposed(read, known, found))
    seen = [name for name in known.quasi if name in release.column_names]
    unique = worst(alone(known.people, seen or known.within(release.column_names).people.column_names))
    return Report(about, found, fixes, listed, unique, perf_counter() - started)
