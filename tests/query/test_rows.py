"""Rows that are asked for are drawn from noisy counts: nobody's, charged, and never beyond what was charged."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pytest

from obverse.audit.replay import BASE, COLUMNS, UNITS, neighbours, schema, tables
from obverse.cli.demo import unpack
from obverse.curator.curator import open_settings
from obverse.data.schema import Column, Neighbours, Schema, Type, Unit
from obverse.engines.duckdb import DuckDB
from obverse.errors import BadQuestion, Forbidden
from obverse.mechanisms.base import Mechanism
from obverse.noise.entropy import Keyed
from obverse.query.ask import Ask
from obverse.query.rows import RowsPlan
from obverse.release import Terms
from obverse.synthesise.joint import Joint
from obverse.synthesise.tree import Tree

QUESTIONS = (
    "DP-SELECT 1 sex, age FROM t",
    "DP-SELECT 1 pay FROM t WHERE pay / (age - 30) > 1",
    "DP-SELECT 1 sex, age, pay FROM t LIMIT 5",
    "DP-SELECT 1 sex, age, pay FROM t WHERE age >= 30 ORDER BY pay DESC",
)


def planned(sql: str, known: Schema) -> RowsPlan:
    plan = Ask(sql).plan({"t": known}, Terms())
    assert isinstance(plan, RowsPlan)
    return plan


class Tape:
    """What went into each mechanism and what came out, to be played again with the same coming out."""

    def __init__(self) -> None:
        self.seen: list[tuple[Mechanism, tuple[int, ...]]] = []
        self.out: list[object] = []


@contextmanager
def recorded(tape: Tape, played: Tape | None, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Where a tape is played, every mechanism says what it said there: what follows may differ by its input alone."""
    one, many = Mechanism.release, Mechanism.release_many

    def said(mechanism: Mechanism, given: Sequence[int], fresh: object) -> object:
        tape.seen.append((mechanism, tuple(int(each) for each in given)))
        tape.out.append(fresh if played is None else played.out[len(tape.out)])
        return tape.out[-1]

    def release(self, value, entropy):  # type: ignore[no-untyped-def]
        return said(self, value if hasattr(value, "__len__") else (value,), one(self, value, entropy))

    def release_many(self, values, entropy):  # type: ignore[no-untyped-def]
        return said(self, values, many(self, values, entropy))

    with monkeypatch.context() as patch:
        patch.setattr(Mechanism, "release", release)
        patch.setattr(Mechanism, "release_many", release_many)
        yield


def too_far(
    plans: list[RowsPlan], known: Schema, unit: Unit, kind: Neighbours, patch: pytest.MonkeyPatch
) -> str:
    """What tells neighbours apart beyond what is charged, whatever was released before; empty if nothing does."""
    base, firsts = tables(BASE, known), [Tape() for _ in plans]
    for plan, first in zip(plans, firsts, strict=True):
        with recorded(first, None, patch):
            plan.run(base, Keyed("rows"))
    for done, rows in neighbours(unit, kind):
        other = tables(rows, known)
        for plan, first in zip(plans, firsts, strict=True):
            tape, moved = Tape(), plan.drawing.sensitivity.l1
            with recorded(tape, first, patch):
                plan.run(other, Keyed("rows"))
            assert [mechanism for mechanism, _ in tape.seen] == [mechanism for mechanism, _ in first.seen]
            for (mechanism, mine), (_, theirs) in zip(tape.seen, first.seen, strict=True):
                apart = [abs(x - y) for x, y in zip(mine, theirs, strict=True)]
                choice = isinstance(plan.drawing, Tree) and mechanism == plan.drawing.choice
                if (max(apart) if choice else sum(apart)) > moved:
                    return f"{plan.text}: {done}: {sum(apart)} apart, {moved} charged"
    return ""


@pytest.mark.slow
@pytest.mark.parametrize(("unit", "kind", "form"), UNITS)
def test_neighbours_differ_by_no_more_than_is_charged(
    tmp_path: Path, unit: Unit, kind: Neighbours, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = schema(tmp_path, unit, kind, form)
    plans = [planned(question, known) for question in QUESTIONS]
    assert too_far(plans, known, unit, kind, monkeypatch) == ""
    assert all(plan.guarantee.pure == 1 for plan in plans)
    assert [isinstance(plan.drawing, Joint) for plan in plans] == [True, True, False, False]


@pytest.mark.parametrize("question", [QUESTIONS[0], QUESTIONS[2]])
def test_rows_of_one_person_that_are_not_bounded_are_caught(
    tmp_path: Path, question: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A planted bug: people with many rows, charged as if each row were somebody."""
    known = schema(tmp_path, Unit())
    liar = planned(question, known)
    assert "charged" in too_far([liar], known, *UNITS[1][:2], monkeypatch)


def test_with_little_noise_the_rows_are_as_many_in_every_cell(tmp_path: Path) -> None:
    """ε = 1000: noise of a fiftieth of a row, rounded away."""
    known = schema(tmp_path, Unit())
    answer = planned("DP-SELECT 1000 sex, age FROM t", known).run(tables(BASE, known), Keyed("many"))
    there = Counter((row["sex"], row["age"] if row["age"] <= 120 else None) for row in BASE)
    assert Counter(answer.rows) == there


def test_a_tree_keeps_what_two_columns_have_to_do_with_each_other(tmp_path: Path) -> None:
    """f is the half of a, and b nothing's: with little noise the rows say so, up to the groups' width."""
    columns = tuple(Column(name, Type.INTEGER, low=Fraction(0), high=Fraction(99)) for name in "abf")
    known = Schema("t", str(tmp_path / "t.arrow"), columns)
    a, b = np.arange(20_000) % 100, np.arange(20_000) * 37 // 100 % 100
    pa.feather.write_feather(pa.table({"a": a, "b": b, "f": a // 2}), known.source)
    plan = planned("DP-SELECT 1000 * FROM t", known)
    assert isinstance(plan.drawing, Tree)
    drawn = np.array(plan.run(DuckDB([known]), Keyed("tree")).rows)
    assert len(drawn) == 20_000
    assert np.abs(drawn[:, 0] // 2 - drawn[:, 2]).max() <= 6
    assert abs(np.corrcoef(drawn[:, 0], drawn[:, 1])[0, 1]) < 0.05


MIXED = (
    Column("id", Type.INTEGER),
    Column("born", Type.DATE, low=date(1950, 1, 1), high=date(2009, 12, 31)),
    Column("smokes", Type.BOOLEAN),
    Column("income", Type.REAL, low=Fraction(0), high=Fraction(200_000)),
    Column("note", Type.TEXT),
)


@pytest.fixture
def mixed(tmp_path: Path) -> Schema:
    known = Schema("t", str(tmp_path / "t.arrow"), MIXED, Unit("id", rows=1))
    days = [date(1950 + i % 60, 1 + i % 12, 1 + i % 28) for i in range(3000)]
    table = {
        "id": list(range(3000)),
        "born": days,
        "smokes": [None if i % 10 == 0 else i % 3 == 0 for i in range(3000)],
        "income": [float(i * 60) for i in range(3000)],
        "note": ["x"] * 3000,
    }
    pa.feather.write_feather(pa.table(table), known.source)
    return known


def test_every_kind_of_value_is_drawn_within_what_is_declared_and_where_says(mixed: Schema) -> None:
    sql = """DP-SELECT 100 born, smokes, income, income / 1000 AS thousands FROM t
        WHERE born >= DATE '1990-06-15' AND income < 50000 AND smokes IS NOT NULL ORDER BY income"""
    plan = planned(sql, mixed)
    answer = plan.run(DuckDB([mixed]), Keyed("mixed"))
    assert answer.columns == ("born", "smokes", "income", "thousands")
    assert len(answer.rows) > 100 and plan.unpack(plan.pack(answer)) == answer
    incomes = [row[2] for row in answer.rows]
    assert incomes == sorted(incomes) and incomes[0] >= 0 and incomes[-1] < 50_000
    for born, smokes, income, thousands in answer.rows:
        assert "1990-06-15" <= born <= "2009-12-31" and smokes in (True, False)
        assert thousands == pytest.approx(income / 1000)


def test_rows_without_a_value_stay_without_one(mixed: Schema) -> None:
    answer = planned("DP-SELECT 100 smokes FROM t", mixed).run(DuckDB([mixed]), Keyed("missing"))
    assert abs(Counter(answer.rows)[(None,)] - 300) < 20


@pytest.mark.parametrize("high", [date(2001, 3, 31), date(9999, 12, 31)])
def test_days_are_drawn_to_the_last_one_declared(tmp_path: Path, high: date) -> None:
    column = Column("born", Type.DATE, low=date(2000, 12, 15), high=high)
    known = Schema("t", str(tmp_path / "t.arrow"), (column,))
    days = [date(2000, 12, 14), column.low, high, None]
    pa.feather.write_feather(pa.table({"born": days}), known.source)
    rows = planned("DP-SELECT 1000 born FROM t", known).run(DuckDB([known]), Keyed("days")).rows
    drawn = sorted(row[0] for row in rows if row[0] is not None)
    assert len(rows) == 4 and len(drawn) == 2
    assert "2000-12-15" <= drawn[0] <= "2000-12-31" and high.isoformat()[:7] == drawn[1][:7]
    assert drawn[1] <= high.isoformat()


REFUSED = {
    "SELECT DISTINCT smokes FROM t": "GROUP BY the columns",
    "SELECT note FROM t": "note has no values that are known in public: add categories, or low and high, for t.note",
    "SELECT id, smokes FROM t": "id says whose a row is",
    "SELECT 1 FROM t": "names no column",
    "SELECT upper(note) FROM t": "not answered over synthetic rows",
    "SELECT income FROM t WHERE income < 0": "WHERE leaves no declared value of income",
    "SELECT smokes FROM t ORDER BY 3": "there are 1 columns",
    "SELECT smokes FROM t LIMIT smokes": "LIMIT is a whole number",
    "SELECT * EXCLUDE (note) FROM t": "EXCLUDE is not answered: list the columns",
}


@pytest.mark.parametrize("sql", REFUSED)
def test_what_cannot_be_drawn_is_refused_with_what_to_change(sql: str, mixed: Schema) -> None:
    with pytest.raises(BadQuestion, match=REFUSED[sql]):
        planned(sql, mixed)


def test_a_star_leaves_out_whose_a_row_is_and_says_so(tmp_path: Path) -> None:
    known = Schema("t", str(tmp_path / "t.arrow"), COLUMNS, Unit("id", rows=2))
    plan = planned("SELECT * FROM t", known)
    assert [column.name for column in plan.columns] == ["age", "sex", "pay"]
    assert "left out, since it says whose a row is: id" in plan.notes
    assert "bounds      2 rows of one person count at most" in plan.told


def test_rows_go_through_the_door_as_synthetic_ones(tmp_path: Path) -> None:
    unpack(tmp_path)
    file = tmp_path / "census.toml"
    file.write_text(file.read_text() + '\n[accounts.press]\nkinds = ["answer"]\n')
    sql = "DP-SELECT 0.5 * FROM people WHERE age = 52 LIMIT 20"
    with open_settings(file) as curator:
        with pytest.raises(
            Forbidden, match=r'the curator adds "synthetic" to the kinds of \[accounts.press\]'
        ):
            curator.account("press").ask(sql)
        assert curator.ledger.spent(table="people").questions == 0
        research = curator.account("research")
        assert "synthetic" in research.explain(sql) and "ε = 0.5" in str(research.preview(sql))
        first, again = research.ask(sql), research.ask(sql)
        assert first.rows == again.rows and again.receipt.again and first.synthetic
        assert len(first) == 20 and {row[0] for row in first} == {52}
        assert "nobody real is among them" in str(first) and "nobody real" in first._repr_html_()
        assert json.loads(first.plan.pack(first.value)) == [list(row) for row in first.rows]
        assert curator.ledger.spent(table="people").questions == 1
        assert first.interval()[0] == (None,) * len(first.columns)
