"""Ranks follow from a person's own rows alone, no number twice; ranks that do not are refused, or caught by a replay."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest
from pyarrow import feather
from sqlglot import parse_one

from obverse.audit import replay
from obverse.audit.replay import BASE, Record, recorded, schema, tables, through_the_plan, too_far
from obverse.data.forms import RANK
from obverse.data.schema import Column, Schema, Type, Unit
from obverse.data.table import Cell
from obverse.engines import duckdb as engine
from obverse.engines._ranks import by_rank
from obverse.engines.duckdb import DuckDB
from obverse.errors import BadSource
from obverse.query.ask import Ask
from obverse.query.plan import AskPlan
from obverse.release import Terms

SECRET = b"0123456789abcdef0123456789abcdef"


def ranks(rows: Sequence[Record], known: Schema, secret: bytes = SECRET) -> dict[Cell, list[Cell]]:
    """Each person's ranks, in the order of their rows."""
    tables(rows, known)
    found: dict[Cell, list[Cell]] = {}
    select = parse_one(f'SELECT id, "{RANK}", age FROM t', dialect="duckdb")
    held = DuckDB([known], secret=secret).run(select)
    assert [row[2] for row in held] == [row["age"] for row in rows], "rows keep their order"
    for who, rank, _ in held:
        found.setdefault(who, []).append(rank)
    return found


def test_a_persons_ranks_are_the_first_whole_numbers_and_nobody_has_none(tmp_path: Path) -> None:
    known = schema(tmp_path, Unit("id", rows=2))
    nobody = [{**row, "id": None} for row in BASE]
    found = ranks([*BASE, *nobody, *BASE], known)
    assert found.pop(None) == [None] * len(nobody)
    counts = Counter(row["id"] for row in BASE)
    assert {who: sorted(held) for who, held in found.items()} == {  # type: ignore[type-var]
        who: list(range(2 * count)) for who, count in counts.items()
    }


def test_ranks_do_not_depend_on_other_people(tmp_path: Path) -> None:
    """Somebody leaves, a crowd comes before, between and behind: everybody else's ranks stay."""
    known = schema(tmp_path, Unit("id", rows=2))
    before = ranks(BASE, known)
    crowd = list(replay.CROWD)
    mixed = [each for pair in zip(crowd, BASE, strict=False) for each in pair]
    assert len(mixed) == 2 * len(BASE)
    after = ranks([*crowd, *(row for row in mixed if row["id"] != 3), *crowd], known)
    assert {who: held for who, held in after.items() if who != 99} == {
        who: held for who, held in before.items() if who != 3
    }


def test_ranks_do_not_depend_on_values_and_follow_from_the_secret(tmp_path: Path) -> None:
    known = schema(tmp_path, Unit("id", rows=2))
    assert ranks([{**row, "age": -1, "pay": None} for row in BASE], known) == ranks(BASE, known)
    assert ranks(BASE, known, SECRET[::-1]) != ranks(BASE, known)


def test_every_row_is_as_likely_to_come_first(tmp_path: Path) -> None:
    """Of 3,000 people with 4 rows each the first is of rank 0 in a quarter: five standard errors, 119 off at most."""
    known = schema(tmp_path, Unit("id", rows=2))
    rows = [replay.record(i % 3000, 30, "f", 1.0) for i in range(12_000)]
    first = [held[0] for held in ranks(rows, known).values()]
    assert max(abs(count - 750) for count in Counter(first).values()) < 119


def numbered(folder: Path, ranks: Sequence[int | None]) -> Schema:
    """People 0 and 1, by turns, with these ranks in a Parquet file."""
    path = folder / "numbered.parquet"
    whose = [i % 2 for i in range(len(ranks))]
    written = pa.table({"id": whose, "nr": pa.array(ranks, pa.int64())})
    pyarrow.parquet.write_table(written, path)
    declared = Schema("t", str(path), replay.COLUMNS[:1], Unit("id", rows=2, rank="nr"))
    return declared


def test_written_ranks_bound_the_rows(tmp_path: Path) -> None:
    """Ranks from 0 to C − 1 count; negative and missing ones do not, or more than C might."""
    known = numbered(tmp_path, [0, 0, 1, 1, 2, 2, -1, -1, None, None])
    plan = Ask("SELECT COUNT(*) FROM t").plan({"t": known}, Terms())
    assert DuckDB([known]).run(plan.selects[0][1]) == [(4,)]
    assert plan.noisy[0].sensitivity.l1 == 2


@pytest.mark.parametrize("prepared", [False, True])
def test_ranks_that_somebody_has_twice_are_refused_when_opened_and_when_changed(
    tmp_path: Path, prepared: bool
) -> None:
    known = replace(numbered(tmp_path, [0, 0, 1, 1]), prepared=prepared)
    tables = DuckDB([known])
    numbered(tmp_path, [0, 0, 1, 1, 0, 5])
    with pytest.raises(BadSource, match="nr numbers rows of one person alike"):
        tables.version("t")
    with pytest.raises(BadSource, match="let `obverse rank t` write it"):
        DuckDB([known])


def test_ranks_are_looked_through_once_for_each_version_of_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the curator's secret makes the proof that lies beside the file, and only for the file as it is."""
    looked: list[str] = []
    real = engine.repeated
    monkeypatch.setattr(engine, "repeated", lambda schema: looked.append(schema.name) or real(schema))
    known = numbered(tmp_path, [0, 0, 1, 1])
    for secret, times in ((SECRET, 1), (SECRET, 1), (SECRET[::-1], 2), (SECRET, 3)):
        DuckDB([known], secret=secret)
        assert len(looked) == times
    numbered(tmp_path, [0, 0, 1, 1, 0, 5])
    with pytest.raises(BadSource, match="alike"):
        DuckDB([known], secret=SECRET)
    (tmp_path / "numbered.parquet.ranks").write_text("ä" * 64)
    with pytest.raises(BadSource, match="alike"):
        DuckDB([known], secret=SECRET)


def test_a_rank_that_is_not_there_is_refused(tmp_path: Path) -> None:
    known = numbered(tmp_path, [0, 0])
    with pytest.raises(BadSource, match="has no column number"):
        DuckDB([replace(known, unit=Unit("id", rows=2, rank="number"))])


def by_place(rows: str, person: str, secret: bytes) -> str:
    """Planted: the order of a person's rows follows from where they stand among everybody's."""
    return by_rank(rows, person, secret).replace("PARTITION BY who ORDER BY place", "ORDER BY place")


def by_chance(rows: str, person: str, secret: bytes) -> str:
    """Planted: two rows of one person may have one rank."""
    return f'(SELECT *, hash("{person}", age) % 3 AS "{RANK}" FROM {rows})'


@pytest.mark.parametrize(("planted", "caught"), [(by_rank, False), (by_place, True), (by_chance, True)])
def test_a_replay_catches_ranks_that_depend_on_others_or_are_not_unique(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planted: object, caught: bool
) -> None:
    monkeypatch.setattr(engine, "by_rank", planted)
    known = schema(tmp_path, Unit("id", rows=2))
    plan = Ask("SELECT FLOOR(age / 10) AS k, COUNT(*), SUM(pay) FROM t GROUP BY k").plan(
        {"t": known}, Terms()
    )
    base = recorded(plan, tables(BASE, known), through_the_plan)
    others = [[row for row in BASE if row["id"] != who] for who in range(6)] + [[*BASE, *replay.CROWD]]
    told = [too_far(plan, base, recorded(plan, tables(rows, known), through_the_plan)) for rows in others]
    assert any(told) is caught


def test_many_rows_get_the_same_ranks_each_time(tmp_path: Path) -> None:
    """Ranks are made by as many threads as there are; the numbers do not depend on how they share the work."""
    known = schema(tmp_path, Unit("id", rows=2))
    rows = [replay.record(i * i % 9973, i, "f", 1.0) for i in range(300_000)]
    first = ranks(rows, known)
    assert first == ranks(rows, known)
    assert all(sorted(held) == list(range(len(held))) for held in first.values())  # type: ignore[type-var]


def test_of_what_a_where_picks_scaling_loses_less_than_a_sample_drawn_before(tmp_path: Path) -> None:
    """Half of the people have 2 rows and one in ten 200, at most 20 count, and a WHERE picks a tenth of all rows:
    a sample drawn before loses over two fifths of them, scaling a twentieth at most. Exact, from fixed rows."""
    counts = [(2, 8, 200)[0 if who % 2 else 2 if who % 10 == 0 else 1] for who in range(200)]
    rows = [
        replay.record(who, (who * 31 + i * 7) % 10, "f", 1.0)
        for who, n in enumerate(counts)
        for i in range(n)
    ]
    known = schema(tmp_path, Unit("id", rows=20))
    held = tables(rows, known)
    truth = sum(row["age"] == 3 for row in rows)
    scaled = Ask("SELECT COUNT(*) FROM t WHERE age = 3").plan({"t": known}, Terms())
    sampled = Ask("SELECT COUNT(*) FILTER (WHERE age = 3) FROM t").plan({"t": known}, Terms())
    assert isinstance(scaled, AskPlan) and isinstance(sampled, AskPlan)
    found = [
        float(held.run(plan.selects[0][1])[0][0] or 0) * float(plan.noisy[0].grid)  # type: ignore[arg-type]
        for plan in (sampled, scaled)
    ]
    assert found[0] < 0.6 * truth and found[1] > 0.95 * truth


def test_a_where_about_people_keeps_the_sample_and_loses_nothing(tmp_path: Path) -> None:
    """Of who smokes all rows are picked or none, so that as many count as without the WHERE: exact, and by ranks."""
    feather.write_feather(
        pa.table({"id": range(9), "smokes": [who % 2 == 0 for who in range(9)]}), tmp_path / "p.arrow"
    )
    visits = [(who, at) for who in range(9) for at in range(who)]
    feather.write_feather(
        pa.table({"who": [v[0] for v in visits], "at": [v[1] for v in visits]}), tmp_path / "v.arrow"
    )
    at = Column("at", Type.INTEGER, low=Fraction(0), high=Fraction(9))
    known = {
        "p": Schema(
            "p",
            str(tmp_path / "p.arrow"),
            (Column("id", Type.INTEGER), Column("smokes", Type.BOOLEAN)),
            Unit("id"),
        ),
        "v": Schema(
            "v",
            str(tmp_path / "v.arrow"),
            (Column("who", Type.INTEGER, references="p.id"), at),
            Unit("who", rows=3),
        ),
    }
    asked = "SELECT COUNT(*) FROM v JOIN p ON v.who = p.id"
    held = DuckDB(known.values(), secret=SECRET)
    for tests, bounded, counted in (
        (" WHERE smokes", True, sum(min(who, 3) for who in range(0, 9, 2))),
        (" WHERE NOT smokes AND p.id < 6", True, sum(min(who, 3) for who in (1, 3, 5))),
        (" WHERE smokes AND at > 5", False, 2),
        (" AND at > 5 WHERE smokes", False, 2),
    ):
        plan = Ask(asked + tests).plan(known, Terms())
        assert isinstance(plan, AskPlan) and plan.question.relation.rows.bounded is bounded
        assert held.run(plan.selects[0][1])[0][0] * plan.noisy[0].grid == counted  # type: ignore[operator]
