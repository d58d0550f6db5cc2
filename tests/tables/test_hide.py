"""Each rule by hand: which of two cells of a hundred is confidential, and what it lacks.  [HDFG+12, chapter 4]"""

from dataclasses import replace
from fractions import Fraction

import pyarrow as pa
import pytest

from obverse.data.schema import Column, Schema, Type, Unit
from obverse.noise.entropy import Keyed
from obverse.release import Terms
from obverse.tables.cube import read
from obverse.tables.hide import Suppress
from obverse.tables.tabulate import Tabulate

COLUMNS = (Column("g", Type.TEXT), Column("who", Type.INTEGER), Column("m", Type.INTEGER, low=Fraction(0)))
LARGE = [("a", 1, 80), ("a", 2, 15), ("a", 3, 5)]
EVEN = [("b", 4, 50), ("b", 5, 30), ("b", 6, 20)]


def confidential(memory, rows, rule):
    """Whether a and b are, and how far a's range has to reach above its amount."""
    data = memory(t=pa.table(dict(zip(("g", "who", "m"), map(list, zip(*rows, strict=True)), strict=True))))
    schema = Schema("t", "none", COLUMNS, Unit("who", 9))
    plan = Tabulate("t", by=("g",), measure="m", protect=rule).plan({"t": schema}, Terms())
    totals = read(plan._reading(Keyed("t"), None), data)
    primary, up, _ = plan.protect.confidential(replace(plan.shape, dimensions=totals.dimensions), totals)
    return primary[:2].tolist(), pytest.approx(up[0])


@pytest.mark.parametrize(
    "rule, lacks",
    [
        (Suppress(3, p=Fraction(1, 10)), 8 - 5),  # the second tells the first to within the 5 that are left
        (Suppress(3, dominance=(1, Fraction(3, 4))), 80 / 0.75 - 100),
        (Suppress(3, dominance=(2, Fraction(85, 100))), 95 / 0.85 - 100),
        (Suppress(4, p=Fraction(1, 10)), 8),
    ],
    ids=["p", "1, 75 %", "2, 85 %", "contributors"],
)
def test_what_a_dominated_cell_lacks(memory, rule, lacks):
    assert confidential(memory, LARGE + EVEN, rule) == ([True, rule.threshold == 4], lacks)


def test_several_rows_of_one_contributor_are_one_amount(memory):
    halves = [("a", 1, 40), ("a", 1, 40), *LARGE[1:]]
    assert confidential(memory, halves + EVEN, Suppress(3, p=Fraction(1, 10))) == ([True, False], 3)


def test_nothing_is_dominated_where_there_is_nothing(memory):
    none = [(g, who, 0) for g, who, _ in LARGE]
    assert confidential(memory, none + EVEN, Suppress(3, p=Fraction(1, 10))) == ([False, False], 0)
