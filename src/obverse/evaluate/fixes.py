"""The cheapest changes to a release that would bring its risks below the threshold: tried, not guessed.

Each change is made to the release, the attacks on rows and secrets are run again, and what it costs is the share of
information lost: the entropy that the columns keep, and the rows that are left.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import MAXYEAR
from math import floor, log10

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from obverse.attack.anonymised import Describing, Matching
from obverse.attack.base import Game, View, shuffle
from obverse.attack.mixed import shared
from obverse.evaluate.dates import micros
from obverse.evaluate.held import Held
from obverse.evaluate.risk import TARGETS, World
from obverse.evaluate.tried import THRESHOLD, few, short
from obverse.noise.entropy import Keyed

BUDGET = 16, 6, 4  # changes tried alone, then pairs, then threes
LARGE = 100_000  # rows from which changes are tried alone only
LEAST = 0.1  # of the information is kept, or it is no fix
FEW = 20  # distinct values below which a number is not worth banding


@dataclass(frozen=True)
class Fix:
    """Changes to make, the highest risk that is then left, and the share of information that is kept."""

    changes: tuple[str, ...]
    risk: float
    utility: float
    enough: bool


@dataclass(frozen=True)
class _Change:
    """Columns to leave out; with a width or years, to put into bands; or, of no column, rows to leave out."""

    said: str
    columns: tuple[str, ...] = ()
    width: float = 0.0
    years: int = 0


@dataclass(frozen=True)
class Search:
    """The best fixes; how many changes there are, how many were tried alone, and how many combinations of them."""

    best: tuple[Fix, ...] = ()
    changes: int = 0
    alone: int = 0
    together: int = 0


def cheapest(
    release: pa.Table, known: Held, *, seed: str = "fixes", threshold: float = THRESHOLD, count: int = 3
) -> Search:
    """The fixes that keep most and stay below the threshold, or else those that leave the least risk.

    As many as `BUDGET` are tried: changes alone, then the best of them with the others, the better ones first.
    """
    release = release.select(shared(release, known.people))
    changes = every = list(_changes(release, known))
    start: tuple[_Change, ...] = ()
    found: list[tuple[tuple[_Change, ...], Fix]] = []
    for most in BUDGET if release.num_rows < LARGE else BUDGET[:1]:
        step = []
        for change in _possible(changes, start, release.num_columns)[:most]:
            chosen = (*start, change)
            made = _made(release, chosen)
            risk, kept = _risk(made, known, seed), _kept(release, made)
            fix = Fix(tuple(each.said for each in chosen), risk, kept, risk <= threshold)
            step.append((chosen, fix))
        found += step
        if not step or sum(fix.enough and fix.utility >= LEAST for _, fix in found) >= count:
            break
        step.sort(key=lambda each: (each[1].utility < LEAST, each[1].risk - 0.5 * each[1].utility))
        start = step[0][0]
        better = [chosen[-1] for chosen, _ in step]
        changes = better + [change for change in changes if change not in better]
    useful = [fix for _, fix in found if fix.utility >= LEAST]
    simple = [fix for fix in useful if not any(_less(other, fix) for other in useful)]
    best = sorted(simple, key=lambda f: (not f.enough, -f.utility if f.enough else f.risk))
    alone = sum(len(chosen) == 1 for chosen, _ in found)
    return Search(tuple(best[:count]), len(every), alone, len(found) - alone)


def _less(one: Fix, other: Fix) -> bool:
    """Whether the one is enough by some of the other's changes."""
    return one.enough and set(one.changes) < set(other.changes)


def _possible(changes: Sequence[_Change], start: tuple[_Change, ...], width: int) -> list[_Change]:
    """Those that touch no column a second time, and leave one as it is."""
    used = {name for done in start for name in done.columns}
    return [
        change
        for change in changes
        if change not in start and not used & set(change.columns) and len(used | set(change.columns)) < width
    ]


def _changes(release: pa.Table, known: Held) -> Iterator[_Change]:
    """What could be done to columns or to rows."""
    marked = {*known.quasi, *known.sensitive}
    plain = tuple(name for name in release.column_names if known.quasi and name not in marked)
    if len(plain) > 1:
        yield _Change(f"leave out what people are not known by ({few(plain, 3)})", plain)
    yield _Change("leave out rows that are like no other")
    for name in sorted(release.column_names, key=lambda name: -_entropy(release[name])):
        if name in plain or (name in known.sensitive and not _identifying(release[name])):
            continue
        yield _Change(f"leave out {short(name)}", (name,))
        if name in known.sensitive:
            continue  # in bands it could not be held against what is true
        cells = release[name]
        if pa.types.is_date(cells.type) or pa.types.is_timestamp(cells.type):
            yield _Change(f"put {short(name)} into years", (name,), years=1)
            yield _Change(f"put {short(name)} into decades", (name,), years=10)
        if not (pa.types.is_integer(cells.type) or pa.types.is_floating(cells.type)):
            continue
        ends = pc.min_max(cells).as_py()
        if ends["min"] is None or len(pc.unique(cells)) <= FEW:
            continue
        for bands in (20, 5):
            width = _round((ends["max"] - ends["min"]) / bands)
            yield _Change(f"put {short(name)} into bands of {width:g}", (name,), width)


def _identifying(cells: pa.ChunkedArray) -> bool:
    """Whether most cells are alone with their value: such a secret names its rows, whatever else is done."""
    return 2 * len(pc.unique(cells)) > len(cells)


def _round(width: float) -> float:
    """The nearest of 1, 2, 5 times a power of ten above."""
    power = 10.0 ** floor(log10(width))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= width * (1 - 1e-9))


def _made(release: pa.Table, changes: tuple[_Change, ...]) -> pa.Table:
    """The release with all changes made, rows left out last."""
    for change in sorted(changes, key=lambda change: not change.columns):
        if not change.columns:
            release = _shared(release)
        elif change.width or change.years:
            (name,) = change.columns
            cells = release[name]
            banded = _dated(cells, change.years) if change.years else _banded(cells, change.width)
            release = release.set_column(release.column_names.index(name), name, banded)
        else:
            release = release.drop_columns(list(change.columns))
    return release


def _banded(cells: pa.ChunkedArray, width: float) -> pa.Array:
    starts = pc.multiply(pc.floor(pc.divide(cells.cast(pa.float64(), safe=False), width)), width)
    coded = starts.combine_chunks().dictionary_encode()
    labels = [f"[{start:.12g}, {start + width:.12g})" for start in coded.dictionary.to_pylist()]
    return pa.DictionaryArray.from_arrays(coded.indices, pa.array(labels, pa.string())).cast(pa.string())


def _dated(cells: pa.ChunkedArray, years: int) -> pa.Array:
    """Dates as spans of so many years, in the whole numbers that attacks see dates as."""
    starts = pc.floor_temporal(cells.cast(pa.timestamp("us")), multiple=years, unit="year").combine_chunks()
    coded = starts.dictionary_encode()
    labels = [
        start and f"[{micros(start)}, {micros(start.replace(year=min(start.year + years, MAXYEAR)))})"
        for start in coded.dictionary.to_pylist()
    ]
    return pa.DictionaryArray.from_arrays(coded.indices, pa.array(labels, pa.string())).cast(pa.string())


def _shared(release: pa.Table) -> pa.Table:
    """The rows that are like another."""
    numbered = release.append_column("row of it", pa.array(np.arange(release.num_rows)))
    classes = numbered.group_by(release.column_names).aggregate(
        [("row of it", "min"), ("row of it", "count")]
    )
    kept = np.ones(release.num_rows, bool)
    kept[classes["row of it_min"].to_numpy()] = classes["row of it_count"].to_numpy() > 1
    return release.filter(pa.array(kept))


def _risk(release: pa.Table, known: Held, seed: str) -> float:
    """The highest risk that whole rows, quasi-identifiers and two secrets are found to bear; of many, rows alone."""
    if not release.num_rows:
        return 0.0
    known = known.within(release.column_names)
    rows = _rows_at_risk(release, known, seed)
    if release.num_rows >= LARGE:
        return rows
    world = World(release, known, seed, Game(seed), TARGETS // 10, copies=0)
    secrets = (each for secret in known.sensitive[:2] for each in world.inferring(secret))
    return max([rows, *(each.evidence.risk for each in secrets)])


def _rows_at_risk(release: pa.Table, known: Held, seed: str) -> float:
    """The share of people whose row is matched, or of rows that describe one person: no control is needed."""
    some = known.people.take(shuffle(known.people.num_rows, Keyed(seed))[: TARGETS // 10])
    matching = Matching(known.quasi or tuple(release.column_names), known.ladders)
    matched = matching.claim(View({"release": release}, {"targets": some}))
    describing = Describing(TARGETS // 10, known.ladders)
    described = describing.claim(View({"release": release}))
    right = (
        matched.made & (matched.values == matching.truth(matched, release, some)),
        described.made & (described.values == describing.truth(release, known.people)),
    )
    return max(float(each.mean()) for each in right)


def _kept(before: pa.Table, after: pa.Table) -> float:
    """The mean share of each column's entropy that is left, times the share of rows."""
    shares = []
    for name in before.column_names:
        whole = _entropy(before[name])
        if whole:
            shares.append(_entropy(after[name]) / whole if name in after.column_names else 0.0)
    return float(np.mean(shares)) * after.num_rows / before.num_rows if shares else 1.0


def _entropy(cells: pa.ChunkedArray) -> float:
    counts = pc.value_counts(cells).field("counts").to_numpy(zero_copy_only=False)
    chance = counts / counts.sum()
    return float(-(chance * np.log2(chance)).sum())
