"""Registration: people counted in bins, charged once, kept in the ledger; and what later questions make of it."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import floor, log2
from pathlib import Path

import pyarrow as pa
import pyarrow.feather
import pytest
from sqlglot import exp

import obverse
from obverse.audit.replay import Given, Record, Recorder, apart
from obverse.data.bounding import Measure, totals
from obverse.data.learnt import Binned, Learnt
from obverse.data.schema import Column, Neighbours, Schema, Type, Unit
from obverse.engines.duckdb import DuckDB
from obverse.errors import BadParameter, BadQuestion, OverBudget
from obverse.noise.entropy import Keyed
from obverse.query.ask import Ask
from obverse.query.bias import expected
from obverse.query.learning import text
from obverse.query.plan import AskPlan
from obverse.query.register import Histogram, Register, RegisterPlan
from obverse.release import Terms

COLUMNS = (
    Column("id", Type.INTEGER),
    Column("age", Type.INTEGER, low=Fraction(0), high=Fraction(120)),
    Column("visits", Type.INTEGER),
    Column("pay", Type.REAL),
)
TYPES = pa.schema([("id", pa.int64()), ("age", pa.int64()), ("visits", pa.int64()), ("pay", pa.float64())])
Seen = list[tuple[object, tuple[Given, ...]]]
UNTOLD = Unit("id", told=False)
UNITS = ((UNTOLD, Neighbours.ADD_REMOVE), (Unit(), Neighbours.ADD_REMOVE), (Unit(), Neighbours.REPLACE))


def record(id: object, visits: object, pay: object) -> Record:
    return {"id": id, "age": 30, "visits": visits, "pay": pay}


BASE = [record(i % 7, 3 * i - 20, 1.7**i * (-1) ** (i // 7)) for i in range(30)] + [record(None, 5, 5.0)]
EXTREMES = [
    record(99, 2**62, float("nan")),
    record(99, -(2**62), -1.7e308),
    record(99, 0, float("inf")),
    record(99, None, None),
    record(99, 1, 5e-324),
    record(None, 7, -3.0),
]
CROWD = [record(99, 5**i, (-3.0) ** i) for i in range(20)]


def schema(folder: Path, unit: Unit, kind: Neighbours = Neighbours.ADD_REMOVE) -> Schema:
    return Schema("t", str(folder / "t.arrow"), COLUMNS, unit, kind)


def engine(rows: list[Record], known: Schema) -> DuckDB:
    pyarrow.feather.write_feather(pa.Table.from_pylist(rows, TYPES), known.source)
    return DuckDB([known])


def plan(known: Schema, epsilon: Fraction = Fraction(1, 2)) -> RegisterPlan:
    return Register("t", epsilon).plan({"t": known}, Terms())


def seen(known: Schema, rows: list[Record]) -> Seen:
    recorder = Recorder()
    plan(known).run(engine(rows, known), recorder)
    return recorder.seen


def neighbours(unit: Unit, kind: Neighbours) -> list[list[Record]]:
    if kind is Neighbours.REPLACE:
        return [[extreme, *BASE[1:]] for extreme in EXTREMES]
    gone = BASE[1:] if unit.column is None else [row for row in BASE if row["id"] != 3]
    crowds = [] if unit.column is None else [[*BASE, *CROWD]]
    return [gone, *crowds, *([*BASE, extreme] for extreme in EXTREMES)]


def too_far(known: Schema, base: Seen, rows: list[Record]) -> bool:
    """Whether a histogram's numbers move by more than is charged between what was seen and these rows."""
    far = False
    for histogram, (mechanism, mine), (other, theirs) in zip(
        plan(known).histograms, base, seen(known, rows), strict=True
    ):
        assert mechanism == other == histogram.noisy.mechanism
        moved = apart(mine, theirs)
        far |= sum(moved) > histogram.noisy.sensitivity.l1 or max(moved) > histogram.noisy.sensitivity.most
    return far


@pytest.mark.parametrize(("unit", "kind"), UNITS)
def test_one_person_moves_one_bin_of_each_histogram_by_one(
    tmp_path: Path, unit: Unit, kind: Neighbours
) -> None:
    known = schema(tmp_path, unit, kind)
    base = seen(known, BASE)
    assert not any(too_far(known, base, rows) for rows in neighbours(unit, kind))
    assert plan(known).guarantee.pure == Fraction(1, 2)


def test_rows_counted_in_place_of_people_are_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted bug: the same bins over all rows, each counted in full, charged as if each person had one."""
    known = schema(tmp_path, UNTOLD)

    def of_rows(histogram: Histogram) -> exp.Select:
        rows = replace(histogram.rows, unit=replace(histogram.rows.unit, rows=1000))
        select = totals(rows, histogram.where, histogram.keys, (Measure(None, 1, 1),)).copy()
        for node in [*select.find_all(exp.Group)]:
            if len(node.expressions) == 1 and node.expressions[0].name == "id":
                node.set("expressions", [exp.column("pay"), node.expressions[0]])
        return select

    monkeypatch.setattr(Histogram, "select", property(of_rows))
    assert too_far(known, seen(known, BASE), [*BASE, *CROWD])


def test_without_noise_the_bins_are_the_tables_own(tmp_path: Path) -> None:
    known = schema(tmp_path, UNTOLD)
    bins = [floor(log2(sum(row["id"] == person for row in BASE))) for person in range(7)]
    rows, _, pay = seen(known, BASE)
    assert [int(each) for each in rows[1]] == [bins.count(k) for k in range(41)]  # type: ignore[arg-type]
    sizes = [max(abs(float(row["pay"])) for row in BASE if row["id"] == i) for i in range(7)]  # type: ignore[arg-type]
    both = {30 + floor(log2(size)) for size in sizes}  # every person has pay of both signs
    assert {k for k, each in enumerate(pay[1][2 * 93 :]) if each} == both


SETTINGS = """
[tables.t]
source = "t.arrow"
unit = { column = "id" }
[tables.t.columns]
id = { type = "integer" }
age = { type = "integer", low = 0, high = 120 }
visits = { type = "integer" }
pay = { type = "real" }
[policy]
epsilon = 9
"""


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """2,000 people with 1 to 400 rows, whose pay is about 100."""
    folder = tmp_path_factory.mktemp("clinic")
    rows = [
        (i, 20, i % 50, 50.0 + i % 100) for i in range(2000) for _ in range(min(400, 2000 // (i + 1)) + 1)
    ]
    columns = dict(zip(TYPES.names, zip(*rows, strict=True), strict=True))
    pyarrow.feather.write_feather(pa.table(columns, TYPES), folder / "t.arrow")
    (folder / "clinic.toml").write_text(SETTINGS)
    return folder / "clinic.toml"


def test_it_is_charged_once_kept_and_found_by_whoever_opens_the_settings_later(clinic: Path) -> None:
    with obverse.open(clinic) as curator:
        with pytest.raises(
            BadQuestion, match="add rows to its unit, or learn it once with obverse register t"
        ):
            curator.ask("SELECT COUNT(*) FROM t")
        with pytest.raises(BadQuestion, match="learn them once with obverse register t"):
            curator.ask("SELECT SUM(pay) FROM t")
        assert curator.learnt("t") is None
        first, again = curator.register("t", 0.5), curator.register("t", 0.5)
        assert not first.receipt.again and again.receipt.again and first.value == again.value
        assert curator.budget().tables[0].all.spent == Fraction(1, 2)
        with pytest.raises(OverBudget):
            curator.register("t", 20)
        with pytest.raises(BadParameter, match="no table nowhere"):
            curator.learnt("nowhere")
    with obverse.open(clinic) as later:
        assert later.learnt("t") == first.value and not later.stale("t")
        assert "each question chooses its own from what was learnt" in str(later.tell("DESCRIBE t"))
        answer = later.ask("DP-SELECT 1 COUNT(*), AVG(pay) FROM t")
        assert "bias of the bounds, expected: COUNT(*)  −" in str(answer)
        (clinic.parent / "t.arrow").touch()
        assert later.stale("t") and "people" in "\n".join(text(first.value))
    other = clinic.with_name("other.toml")
    other.write_text(SETTINGS.replace('column = "id"', 'column = "age"').replace("[policy]", "[policy]", 1))
    other.with_name("other.ledger").unlink(missing_ok=True)
    other.write_text('ledger = "clinic.ledger"\n' + other.read_text())
    with obverse.open(other) as about_others:
        assert about_others.learnt("t") is None


def test_a_plan_that_was_made_before_is_made_anew_with_what_was_learnt(clinic: Path) -> None:
    with obverse.open(clinic) as curator:
        before = curator.explain("DP-SELECT 1 COUNT(*) FROM t")
        curator.register("t", 1)
        assert curator.explain("DP-SELECT 1 COUNT(*) FROM t") != before
        said = [curator.ask("DP-SELECT 0.5 COUNT(*) FROM t").plan.key for _ in range(2)]
        curator.register("t", 0.75)
        assert said[0] == said[1] != curator.ask("DP-SELECT 0.5 COUNT(*) FROM t").plan.key


def learnt(*people: int) -> Learnt:
    counts = (*people, *[0] * (41 - len(people)))
    return Learnt("t", "id", Fraction(1, 10), Binned(0, counts, Fraction(10), whole=True), ())


def known(what: Learnt | None, unit: Unit = UNTOLD) -> dict[str, Schema]:
    return {"t": Schema("t", "/nowhere/t.arrow", COLUMNS, unit, learnt=what)}


def asked(sql: str, schemas: dict[str, Schema]) -> AskPlan:
    return Ask(sql).plan(schemas, Terms())


def most(sql: str, *people: int) -> int:
    return asked(sql, known(learnt(*people))).question.relation.schemas[0].unit.rows


TAIL = tuple(round(40_000 * 0.4**k) for k in range(13))


def test_as_many_rows_count_as_lose_least_between_bias_and_noise() -> None:
    """The best bound is where about 1/ε people have more rows [AKMV19, Section 3]."""
    few, many = most("DP-SELECT 0.1 COUNT(*) FROM t", *TAIL), most("DP-SELECT 2 COUNT(*) FROM t", *TAIL)
    assert 100 < few < many < 20_000
    rows = learnt(*TAIL).rows
    assert rows is not None
    sizes, people = rows.points
    assert 3 < people[sizes > few].sum() < 30
    grouped = "DP-SELECT 0.1 age, COUNT(*) FROM t GROUP BY age"
    assert most(grouped, *TAIL) < few / 4
    assert most("DP-SELECT 0.1 COUNT(*) FROM t", 40_000, 40_000, 40_000) <= 32


def test_declared_rows_stay_and_their_bias_is_told_where_it_was_learnt() -> None:
    told = known(learnt(*TAIL), Unit("id", rows=8))
    plan = asked("DP-SELECT 1 COUNT(*), COUNT(DISTINCT id) FROM t", told)
    assert plan.question.relation.schemas[0].unit.rows == 8
    (bias,) = expected(plan)
    rows = learnt(*TAIL).rows
    assert rows is not None and bias.share == pytest.approx(-rows.beyond(8) / rows.total)
    (unknown,) = expected(asked("SELECT COUNT(*) FROM t", known(None, Unit("id", rows=8))))
    assert unknown.share is None and "obverse register t" in unknown.why
    (some,) = expected(asked("SELECT COUNT(*) FROM t WHERE age > 60", told))
    assert some.share == bias.share and some.why.endswith("if the rows asked for are like all")


def test_what_one_person_has_is_cut_where_rows_would_be() -> None:
    plan = asked(
        "DP-SELECT 1 AVG(n) FROM (SELECT id, COUNT(*) AS n FROM t GROUP BY id) AS each", known(learnt(*TAIL))
    )
    assert plan.question.relation.schemas[0].unit.rows > 100
    (bias,) = expected(plan)
    assert bias.share is not None and -0.1 < bias.share < 0


def test_a_plan_is_another_when_something_else_was_learnt() -> None:
    sql = "SELECT COUNT(DISTINCT id) FROM t"
    one, other = (asked(sql, known(learnt(5000 + k))) for k in (0, 1))
    assert one.key != other.key and one.guarantee == other.guarantee


def test_the_sum_and_the_count_of_an_average_are_scaled_by_the_same_weight(tmp_path: Path) -> None:
    """100 people of whom one has 1,000 rows of pay 90, the others a row of 10: whatever counts, each is averaged."""
    rows = [record(i, 1, 10.0) for i in range(99)] + [record(99, 1, 90.0)] * 1000
    held = replace(schema(tmp_path, Unit("id", rows=11)))
    columns = tuple(
        replace(c, low=Fraction(0), high=Fraction(100)) if c.name == "pay" else c for c in COLUMNS
    )
    held = replace(held, columns=columns)
    tables = engine(rows, held)
    for sql in (
        "SELECT AVG(pay) FROM t",  # by ranks
        "SELECT AVG(pay) FROM t WHERE visits = 1",  # by scaling
        "SELECT age, AVG(pay) FROM t WHERE visits = 1 GROUP BY age HAVING age = 30",
        "SELECT age, AVG(pay) FROM t GROUP BY age HAVING age = 30",
    ):
        plan = asked(f"DP-{sql.replace('SELECT', 'SELECT 1000', 1)}", {"t": held})
        answer = plan.run(tables, Keyed("weights"))
        assert answer.rows[0][-1] == pytest.approx((99 * 10 + 11 * 90) / 110, abs=0.2)


def test_nothing_is_registered_of_public_tables_or_where_nothing_is_wanted() -> None:
    public = {"t": Schema("t", "/nowhere/t.arrow", COLUMNS, public=True)}
    bounded = {"t": Schema("t", "/nowhere/t.arrow", COLUMNS[1:2])}
    for schemas, columns, message in (
        (public, None, "is public"),
        (bounded, None, "needs nothing learnt"),
        (known(None), ("age",), "is no number without declared bounds"),
        (known(None), ("nosuch",), "has no column"),
    ):
        with pytest.raises(BadQuestion, match=message):
            Register("t", Fraction(1), columns).plan(schemas, Terms())
    with pytest.raises(BadParameter, match="above 0"):
        Register("t", Fraction(0)).plan(known(None), Terms())


def test_bias_is_known_of_rows_whose_person_follows_along_keys(tmp_path: Path) -> None:
    (tmp_path / "orders.csv").write_text("id,customer\n" + "".join(f"{i},{i % 300}\n" for i in range(900)))
    (tmp_path / "items.csv").write_text("order\n" + "".join(f"{i % 900}\n" for i in range(2700)))
    (tmp_path / "shop.toml").write_text("""
[tables.orders]
source = "orders.csv"
unit = { column = "customer", rows = 3 }
[tables.orders.columns]
id = { type = "integer" }
customer = { type = "integer" }
[tables.items]
source = "items.csv"
unit = { column = "order", rows = 4 }
[tables.items.columns]
order = { type = "integer", references = "orders.id" }
[policy]
epsilon = 100
""")
    with obverse.open(tmp_path / "shop.toml") as shop:
        shop.register("items", 20)
        assert "people with more than 4 rows" in shop.explain("SELECT COUNT(*) FROM items")
        joined = "SELECT COUNT(*) FROM items JOIN orders ON items.order = orders.id"
        assert "in joined tables was not learnt" in shop.explain(joined)
