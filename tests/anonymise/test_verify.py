"""Anybody's table gets a true verdict: the lecture's example, distances, and files from the command line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from obverse.anonymise import check
from obverse.anonymise.files import read
from obverse.anonymise.labels import contains
from obverse.anonymise.measure import histograms, measure
from obverse.anonymise.rules import Rule, figure
from obverse.anonymise.verify import verify
from obverse.cli.main import main
from obverse.data.hierarchy import from_toml, numbers
from obverse.errors import BadParameter

PEOPLE = [
    (190, 80, "60+", 1001),
    (185, 110, "60+", 1001),
    (170, 82, "60+", 1243),
    (170, 70, "40–60", 6732),
    (175, 72, "30–40", 6910),
]
LECTURE = [
    ("180-190", "80+", "60+", "1*"),
    ("180-190", "80+", "60+", "1*"),
    ("170-180", "60-80", "60+", "1*"),
    ("170-180", "60-80", "20-60", "6*"),
    ("170-180", "60-80", "20-60", "6*"),
]
NAMES = ("height", "weight", "age", "postcode")


def table_of(rows) -> pa.Table:
    return pa.table({name: [row[j] for row in rows] for j, name in enumerate(NAMES)})


def test_the_lectures_table_is_not_two_anonymous():
    """k = 1; row 3 stands alone; and 82 is not in 60-80."""
    verdict = verify(table_of(LECTURE), NAMES, original=table_of(PEOPLE), k=2)
    assert verdict.k == 1 and verdict.smallest == (3,)
    assert verdict.untrue == ("row 3: 82 is not in 60-80 (weight)",)


def test_anonymise_gives_the_lecture_a_true_table():
    from tests.anonymise.test_anonymise import release

    table = table_of(PEOPLE).append_column("who", pa.array(list("abcde")))
    made = release(table, NAMES, k=2).table
    before = {row["who"]: row for row in table.to_pylist()}
    assert verify(made, NAMES).k >= 2
    for row in made.to_pylist():
        assert all(contains(str(row[name]), str(before[row["who"]][name])) for name in NAMES)


@pytest.mark.parametrize(
    ("label", "value", "inside"),
    [
        ("[0, 10)", "10", False), ("[0, 10)", "0", True), ("(0, 10]", "0", False), ("0-9", "9", True),
        ("60+", "60", True), ("60+", "59", False), (">60", "60", False), ("<20", "20", False), ("≤20", "20", True),
        ("1*", "1243", True), ("6*", "1243", False), ("*", "anything", True), ("{a, b}", "b", True),
        ("{a, b}", "c", False), ('{"a, b", c}', "a, b", True), ('{c, "a, b"}', "a", False), ('{a, "∅"}', None, False),
        ('{a, ∅}', None, True), ('["1", "2"]', "10", True), ("[1, 2]", "10", False), ('["a, b", c]', "b", True),
        ("20-60", "40–60", True), ("20-60", "40-61", False), ("30+", "[40, 60]", True), ("<40", "30-40", False),
        ('"*"', "*", True), ('"*"', "x", False), ('{"\\"*\\""}', '"*"', True), ("x", "x", True), ("[-5, -3]", "-4", True),
    ],
)  # fmt: skip
def test_labels_mean_what_they_say(label, value, inside):
    assert contains(label, value) is inside


def test_numeric_ladders_contain_their_values():
    """Every step of an automatic ladder of numbers is true of every value under it."""
    for whole, values in ((True, list(range(-30, 100, 7))), (False, [x / 8 for x in range(-80, 81, 7)])):
        ladder = numbers("x", values, min(values), max(values), whole)
        for level in ladder.levels[1:]:
            for leaf, label in zip(ladder.levels[0], level, strict=True):
                assert contains(label, leaf), (label, leaf)


def distance(values, inside, how, ladder=None):
    """The kernel's distance of a class to the values of a whole table."""
    rule = Rule("t", "s", 1, distance=how)
    table = pa.table({"s": pa.array(values)})
    ladders = {"s": ladder} if ladder else {}
    _, _, rules = histograms(table, (rule,), ["s"], ladders, False)
    order = sorted(set(values))
    bars = np.array([inside.count(v) for v in order], float)
    return figure(rules, 0, bars, float(len(inside)))


def test_rank_and_value_distance_differ_on_a_long_tail():
    """{0, 1, 2, 10⁶}: a class of 0 alone is half the ranks away, and a quarter of the range."""
    values = [0, 1, 2, 10**6]
    assert distance(values, [0], "rank") == pytest.approx((1 / 4) * (1 + 2 + 3) / 3)
    assert distance(values, [0], "value") == pytest.approx((1 / 4) * (1 + 2 + 10**6) / 10**6)
    assert distance(values, [0], "equal") == pytest.approx(3 / 4)


def test_the_papers_salaries():
    """[LLV07, section 5.2]: {3k, 4k, 5k} among 3k … 11k is 0.375 away, {6k, 8k, 11k} is 0.167."""
    values = [3, 4, 5, 6, 7, 8, 9, 10, 11]
    assert distance(values, [3, 4, 5], "rank") == pytest.approx(0.375)
    assert distance(values, [6, 8, 11], "rank") == pytest.approx(1 / 6)


def test_tree_distance_is_the_papers_recursion():
    """[LLV07, section 5.3], by the independent checker's recursion."""
    ladder = from_toml("s", {"a": ["x"], "b": ["x"], "c": ["y"], "d": ["y"]})
    values = list("abcd")
    assert distance(values, ["a", "b"], "tree", ladder) == pytest.approx(0.5)
    assert distance(values, ["a", "c"], "tree", ladder) == pytest.approx(0.25)


def test_an_edited_release_is_caught_by_the_independent_checker():
    """The planted leak: one row made special."""
    table = pa.table({"q": ["a", "a", "b"]})
    assert check.smallest(table, ["q"]) == 1 and not check.keeps(table, ["q"], 2, (), {})
    assert measure(table, ["q"]).k == 1


def test_suppressed_rows_are_not_counted():
    table = pa.table({"q": ["a", "a", "**"], "s": ["x", "y", "x"]})
    verdict = verify(table, ["q"], ["s"])
    assert (verdict.k, verdict.suppressed) == (2, 1)


def test_verify_refuses_columns_that_are_not_there():
    with pytest.raises(BadParameter, match="did you mean weight"):
        verify(pa.table({"weight": ["a"]}), ["wieght"])
    with pytest.raises(BadParameter):
        verify(pa.table({"q": ["a"]}), [])


def test_from_the_command_line(tmp_path: Path, capsys):
    """Exit code 0 where the table keeps what was asked, 1 where it does not; the report names the row."""
    file = tmp_path / "public.csv"
    file.write_text("age,illness\n20-29,flu\n20-29,cold\n30,flu\n")
    assert main(["verify", str(file), "--quasi", "age", "--sensitive", "illness", "-k", "2"]) == 1
    told = capsys.readouterr().out
    assert "k = 1" in told and "row 3" in told
    assert main(["verify", str(file), "--quasi", "age", "--sensitive", "illness"]) == 0


def test_texts_that_are_one_number_are_two_values(tmp_path: Path, capsys):
    """007 and 7 are two postcodes, 1 and 1.0 two labels; where each number is written in one way it is a number."""
    (tmp_path / "zip.csv").write_text("zip,age,job\n007,1,a\n7,1.0,b\n")
    for column, k in (("zip", 1), ("age", 1), ("job", 1)):
        assert main(["verify", str(tmp_path / "zip.csv"), "--quasi", column, "-k", "2"]) == k
    assert "k = 1" in capsys.readouterr().out
    table = read(tmp_path / "zip.csv", apart=("zip", "job", "nobody"))
    assert table["zip"].to_pylist() == ["007", "7"] and read(tmp_path / "zip.csv")["zip"].to_pylist() == [
        7,
        7,
    ]
    (tmp_path / "before.csv").write_text("a,b,c\n1.50,2020-01-02,true\n")
    (tmp_path / "after.csv").write_text('a,b,c\n1.5,"[2020-01-01, 2020-01-03]",true\n')
    command = ["verify", str(tmp_path / "after.csv"), "--quasi", "a,b,c"]
    assert main([*command, "--original", str(tmp_path / "before.csv")]) == 0


def test_what_verify_cannot_measure_is_told(tmp_path: Path, capsys, monkeypatch):
    """One line, and never exit code 0 for a promise that was not looked at."""
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text("a,b\nx,1\nx,2\n")
    Path("twice.csv").write_text("a,a\nx,1\nx,2\n")
    for words, said in (
        (["a.csv", "--quasi", "a", "-l", "2"], "need a sensitive column"),
        (["a.csv", "--quasi", "a", "-t", "0.2"], "need a sensitive column"),
        (["a.csv", "--quasi", "a", "-k", "0"], "at least 1"),
        (["twice.csv", "--quasi", "a"], "two columns called a"),
        (["a.csv", "--quasi", "a", "--population", "b.csv"], "b.csv has no column a"),
    ):
        Path("b.csv").write_text("c\n1\n")
        assert main(["verify", *words]) > 1
        assert said in capsys.readouterr().err


def test_anonymise_from_the_command_line(tmp_path: Path, capsys):
    """A CSV and a settings file make a release, a recoding and a page; the receipt is in the ledger."""
    rows = "\n".join(f"{20 + i % 7},{'FM'[i % 2]},{('flu', 'cold', 'none')[i % 3]}" for i in range(60))
    (tmp_path / "people.csv").write_text(f"age,sex,illness\n{rows}\n")
    (tmp_path / "people.toml").write_text(
        '[tables.people]\nsource = "people.csv"\n[tables.people.columns]\n'
        'age = { type = "integer", role = "quasi-identifier" }\n'
        'sex = { type = "text", role = "quasi-identifier" }\n'
        'illness = { type = "text", role = "sensitive" }\n[policy]\nepsilon = 1\n'
    )
    public = tmp_path / "public.csv"
    options = ["-k", "5", "-l", "2", "-o", str(public), "--page", str(tmp_path / "page.md")]
    assert main(["anonymise", str(tmp_path / "people.toml"), *options]) == 0
    assert "no ε" in capsys.readouterr().out or "not about ε"
    assert (
        main(["verify", str(public), "--quasi", "age,sex", "--sensitive", "illness", "-k", "5", "-l", "2"])
        == 0
    )
    assert "curator's eyes only" in (tmp_path / "page.md").read_text()
