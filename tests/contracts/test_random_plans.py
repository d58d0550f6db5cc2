"""10,000 random questions on neighbours: what goes into the noise moves by no more than is charged.

The questions are those that engines must agree on (`tests/engines/questions.py`): conditions, CASE, arithmetic, joins on
whose the rows are and with public tables, chains of foreign keys, self-joins, subqueries per person, UNION ALL, DISTINCT,
groups declared and found. Each is planned once, before any row is there, so that scales, thresholds, ε and δ are the
same on neighbours; then it is run on two tables that differ by one unit, and what each mechanism is given is compared
group by group. Nothing here is left to chance: an input that moved too far is a broken promise, however rare.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from datetime import date, datetime
from fractions import Fraction
from itertools import islice
from math import inf, nan
from pathlib import Path

import pytest
from tests.engines.questions import Questions, Row, rows, schemas, written

from obverse.audit.replay import Given, Recorder, apart
from obverse.data.schema import Neighbours, Schema, Unit
from obverse.data.table import Tables
from obverse.engines.duckdb import DuckDB
from obverse.loss.loss import Sensitivity
from obverse.mechanisms.permute_and_flip import PermuteAndFlip
from obverse.noise.entropy import Entropy, Keyed
from obverse.query.answer import Answer
from obverse.query.choose import Naming
from obverse.query.groups import folded
from obverse.query.plan import AskPlan, Group, Off

PLANS = 10_000
Held = Mapping[str, list[Row]]
TABLES = ("t", "u", "v", "w")
EXTREMES: list[Row] = [
    (99, 2**62, "f", 1.7e308, 1.7e308, "a new key", date(1, 1, 1), datetime(1, 1, 1), True),
    (99, -(2**62), "m", -1.7e308, 5e-324, "", date(9999, 12, 31), datetime(9999, 12, 31), False),
    (99, 30, "f", nan, nan, "Ann", date(2024, 2, 29), datetime(2024, 2, 29, 23, 59, 59), None),
    (99, 777, "a new key", inf, -inf, "😀", date(2001, 10, 5), datetime(2000, 1, 1), True),
    (99, None, None, None, None, None, None, None, None),
    (99, 120, "f", 1000 / 3, -0.0, "bob", date(1970, 1, 1), datetime(1969, 7, 20, 20, 17), False),
    (99, 60, "m", -10.0, 1e16, "50%", date(1899, 12, 31), datetime(2000, 1, 1), True),
]
BASE: Held = {
    "t": rows(60),
    "u": [(i % 23 if i % 20 else None, *row[1:]) for i, row in enumerate(rows(60))],
    "v": [(5 if i % 3 else i % 23 if i % 20 else None, *row[1:]) for i, row in enumerate(rows(90))],
    "w": rows(50),
}


def neighbours(kind: Neighbours) -> Iterator[Held]:
    """Tables one unit from BASE: one row of t is another, and so are all rows of one person in u, v and w.

    Where a row counts, that is one of t; where a person does, it is theirs in all tables at once.
    """
    crowd = [(*row[:1], *EXTREMES[(i * 3) % 7][1:5], *row[5:]) for i, row in enumerate(EXTREMES * 6)]
    # a row of w has one owner: no one else in v is 777
    many = {"u": EXTREMES, "v": [*crowd, *EXTREMES], "w": EXTREMES[3:4]}
    gone = [{table: _without(who, table) for table in ("u", "v")} for who in (0, 5, 7, None)]
    if kind is Neighbours.REPLACE:
        for i, other in enumerate(gone[:3]):
            swapped = {table: [*other[table], *many[table]] for table in other}
            yield {**BASE, **swapped, "t": [EXTREMES[2 * i], *BASE["t"][1:]]}
        return
    for i, other in enumerate(gone):
        yield {**BASE, **other, "t": BASE["t"][:i] + BASE["t"][i + 1 :]}
    yield {**BASE, **{table: [*BASE[table], *more] for table, more in many.items()}, "t": BASE["t"][1:]}
    for place, extreme in enumerate(EXTREMES):
        more = {table: [*BASE[table], extreme] for table in TABLES[place % 2 : 3]}
        yield {**BASE, **more, "t": [*BASE["t"], extreme]}


def _without(who: int | None, table: str) -> list[Row]:
    return [row for row in BASE[table] if row[0] != who]


UNITS = (  # the most rows of one person in u and v, in how many groups they may be, what a neighbour is, and how it is kept
    ((1, 40), None, Neighbours.ADD_REMOVE, "arrow", None),  # copied, with ranks of its own
    ((1, 1), None, Neighbours.ADD_REMOVE, "parquet", None),  # without ranks: scaled
    ((2, 7), 1, Neighbours.ADD_REMOVE, "parquet", "nr"),  # with ranks that were written
    ((2, 5), None, Neighbours.REPLACE, "arrow", None),
)


class OneThread(DuckDB):
    """Tables so small that a second thread only waits."""

    def _lock(self) -> None:
        self._connection.execute("SET threads = 1")
        super()._lock()


@dataclass(frozen=True)
class World:
    """What is declared, and the same question's tables on either side."""

    schemas: Mapping[str, Schema]
    base: DuckDB
    others: tuple[DuckDB, ...]


def world(folder: Path, place: int) -> World:
    (few, many), groups, kind, form, rank = UNITS[place]
    own = {"u": Unit("id", few, groups, rank), "v": Unit("id", many, groups, rank)}

    def declared(name: str) -> dict[str, Schema]:
        made = schemas(f"{folder}/{name}-{{table}}.{form}").values()
        return {s.name: replace(s, unit=own.get(s.name, s.unit), neighbours=kind) for s in made}

    def engine(name: str, held: Held) -> DuckDB:
        for table in TABLES:
            written(folder / f"{name}-{table}.{form}", held[table])
        written(folder / f"{name}-b.{form}", rows(40))
        return OneThread(declared(name).values())

    others = tuple(engine(f"{place}-{i}", held) for i, held in enumerate(neighbours(kind)))
    return World(declared(f"{place}"), engine(f"{place}", BASE), others)


class Everywhere(AskPlan):
    """The same plan, which names every group that a row is in, so that the totals of all are seen."""

    def _named(self, naming: Naming, tables: Tables, entropy: Entropy) -> tuple[Group, ...]:
        assert isinstance(entropy, Watcher)
        keys, read = len(self.question.keys), self._read
        entropy.weighed = {
            folded(row[:-1]): int(row[-1] or 0) for row in tables.run(naming.select(*read, ()))
        }
        found = {folded(row[:keys]) for select in self.reads for row in tables.run(select)}
        return tuple(sorted(found, key=repr))

    def present(
        self,
        groups: tuple[Group, ...],
        noisy: tuple[tuple[int, ...], ...],
        confidence: Fraction,
        off: Off | None = None,
    ) -> Answer:
        """How it would look is no matter here."""
        return Answer((), (), (), noisy, groups)


class Watcher(Recorder):
    """Writes down also by what groups are named."""

    def __init__(self) -> None:
        super().__init__()
        self.weighed: dict[Group, int] = {}


def everywhere(plan: AskPlan) -> Everywhere:
    return Everywhere(**{field.name: getattr(plan, field.name) for field in fields(plan)})


Seen = list[tuple[object, dict[Group, Given]]]


def seen(plan: AskPlan, engine: DuckDB) -> Seen:
    """What each mechanism is given, by group."""
    watcher = Watcher()
    groups = plan.run(engine, watcher).groups
    given = [(mechanism, dict(zip(groups, values, strict=True))) for mechanism, values in watcher.seen]
    return given if plan.naming is None else [(plan.naming, dict(watcher.weighed)), *given]


def moved(here: Mapping[Group, Given], there: Mapping[Group, Given], mechanism: object) -> list[int]:
    """How far apart, group by group; a group that is not there has nothing in it."""
    groups = [*here, *(group for group in there if group not in here)]
    pairs = [(here.get(group), there.get(group)) for group in groups]
    filled = [
        (_or_nothing(one, other, mechanism), _or_nothing(other, one, mechanism)) for one, other in pairs
    ]
    return apart([one for one, _ in filled], [other for _, other in filled], mechanism)


def _or_nothing(given: Given | None, beside: Given | None, mechanism: object) -> Given:
    """What was given; where nothing was, no values, no rows of any score, or a total of 0."""
    if given is not None:
        return given
    if beside is None or isinstance(beside, int):
        return 0
    return (0,) * len(beside) if isinstance(mechanism, PermuteAndFlip) else ()


def too_far(plan: AskPlan, here: Seen, there: Seen) -> str:
    """What tells neighbours apart beyond what is charged; empty if nothing does."""
    charged = [(each.mechanism, each.sensitivity) for each in plan.noisy]
    if plan.naming is not None:
        charged.insert(0, (plan.naming, plan.naming.sensitivity))
    if not [m for m, _ in charged] == [m for m, _ in here] == [m for m, _ in there]:
        return "other noise than is charged for"
    for (mechanism, most), (_, mine), (_, theirs) in zip(charged, here, there, strict=True):
        far = moved(mine, theirs, mechanism)
        if sum(far) > most.l1 or sum(x * x for x in far) > most.l2_squared or max(far, default=0) > most.most:
            return f"{mechanism}: {far} where {most} is charged"
    return ""


@pytest.mark.slow
@pytest.mark.parametrize("place", range(len(UNITS)))
def test_inputs_of_random_plans_move_by_no_more_than_is_charged(tmp_path: Path, place: int) -> None:
    tables, which = world(tmp_path, place), Keyed(f"neighbours {place}")
    for plan in Questions(f"plans {place}", depth=1).planned(tables.schemas, PLANS // len(UNITS)):
        plan = everywhere(plan)
        other = tables.others[which.bits(32) % len(tables.others)]
        told = too_far(plan, seen(plan, tables.base), seen(plan, other))
        assert not told, f"{plan.text}\n{told}"


def test_a_bound_that_is_too_small_is_caught(tmp_path: Path) -> None:
    """A planted bug: half of what is charged is not enough for some of 60 plans on some neighbour."""
    tables = world(tmp_path, 0)
    found = 0
    for plan in islice(Questions("planted").planned(tables.schemas, 60), 60):
        half = tuple(
            replace(each, sensitivity=Sensitivity(*(x / 2 for x in _sizes(each.sensitivity))))
            for each in plan.noisy
        )
        liar = everywhere(replace(plan, noisy=half))
        here = seen(liar, tables.base)
        found += any(too_far(liar, here, seen(liar, other)) != "" for other in tables.others)
    assert found > 10


def _sizes(most: Sensitivity) -> tuple[object, ...]:
    return most.l1, most.l2_squared, most.most
