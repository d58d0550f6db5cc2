"""Changes to single columns do what they say, and no more; clusters, and the recoding as a value."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.anonymise.test_anonymise import QUASI, release, sample
from tests.anonymise.test_ladders import ADULT

from obverse.anonymise import check
from obverse.anonymise.changes import Change, changed, hashed, masked, secret
from obverse.anonymise.recode import Recoding
from obverse.anonymise.rules import Rule
from obverse.anonymise.search import MOST_TOGETHER
from obverse.errors import BadParameter, BadSource, Withheld
from obverse.noise.entropy import Keyed


def after(what, values, at=Fraction(0), key="", type_=None):
    column = pa.chunked_array([pa.array(values, type_)])
    return changed(column, Change(what, "x", Fraction(at), key), Keyed("c")).to_pylist()


def test_top_and_bottom_coding_keep_the_rest_and_the_type():
    assert after("top", [1, None, 90, 95], 90) == [1, None, 90, 90]
    assert after("bottom", [1.5, 2.0], Fraction(7, 4)) == [1.75, 2.0]


def test_rounding_to_multiples():
    assert after("round", [12, 13, -13, None], 5) == [10, 15, -15, None]
    assert after("round", [0.1, 0.26], Fraction(1, 4)) == [0.0, 0.25]


def test_masking_and_hiding():
    assert masked("CV1 3BF", 3) == "CV1*"
    assert after("mask", ["CV1 3BF", "CV", None], 3) == ["CV1*", "CV", None]
    assert after("hide", ["a", "a", "b"], 2) == ["a", "a", "*"]


def test_hashing_is_keyed_and_refuses_a_key_that_can_be_tried(tmp_path: Path):
    """[HMAC-SHA256]: another key, another pseudonym; no key file, or a short one, is refused."""
    (tmp_path / "key").write_bytes(b"0123456789abcdef0123")
    (tmp_path / "short").write_bytes(b"1234")
    made = after("hash", ["CV1 3BF", "CV1 3BF", "x"], key=str(tmp_path / "key"))
    assert made[0] == made[1] == hashed("CV1 3BF", b"0123456789abcdef0123") != made[2]
    assert made[0] != hashed("CV1 3BF", b"another key of enough bytes")
    with pytest.raises(BadParameter):
        secret(str(tmp_path / "short"))
    with pytest.raises(BadSource):
        secret(str(tmp_path / "none"))


def test_pram_is_invariant():
    """[GKWW98, section 4]: expected counts are the counts; five standard errors, fixed seed."""
    values = ["a"] * 6000 + ["b"] * 3000 + ["c"] * 1000
    made = Counter(after("pram", values, Fraction(1, 2)))
    for value, count in Counter(values).items():
        share = count / 10_000
        assert abs(made[value] - count) < 5 * (10_000 * share * (1 - share)) ** 0.5
    assert after("pram", values, 1) == values


def test_rank_swapping_keeps_the_values_and_stays_near():
    """[Moo96]: a permutation in which nobody moves by more than the share of ranks."""
    values = list(range(0, 1000, 2))
    made = after("swap", values, Fraction(1, 20))
    assert sorted(made) == values and made != values
    assert max(abs(a - b) for a, b in zip(made, values, strict=True)) <= 2 * 25
    assert after("swap", values, 0) == values


def test_rank_swapping_of_many_rows_takes_no_square_of_time():
    """Fifty thousand rows, a fifth of them near: a second, not minutes; most are swapped, and none too far."""
    values = list(range(50_000))
    made = np.array(after("swap", values, "0.2"))
    assert sorted(made.tolist()) == values and (made != values).mean() > 0.9
    assert np.abs(made - values).max() <= 10_000


def test_a_mask_is_needed_for_numbers():
    with pytest.raises(BadParameter):
        after("round", ["a"], 5)


@pytest.mark.parametrize("how", ["members", "mdav"])
def test_clusters_keep_k(how):
    quasi = ("age", "income") if how == "mdav" else QUASI
    table = sample()
    made = release(table, quasi, k=4, how=how).table
    assert len(made) == 60 and check.smallest(made, quasi) >= 4


def many(n: int) -> pa.Table:
    """Numbers that are nearly all different: so many items as rows."""
    x = np.arange(n, dtype=np.int64)
    a, b = x * 7919 % 104_729, x * 104_729 % 15_485_863
    return pa.table({"a": a, "b": b, "s": np.where(x % 3 > 0, "x", "y")})


@pytest.mark.slow
@pytest.mark.parametrize("how", ["members", "mdav"])
def test_clusters_of_a_hundred_thousand_rows_take_seconds(how):
    """Grown in blocks of rows near each other, they keep k, and l, and lose less than whole columns would."""
    rules = (Rule("distinct", "s", 2),)
    made = release(many(MOST_TOGETHER * 10), ("a", "b"), ("s",), k=5, how=how, rules=rules)
    assert check.keeps(made.table, ("a", "b"), 5, rules, {})
    assert len(made.table) == MOST_TOGETHER * 10
    assert float(dict(made.facts)["information lost (GCP)"]) < 0.02


@pytest.mark.parametrize("k", [2, 10])
def test_members_lose_less_than_cuts_on_adult(k):
    """A tenth less, in sets of categories."""
    quasi = ("age", "education", "occupation", "marital-status", "native-country")
    table = pq.read_table(ADULT).drop_null().select(quasi)
    lost = [
        float(dict(release(table, quasi, k=k, how=how).facts)["information lost (GCP)"])
        for how in ("members", "mondrian")
    ]
    assert lost[0] < 0.9 * lost[1]


def test_microaggregation_keeps_types_and_means():
    """[DT05]: every class has its mean, so the column's mean stays, up to rounding whole numbers."""
    table = sample().set_column(0, "age", pa.array([float(v) for v in sample()["age"].to_pylist()]))
    made = release(table, ("age",), k=5, how="mdav").table
    assert made.schema.field("age").type == pa.float64()
    before, after_ = table["age"].to_pylist(), made["age"].to_pylist()
    assert sum(before) / 60 == pytest.approx(sum(after_) / 60)
    with pytest.raises(Withheld, match="averaged"):
        release(table, ("town",), k=5, how="mdav")


@pytest.mark.parametrize("how", ["mondrian", "lattice", "local"])
def test_a_recoding_is_a_value(how):
    """Saved and read back it is the same; applied to the rows, or as SQL, it gives labels that keep k."""
    table = sample()
    made = release(table, QUASI, k=4, how=how)
    again = Recoding.from_json(made.recoding.to_json())
    assert again == made.recoding
    applied = again.apply(table)
    rows = duckdb.connect().execute(again.sql("table", ("note",))).fetchall()
    columns = [applied[name].to_pylist() for name in (*QUASI, "note")]
    assert sorted(map(str, rows)) == sorted(map(str, zip(*columns, strict=True)))
    if how == "lattice":
        texts = [tuple(str(r[name]) for name in (*QUASI, "note")) for r in made.table.to_pylist()]
        assert sorted(texts) == sorted(zip(*([str(v) for v in c] for c in columns), strict=True))


def test_a_new_row_outside_every_label_is_left_out():
    made = release(sample(), QUASI, k=4, how="lattice")
    strange = pa.table({"age": pa.array([700], pa.int64()), "town": ["Zz"], "sex": ["?"]})
    kept = made.recoding.apply(strange)
    assert len(kept) == all(test.any for tests in made.recoding.tests for test in tests[:1])
    with pytest.raises(BadParameter):
        Recoding.from_json("{}")
    with pytest.raises(BadParameter):
        made.recoding.apply(pa.table({"age": [1]}))
