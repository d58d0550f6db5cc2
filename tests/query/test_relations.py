"""Joins, subqueries and unions keep whose a row is: neighbours differ by no more than is charged, in two tables too."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.feather
import pytest

from obverse.audit.replay import Recorder, apart
from obverse.data.schema import Column, Schema, Type, Unit
from obverse.engines.duckdb import DuckDB
from obverse.errors import BadQuestion
from obverse.noise.entropy import Keyed
from obverse.query.ask import Ask
from obverse.query.explain import describe
from obverse.release import Terms
from tests.contracts.test_questions import silent

Rows = dict[str, list[dict[str, object]]]


def number(name: str, **more: object) -> Column:
    return Column(name, Type.INTEGER, low=Fraction(0), high=Fraction(50), **more)  # type: ignore[arg-type]


SCHEMAS = (
    Schema(
        "patients", "", (Column("id", Type.INTEGER), number("age"), Column("place", Type.TEXT)), Unit("id")
    ),
    Schema(
        "visits",
        "",
        (
            Column("patient", Type.INTEGER, references="patients.id"),
            number("cost"),
            Column("nr", Type.INTEGER),
        ),
        Unit("patient", rows=3),
    ),
    Schema(
        "items",
        "",
        (Column("visit", Type.INTEGER, references="visits.nr"), number("price")),
        Unit("visit", rows=5),
    ),
    Schema("places", "", (Column("name", Type.TEXT), number("size")), public=True),
    Schema("staff", "", (Column("id", Type.INTEGER), number("wage"))),
    Schema("posts", "", (Column("place", Type.TEXT, references="places.name"), number("wage"))),
)
TABLES: Rows = {
    "patients": [{"id": i, "age": 5 * i % 50, "place": "abc"[i % 3]} for i in range(8)],
    "visits": [{"patient": i % 8, "cost": 7 * i % 50, "nr": i} for i in range(30)],
    "items": [{"visit": i % 33, "price": 3 * i % 50} for i in range(60)],
    "places": [{"name": name, "size": 10 * k} for k, name in enumerate("abbd")],
    "staff": [{"id": i, "wage": i} for i in range(9)],
    "posts": [{"place": "abc"[i % 3], "wage": i} for i in range(9)],
}
TYPES = {Type.INTEGER: pa.int64(), Type.TEXT: pa.string()}
PRIVATE = (
    "SELECT COUNT(*), SUM(v.cost), AVG(p.age) FROM patients p JOIN visits v ON p.id = v.patient WHERE p.age > v.cost / 3",
    "SELECT COUNT(*), SUM(cost) FROM patients p LEFT JOIN visits v ON p.id = v.patient",
    "SELECT COUNT(DISTINCT p.id), SUM(size) FROM patients p JOIN places ON p.place = places.name",
    "SELECT COUNT(*), SUM(price), COUNT(DISTINCT price) FROM items",
    "SELECT COUNT(*), SUM(i.price * v.cost) FROM items i JOIN visits v ON i.visit = v.nr AND i.visit = v.nr",
    "SELECT COUNT(*), SUM(a.cost + b.cost) FROM visits a JOIN visits b ON a.patient = b.patient",
    "SELECT AVG(n), SUM(most) FROM (SELECT patient, COUNT(*) n, MAX(cost) most FROM visits GROUP BY patient)",
    "SELECT COUNT(*) FROM (SELECT patient, cost, SUM(nr) FROM visits GROUP BY patient, cost) WHERE cost > 9",
    "SELECT COUNT(*), SUM(c) FROM (SELECT DISTINCT patient, cost AS c FROM visits WHERE nr > 2)",
    "WITH dear AS (SELECT patient, cost * 2 AS twice FROM visits WHERE cost > 10), all_ AS (SELECT twice FROM dear) "
    "SELECT COUNT(*), SUM(twice) FROM all_",
    "SELECT SUM(x) FROM (SELECT id, age AS x FROM patients UNION ALL SELECT patient, cost FROM visits)",
    "SELECT COUNT(*), SUM(size), SUM(wage) FROM posts JOIN places ON posts.place = places.name",
    "SELECT FLOOR(cost / 20) AS k, COUNT(*), COUNT(DISTINCT patient) FROM patients JOIN visits ON id = patient GROUP BY 1",
    "SELECT FLOOR(cost / 20) AS k, MEDIAN(cost), MAX(age + cost) FROM patients JOIN visits ON id = patient GROUP BY 1",
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (max_groups_contributed = 2) FLOOR(cost / 20) AS k, AVG(cost), "
    "COUNT(*, contribution_bounds_per_group => (0, 2)), SUM(cost, contribution_bounds_per_group => (3, 40)) "
    "FROM visits GROUP BY 1",
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (max_rows_contributed = 2, privacy_unit_column = patient) "
    "COUNT(*), SUM(cost, contribution_bounds_per_row => (0, 9)) FROM visits",
    *(  # fewer rows of a person than a subquery has let by already
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (max_rows_contributed = 1) COUNT(*), SUM(cost), MEDIAN(cost), "
        f"COUNT(DISTINCT cost) FROM {source}"
        for source in (
            "(SELECT * FROM visits)",
            "(SELECT cost FROM visits UNION ALL SELECT cost FROM visits)",
            "(SELECT a.cost FROM visits a JOIN visits b ON a.patient = b.patient)",
        )
    ),
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (max_groups_contributed = 1) FLOOR(cost / 20) AS k, COUNT(*), "
    "COUNT(DISTINCT patient) FROM (SELECT * FROM visits) GROUP BY 1",
    "SELECT COUNT(*), SUM(n), COUNT(DISTINCT id) FROM (SELECT p.id, COUNT(v.cost) n FROM patients p "
    "LEFT JOIN visits v ON p.id = v.patient AND v.cost > p.age GROUP BY p.id)",
    "SELECT COUNT(DISTINCT v.patient) FROM patients p LEFT JOIN visits v ON p.id = v.patient AND v.cost > p.age",
)
OF_EACH = (
    "SELECT AVG(n), SUM(dear), SUM(kinds) FROM (SELECT patient, COUNT(*) FILTER (WHERE cost > 9) n, "
    "COUNT_IF(cost > 20) dear, COUNT(DISTINCT cost) kinds FROM visits GROUP BY 1)",
    "SELECT COUNT(*), SUM(x) FROM (SELECT patient, SUM(cost) / COUNT(*) + MIN(cost) AS x FROM visits "
    "WHERE nr > 1 GROUP BY patient HAVING COUNT(*) > 3 AND x > 5)",
    "SELECT COUNT(*) FROM (SELECT patient FROM visits GROUP BY patient HAVING SUM(cost) FILTER (WHERE nr > 9) > 40)",
    "SELECT k, AVG(n) FROM (SELECT patient, FLOOR(cost / 20) AS k, COUNT(*) n FROM visits GROUP BY patient, k) "
    "GROUP BY k ORDER BY k",
)
COMPLETED = (
    "SELECT SUM(n), COUNT(*) FROM (SELECT visit, SUM(price) AS n FROM items GROUP BY visit)",
    "SELECT AVG(n) FROM (SELECT patient, COUNT(*) AS n FROM items GROUP BY patient)",
    "SELECT COUNT(DISTINCT patient), SUM(price) FROM items WHERE price > 3",
    "SELECT SUM(i.price + v.cost) FROM items i JOIN visits v ON i.patient = v.patient",
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (privacy_unit_column = patient) AVG(price), "
    "SUM(price, contribution_bounds_per_group => (0, 60)) FROM items",
)
OWN = (*PRIVATE[:3], PRIVATE[3], *PRIVATE[5:7], *PRIVATE[8:11], PRIVATE[12] + " ORDER BY k", *OF_EACH)
PRIVATE = (*PRIVATE, *OF_EACH, *COMPLETED)
REFUSED = {
    "SELECT COUNT(*) FROM patients p JOIN visits v ON p.age = v.cost": "would belong to two people",
    "SELECT COUNT(*) FROM patients JOIN staff ON patients.id = staff.id": "not declared to be about the same people",
    "SELECT COUNT(*) FROM places LEFT JOIN patients ON name = place": "the other way round",
    "SELECT COUNT(*) FROM staff JOIN places ON staff.wage = places.size": "must stay one row",
    "SELECT COUNT(*) FROM patients FULL JOIN visits ON id = patient": "FULL JOIN is not answered",
    "SELECT COUNT(*) FROM patients, visits": "ON what",
    "SELECT SUM(n) FROM (SELECT age, COUNT(*) n FROM patients GROUP BY age)": "GROUP BY the column that says whose",
    "SELECT SUM(n) FROM (SELECT COUNT(*) n FROM patients)": "GROUP BY the column that says whose",
    "SELECT COUNT(*) FROM (SELECT v.patient, COUNT(*) n FROM patients p LEFT JOIN visits v ON p.id = v.patient "
    "AND v.cost > p.age GROUP BY v.patient)": "GROUP BY the column that says whose a row is, id",
    "SELECT COUNT(*) FROM (SELECT id FROM patients UNION SELECT patient FROM visits)": "UNION ALL is answered",
    "SELECT COUNT(*) FROM (SELECT id FROM staff UNION ALL SELECT id FROM staff)": "same people on both sides",
    "SELECT COUNT(*) FROM (SELECT DISTINCT wage FROM staff)": "DISTINCT rows would belong to many",
    "SELECT COUNT(*) FROM (SELECT DISTINCT cost FROM visits)": "SELECT DISTINCT patient, …",
    "SELECT COUNT(*) FROM (SELECT DISTINCT COUNT(*) AS n FROM visits GROUP BY patient)": "DISTINCT beside GROUP BY",
    "SELECT SUM(n) FROM (SELECT cost AS n FROM visits GROUP BY patient)": "cost differs from row to row",
    "SELECT SUM(n) FROM (SELECT SUM(cost) OVER () AS n FROM visits GROUP BY patient)": "OVER is not answered",
    "SELECT SUM(n) FROM (SELECT SUM(cost) || 'x' AS n FROM visits GROUP BY patient)": "SUM.cost. .. 'x'",
    "SELECT SUM(n) FROM (SELECT patient, n + 1 AS n FROM visits GROUP BY patient)": "has no column n",
    "SELECT COUNT(*) FROM (SELECT id FROM staff LIMIT 1)": "LIMIT is not answered in a subquery",
    "SELECT COUNT(*) FROM (SELECT id FROM staff ORDER BY wage)": "ORDER BY is not answered in a subquery",
    "SELECT SUM(age) FROM patients a JOIN patients b ON a.id = b.id": "age stands in a and in b",
}


def declared(folder: Path) -> dict[str, Schema]:
    return {schema.name: replace(schema, source=str(folder / f"{schema.name}.arrow")) for schema in SCHEMAS}


def engine(folder: Path, rows: Rows) -> DuckDB:
    known = declared(folder)
    for name, schema in known.items():
        types = pa.schema([(column.name, TYPES[column.type]) for column in schema.columns])
        pyarrow.feather.write_feather(pa.Table.from_pylist(rows[name], types), schema.source)
    return DuckDB(known.values())


def without(patient: int) -> Rows:
    """All that is known of one patient is gone, in every table."""
    visits = {row["nr"] for row in TABLES["visits"] if row["patient"] == patient}
    return {
        **TABLES,
        "patients": [row for row in TABLES["patients"] if row["id"] != patient],
        "visits": [row for row in TABLES["visits"] if row["patient"] != patient],
        "items": [row for row in TABLES["items"] if row["visit"] not in visits],
    }


def crowded() -> Rows:
    """One more patient, with a great many rows of extreme values."""
    visits = [{"patient": 99, "cost": (-1) ** i * 2**40, "nr": 100 + i} for i in range(20)]
    items = [{"visit": 100 + i % 20, "price": 2**50} for i in range(70)]
    patients = [{"id": 99, "age": -(2**50), "place": "b"}] * 3
    more: Rows = {"patients": patients, "visits": visits, "items": items}
    return {name: [*rows, *more.get(name, [])] for name, rows in TABLES.items()}


NEIGHBOURS = [without(0), without(5), crowded(), {**TABLES, "posts": TABLES["posts"][1:]}]


@pytest.mark.parametrize("other", range(len(NEIGHBOURS)))
def test_neighbours_differ_by_no_more_than_is_charged(tmp_path: Path, other: int) -> None:
    known = declared(tmp_path)
    plans = [Ask(question).plan(known, Terms()) for question in PRIVATE]
    seen = []
    for rows in (TABLES, NEIGHBOURS[other]):
        tables, runs = engine(tmp_path, rows), []
        for plan in plans:
            recorder = Recorder()
            plan.run(tables, recorder)
            runs.append(recorder.seen)
        seen.append(runs)
    for plan, here, there in zip(plans, *seen, strict=True):
        assert [mechanism for mechanism, _ in here] == [mechanism for mechanism, _ in there]
        for total, (_, mine), (_, theirs) in zip(plan.noisy, here, there, strict=True):
            assert sum(apart(mine, theirs)) <= total.sensitivity.l1, plan.text


@pytest.mark.parametrize("question", OWN)
def test_without_noise_and_with_room_the_answer_is_the_engines_own(tmp_path: Path, question: str) -> None:
    roomy = {
        name: replace(schema, unit=replace(schema.unit, rows=1000)) if schema.unit.column else schema
        for name, schema in declared(tmp_path).items()
    }
    tables = engine(tmp_path, TABLES)
    answer = silent(Ask(question).plan(roomy, Terms())).run(tables, Keyed(""))
    with duckdb.connect() as raw:
        for name, schema in roomy.items():
            raw.register(name, pyarrow.feather.read_table(schema.source))
        orphaned = "(SELECT items.* FROM items JOIN visits ON visit = nr)"
        expected = raw.execute(question.replace("FROM items", f"FROM {orphaned} AS items")).fetchall()
    if "LEFT" not in question:
        assert [pytest.approx(row, rel=1e-6) for row in expected] == list(answer.rows)


@pytest.mark.parametrize(("question", "reason"), REFUSED.items())
def test_what_would_mix_people_is_refused(question: str, reason: str) -> None:
    with pytest.raises(BadQuestion, match=reason):
        Ask(question).plan({schema.name: schema for schema in SCHEMAS}, Terms())


def test_every_table_read_is_charged_once() -> None:
    known = {schema.name: schema for schema in SCHEMAS}
    plan = Ask("SELECT COUNT(*) FROM items i JOIN places ON i.price = places.size").plan(known, Terms())
    assert set(plan.tables) == {"items", "visits", "patients"} - {"patients"}


def test_a_persons_total_does_not_depend_on_the_order_of_rows(tmp_path: Path) -> None:
    """A float SUM would: with other people's rows gone, a person's own total could move by a step."""
    pay = Column("pay", Type.REAL, low=Fraction(0), high=Fraction(100))
    known = Schema(
        "wages", str(tmp_path / "wages.arrow"), (Column("id", Type.INTEGER), pay), Unit("id", rows=500)
    )
    question = (
        "SELECT SUM(s), AVG(a) FROM (SELECT id, SUM(pay) AS s, AVG(pay / 3) AS a FROM wages GROUP BY id)"
    )
    plan, seen = Ask(question).plan({"wages": known}, Terms()), set()
    rows = [(i % 7, (i * i % 9973) / 100.7) for i in range(3000)]
    for turn in range(6):
        turned = rows[turn * 431 :] + rows[: turn * 431]
        columns = {"id": [row[0] for row in turned], "pay": [row[1] for row in turned]}
        pyarrow.feather.write_feather(pa.table(columns), known.source)
        seen.add(tuple(tuple(DuckDB([known]).run(select)) for _, select in plan.selects))
    assert len(seen) == 1


def test_no_name_passes_for_whose_the_rows_are(schemas: dict[str, Schema]) -> None:
    for alias, name in (("s", "§owner"), ("s§", "owner"), ("s", "~sowner"), ("s§§owner", "x"), ("s", "")):
        sql = f'SELECT SUM(age) FROM (SELECT age, income AS "{name}" FROM visits) AS "{alias}"'
        plan = Ask(sql).plan(schemas, Terms())
        columns = [each.alias for each in plan.question.relation.rows.source.this.expressions]
        assert len(set(columns)) == len(columns) == 3
        owner = plan.question.relation.rows.unit.column
        assert [
            each.this.name
            for each in plan.question.relation.rows.source.this.expressions
            if each.alias == owner
        ] == ["id"]


@pytest.mark.parametrize("joined", ["items JOIN visits ON visit = nr", "visits JOIN items ON nr = visit"])
def test_along_a_foreign_key_a_person_has_the_rows_of_the_side_that_points(joined: str) -> None:
    """Not their product; should keys repeat, scaling holds what is promised."""
    known = {schema.name: schema for schema in SCHEMAS}
    rows = Ask(f"SELECT SUM(cost - price) FROM {joined}").plan(known, Terms()).question.relation.rows
    assert rows.unit.rows == 5 and not rows.bounded


def test_whose_a_row_is_stands_on_the_left_of_a_left_join(tmp_path: Path) -> None:
    """On the right it is missing where there was no partner: a person would have two values of it, and be counted twice."""
    known = {
        **declared(tmp_path),
        "visits": replace(declared(tmp_path)["visits"], unit=Unit("patient", rows=99)),
    }
    tables = engine(tmp_path, TABLES)
    left = "FROM patients p LEFT JOIN visits v ON p.id = v.patient AND v.cost > 45"
    with duckdb.connect() as raw:
        for name, schema in known.items():
            raw.register(name, pyarrow.feather.read_table(schema.source))
        for whose in ("p.id", "v.patient"):
            question = f"SELECT COUNT(DISTINCT {whose}) {left}"
            found = silent(Ask(question).plan(known, Terms())).run(tables, Keyed("")).rows
            assert list(found) == raw.execute(question).fetchall()


def test_a_planted_bound_below_what_ranks_let_by_is_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "obverse.data.bounding.Rows.fewer",
        lambda rows, most, groups: replace(rows, unit=replace(rows.unit, rows=most, groups=groups)),
    )
    with pytest.raises(AssertionError, match=r"from \( select \* from visits"):
        test_neighbours_differ_by_no_more_than_is_charged(tmp_path, 2)


def test_whom_an_answer_protects_is_found_along_foreign_keys(tmp_path: Path) -> None:
    known = declared(tmp_path)
    plan = Ask("SELECT COUNT(*) FROM items").plan(known, Terms())
    whom = "all rows of one patient of visits added or removed, with what is theirs in items"
    assert plan.protects == whom and f"items: protects {whom};" in describe("items", known)
    both = Ask("SELECT COUNT(*) FROM patients JOIN visits ON id = patient").plan(known, Terms())
    assert (
        both.protects
        == "all rows of one id of patients added or removed and all rows of one patient of visits added or removed"
    )


def test_whose_a_row_is_is_not_told_in_a_circle() -> None:
    key = Column("id", Type.INTEGER)
    known = {
        "a": Schema("a", "", (key, Column("x", Type.INTEGER, references="b.id")), Unit("x")),
        "b": Schema("b", "", (key, Column("y", Type.INTEGER, references="a.id")), Unit("y")),
    }
    with pytest.raises(BadQuestion, match="in a circle"):
        Ask("SELECT COUNT(*) FROM a").plan(known, Terms())
