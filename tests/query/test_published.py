"""What was published answers later questions free, truly, with a ± that holds; and nothing that it does not tell."""

from __future__ import annotations

import json
from datetime import date
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.feather
import pytest

from obverse.audit.replay import BASE, UNITS, neighbours, schema, tables
from obverse.cli.demo import unpack
from obverse.cli.main import main
from obverse.curator.curator import open_settings
from obverse.data.schema import Column, Neighbours, Schema, Type, Unit
from obverse.engines.duckdb import DuckDB
from obverse.errors import BadQuestion, Forbidden, OverBudget
from obverse.mechanisms.ranges import LaplaceRanges
from obverse.noise.entropy import Keyed
from obverse.query.create import request
from obverse.query.publication import PublishPlan, wide
from obverse.query.publish import Cut, Publish, published
from obverse.query.published import FromRelease, from_release
from obverse.query.rows import RowsPlan
from obverse.query.weights import Published
from obverse.release import Terms

COLUMNS = (
    Column("age", Type.INTEGER, low=Fraction(0), high=Fraction(99)),
    Column("sex", Type.TEXT, categories=("f", "m")),
    Column("pay", Type.REAL, low=Fraction(0), high=Fraction(64)),
    Column("born", Type.DATE, low=date(2000, 1, 1), high=date(2000, 6, 30)),
    Column("smokes", Type.BOOLEAN),
    Column("note", Type.TEXT),
)
WHOLE = "CREATE RELEASE all_of_it AS DP-SELECT 1000 COUNT(*) FROM t GROUP BY RANGES(age), CUBE(sex), smokes"
PAID = "CREATE RELEASE pay AS DP-SELECT 1000 sex, COUNT(*) FROM t GROUP BY RANGES(pay, 4), sex"
DAYS = "CREATE RELEASE days AS DP-SELECT 1000 COUNT(*) FROM t GROUP BY RANGES(born)"


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Schema:
    known = Schema("t", str(tmp_path_factory.mktemp("t") / "t.arrow"), COLUMNS)
    rows = 4000
    table = {
        "age": [None if i % 97 == 0 else i * i % 100 for i in range(rows)],
        "sex": [None if i % 89 == 0 else "fm"[i % 3 % 2] for i in range(rows)],
        "pay": [None if i % 50 == 0 else i % 257 / 4 for i in range(rows)],
        "born": [date(2000, 1 + i % 6, 1 + i % 28) for i in range(rows)],
        "smokes": [None if i % 7 == 0 else i % 5 == 0 for i in range(rows)],
        "note": ["x"] * rows,
    }
    pa.feather.write_feather(pa.table(table), known.source)
    return known


def planned(text: str, known: Schema) -> PublishPlan:
    plan = request(text).plan({known.name: known}, Terms())
    assert isinstance(plan, PublishPlan)
    return plan


@pytest.fixture(scope="module")
def shelf(people: Schema) -> dict[str, Published]:
    """With ε = 1000 the noise is a few thousandths of a row."""
    found, engine = {}, DuckDB([people])
    for text in (WHOLE, PAID, DAYS):
        plan = planned(text, people)
        answer = plan.unpack(plan.pack(plan.run(engine, Keyed(text))))
        assert published(plan.pack(answer)).plan({"t": people}, Terms()).key == plan.key
        found[plan.request.name] = Published(plan.request.name, 7, plan, plan.counts(answer))
    return found


TOLD = {
    "SELECT COUNT(*) FROM t": "all_of_it",
    "SELECT COUNT(*) AS n, COUNT(age) AS known FROM t WHERE smokes IS NULL OR smokes": "all_of_it",
    "SELECT sex, COUNT(*) FROM t WHERE age BETWEEN 20 AND 64 AND sex IN ('f', 'm') GROUP BY sex ORDER BY sex": "all_of_it",
    "SELECT CASE WHEN age < 30 THEN 'young' WHEN age < 60 THEN 'middle' ELSE 'old' END AS k, COUNT(*) FROM t GROUP BY 1 ORDER BY k": "all_of_it",
    "SELECT FLOOR(age / 25) AS k, SUM(age), AVG(age) FROM t WHERE smokes = FALSE AND age >= 0 GROUP BY 1 ORDER BY k": "all_of_it",
    "SELECT SUM(age) FILTER (WHERE sex = 'f') AS s, COUNT_IF(age > 50 AND sex = 'm') AS n, VAR_POP(age) AS v FROM t": "all_of_it",
    "SELECT sex, AVG(age) AS a FROM t GROUP BY sex HAVING COUNT(*) > 1400 ORDER BY a DESC LIMIT 1": "all_of_it",
    "SELECT sex, FLOOR(age / 50) AS k, COUNT(*) AS n, SUM(age) FROM t WHERE sex IN ('f', 'm') AND age >= 0 GROUP BY ROLLUP(sex, k) ORDER BY n": "all_of_it",
    "SELECT COUNT(*) FROM t WHERE age = 30 OR (sex = 'f' AND age > 70)": "all_of_it",
    "SELECT COUNT(*) FROM t WHERE age * 0.1::DOUBLE = 2.3::DOUBLE OR age * 0.1::DOUBLE = 0.5::DOUBLE": "all_of_it",
    "SELECT COUNT(*) FROM t WHERE FLOOR(age / 0.1::DOUBLE) > 200 AND age + 0.1::DOUBLE + 0.2::DOUBLE <> 30.3::DOUBLE": "all_of_it",
    "SELECT COUNT(*), COUNT(pay) FROM t WHERE pay >= 8 AND pay < 40 AND sex = 'm'": "pay",
    "SELECT COUNT(*) FROM t WHERE NOT pay < 60": "pay",
    "SELECT COUNT(*) FROM t WHERE born >= DATE '2000-02-10' AND born < DATE '2000-04-01'": "days",
}


@pytest.mark.parametrize("sql", TOLD)
def test_without_noise_a_release_says_what_the_engine_says(
    sql: str, people: Schema, shelf: dict[str, Published]
) -> None:
    plan = request(sql).plan({"t": people}, Terms())
    told = from_release(plan, shelf[TOLD[sql]])
    assert isinstance(told, FromRelease) and told.guarantee.epsilon() == 0
    with duckdb.connect() as raw:
        raw.register("t", pa.feather.read_table(people.source))
        expected = raw.execute(sql).fetchall()
    assert len(told.answer.rows) == len(expected)
    for mine, theirs in zip(told.answer.rows, expected, strict=True):
        for ours, engines in zip(mine, theirs, strict=True):
            exact = engines is None or isinstance(engines, str)
            assert ours == (engines if exact else pytest.approx(engines, rel=1e-3, abs=0.5))
    assert told.unpack(told.pack(told.answer)) == told.answer and told.answer.groups == plan.groups()


UNTOLD = (
    "SELECT COUNT(*) FROM t WHERE pay > 8",  # 8 itself lies in a cell with what is above it
    "SELECT COUNT(*) FROM t WHERE pay < 9",
    "SELECT SUM(pay) FROM t",
    "SELECT COUNT(*) FROM t WHERE note = 'x'",
    "SELECT COUNT(*) FROM t WHERE LOWER(sex) = 'f'",
    "SELECT MEDIAN(age) FROM t",
    "SELECT COUNT(DISTINCT age) FROM t",
    "SELECT COUNT(*) FROM (SELECT age FROM t WHERE sex = 'f') AS s",
    "SELECT COUNT(*) FROM t WHERE age = 3 AND born < DATE '2000-04-01'",
)


@pytest.mark.parametrize("sql", UNTOLD)
def test_what_a_release_does_not_tell_is_asked_afresh(
    sql: str, people: Schema, shelf: dict[str, Published]
) -> None:
    plan = request(sql).plan({"t": people}, Terms())
    assert all(from_release(plan, release) is None for release in shelf.values())


def test_a_question_of_other_people_is_not_answered(people: Schema, shelf: dict[str, Published]) -> None:
    """Another unit, or another declaration: the same text is another question."""
    owned = Schema("t", people.source, (*COLUMNS[:5], Column("note", Type.TEXT)), Unit("note", rows=3))
    wider = Schema(
        "t", people.source, (Column("age", Type.INTEGER, low=Fraction(0), high=Fraction(120)), *COLUMNS[1:])
    )
    for other in (owned, wider):
        plan = request("SELECT COUNT(*) FROM t").plan({"t": other}, Terms())
        assert from_release(plan, shelf["all_of_it"]) is None


WEIGHTS = {
    "one cell": [((0,), np.eye(30)[4]), ((1,), np.eye(4)[2])],
    "a range": [((0,), (np.arange(30) < 12).astype(float))],
    "a sum": [((0,), np.arange(30.0)), ((1,), np.eye(4)[0])],
    "all of it": [],
    "a corner": [((0, 1), (np.add.outer(np.arange(30), np.arange(4)) > 12).astype(float))],
}


@pytest.mark.parametrize("what", WEIGHTS)
@pytest.mark.parametrize("ways", [("hats", "total"), ("cells", "cells"), ("total", "total")])
def test_the_stated_margin_holds(what: str, ways: tuple[str, str]) -> None:
    """In 95 % of 1,500 runs or more; five standard errors below it is 92.2 %. And it is not twice too wide."""
    mechanism, entropy = LaplaceRanges((30, 4), Fraction(1), ways), Keyed(f"{what} {ways}")  # type: ignore[arg-type]
    table = np.ones((30, 4))
    for axes, each in WEIGHTS[what]:
        table = table * (each if len(axes) == 2 else each[:, None] if axes == (0,) else each)
    exact = np.zeros((30, 4), np.int64)
    off = np.array([float((mechanism.release(exact, entropy) * table).sum()) for _ in range(1500)])
    spread = mechanism.variance_of(*WEIGHTS[what]) ** 0.5
    assert (np.abs(off) <= wide(0.95) * spread).mean() > 0.922
    assert abs(off.var() / spread**2 - 1) < 5 * (5 / 1500) ** 0.5  # a Laplace variable's kurtosis is 6


def test_a_table_is_found_in_any_case(people: Schema) -> None:
    text = "CREATE RELEASE jobs AS SELECT COUNT(*) FROM {} GROUP BY sex"
    assert planned(text.format("T"), people).key == planned(text.format("t"), people).key


PUBLISHED = (
    "CREATE RELEASE a AS DP-SELECT 1 COUNT(*) FROM t GROUP BY RANGES(age)",
    "CREATE RELEASE b AS DP-SELECT 1 COUNT(*) FROM t GROUP BY CUBE(sex, age)",
    "CREATE RELEASE c AS DP-SELECT 1 COUNT(*) FROM t GROUP BY RANGES(pay, 10), sex",
)


@pytest.mark.parametrize(("unit", "kind", "form"), UNITS)
def test_neighbours_cells_differ_by_no_more_than_is_charged(
    tmp_path: Path, unit: Unit, kind: Neighbours, form: str
) -> None:
    known = schema(tmp_path, unit, kind, form)
    plans = [planned(text, known) for text in PUBLISHED]
    assert all(plan.guarantee.pure == 1 for plan in plans)
    here = [inputs(plan, tables(BASE, known)) for plan in plans]
    for done, rows in neighbours(unit, kind):
        other = tables(rows, known)
        for plan, mine in zip(plans, here, strict=True):
            moved = np.abs(mine - inputs(plan, other)).sum()
            assert moved <= plan.read.sensitivity.l1, (done, plan.request.name)


def test_cells_of_people_that_are_not_bounded_are_caught(tmp_path: Path) -> None:
    """A planted bug: people with many rows, charged as if each row were somebody."""
    known = schema(tmp_path, Unit())
    liar = planned(PUBLISHED[0], known)
    here = inputs(liar, tables(BASE, known))
    moved = [np.abs(here - inputs(liar, tables(rows, known))).sum() for _, rows in neighbours(*UNITS[1][:2])]
    assert max(moved) > liar.read.sensitivity.l1


class Watched(Keyed):
    """What goes into the mechanism."""

    def watch(self, mechanism: object, value: object) -> None:
        self.seen = mechanism, np.ravel(value)


def inputs(plan: PublishPlan, engine: DuckDB) -> np.ndarray:
    entropy = Watched("release")
    plan.run(engine, entropy)
    assert entropy.seen[0] == plan.mechanism
    return entropy.seen[1]


REFUSED = {
    "CREATE RELEASE x AS SELECT SUM(age) FROM t GROUP BY age": "a release holds COUNT",
    "CREATE RELEASE x AS SELECT COUNT(*) FROM t": "counts the cells of one table",
    "CREATE RELEASE x AS SELECT COUNT(*) FROM t WHERE age > 3 GROUP BY sex": "WHERE is not for a release",
    "CREATE RELEASE x AS SELECT COUNT(*) FROM t GROUP BY ROLLUP(sex)": "ROLLUP",
    "CREATE RELEASE x AS SELECT COUNT(*) FROM t GROUP BY age / 10": "a release is by columns",
    "CREATE RELEASE x AS SELECT COUNT(*) FROM t GROUP BY note": "note has no values that are known in public",
    "CREATE RELEASE x AS SELECT COUNT(*) FROM t GROUP BY sex, sex": "each once",
    "CREATE RELEASE x AS SELECT COUNT(*) FROM t GROUP BY sex WITH (delta = 1e-6)": "pure ε",
    "CREATE RELEASE x AS SELECT COUNT(*) FROM t GROUP BY sex WITHIN 5": "for an ε alone",
    "CREATE RELEASE x AS SELECT COUNT(*) FROM t GROUP BY sex WITH (confidence = 0.9)": "for an ε alone",
    "CREATE RELEASE x AS SELECT WITH DIFFERENTIAL_PRIVACY COUNT(*) FROM t GROUP BY sex": "for an ε alone",
    "CREATE RELEASE x AS SELECT COUNT(*) FROM t GROUP BY RANGES(pay, 0.3)": "a whole number, or a half",
    "CREATE RELEASE x AS SELECT COUNT(*) FROM t GROUP BY RANGES(pay, 0.00001525878906250)": "at most",
    "CREATE RELEASE x AS SELECT COUNT(*) FROM t GROUP BY RANGES(pay, 1e-300)": "a whole number, or a half",
    "CREATE RELEASE x AS SELECT COUNT(*) FROM t GROUP BY RANGES()": "by one column or several",
    "CREATE RELEASE x AS SELECT": "not SQL that can be read|counts the cells of one table",
    'CREATE RELEASE "my jobs" AS SELECT COUNT(*) FROM t GROUP BY sex': "a release's name is a word",
    "CREATE RELEASE x AS SELECT COUNT(*) FROM nowhere GROUP BY sex": "there is no table nowhere",
    "CREATE RELEASE x y AS SELECT COUNT(*) FROM t GROUP BY sex": "a release is made and stays",
    "CREATE RELEASE 1 AS SELECT COUNT(*) FROM t GROUP BY sex": "a release's name is a word",
    "CREATE OR REPLACE RELEASE x AS SELECT COUNT(*) FROM t GROUP BY sex": "cannot be taken back",
    "DROP RELEASE x": "cannot be taken back",
    "CREATE TABLE x AS SELECT COUNT(*) FROM t": "CREATE is not answered",
}


@pytest.mark.parametrize("text", REFUSED)
def test_a_release_that_cannot_be_made_is_refused(text: str, people: Schema) -> None:
    with pytest.raises(BadQuestion, match=REFUSED[text]):
        request(text).plan({"t": people}, Terms())


COUNT = "DP-SELECT 0.5 COUNT(*) FROM people WHERE age < 30"
AGES = "CREATE RELEASE ages AS DP-SELECT 1 COUNT(*) FROM people GROUP BY RANGES(age)"


@pytest.fixture
def census(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    unpack(tmp_path)
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "census.toml"
    file.write_text(
        file.read_text()
        + '\n[accounts.press]\nepsilon = 0.1\nsmallest_group = 700\n[accounts.lab]\nkinds = ["table"]\n'
    )
    return file


def test_published_once_it_is_free_for_every_account_and_in_every_process(census: Path) -> None:
    with open_settings(census) as curator:
        early = curator.account("research").ask("DP-SELECT 0.25 COUNT(*) FROM people WHERE age < 20")
        made, again = curator.ask(AGES), curator.ask(AGES)
        assert again.receipt.again and made.rows == again.rows and len(made) == 75
        spent = curator.ledger.spent(table="people")
        press = curator.account("press")
        assert "publishes   CREATE RELEASE" in curator.explain(f"EXPLAIN {AGES}")
        assert "answers it free" in str(press.preview(COUNT)) and "free  " in press.explain(COUNT)
        told = press.ask(COUNT)
        assert told.loss.epsilon() == 0 and told.receipt.number == made.receipt.number
        assert "answered from release 'ages'" in str(told) and "WITH (fresh = true)" in str(told)
        assert abs(told.rows[0][0] - 9_711) < 4 * told.margins[0][0]
        low, high = told.interval(0.99)[0][0]
        assert (high - low) / 2 > told.margins[0][0]
        with pytest.raises(OverBudget):
            press.ask(COUNT + " WITH (fresh = true)")
        with pytest.raises(Forbidden):
            curator.ask(COUNT, "lab")
        near, far = (f"DP-SELECT 2 COUNT(*) FROM people WHERE age < 40 WITHIN {width}" for width in (3, 60))
        assert curator.ask(far, "press").loss.epsilon() == 0  # ± 60 is what the release has, ± 3 is not
        with pytest.raises(OverBudget):
            press.ask(near)
        groups = press.ask("SELECT age, COUNT(*) AS n FROM people GROUP BY age")
        assert 10 < len(groups) < 40 and min(n for _, n in groups) >= 700
        same = curator.account("research").ask("DP-SELECT 0.25 COUNT(*) FROM people WHERE age < 20")
        assert same.rows == early.rows and same.receipt.again
        assert curator.ledger.spent(table="people") == spent
        with pytest.raises(BadQuestion, match="a release is called ages already"):
            curator.ask(AGES.replace("SELECT 1", "SELECT 0.5"))
    with open_settings(census) as later:
        assert later.account("press").ask(COUNT).rows == told.rows
        assert (
            later.tell("SHOW RELEASES") == later.releases() and "ages  people by RANGES" in later.releases()
        )
        assert later.ledger.verify()


def test_other_data_are_asked_afresh(census: Path) -> None:
    with open_settings(census) as curator:
        made = curator.ask(AGES)
        data = census.with_name("adult.csv")
        data.write_text(data.read_text().rsplit("\n", 2)[0] + "\n")
        answered = curator.account("research").ask(COUNT)
        assert answered.receipt.number != made.receipt.number and answered.loss.epsilon() == 0.5


def test_a_release_that_failed_is_free_to_make_again(census: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_settings(census) as curator:
        with monkeypatch.context() as patch:
            patch.setattr(PublishPlan, "pack", lambda self, value: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                curator.ask(AGES)
        assert curator.account("research").ask(COUNT).loss.epsilon() == 0.5  # nothing was published yet
        spent = curator.ledger.spent(table="people").amounts
        made = curator.ask(AGES)
        assert made.receipt.again and curator.ledger.spent(table="people").amounts == spent
        assert curator.ask("SELECT COUNT(*) FROM people WHERE age < 31").loss.epsilon() == 0


def test_from_the_shell(census: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["release", "ranges", "people.age", "--epsilon", "0.5", "--name", "ages"]) == 0
    assert main(["release", "cube", "people", "sex,race", "--epsilon", "0.5"]) == 0
    assert main(["release", "list"]) == 0
    told = capsys.readouterr().out
    assert "published as ages" in told and 'people_sex_race_cube  people by CUBE("sex"), CUBE("race")' in told
    assert main(["query", "SELECT sex, COUNT(*) FROM people GROUP BY sex", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["cost"] == "ε = 0" and not facts["synthetic"]
    assert main(["release", "ranges", "people"]) == 2


def test_a_request_prints_as_the_statement_that_makes_it() -> None:
    made = Publish(
        "x", "people", (Cut("age", "hats", Fraction(5)), Cut("sex", "total"), Cut("race")), Fraction(1, 4)
    )
    assert request(str(made)) == made


def test_rows_are_not_answered_from_a_release(people: Schema) -> None:
    assert isinstance(request("SELECT age FROM t").plan({"t": people}, Terms()), RowsPlan)
