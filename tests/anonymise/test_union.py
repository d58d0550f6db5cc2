"""A recoding is applied to new rows, and the union of old and new is verified again before anything leaves."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.anonymise.test_anonymise import QUASI, Rows, release, sample, schema_of

from obverse.anonymise import check
from obverse.anonymise.rules import Rule
from obverse.anonymise.union import Recode
from obverse.errors import BadParameter, BadQuestion, Withheld
from obverse.noise.entropy import Keyed
from obverse.release import Terms


def again(table, recoding, schema=None, terms=None, **options):
    schema = schema or schema_of(table, QUASI, ("illness",))
    plan = Recode("people", recoding, **options).plan({"people": schema}, terms or Terms())
    return plan.unpack(plan.pack(plan.run(Rows(table), Keyed("a"))))


@pytest.mark.parametrize("how", ["lattice", "mondrian"])
def test_old_and_new_rows_together_keep_k(how, tmp_path):
    """The second checker counts the union; new rows alone may be in smaller classes."""
    old, new = sample(120), sample(30, 3)
    first = release(old, QUASI, ("illness",), k=4, how=how)
    pq.write_table(first.table, tmp_path / "first.parquet")
    made = again(new, first.recoding, onto=(str(tmp_path / "first.parquet"),), k=4)
    union = pa.concat_tables(
        [pa.table({q: t[q].cast(pa.string()) for q in QUASI}) for t in (first.table, made.table)]
    )
    assert check.smallest(union, QUASI) >= 4 and len(made.table) > 0
    assert dict(made.facts)["rows together"] == str(len(union))


def test_a_union_that_breaks_the_promise_is_withheld():
    """New rows alone, in classes of one; the curator is told which, the error quotes no row."""
    first = release(sample(120), QUASI, ("illness",), k=4)
    with pytest.raises(Withheld, match="together") as refused:
        again(sample(5, 3), first.recoding, k=4)
    assert "1 rows have" in refused.value.page and "1 rows have" not in str(refused.value)
    with pytest.raises(Withheld, match="do not keep"):
        again(sample(60), first.recoding, k=1, rules=(Rule("entropy", "illness", 4),))
    nobody = sample(3).set_column(0, "age", pa.array([900] * 3, pa.int64()))
    with pytest.raises(Withheld, match="no rows"):
        again(nobody, first.recoding, k=1)


def test_identifiers_and_unlabelled_quasi_identifiers_do_not_leave():
    first = release(sample(120), ("age", "town"), k=4, how="lattice")
    made = again(sample(120), first.recoding, k=4)
    assert "sex" not in made.table.column_names and "note" in made.table.column_names


def test_what_the_schema_forbids_is_refused_before_anything_is_read():
    recoding = release(sample(120), QUASI, k=4).recoding
    people = schema_of(sample(), QUASI, unit="note")
    for wrong, error in (
        (lambda: again(sample(), recoding, k=0), BadParameter),
        (lambda: again(sample(), replace(recoding, columns=("a", "b", "c"))), BadQuestion),
        (lambda: again(sample(), recoding, rules=(Rule("t", "income", 0.1),)), BadQuestion),
        (lambda: again(sample(), recoding, schema=people), BadQuestion),
        (lambda: again(sample(), recoding, terms=Terms(smallest_group=9)), BadParameter),
    ):
        with pytest.raises(error):
            wrong()
