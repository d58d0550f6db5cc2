"""A list of everybody with names is held against a release, and who is named is told with what went wrong."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

from obverse.attack.base import Game
from obverse.cli.main import main
from obverse.errors import BadParameter, BadSource
from obverse.evaluate.examine import examine
from obverse.evaluate.held import against
from obverse.evaluate.named import by_name
from obverse.evaluate.risk import assess

DATA = Path(__file__).parent.parent / "fixtures" / "attacks"
SETTINGS = """
[policy]
epsilon = 3

[tables.visits]
source = "visits.csv"

[tables.visits.columns]
voter_id = { type = "integer", role = "identifier" }
zip = { type = "text", role = "quasi-identifier" }
birth_date = { type = "date", role = "quasi-identifier" }
sex = { type = "text", role = "quasi-identifier" }
diagnosis = { type = "text", role = "sensitive" }
"""


@pytest.fixture(scope="module")
def hospital(tmp_path_factory):
    """Visits with whose they are, as the hospital has them; the same without, as it releases them; and the roll."""
    folder = tmp_path_factory.mktemp("hospital")
    text = pa.csv.ConvertOptions(column_types={"zip": pa.string()})
    visits, truth, roll = (
        pa.csv.read_csv(DATA / f"weld_{name}.csv.gz", convert_options=text)
        for name in ("hospital", "truth", "voters")
    )
    whole = visits.join(truth, "visit").sort_by("visit")
    columns = ["zip", "birth_date", "sex", "diagnosis"]
    pa.csv.write_csv(whole.select(["voter_id", *columns]), folder / "visits.csv")
    pa.csv.write_csv(whole.select(columns), folder / "release.csv")
    coarse = whole.select(["sex", "diagnosis"])
    pa.csv.write_csv(coarse, folder / "coarse.csv")
    pa.csv.write_csv(roll, folder / "voters.csv")
    (folder / "visits.toml").write_text(SETTINGS)
    return folder


def _against(folder, file="voters.csv", **more):
    return against(folder / "visits.toml", population=folder / file, **more)


def test_the_report_names_people_by_the_voter_roll(hospital):
    report = examine(hospital / "release.csv", _against(hospital))
    (naming,) = [each for each in report.found.tried if each.evidence.attack == "Naming"]
    got = naming.evidence
    assert got.precision.share == 1 and got.success.share > 0.6 and got.control.right == 0
    assert got.positive.share == 1 and naming.word() == "high"
    assert "names right; of" in naming.note and "taken off the list" in naming.note
    assert "linkage to a list with names" not in dict(report.found.untried)
    assert "a list of people and their zip, birth_date, sex" in report.json(curator=False)
    assert len(naming.wins) == got.right
    page = report.html(curator=True)
    assert "by name" in page and "The one person a row allows in voters.csv" in page


def test_a_release_without_dates_and_places_names_nobody(hospital):
    release = pa.csv.read_csv(hospital / "coarse.csv")
    (naming,) = [
        each for each in assess(release, _against(hospital)).tried if each.evidence.attack == "Naming"
    ]
    assert naming.evidence.claims == 0 and naming.word() == "low"


def test_whose_rows_they_are_must_be_known_to_judge_names(hospital):
    """Without an identifier shared with the list the page says how many would be named, and why not how rightly."""
    release = pa.csv.read_csv(
        hospital / "release.csv", convert_options=pa.csv.ConvertOptions(column_types={"zip": pa.string()})
    )
    known = against(
        hospital / "release.csv",
        quasi=("birth_date", "sex"),
        population=hospital / "voters.csv",
        person="voter_id",
    )
    said = dict(assess(release, known).untried)["linkage to a list with names"]
    assert "rows fit exactly one person in voters.csv" in said and "need their voter_id too" in said


def test_a_release_that_holds_an_identifier_is_stopped(hospital):
    verdict, rule = examine(hospital / "visits.csv", _against(hospital)).found.verdict
    assert verdict == "Do not release" and "holds voter_id, which says who people are" in rule


def test_a_misspelt_list_names_more_people_when_it_is_read_as_one(tmp_path):
    """A third of the streets on the list have two letters swapped."""
    drawn = np.random.default_rng(8)
    streets = ["".join(map(str, word)) for word in drawn.choice(list("abcdefghij"), (300, 8))]
    chosen = drawn.integers(0, 300, 1500)
    table = pa.table(
        {
            "id": range(1500),
            "street": [streets[i] for i in chosen],
            "age": drawn.integers(18, 90, 1500),
            "ill": drawn.integers(0, 9, 1500),
        }
    )
    wrong = [
        s[:2] + s[3] + s[2] + s[4:] if i % 3 == 0 else s for i, s in enumerate(table["street"].to_pylist())
    ]
    pa.csv.write_csv(table.slice(0, 800), tmp_path / "people.csv")
    pa.csv.write_csv(
        pa.table({"id": table["id"], "street": wrong, "age": table["age"]}), tmp_path / "list.csv"
    )
    asked = {"quasi": ("street", "age"), "population": tmp_path / "list.csv", "person": "id"}
    strict, lenient = (
        by_name(
            table.slice(0, 800).select(["street", "age", "ill"]),
            against(tmp_path / "people.csv", **asked, misspelt=misspelt),
            Game("s"),
            800,
            100,
        ).evidence
        for misspelt in (False, True)
    )
    assert lenient.right > 1.3 * strict.right and lenient.precision.share > 0.9
    assert lenient.attack == "FuzzyLinkage" and lenient.positive.share > 0.9
    with pytest.raises(BadParameter, match="which list is misspelt"):
        against(tmp_path / "people.csv", misspelt=True)


def test_the_command_takes_a_list(hospital, tmp_path, capsys):
    given = ["attack", str(hospital / "coarse.csv"), "--against", str(hospital / "visits.toml")]
    listed = ["--population", str(hospital / "voters.csv"), "--html", str(tmp_path / "o.html")]
    assert main([*given, *listed]) == 0
    assert "voters.csv" in (tmp_path / "o.html").read_text()
    assert main([*given, "--person", "voter_id", "--html", str(tmp_path / "o.html")]) != 0
    assert "names people on which list? Say it with --population" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("voter_id,sex\n1,F\n1,M\n", "the list contradicts itself: one voter_id has different values"),
        ("voter,sex\n1,F\n", "list.csv has no column voter_id; it has voter, sex"),
        ("voter_id,height\n1,180\n", "list.csv shares no column by which people are known with the release"),
        ("voter_id,sex\n", "list.csv is empty"),
        ("voter_id,birth_date\n1,long ago\n", "birth_date holds numbers in one table, and in another text"),
    ],
)
def test_a_list_that_is_none_is_refused_in_a_sentence(hospital, tmp_path, text, said):
    (tmp_path / "list.csv").write_text(text)
    release = pa.csv.read_csv(hospital / "release.csv").slice(0, 200)
    with pytest.raises((BadSource, BadParameter), match=said):
        assess(release, against(hospital / "visits.toml", population=tmp_path / "list.csv"))
