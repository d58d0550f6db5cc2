"""A ladder made from rows is a ladder, joins what is alike, and is the same in any order of the rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.anonymise.test_anonymise import QUASI, release, sample

import obverse
from obverse.anonymise.codes import encode
from obverse.anonymise.ladders import MOST_COMPARED, ladder_for
from obverse.anonymise.measure import histograms
from obverse.anonymise.mondrian import Wish
from obverse.anonymise.search import prepare, search
from obverse.data.hierarchy import categories

ADULT = Path(obverse.__file__).parent / "sample" / "adult.parquet"
NAMES = ("age", "education", "occupation", "marital-status")


def ladder(table: pa.Table, name: str, fan: int = 2):
    coded = [encode(each, table[each]) for each in table.column_names]
    return ladder_for(table.column_names.index(name), [d for d, _ in coded], [c for _, c in coded], fan)


def test_what_experts_put_together_is_found_from_the_rows():
    """In Adult the degrees above the bachelor's are joined first, and so are the lowest classes of school."""
    made = ladder(pq.read_table(ADULT).drop_null().select(NAMES), "education", fan=3)
    label = dict(zip(made.levels[0], made.levels[1], strict=True))
    assert label["Doctorate"] == label["Masters"] == label["Prof-school"] != label["9th"]
    assert label["1st-4th"] == label["5th-6th"] == label["Preschool"] != label["HS-grad"]


@pytest.mark.parametrize("k", [5, 25])
def test_ladders_by_likeness_lose_less_than_ladders_by_frequency(k):
    """Adult, four columns: by at least a twentieth."""
    table = pq.read_table(ADULT).drop_null().select(NAMES)
    by_frequency = {}
    for name in NAMES[1:]:
        domain, codes = encode(name, table[name])
        by_frequency[name] = categories(name, domain.texts, np.bincount(codes).tolist())
    _, joint, rules = histograms(table, (), (), {}, False)
    alike, frequent = (
        search(
            prepare(table, NAMES, {}, given, "hierarchy", [1.0] * 4), joint, rules, "local", Wish(k, 0.0)
        ).loss
        for given in ({}, by_frequency)
    )
    assert alike < 0.95 * frequent


def test_the_order_of_rows_does_not_matter():
    table = sample(300)
    turned = table.take(pa.array(np.arange(300)[::-1]))
    for name in ("town", "illness"):
        assert ladder(table, name) == ladder(turned, name)


@pytest.mark.parametrize("values", [1, 2, 3, 4, 9, MOST_COMPARED, MOST_COMPARED + 1])
def test_any_number_of_categories_makes_a_ladder(values):
    """A column alone, and one with a value that is missing."""
    column = pa.array([f"v{i % values}" for i in range(3 * values)] + [None])
    made = ladder(pa.table({"q": column}), "q")
    assert made.covers({f"v{i}" for i in range(values)}) and set(made.levels[-1]) == {"*"}
    assert len(release(sample(), QUASI, k=3, how="lattice").table) == 60


def test_many_columns_are_searched_without_listing_every_combination():
    """Sixteen columns of ladders with four steps have four billion combinations."""
    names = [f"q{i}" for i in range(16)]
    table = pa.table({n: [f"v{(i * 7 + i * i * j) % 12}" for i in range(60)] for j, n in enumerate(names)})
    made = release(table, names, k=4, how="local")
    assert int(dict(made.facts)["smallest class"]) >= 4
