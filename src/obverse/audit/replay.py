"""Whole questions recorded on a table and replayed on its neighbours, through the real engine and the real door.

With the same random bits an honest question does the same things in the same order on both tables, and what goes into
each mechanism is no further apart than was charged. What is looked at are the inputs, so that one run proves what
thousands of noisy answers could not.  [Re:cord-play]
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from obverse.audit.finding import Finding
from obverse.data.schema import Column, Neighbours, Schema, Type, Unit
from obverse.data.table import Tables
from obverse.engines.duckdb import DuckDB
from obverse.errors import ObverseError
from obverse.mechanisms.permute_and_flip import PermuteAndFlip
from obverse.noise.entropy import Keyed
from obverse.query.ask import Ask
from obverse.query.plan import AskPlan
from obverse.release import Terms

Record = dict[str, object]
Given = int | tuple[int, ...]  # a total, or the values that one is chosen from
COLUMNS = (
    Column("id", Type.INTEGER),
    Column("age", Type.INTEGER, low=Fraction(0), high=Fraction(120)),
    Column("sex", Type.TEXT, categories=("f", "m")),
    Column("pay", Type.REAL, low=Fraction(-10), high=Fraction(1000, 3)),
)
UNITS = (
    (Unit(), Neighbours.ADD_REMOVE, "arrow"),
    (Unit("id", rows=2), Neighbours.ADD_REMOVE, "arrow"),  # copied, and so bounded by ranks
    (Unit("id", rows=2), Neighbours.ADD_REMOVE, "parquet"),  # read where it is, and scaled
    (Unit(), Neighbours.REPLACE, "arrow"),
)
QUESTIONS = (
    "SELECT COUNT(*) FROM t",
    "SELECT COUNT(pay) FROM t WHERE age / (age - 30) > 1",
    "SELECT SUM(age) FROM t WHERE sex = 'f' OR pay > 10",
    "SELECT SUM(pay), AVG(pay), AVG(age) FROM t",
    "SELECT SUM(pay * pay - age) FROM t WHERE LN(pay) < 5",
    "SELECT COUNT(DISTINCT age), COUNT(DISTINCT id) FROM t",
    "SELECT sex, COUNT(*), SUM(pay), AVG(age), COUNT(DISTINCT id) FROM t GROUP BY sex",
    "SELECT sex, FLOOR(age / 30) AS k, COUNT(*), SUM(age) FROM t GROUP BY 1, 2 HAVING COUNT(*) > 0",
    "SELECT CASE WHEN pay % 7 < 3 THEN 'low' ELSE 'high' END AS band, COUNT(*), AVG(pay) FROM t GROUP BY 1",
    "SELECT sex, COUNT(DISTINCT age), COUNT(*) FILTER (WHERE pay IS NULL) FROM t GROUP BY sex",
    "SELECT MEDIAN(age), MIN(pay), MAX(pay * age) FROM t WHERE sex = 'f' OR pay > 10",
    "SELECT sex, COUNT(*), QUANTILE_CONT(pay, 0.9), MEDIAN(pay) FROM t GROUP BY sex",
    "SELECT CORR(age, pay), REGR_INTERCEPT(pay, age), COVAR_SAMP(pay, age) FILTER (WHERE sex = 'f') FROM t",
    "SELECT sex, REGR_R2(pay, age * age), REGR_COUNT(pay, age), VAR_SAMP(pay) FROM t GROUP BY sex",
    "SELECT MODE(sex), MODE(age) FILTER (WHERE pay > 0), APPROX_TOP_K(FLOOR(age / 30), 3) FROM t",
    "SELECT sex, MODE(age), APPROX_TOP_K(age % 5, 2) FROM t GROUP BY sex",
    "SELECT sex, age < 40, COUNT(*), AVG(pay), CORR(age, pay) FROM t GROUP BY CUBE (1, 2)",
    "SELECT SUM(LEAST(GREATEST(pay, 0), 9)), SUM(EXP(pay / 100)), SUM(ROUND(POWER(age, 2), -1)), SUM(SIGN(pay)) FROM t",
    "SELECT WIDTH_BUCKET(pay, 0, 300, 3) AS k, COUNT(*), SUM(TRUNC(pay, 1)) FROM t WHERE LEFT(sex, 1) = 'f' GROUP BY k",
    "SELECT sex, APPROX_QUANTILES(pay, 4), QUANTILE_CONT(age, [0.9, 0.1]) FROM t GROUP BY sex",
)


def record(id: object, age: object, sex: object, pay: object) -> Record:
    return {"id": id, "age": age, "sex": sex, "pay": pay}


BASE = tuple(record(i % 6, 7 * i % 130, "fm"[i % 2], 13.7 * i - 40) for i in range(24))
EXTREMES = (
    record(99, 2**62, "f", 1.7e308),
    record(99, -(2**62), "m", -1.7e308),
    record(99, 30, "f", float("nan")),
    record(99, 30, "m", float("inf")),
    record(99, None, None, None),
    record(99, 45, "a new key", 0.0),
    record(99, 120, "f", 1000 / 3),
)
CROWD = tuple(record(99, 5 * i, "fm"[i % 2], 1e9 * i) for i in range(40))


def neighbours(unit: Unit, kind: Neighbours) -> Iterator[tuple[str, Sequence[Record]]]:
    """Tables one unit away from BASE, and what was done to it."""
    if kind is Neighbours.REPLACE:
        yield from (("one row replaced by an extreme", [extreme, *BASE[1:]]) for extreme in EXTREMES)
        return
    if unit.column is None:
        yield "a row deleted", BASE[1:]
    else:
        yield "all rows of a person deleted", [row for row in BASE if row["id"] != 0]
        yield "a person with 40 rows inserted", [*BASE, *CROWD]
    yield from (("an extreme, NULL, NaN or new key inserted", [*BASE, extreme]) for extreme in EXTREMES)


class Recorder(Keyed):
    """Replays the same bits, and writes down what each mechanism is given."""

    def __init__(self) -> None:
        super().__init__("replay")
        self.seen: list[tuple[object, tuple[Given, ...]]] = []

    def watch(self, mechanism: object, value: object) -> None:
        given = value if isinstance(value, tuple) else (value,)
        self.seen.append((mechanism, tuple(_plain(each) for each in given)))


def _plain(given: Any) -> Given:
    """What a mechanism was given, in whole numbers."""
    return tuple(int(each) for each in given) if hasattr(given, "__len__") else int(given)


def apart(mine: Sequence[Given], theirs: Sequence[Given], mechanism: object = None) -> list[int]:
    """How far two runs' inputs are apart, group by group.

    Totals by their difference, values by how many differ, scores to choose by as far as the one that differs most.
    """
    distance = _of_scores if isinstance(mechanism, PermuteAndFlip) else _distance
    return [distance(one, other) for one, other in zip(mine, theirs, strict=True)]


def _of_scores(one: Given, other: Given) -> int:
    assert isinstance(one, tuple) and isinstance(other, tuple)
    return max(abs(x - y) for x, y in zip(one, other, strict=True))


def _distance(one: Given, other: Given) -> int:
    if isinstance(one, int) and isinstance(other, int):
        return abs(one - other)
    assert isinstance(one, tuple) and isinstance(other, tuple)
    here, there = Counter(one), Counter(other)
    return ((here - there) + (there - here)).total()


@dataclass(frozen=True)
class Run:
    """What one run let out beside its noisy answer: what went into the noise, and whether and how it failed."""

    seen: tuple[tuple[object, tuple[Given, ...]], ...]
    failed: str


Runner = Callable[[AskPlan, Tables, Recorder], object]


def planned(sql: str, schemas: dict[str, Schema]) -> AskPlan:
    """The plan of a question that is answered by totals."""
    plan = Ask(sql).plan(schemas, Terms())
    assert isinstance(plan, AskPlan)
    return plan


def through_the_plan(plan: AskPlan, tables: Tables, entropy: Recorder) -> object:
    return plan.run(tables, entropy)


def schema(folder: Path, unit: Unit, kind: Neighbours = Neighbours.ADD_REMOVE, form: str = "arrow") -> Schema:
    return Schema("t", str(folder / f"t.{form}"), COLUMNS, unit, kind)


def tables(rows: Sequence[Record], known: Schema) -> DuckDB:
    """These rows, as the engine holds them."""
    import pyarrow
    from pyarrow import feather, parquet

    types = [
        ("id", pyarrow.int64()),
        ("age", pyarrow.int64()),
        ("sex", pyarrow.string()),
        ("pay", pyarrow.float64()),
    ]
    write = parquet.write_table if known.source.endswith("parquet") else feather.write_feather
    write(pyarrow.Table.from_pylist(list(rows), pyarrow.schema(types)), known.source)
    return DuckDB([known])


def recorded(plan: AskPlan, engine: Tables, run: Runner) -> Run:
    """One run, and what it let out."""
    recorder = Recorder()
    try:
        run(plan, engine, recorder)
    except ObverseError as error:
        return Run(tuple(recorder.seen), f"{type(error).__name__}: {error}")
    except (ArithmeticError, ValueError, LookupError) as error:
        return Run(tuple(recorder.seen), type(error).__name__)
    return Run(tuple(recorder.seen), "")


def too_far(plan: AskPlan, here: Run, there: Run) -> str:
    """What tells two neighbours apart beyond what is charged; empty if nothing does."""
    if here.failed != there.failed:
        return f"fails on one table: {here.failed or there.failed}"
    if [mechanism for mechanism, _ in here.seen] != [mechanism for mechanism, _ in there.seen]:
        return "draws other noise on one table than on the other"
    if [mechanism for mechanism, _ in here.seen] != [total.mechanism for total in plan.noisy]:
        return "does not draw the noise that its plan charges for"
    for total, (mechanism, mine), (_, theirs) in zip(plan.noisy, here.seen, there.seen, strict=True):
        if len(mine) != len(theirs):
            return f"answers {len(mine)} groups on one table and {len(theirs)} on the other"
        moved = apart(mine, theirs, mechanism)
        if sum(moved) > total.sensitivity.l1 or max(moved, default=0) > total.sensitivity.most:
            return f"inputs {float(sum(moved)):g} apart, {float(total.sensitivity.l1):g} charged"
    return ""


def replayed(
    questions: Sequence[str] = QUESTIONS,
    run: Runner = through_the_plan,
    engine: Callable[[Sequence[Record], Schema], Tables] = tables,
    ask: Callable[[str, dict[str, Schema]], AskPlan] = planned,
) -> list[Finding]:
    """Every question on every neighbour, for every kind of unit."""
    findings = []
    with TemporaryDirectory() as folder:
        for unit, kind, form in UNITS:
            known = schema(Path(folder), unit, kind, form)
            whose = "rows" if unit.column is None else "people"
            name = f"{len(questions)} questions, {whose} in {form}, {kind.value}"
            plans = [ask(question, {"t": known}) for question in questions]
            base = [recorded(plan, engine(BASE, known), run) for plan in plans]
            wrong, tried = "", 0
            for done, rows in neighbours(unit, kind):
                other = engine(rows, known)
                for plan, here in zip(plans, base, strict=True):
                    tried += 1
                    if not wrong and (told := too_far(plan, here, recorded(plan, other, run))):
                        wrong = f"{plan.text}: {done}: {told}"
            findings.append(
                Finding("replay", name, bool(wrong), note=wrong or f"{tried} replays on neighbours")
            )
    return findings
