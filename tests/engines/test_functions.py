"""Every function that is answered, on edge values and through the whole door: neighbours cannot be told apart by what fails.

The functions are read from the code (`query/scalar.py`), so that a new one is covered as soon as it is there: each is
filled with columns and constants of every type, and what the planner accepts is asked of a table and of the same table
with one person more, whose rows hold the largest and smallest numbers, NaN, infinities, the first and the last day.
Whether an answer comes, how many rows it has, the words of a failure and the charge are then the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import duckdb
import psycopg
import pyarrow.feather
import pytest
from sqlglot import exp, parse_one

from obverse.audit.door import limits
from obverse.curator.clock import now
from obverse.curator.curator import CURATOR, Curator
from obverse.data.schema import Schema, Unit
from obverse.errors import ObverseError, Refusal
from obverse.ledger.ledger import Ledger
from obverse.ledger.policy import Account, Policy
from obverse.noise.entropy import Keyed
from obverse.query.ask import Ask
from obverse.query.scalar import _RULES
from obverse.release import Terms
from tests.contracts.test_random_plans import EXTREMES
from tests.engines.questions import COLUMNS, PAYS, TYPES, Row, rows, written
from tests.engines.test_postgresql import filled

LEAVES = [
    parse_one(leaf, dialect="duckdb")
    for leaf in (
        *("age", "pay", "wild", "id", '"Given Name"', "sex", "born", "seen", "smokes", "NULL", "TRUE"),
        *(
            "0",
            "-1",
            "2",
            "3",
            "2.5",
            "'%'",
            "''",
            "'2024-02-29'",
            "(age > 30)",
            "CAST('2001-10-05' AS DATE)",
        ),
    )
]
LEAF = (exp.Literal, exp.Boolean, exp.Null)  # stand in the calls of all others
CONSTANTS = [leaf for leaf in LEAVES if not leaf.find(exp.Column)]
TAKEN, TRIED, EACH = 8, 600, 6
OPTIONAL = (
    "expression",
    "expressions",
    "decimals",
    "default",
    "false",
    "escape",
    "replacement",
    "start",
    "length",
)
OPTIONAL += ("min_value", "max_value", "num_buckets")
SPELT: dict[type[exp.Expr], tuple[str, ...]] = {  # too long to be hit on by chance
    exp.WidthBucket: ("WIDTH_BUCKET(age, 0, 100, 5)", "WIDTH_BUCKET(wild, -10, 300, 7)"),
    exp.Replace: ("REPLACE(\"Given Name\", 'A', '')", "REPLACE(sex, '', 'long')"),
}
BEYOND = ("wild * wild", "FLOOR(pay * pay * pay * 1e9)", "wild * wild - wild * wild", "EXP(pay) * EXP(pay)")
PATTERNS = (exp.RegexpLike, exp.RegexpILike, exp.SimilarTo, exp.Glob)  # have a rule that refuses them
SHAPES: dict[str, object] = {"to": exp.DataType.build("DOUBLE"), "unit": exp.var("MONTH")}


def calls(kind: type[exp.Expr], luck: Keyed) -> Iterator[exp.Expr]:
    """The node with its arguments filled in at random, the optional ones now and then."""

    def leaf(among: Sequence[exp.Expr] = LEAVES) -> exp.Expr:
        return among[luck.bits(16) % len(among)].copy()

    yield from (parse_one(text, dialect="duckdb") for text in SPELT.get(kind, ()))
    for _ in range(TRIED):
        given: dict[str, object] = {}
        for name, needed in kind.arg_types.items():
            if not needed and (name not in OPTIONAL or luck.bits(2)):
                continue
            if name == "ifs":
                given[name] = [exp.If(this=leaf(), true=leaf())]
            elif name == "expressions":
                some = LEAVES if luck.bits(1) else CONSTANTS
                given[name] = [leaf(some), leaf(some)]
            else:
                given[name] = SHAPES.get(name) or leaf(CONSTANTS if given and luck.bits(1) else LEAVES)
        if kind is exp.Extract:
            given["this"] = exp.var(("YEAR", "MONTH", "HOUR")[luck.bits(8) % 3])
        if kind is exp.Anonymous:
            name, size = (("DOW", 1), ("PREFIX", 2))[luck.bits(1)]
            given = {"this": name, "expressions": [leaf() for _ in range(size)]}
        yield kind(**given)


@cache
def accepted() -> dict[type[exp.Expr], list[str]]:
    """Of each function some calls that are answered."""
    known = {"t": schema("/nowhere/t.arrow")}
    found: dict[type[exp.Expr], list[str]] = {}
    for kind in _RULES:
        if kind in LEAF:
            continue
        found[kind] = []
        for node in calls(kind, Keyed(kind.__name__)):
            text = node.sql(dialect="duckdb")
            if node.find(exp.Column) and text not in found[kind] and _answered(text, known):
                found[kind].append(text)
            if len(found[kind]) == TAKEN:
                break
    return found


def _answered(text: str, known: dict[str, Schema]) -> bool:
    return _planned(f"SELECT COUNT({text}) FROM t", known)


def _planned(question: str, known: dict[str, Schema]) -> bool:
    try:
        Ask(question).plan(known, Terms())
    except Refusal:
        return False
    return True


def asked(found: dict[type[exp.Expr], list[str]]) -> list[str]:
    """Questions that count where a call has a value, that filter by one, and that group by one and by what it gives."""
    texts = [text for texts in found.values() for text in texts]
    questions = []
    for place in range(-(-len(texts) // EACH)):
        some = texts[EACH * place : EACH * (place + 1)]
        last = some[-1]
        ends = ("", f" WHERE ({last}) IS NULL OR age > 3", f" GROUP BY ({last}) IS NULL")
        questions.append(f"SELECT {', '.join(f'COUNT({text})' for text in some)} FROM t{ends[place % 3]}")
    known = {"t": schema("/nowhere/t.arrow")}
    by = (f"DP-SELECT 0.1 COUNT(*) FROM t GROUP BY {text} WITH (delta = 1e-9)" for text in (*texts, *BEYOND))
    return [*questions, *(question for question in by if _planned(question, known))]


def schema(source: str) -> Schema:
    return Schema("t", source, COLUMNS, Unit("id", rows=50))


def door(source: str, folder: Path) -> Curator:
    policy = Policy(limits("100000", "0.001", "zcdp"), accounts=(Account(CURATOR),))
    return Curator([schema(source)], Ledger(folder / "ledger", policy, now), Keyed("door"))


def outcome(curator: Curator, question: str) -> tuple[object, ...]:
    """All that an analyst sees but for the noisy numbers: that there is an answer, its form and price, or the words."""
    try:
        answer = curator.ask(question)
    except ObverseError as error:
        return type(error), str(error), str(curator.budget())
    return answer.columns, len(answer.rows), str(curator.budget())


def test_every_function_is_tried() -> None:
    found = accepted()
    assert [kind.__name__ for kind, texts in found.items() if not texts and kind not in PATTERNS] == []


def test_the_edges_bite(tmp_path: Path) -> None:
    """On the same values plain SQL fails, or not, as the one person is there, or not."""
    with duckdb.connect() as raw:
        for name, made in tables().items():
            written(tmp_path / f"{name}.arrow", made)
            raw.register(name, pyarrow.feather.read_table(tmp_path / f"{name}.arrow"))
        for careless in ("SUM(age * age)", "SUM(CAST(pay AS INTEGER))"):
            assert len(raw.execute(f"SELECT {careless} FROM here").fetchall()) == 1
            with pytest.raises(duckdb.Error):
                raw.execute(f"SELECT {careless} FROM there")


def tables() -> dict[str, list[Row]]:
    """A table of plain rows, and the same with one person more."""
    plain = [row for row in rows(80) if row[1] is None or abs(int(str(row[1]))) < 200]
    plain = [(*row[:3], PAYS[place % 2], *row[4:]) for place, row in enumerate(plain)]
    return {"here": plain, "there": [*plain, *EXTREMES]}


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["duckdb", "postgresql"])
def test_outcome_message_and_charge_are_the_same_on_neighbours(
    tmp_path: Path, server: str, owner: psycopg.Connection[tuple[object, ...]], engine: str
) -> None:
    doors = []
    for name, made in tables().items():
        (tmp_path / name).mkdir()
        source = str(tmp_path / f"{name}.arrow")
        written(Path(source), made)
        if engine == "postgresql":
            source = f"{server}#edges_{name}"
            kinds = ["int8", "int8", "text", "float8", "float8", "text", "date", "timestamp", "bool"]
            columns = ", ".join(f'"{field.name}" {kind}' for field, kind in zip(TYPES, kinds, strict=True))
            owner.execute(f"CREATE TABLE edges_{name} ({columns})".encode())
            filled(owner, f"edges_{name}", made)
        doors.append(door(source, tmp_path / name))
    here, there = doors
    for question in asked(accepted()):
        mine = outcome(here, question)
        assert mine == outcome(there, question), question
        assert isinstance(mine[0], tuple), (question, mine)
    here.close()
    there.close()
