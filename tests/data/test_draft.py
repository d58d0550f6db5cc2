"""A draft reads as settings, guesses what is there, marks every guess, and is not used before the curator agrees."""

from pathlib import Path

import pytest

from obverse.data.draft import MARK, draft
from obverse.data.schema import Role, Type
from obverse.data.settings import load
from obverse.errors import BadSchema, BadSource

CSV = """\
patient_id,age,größe,sex,"the ""Job"", x",born,seen,smokes,income,note
1,30,1.7,F,a,1990-01-31,2024-01-02 10:00:00,true,-1200.5,
1,31,1.7,F,a,1990-01-31,2024-01-03 10:00:00,false,800,?
2,?,1.82,M,b,1971-05-01,2024-02-03 10:00:00,true,52000.25,
2,64,1.8,M,b,1971-05-01,2024-02-04 10:00:00,true,0,
"""


@pytest.fixture
def text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("visits.csv").write_text(CSV * 1, encoding="utf-8")
    return draft(["visits.csv"])


def test_a_draft_is_refused_until_its_line_is_deleted(text: str) -> None:
    Path("clinic.toml").write_text(text, encoding="utf-8")
    with pytest.raises(BadSchema, match=r"clinic.toml:4: is still a draft"):
        load("clinic.toml")
    Path("clinic.toml").write_text(text.replace("draft = true\n", ""), encoding="utf-8")
    load("clinic.toml")


def test_types_roles_bounds_and_the_unit_are_guessed(text: str) -> None:
    Path("clinic.toml").write_text(text.replace("draft = true\n", ""), encoding="utf-8")
    visits = load("clinic.toml").tables["visits"]
    assert visits.unit.column == "patient_id" and visits.unit.rows == 2
    assert visits.missing == ("?",)
    found = {column.name: column for column in visits.columns}
    assert [column.type for column in visits.columns] == [
        Type.INTEGER, Type.INTEGER, Type.REAL, Type.TEXT, Type.TEXT, Type.DATE, Type.TIMESTAMP, Type.BOOLEAN, Type.REAL, Type.TEXT,
    ]  # fmt: skip
    assert found["age"].role is Role.QUASI and (found["age"].low, found["age"].high) == (0, 100)
    assert found["income"].role is Role.SENSITIVE and (found["income"].low, found["income"].high) == (
        -2000,
        100000,
    )
    assert found["patient_id"].low is None
    assert str(found["born"].low) == "1971-01-01" and str(found["seen"].high) == "2024-12-31 23:59:59"


def test_every_line_that_rows_decided_is_marked(text: str) -> None:
    guessed = [line for line in text.splitlines() if "{ type" in line or line.startswith("missing")]
    assert len(guessed) == 11 and all(MARK in line for line in guessed)
    assert "unit = { column" in text and MARK in next(
        line for line in text.splitlines() if line.startswith("unit")
    )


def test_categories_of_a_column_and_never_of_an_identifier(tmp_path: Path) -> None:
    rows = "".join(
        f"{name},{sex},{number}\n" for number in range(40) for name, sex in [("ann", "F"), ("bob", "M")]
    )
    (tmp_path / "p.csv").write_text("name,sex,code\n" + rows)
    text = draft([str(tmp_path / "p.csv")])
    assert 'categories = ["F", "M"]' in text
    assert "ann" not in text


def test_other_forms_and_several_tables(tmp_path: Path) -> None:
    import duckdb

    with duckdb.connect(str(tmp_path / "c.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE people AS SELECT 1::UTINYINT AS a, 2.5::DECIMAL(5, 2) AS b, now() AS c, NULL AS d"
        )
        connection.execute(f"COPY people TO '{tmp_path}/more people.parquet'")
    text = draft([f"{tmp_path}/c.duckdb#people", f"{tmp_path}/more people.parquet"])
    (tmp_path / "c.toml").write_text(text.replace("draft = true\n", ""), encoding="utf-8")
    tables = load(tmp_path / "c.toml").tables
    assert list(tables) == ["people", "more_people"]
    assert [column.type for column in tables["people"].columns][:3] == [
        Type.INTEGER,
        Type.REAL,
        Type.TIMESTAMP,
    ]


def test_two_tables_of_one_name_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("a\n1\n")
    text = draft([str(tmp_path / "people.csv")] * 2)
    assert "[tables.people]" in text and "[tables.people_2]" in text


def test_an_empty_table_has_a_draft(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("a,b\n")
    assert 'a = { type = "text" }' in draft([str(tmp_path / "p.csv")])


@pytest.mark.parametrize("content", ["a,b\n1,Rumpelstiltskin\n3\n", 'a,b\n1,"Rumpelstiltskin\n'])
def test_a_broken_file_is_refused_and_not_quoted(tmp_path: Path, content: str) -> None:
    (tmp_path / "p.csv").write_text(content)
    with pytest.raises(BadSource, match=r"p.csv:[23]: is no line of this CSV") as refusal:
        draft([str(tmp_path / "p.csv")])
    assert "Rumpel" not in str(refusal.value)
