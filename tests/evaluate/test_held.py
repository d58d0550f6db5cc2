"""What is held against a release is read as declared, and refused in a sentence where it cannot be."""

import datetime

import pyarrow as pa
import pyarrow.parquet
import pytest

from obverse.data.schema import Column, Role, Schema, Type
from obverse.errors import BadParameter, BadSource
from obverse.evaluate.dates import span
from obverse.evaluate.examine import examine
from obverse.evaluate.held import against, fingerprint, held, rows

from .conftest import QUASI, SENSITIVE, SETTINGS


def test_a_settings_file_says_by_what_people_are_known(files):
    settings = files["people"].parent / "people.toml"
    settings.write_text(SETTINGS)
    known = against(settings, control=files["others"])
    assert (known.quasi, known.sensitive) == (QUASI, SENSITIVE)
    assert known.people.column_names == ["age", "town", "ill"] == known.control.column_names
    with pytest.raises(BadParameter, match="--table people"):
        against(settings, table="nobody")


def test_a_plain_table_is_told_on_the_command_line(files):
    known = against(files["people"], quasi=QUASI, sensitive=SENSITIVE)
    assert (known.quasi, known.sensitive, known.name) == (QUASI, SENSITIVE, "people.csv")


def test_text_stays_text(tmp_path):
    """A postcode with a leading nought in the people is no number in the release."""
    (tmp_path / "r.csv").write_text("zip\n02138\n02139\n")
    like = pa.table({"zip": ["02138"]})
    assert rows(tmp_path / "r.csv", like)["zip"].to_pylist() == ["02138", "02139"]


def test_quoted_dates_are_dates_and_labels_of_dates_are_spans(tmp_path):
    like = pa.table({"born": [datetime.date(1950, 1, 2)]})
    (tmp_path / "r.csv").write_text('"born"\n"1960-05-06"\n')
    assert rows(tmp_path / "r.csv", like)["born"].to_pylist() == [datetime.date(1960, 5, 6)]
    (tmp_path / "r.csv").write_text('"born"\n"1960-05-06"\n"1960s"\n')
    assert rows(tmp_path / "r.csv", like)["born"].to_pylist() == [span("1960-05-06"), span("1960s")]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"a,b\n", "is empty"),
        (b"a,a\n1,2\n", "names a column twice"),
        (b"a,b\n1\n", "cannot be read"),
        (b"\xff\xfe,b\n1,2\n", "cannot be read"),
    ],
)
def test_a_file_that_is_no_table_is_refused(tmp_path, text, said):
    (tmp_path / "r.csv").write_bytes(text)
    with pytest.raises(BadSource, match=said):
        rows(tmp_path / "r.csv")
    with pytest.raises(BadSource, match="no such file"):
        rows(tmp_path / "none.csv")


def test_a_list_that_contradicts_itself_is_refused_without_naming_anybody():
    schema = Schema(
        "roll",
        "roll.csv",
        (Column("voter", Type.INTEGER, Role.IDENTIFIER), Column("age", Type.INTEGER, Role.QUASI)),
    )
    with pytest.raises(BadSource, match="roll contradicts itself: one voter"):
        held(schema, pa.table({"voter": [1, 1, 2], "age": [30, 31, 40]}))
    twice = held(schema, pa.table({"voter": [1, 1, 2], "age": [30, 30, 40]}))
    assert twice.people.column_names == ["age"]


def test_a_file_is_known_again_by_its_fingerprint(tmp_path):
    (tmp_path / "r.csv").write_bytes(b"abc")
    assert fingerprint(tmp_path / "r.csv").startswith("ba7816bf")


def test_a_number_that_is_none_is_missing_and_one_without_end_is_refused(tmp_path):
    """Such cells ended in a trace when fixes were looked for."""
    file = tmp_path / "odd.parquet"
    pa.parquet.write_table(pa.table({"pay": [1.0, float("nan"), 3.0]}), file)
    assert rows(file)["pay"].to_pylist() == [1.0, None, 3.0]
    pa.parquet.write_table(pa.table({"pay": [1.0, float("inf")]}), file)
    with pytest.raises(BadSource, match="pay holds infinite numbers"):
        rows(file)


def test_columns_of_lists_are_refused_in_a_sentence(files, tmp_path):
    people = rows(files["people"])
    listed = people.set_column(2, "income", pa.array([[n] for n in range(people.num_rows)]))
    pa.parquet.write_table(listed, tmp_path / "release.parquet")
    with pytest.raises(BadSource, match="income is list<"):
        examine(tmp_path / "release.parquet", against(files["people"]))
