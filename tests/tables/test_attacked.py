"""An outsider with another linear programme, and everybody who is alone in a cell, learn no more than was promised.

The programme is written here from scratch, over the finest cells alone, and shares no line with the product's own.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from scipy.optimize import linprog

from obverse.data.hierarchy import from_rows
from obverse.data.schema import Column, Schema, Type, Unit
from obverse.noise.entropy import Keyed
from obverse.release import Terms
from obverse.tables.hide import Suppress
from obverse.tables.tabulate import Tabulate

TOWNS = {f"t{i}": (f"r{i // 2}", "N" if i < 4 else "S") for i in range(6)}
LADDER = from_rows("town", [(town, *above, "*") for town, above in TOWNS.items()])
COLUMNS = (
    Column("town", Type.TEXT),
    Column("job", Type.TEXT),
    Column("pet", Type.TEXT),
    Column("turnover", Type.INTEGER, low=Fraction(0), high=Fraction(1000)),
    Column("firm", Type.INTEGER),
)
LINKED = (
    (("town", "job"),),
    (("town", "job"), ("town", "pet")),
    (("town", "job"), ("job", "pet")),
    (("town", "job", "pet"),),
    (("town", "job"), ("job", "pet"), ("town", "pet")),
)
SHARE = 0.15
EXACT = 1e-5


def rows(seed):
    generator = np.random.default_rng(seed)
    many = int(generator.integers(20, 90))

    def of(*values):
        return generator.choice(values, many, p=generator.dirichlet(np.full(len(values), 0.7)))

    return pa.table(
        {
            "town": of(*TOWNS),
            "job": of("a", "b", "c", "d"),
            "pet": of("x", "y", "z"),
            "turnover": np.minimum(generator.pareto(1, many) * 10 + 1, 1000).round().astype(int),
            "firm": generator.integers(0, max(3, many // 2), many),
        }
    )


@dataclass(frozen=True)
class Line:
    """One line of the released table, and what is true of it."""

    of: tuple[bool, ...]
    value: float | None
    parts: dict[object, float]

    @cached_property
    def truth(self):
        return sum(self.parts.values())

    def needs(self, measure):
        """How far below and above the truth it must seem possible; none for a cell that is not small."""
        people = len(self.parts)
        if not 0 < people < 3:
            return 0.0, 0.0
        up = SHARE * max(self.parts.values()) if measure else self.truth * (3 - people) / people
        return min(self.truth, up) if measure else self.truth, up


def lines(data, value, measure, unit):
    """Each line with the finest cells below it."""
    columns = [name for name in ("town", "job", "pet") if name in value.column_names]
    finest = list(
        product(*(sorted({*data[name].to_pylist(), *(TOWNS if name == "town" else ())}) for name in columns))
    )

    def inside(line, cell):
        return all(
            line[name] in (label, "Total", *(TOWNS[label] if name == "town" else ()))
            for name, label in zip(columns, cell, strict=True)
        )

    for line in value.to_pylist():
        if {"(missing)", "(other)"} & set(line.values()):
            continue
        parts = {}
        for number, row in enumerate(data.to_pylist()):
            if inside(line, [row[name] for name in columns]):
                who = row["firm"] if unit else number
                parts[who] = parts.get(who, 0) + (row["turnover"] if measure else 1)
        yield Line(tuple(inside(line, cell) for cell in finest), line["value"], parts)


def ranges(of, known, values):
    """The least and most that the cell can be, in all tables of finest cells that agree with what is known."""
    for sign in (1, -1):
        found = linprog(sign * of, A_eq=known, b_eq=values, bounds=(0, None), method="highs")
        assert found.status in (0, 3, 4)
        yield sign * found.fun if found.status == 0 else -sign * np.inf


def known_too_well(released, told, measure, who=None):
    """The lines about others that somebody who knows these lines can tell more closely than was promised."""
    matrix = np.array([line.of for line in released], float)
    truth = np.array([line.truth for line in released])
    for place, line in enumerate(released):
        below, above = line.needs(measure)
        if told[place] or above == 0:
            continue
        low, high = ranges(matrix[place], matrix[told], truth[told])
        assert low - EXACT <= line.truth <= high + EXACT
        below = min(below, line.truth - line.parts.get(who, 0))
        if low > line.truth - below + EXACT or high < line.truth + above - EXACT:
            yield line


@pytest.mark.parametrize("measure", [None, "turnover"], ids=["counts", "amounts"])
@pytest.mark.parametrize("seed", range(5))
def test_nobody_learns_a_small_cell_of_others(memory, seed, measure):
    data, by, unit = rows(seed), LINKED[seed], Unit("firm", 5) if seed % 2 else Unit()
    request = Tabulate("firms", by=by, measure=measure, protect=Suppress(3), ladders=(LADDER,))
    plan = request.plan({"firms": Schema("firms", "none", COLUMNS, unit)}, Terms())
    value = plan.run(memory(firms=data), Keyed("t"))
    released = list(lines(data, value, measure, unit.column))
    shown = np.array([line.value is not None for line in released])
    assert not any(0 < len(line.parts) < 3 for line in released if line.value is not None)
    assert all(line.value == line.truth for line in released if line.value is not None)
    assert not list(known_too_well(released, shown, measure))
    alone = {who for line in released if line.value is None and len(line.parts) == 1 for who in line.parts}
    for who in alone:
        told = shown | np.array([set(line.parts) == {who} for line in released])
        assert not list(known_too_well(released, told, measure, who))


def hidden(memory, data, **more):
    request = Tabulate("firms", by=("job",), measure="turnover", protect=Suppress(3), **more)
    plan = request.plan({"firms": Schema("firms", "none", COLUMNS, Unit("firm", 5))}, Terms())
    value = plan.run(memory(firms=data), Keyed("t"))
    return {
        job for job, mark in zip(value["job"].to_pylist(), value["mark"].to_pylist(), strict=True) if mark
    }


def firms(*jobs):
    """Jobs and the firms' numbers, each firm with a turnover of 10."""
    names, numbers = zip(*jobs, strict=True)
    return pa.table({"job": names, "firm": numbers, "turnover": [10] * len(jobs)})


LARGE = [("c", 10), ("c", 11), ("c", 12), ("d", 20), ("d", 21), ("d", 22)]


def test_two_lone_firms_cannot_subtract_each_other(memory):
    """Each would take its own off the sum of both: a third cell is hidden with them."""
    assert len(hidden(memory, firms(("a", 1), ("b", 2), *LARGE))) == 3


def test_a_holding_that_is_alone_in_several_cells_knows_all_of_them(memory):
    """Firm 1 is alone in a and in b: hiding both and c, in which firm 2 is alone, would leave c to firm 1."""
    assert hidden(memory, firms(("a", 1), ("b", 1), ("c", 2), *LARGE[3:])) == {"a", "b", "c", "d"}
    assert hidden(memory, firms(("a", 1), ("b", 3), ("c", 2), *LARGE[3:])) == {"a", "b", "c"}


def test_two_cells_of_two_firms_protect_each_other(memory):
    """Nobody is alone in one: no third cell is needed."""
    assert hidden(memory, firms(("a", 1), ("a", 4), ("b", 2), ("b", 3), *LARGE)) == {"a", "b"}
