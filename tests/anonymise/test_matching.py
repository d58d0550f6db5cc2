"""What follows from labels for somebody who knows people; who stands out; and two releases together."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.anonymise.test_anonymise import QUASI, release, sample

from obverse.anonymise.matching import certain, k_map, presence, same_company
from obverse.anonymise.uniques import population_uniques, suda
from obverse.errors import BadParameter, Withheld
from obverse.noise.entropy import Keyed
from obverse.noise.exact import below

RELEASE = pa.table({"age": ["20-29", "20-29", "30-39"], "s": ["a", "b", "a"]})
TOWN = pa.table({"age": pa.array([20, 25, 29, 30, 31, 50], pa.int64())})


def test_k_map_counts_the_population():
    """[Swe02, section 5]: one row of 30-39 has two people it may be."""
    assert k_map(RELEASE, TOWN, ["age"]) == 2


def test_delta_presence():
    """[NAC07, Definition 4]: 2 of 3 in their twenties, 1 of 2 in their thirties, nobody of fifty."""
    assert presence(RELEASE, TOWN, ["age"]) == (0.0, pytest.approx(2 / 3))


def test_two_diverse_releases_betray_together_what_neither_does_alone():
    """[XT07, section 1]"""
    people = pa.table({"age": pa.array([20, 25, 30], pa.int64())})
    first = pa.table({"age": ["20-25", "20-25", "30"], "s": ["flu", "cold", "gout"], "who": ["p", "q", "r"]})
    second = pa.table({"age": ["20", "25-30", "25-30"], "s": ["flu", "cold", "gout"], "who": ["p", "q", "r"]})
    wide = pa.table({"age": ["20-30"] * 3, "s": ["flu", "cold", "gout"], "who": ["p", "q", "r"]})
    assert certain(people, [wide], ["age"], "s") == (0,)
    assert certain(people, [first, second], ["age"], "s") == (1, 3)
    assert certain(people, [wide, wide], ["age"], "s") == (0, 0)
    assert same_company(wide, wide, ["age"], "s", "who") == 0
    assert same_company(first, second, ["age"], "s", "who") == 3


def test_a_release_hides_in_its_population(tmp_path: Path):
    """k-map: everybody in a larger table fits, so classes may be smaller than k people of the release."""
    people = pa.concat_tables([sample(), sample(60, 3), sample(60, 5)])
    pq.write_table(people, tmp_path / "town.parquet")
    options = {"population": str(tmp_path / "town.parquet"), "k_map": 6}
    made = release(sample(), QUASI, k=1, presence=(0.0, 0.9), **options).table
    assert k_map(made, people, QUASI) >= 6 and presence(made, people, QUASI)[1] <= 0.9
    with pytest.raises(BadParameter):
        release(sample(), QUASI, k_map=3)


def test_a_second_release_that_betrays_is_withheld_or_told_to_the_curator(tmp_path: Path):
    """Two releases cut along different columns make secrets certain; `bear` says how many the curator accepts."""
    first = release(sample(), ("age",), ("illness",), k=3)
    pq.write_table(first.table.select(["age", "illness"]), tmp_path / "first.parquet")
    options = {"k": 4, "how": "lattice", "labels": "hierarchy"}
    earlier = (str(tmp_path / "first.parquet"),)
    told = release(sample(), ("age",), ("illness",), earlier=earlier, bear=1.0, **options)
    assert "with earlier releases" in told.page.lower()
    counts = certain(sample(), [pq.read_table(earlier[0]), told.table], ["age"], "illness")
    if counts[1] > counts[0]:
        with pytest.raises(Withheld):
            release(sample(), ("age",), ("illness",), earlier=earlier, **options)


def test_a_file_that_lacks_a_column_is_told(tmp_path: Path):
    file = str(tmp_path / "other.parquet")
    pq.write_table(sample().drop_columns(["town"]), file)
    for options in ({"population": file, "k_map": 2}, {"earlier": (file,)}):
        with pytest.raises(Withheld, match="has no column town"):
            release(sample(), QUASI, ("illness",), k=3, **options)


def population(size: int, kinds: int) -> pa.Table:
    """People whose kind is geometric: a few large classes and many small ones."""
    entropy, values = Keyed("people"), []
    for _ in range(size):
        x = below(kinds, entropy)
        values.append(x * x // kinds)
    return pa.table({"q": pa.array(values, pa.int64())})


@pytest.mark.parametrize("share", [0.05, 0.3])
def test_population_uniqueness_is_estimated(share):
    """Within a factor of two of the truth, or 1 % of the sample, for a population that follows no model exactly."""
    people = population(20_000, 30_000)
    sample = people.slice(0, int(share * len(people)))
    found = population_uniques(sample, ["q"], len(people))
    counts: dict[int, int] = {}
    for value in people["q"].to_pylist():
        counts[value] = counts.get(value, 0) + 1
    truth = sum(1 for value in sample["q"].to_pylist() if counts[value] == 1)
    assert 0 < found.dankar(share) <= found.sample
    slack = 0.1 * len(sample)
    assert truth / 3 - slack <= found.dankar(share) <= 3 * truth + slack


def test_the_whole_population_is_no_estimate():
    table = pa.table({"q": ["a", "a", "b"]})
    assert population_uniques(table, ["q"], 3).dankar(1.0) == 1
    with pytest.raises(BadParameter):
        population_uniques(table, ["q"], 2)


def test_suda_finds_minimal_sample_uniques():
    """[EMF02, section 2]: no set contains another; a single value that is unique weighs most."""
    table = pa.table({"a": ["x", "x", "y", "y"], "b": ["1", "2", "1", "1"], "c": ["p", "p", "p", "q"]})
    found = suda(table, ["a", "b", "c"], most=2)
    assert found.sets[0] == (("a", "b"),)
    assert found.sets[1] == (("b",),)
    assert found.sets[2] == (("a", "c"),) or ("a", "c") in found.sets[2]
    assert found.sets[3] == (("c",),)
    assert found.score[1] > found.score[0] > 0
    for sets in found.sets:
        assert not any(set(a) < set(b) for a in sets for b in sets)
    with pytest.raises(BadParameter):
        suda(table, ["a"], most=2)


def test_two_releases_of_adult_make_people_certain(tmp_path: Path):
    """Each is k = 5 and l = 3 and tells nobody's occupation; who has both knows some. The second is withheld."""
    import pyarrow.csv as pc

    from obverse.cli.demo import unpack

    unpack(tmp_path)
    quasi = ("age", "workclass", "education", "marital-status", "race")
    options = pc.ConvertOptions(strings_can_be_null=True, include_columns=[*quasi, "occupation"])
    adult = pc.read_csv(tmp_path / "adult.csv", convert_options=options)
    first = release(adult, quasi, ("occupation",), k=5, l=3).table
    pq.write_table(first, tmp_path / "first.parquet")
    again = {"k": 5, "l": 3, "weights": (("age", 5.0),), "earlier": (str(tmp_path / "first.parquet"),)}
    with pytest.raises(Withheld, match="becomes certain") as refused:
        release(adult, quasi, ("occupation",), **again)
    second = release(adult, quasi, ("occupation",), bear=1.0, **again).table
    counts = certain(adult, [first, second], quasi, "occupation")
    assert counts[0] == 0 and 0.015 <= counts[1] / len(adult) <= 0.04
    assert f"for {counts[1]} with it" in refused.value.page
