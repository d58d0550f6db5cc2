"""What cannot be reached is refused for free where the schema says so; else the curator alone is told why."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from tests.anonymise.test_anonymise import QUASI, release, sample

from obverse.anonymise.anonymise import Anonymise
from obverse.anonymise.rules import Rule
from obverse.cli.demo import unpack
from obverse.cli.main import main
from obverse.data.schema import Column, Role, Schema, Type
from obverse.errors import BadParameter, BadQuestion, Withheld
from obverse.release import Terms

SCHEMA = Schema(
    "people",
    "people.csv",
    (
        Column("age", Type.INTEGER, Role.QUASI),
        Column("job", Type.TEXT, Role.QUASI),
        Column("salary-class", Type.TEXT, Role.SENSITIVE, categories=("<=50K", ">50K")),
    ),
)


def plan(**options):
    return Anonymise("people", **options).plan({"people": SCHEMA}, Terms())


def test_what_is_named_sensitive_is_no_quasi_identifier():
    """And the other way round; only naming a column as both is refused."""
    assert plan(sensitive=("job",)).quasi == ("age",)
    assert plan(quasi=("age", "salary-class")).sensitive == ()
    with pytest.raises(BadParameter, match="at once"):
        plan(quasi=("age", "job"), sensitive=("job",))


def test_more_diversity_than_declared_categories_is_refused_for_free():
    """The schema alone says so; nothing is charged."""
    with pytest.raises(BadParameter, match="salary-class has 2 declared categories: l is at most 2"):
        plan(l=3)
    assert plan(l=2).rules == (Rule("distinct", "salary-class", 2),)
    hopeless = (
        Rule("entropy", "salary-class", 2.5),
        Rule("recursive", "salary-class", 3, c=2),
        Rule("alpha", "salary-class", 0.4),
        Rule("t", "salary-class", 0.2, distance="value"),
        Rule("t", "salary-class", 0.2, distance="tree"),
        Rule("distinct", "salary-class", 2, clusters=1),
    )
    for rule in hopeless:
        with pytest.raises(BadParameter):
            plan(rules=(rule,))
    with pytest.raises(BadQuestion, match="name it as sensitive"):
        plan(rules=(Rule("distinct", "job", 2),))


def test_the_curator_is_told_how_far_it_got_and_the_error_itself_quotes_no_row():
    """Figures of one class of all rows, the rarest values, and the rows that agree with too few."""
    table = sample(8).slice(0, 7)
    with pytest.raises(Withheld) as refused:
        release(table, QUASI, ("illness",), k=9, l=5)
    assert "k: 7 reached, 9 asked: IN THE WAY" in refused.value.page
    assert "distinct of illness: 4 reached, 5 asked: IN THE WAY" in refused.value.page
    assert "gout" in refused.value.page and "gout" not in str(refused.value)
    with pytest.raises(Withheld) as refused:
        release(sample(), QUASI, ("illness", "income"), k=2, l=2)
    assert "income: " in refused.value.page and "see `apart`" in refused.value.page


def test_suppression_may_save_what_all_rows_together_cannot_keep():
    """The homogeneous class goes; but never all rows: that is no release."""
    table = pa.table({"q": list("aabbbb"), "s": ["x", "y", "x", "x", "x", "x"]})
    rule = Rule("alpha", "s", 0.5)
    made = release(table, ("q",), ("s",), k=2, rules=(rule,), how="lattice", suppress=0.7)
    assert made.table["q"].to_pylist() == ["a", "a"]
    for share in (0.5, 1.0):
        with pytest.raises(Withheld, match="suppressed"):
            release(table.slice(2), ("q",), ("s",), k=2, rules=(rule,), how="lattice", suppress=share)


def test_a_population_that_is_too_small_is_told(tmp_path: Path):
    import pyarrow.parquet as pq

    pq.write_table(sample(), tmp_path / "town.parquet")
    with pytest.raises(Withheld) as refused:
        release(sample(), QUASI, k=2, k_map=1000, population=str(tmp_path / "town.parquet"))
    assert "1000 asked" in refused.value.page


def test_the_command_tells_the_curator_only(tmp_path: Path, monkeypatch, capsys):
    """An exit code, no file, the page on stderr for the curator; nothing of it for an analyst or in the ledger."""
    unpack(tmp_path)
    monkeypatch.chdir(tmp_path)
    words = ("anonymise", "census.toml", "-k", "40000", "-o", "x.csv")
    assert main(words) == Withheld.exit_code
    assert "k: 32561 reached, 40000 asked" in capsys.readouterr().err
    assert main((*words, "--account", "research")) != 0
    assert "32561" not in capsys.readouterr().err
    assert not Path("x.csv").exists()
    assert all(b"32561" not in file.read_bytes() for file in Path().glob("census.ledger*"))
    assert (
        main(("anonymise", "census.toml", "-k", "5", "-l", "3", "--sensitive", "salary-class", "-o", "x"))
        == 2
    )
    assert "l is at most 2" in capsys.readouterr().err
