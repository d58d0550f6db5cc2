"""Every model and every transformation is reached from the command line; a typo is told, and nothing half-done is left."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pyarrow.csv as pc
import pytest

from obverse.anonymise.recode import Recoding
from obverse.cli.main import main

SETTINGS = """
[tables.people]
source = "people.csv"
[tables.people.columns]
age = { type = "integer", role = "quasi-identifier", low = 0, high = 99 }
town = { type = "text", role = "quasi-identifier" }
illness = { type = "text", role = "sensitive", categories = ["flu", "cold", "gout", "none"] }
income = { type = "integer", role = "sensitive" }
name = { type = "text", role = "identifier" }
postcode = { type = "text" }
[policy]
epsilon = 2
delta = 0.01
filter = "pure"
"""
TREE = "flu,sick,*\ncold,sick,*\ngout,sick,*\nnone,well,*\n"
ILLNESSES = ("flu", "cold", "gout", "none")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    x = [(i * 7919) % 1009 for i in range(240)]
    rows = [
        f"{20 + v % 50},{('Aa', 'Bb', 'Cc')[v % 3]},{ILLNESSES[v % 4]},{v * 10},n{i},CV1 {v % 10}BF"
        for i, v in enumerate(x)
    ]
    (tmp_path / "people.csv").write_text("\n".join(["age,town,illness,income,name,postcode", *rows, ""]))
    (tmp_path / "people.toml").write_text(SETTINGS)
    (tmp_path / "trees").mkdir()
    (tmp_path / "trees" / "illness.csv").write_text(TREE)
    (tmp_path / "key").write_text("0123456789abcdef0123")
    return tmp_path


RULES = [
    "distinct illness 3", "entropy illness 2.5", "recursive illness 2 c=3", "alpha illness 0.6",
    "t illness 0.4 distance=equal", "t income 0.4 distance=rank", "t income 0.4 distance=value",
    "t illness 0.4 distance=tree", "distinct illness 2 clusters=1", "beta illness 2", "enhanced-beta illness 2",
    "delta illness 3",
]  # fmt: skip


@pytest.mark.parametrize("rule", RULES)
def test_every_model_leaves_and_is_verified(rule, folder, capsys):
    """What `anonymise` promises in its receipt, `verify` finds in the file."""
    words, column = rule.split(), rule.split()[1]
    options = ["--sensitive", column, "--rule", *words, "--hierarchies", "trees"]
    assert main(["anonymise", "people.toml", "-k", "4", *options, "-o", "public.csv"]) == 0
    told = capsys.readouterr().out
    assert f"{words[0]} of {column}" in told
    assert "distance=" not in rule or f"{rule.rpartition('distance=')[2]} distance" in told
    asked = ["verify", "public.csv", "--quasi", "age,town", "-k", "4"]
    assert main([*asked, *options]) == 0
    assert main([*asked, *options, "--rule", "distinct", column, "1000"]) == 1
    assert "NOT KEPT" in capsys.readouterr().out


CHANGES = {
    "top age 40": lambda row: int(row["age"]) <= 40,
    "bottom age 30": lambda row: int(row["age"]) >= 30,
    "round income 500": lambda row: int(row["income"]) % 500 == 0,
    "mask postcode 3": lambda row: row["postcode"] == "CV1*",
    "hide postcode 1000": lambda row: row["postcode"] == "*",
    "pram illness 0.5": lambda row: row["illness"] in ILLNESSES,
    "swap income 0.1": lambda row: int(row["income"]) % 10 == 0,
    "hash name key=key": lambda row: len(row["name"]) == 64,
}


@pytest.mark.parametrize("words", CHANGES)
def test_every_change_to_a_column(words, folder):
    quasi = ["--quasi", "town", "-k", "2", "-o", "public.csv"]
    assert main(["anonymise", "people.toml", *quasi, "--change", *words.split()]) == 0
    rows = pc.read_csv("public.csv").to_pylist()
    assert len(rows) == 240 and all(CHANGES[words](row) for row in rows)


WAYS = {
    "relaxed": ["--relaxed"],
    "target": ["--target", "town", "--quasi", "age", "--care", "2"],
    "weight": ["--weight", "age=3"],
    "in order": ["--in-order"],
    "apart": ["-l", "2", "--apart"],
    "lattice": ["--how", "lattice", "--suppress", "0.05"],
    "local": ["--how", "local"],
    "members": ["--how", "members"],
    "mdav": ["--how", "mdav", "--quasi", "age"],
    "range": ["--labels", "range"],
    "k-map": ["-k", "1", "--population", "people.csv", "--k-map", "5"],
    "presence": ["--population", "people.csv", "--presence", "0", "1"],
}


@pytest.mark.parametrize("way", WAYS)
def test_every_way(way, folder):
    options = WAYS[way]
    assert main(["anonymise", "people.toml", *options, "-o", "public.parquet"]) == 0
    quasi = options[options.index("--quasi") + 1] if "--quasi" in options else "age,town"
    k = "1" if way == "k-map" else "5"
    assert main(["verify", "public.parquet", "--quasi", quasi, "-k", k]) == 0


def test_a_recoding_is_saved_as_json_or_as_sql(folder):
    """The SELECT gives the same rows as the release, in an engine."""
    command = ["anonymise", "people.toml", "-k", "4", "--how", "lattice", "-o", "public.csv", "--recoding"]
    assert main([*command, "done.json"]) == 0 and main([*command, "done.sql"]) == 0
    assert Recoding.from_json(Path("done.json").read_text()).columns == ("age", "town")
    people = pc.read_csv("people.csv")
    said = Path("done.sql").read_text()
    made = duckdb.sql(said).fetchall() if people.num_rows else []
    public = pc.read_csv("public.csv").select(["age", "town", "illness", "income", "postcode"])
    assert sorted(map(str, made)) == sorted(str(tuple(row.values())) for row in public.to_pylist())


def test_what_a_stranger_types_wrong_is_told(folder, capsys):
    """One line that says what would work; no file, and no exit code 0."""
    for wrong, said in (
        (["--rule", "entropie", "illness", "3"], "there are distinct, entropy"),
        (["--rule", "entropy", "illness"], "entropy illness 3"),
        (["--rule", "t", "illness", "0.2", "distnace=tree"], "c=, distance=, clusters="),
        (["--rule", "t", "illness", "x"], "needs a number"),
        (["--sensitive", "ilness"], "did you mean illness?"),
        (["--quasi", "aeg"], "did you mean age?"),
        (["--change", "top", "age"], "top age 90"),
        (["--change", "tops", "age", "3"], "there are top, bottom"),
        (["--change", "top", "town", "3"], "no numbers to top"),
        (["--change", "mask", "postcod", "3"], "did you mean postcode?"),
        (["--change", "hash", "name", "nokey"], "key="),
        (["--weight", "age"], "needs a number"),
        (["--hierarchies", "forest"], "no folder"),
        (["--epsilon", "1"], "--step COLUMN=N"),
        (["--onto", "public.csv"], "--apply"),
        (["--apply", "people.toml"], "no saved recoding"),
        (["--table", "peple"], "there is no table peple"),
        (["--relaxed", "--recoding", "done.sql"], "no SELECT can"),
        (["-k", "99999999999999999999"], "between 1 and 1,000,000,000"),
        (["--population", "people.csv", "--k-map", "0"], "between 1 and"),
        (["--sensitive", "illness", "-l", "inf"], "between 1 and"),
        (["--sensitive", "illness", "-l", "1e12"], "between 1 and"),
        (["--sensitive", "name", "-l", "2"], "name is an identifier"),
        (["--target", "name"], "name is an identifier"),
        (["--weight", "age=1e400"], "needs a number"),
        (["--rule", "beta", "illness", "1e400"], "needs a number"),
        (["--change", "top", "age", "1/3"], "needs a whole number"),
        (["--page", "nowhere/page.md"], "there is no folder nowhere"),
        (["--recoding", "nowhere/done.json"], "there is no folder nowhere"),
        (["--recoding", "trees"], "no file that could be written"),
    ):
        assert main(["anonymise", "people.toml", *wrong, "-o", "public.csv"]) > 1, wrong
        error = capsys.readouterr().err
        assert error.startswith("obverse: ") and said in error, (wrong, error)
        assert not Path("public.csv").exists()


def test_a_table_with_an_epsilon_is_charged(folder, capsys):
    """[BKP18]: only the columns with a step leave, and the ledger is charged."""
    command = ["anonymise", "people.toml", "--epsilon", "1.5", "--delta", "1/1000", "--step", "age=5", "-o"]
    assert main([*command, "public.csv"]) == 0
    assert "ε = 1.5" in capsys.readouterr().out
    assert Path("public.csv").read_text().splitlines()[0].strip('"') == "age"
    assert main(["budget", "--settings", "people.toml"]) == 0
    assert "ε = 0.5" in capsys.readouterr().out
    assert main(["anonymise", "people.toml", "--epsilon", "1", "--step", "age=5", "-o", "more.csv"]) == 6


def test_verify_says_who_is_alone_in_the_population(folder, capsys):
    options = ["--quasi", "age,town", "--people", "1000", "--special", "2", "--population", "people.csv"]
    assert main(["verify", "people.csv", *options]) == 0
    told = capsys.readouterr().out
    assert all(word in told for word in ("Dankar", "Pitman", "Zayatz", "SNB", "k-map", "δ-presence"))


def test_names_with_a_comma_are_quoted(folder, capsys):
    """Column names are told apart by commas; a name that holds one stands in quotes."""
    file = folder / "odd.csv"
    file.write_text('"a, b",c\n1,x\n1,y\n')
    assert main(["verify", str(file), "--quasi", '"a, b"', "-k", "2"]) == 0
