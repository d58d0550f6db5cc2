"""A settings file says exactly what is declared, or is refused at the line to mend."""

from datetime import date, datetime
from fractions import Fraction
from pathlib import Path

import pytest

from obverse.data.schema import Column, Neighbours, Role, Schema, Type, Unit
from obverse.data.settings import Settings, load
from obverse.errors import BadQuestion, BadSchema

WHOLE = """\
# the clinic, as the public knows it
ledger = "spent.ledger"

[tables.visits]
source = "clinic.duckdb#visits"
unit = { column = "patient_id", rows = 8, groups = 3, rank = "shuffled" }
neighbours = "replace-one"

[tables.visits.columns]
patient_id = { type = "integer", references = "people.id" }
age = { type = "integer", role = "quasi-identifier", low = 0, high = 120 }
sex = { type = "text", categories = [
  "Female",  # not ] the end
  "Male",
] }
income = { type = "real", low = 0.1, high = 250_000, role = "sensitive" }
seen = { type = "timestamp", low = 2020-01-01T00:00:00, high = 2025-01-01T00:00:00 }
smokes = { type = "boolean" }
place = { type = "text", hierarchy = [["Graz", "Austria"], ["Bern", "Switzerland"]] }
trade = { type = "text", hierarchy = "trade.csv" }

[tables.people]
source = "people.csv"
public = true
columns.id.type = "integer"
columns.born = { type = "date", low = 1900-01-01, high = 2025-12-31 }

[policy]
epsilon = 0.1
[accounts.research]
epsilon = 1
"""


def written(folder: Path, text: str) -> Settings:
    (folder / "clinic.toml").write_text(text, encoding="utf-8")
    return load(folder / "clinic.toml")


def one(columns: str, table: str = 'source = "p.csv"') -> str:
    """Columns begin on line 4."""
    return f"[tables.p]\n{table}\n[tables.p.columns]\n{columns}\n"


def test_everything_is_read_as_it_is_written(tmp_path: Path) -> None:
    (tmp_path / "trade.csv").touch()
    settings = written(tmp_path, WHOLE)
    assert settings.ledger == tmp_path / "spent.ledger"
    assert settings.tables["people"] == Schema(
        "people",
        str(tmp_path / "people.csv"),
        (
            Column("id", Type.INTEGER),
            Column("born", Type.DATE, low=date(1900, 1, 1), high=date(2025, 12, 31)),
        ),
        public=True,
    )
    visits = settings.tables["visits"]
    assert visits.source == f"{tmp_path}/clinic.duckdb#visits"
    assert visits.unit == Unit("patient_id", 8, 3, "shuffled")
    assert visits.neighbours is Neighbours.REPLACE
    assert visits.columns == (
        Column("patient_id", Type.INTEGER, Role.IDENTIFIER, references="people.id"),
        Column("age", Type.INTEGER, Role.QUASI, Fraction(0), Fraction(120)),
        Column("sex", Type.TEXT, categories=("Female", "Male")),
        Column("income", Type.REAL, Role.SENSITIVE, Fraction(1, 10), Fraction(250_000)),
        Column("seen", Type.TIMESTAMP, low=datetime(2020, 1, 1), high=datetime(2025, 1, 1)),
        Column("smokes", Type.BOOLEAN, categories=(False, True)),
        Column("place", Type.TEXT, ladders=(("Graz", "Austria"), ("Bern", "Switzerland"))),
        Column("trade", Type.TEXT, hierarchy=str(tmp_path / "trade.csv")),
    )
    assert settings.policy.number("epsilon") == Fraction(1, 10)
    assert settings.accounts.section("research").number("epsilon") == 1


def test_schemas_are_values(tmp_path: Path) -> None:
    (tmp_path / "trade.csv").touch()
    assert hash(written(tmp_path, WHOLE).schemas) == hash(written(tmp_path, WHOLE).schemas)


@pytest.mark.parametrize(
    "name", ["salary-class", "mean age", 'the "x"', "a.b", "größe", "select", "order by", "'", "#", "] = {"]
)
def test_any_printable_name_is_a_column(tmp_path: Path, name: str) -> None:
    quoted = '"' + name.replace('"', '\\"') + '"'
    settings = written(tmp_path, one(f'{quoted} = {{ type = "integer" }}\nlast = {{ type = "real" }}'))
    assert [column.name for column in settings.tables["p"].columns] == [name, "last"]
    with pytest.raises(BadSchema, match=r"clinic.toml:5: .*did you mean real\?"):
        written(tmp_path, one(f'{quoted} = {{ type = "integer" }}\nlast = {{ type = "rael" }}'))


BAD = [
    ("", 1, "declares no table"),
    ("[tables.p]\n[tables.q]\nsource = 'q.csv'", 1, "declares no column"),
    ("ledgr = 'x'", 1, "unknown key ledgr: did you mean ledger?"),
    ("[tables.p]\nsource = 1\ncolumns.a.type = 'real'", 2, "source is a text"),
    ("[tables.p]\ncolumns.a.type = 'real'", 1, "tables.p needs source"),
    ("\n\n[tables.p]\nsource = 'p.xls'\ncolumns.a.type = 'real'", 4, "is none of .csv"),
    ("[tables.p]\nsource = 'p.duckdb'\ncolumns.a.type = 'real'", 2, "say which table"),
    (
        "[tables.p]\nsource = 'postgresql://me:secret@db/x'\ncolumns.a.type = 'real'",
        2,
        "postgresql://db/x names no table",
    ),
    ("tables = 3", 1, "tables is a table"),
    (one("age = { type = 'integer', hgih = 3 }"), 4, "unknown key hgih: did you mean high?"),
    (one("age = { type = 'number' }"), 4, "type is one of integer, real"),
    (one("age = { type = 'real', role = 'quasi' }"), 4, "did you mean quasi-identifier?"),
    (one("\nage = { type = 'real', low = 3, high = 3 }"), 5, "low comes below high"),
    (one("age = { type = 'date', low = 2000-01-01, high = 1999-01-01 }"), 4, "low comes below high"),
    (one("age = { type = 'date', low = '2000-01-01' }"), 4, "date without quotes"),
    (one("age = { type = 'timestamp', low = 2000-01-01T00:00:00Z }"), 4, "time without a zone"),
    (one("age = { type = 'integer', low = 0.5 }"), 4, "whole number"),
    (one("age = { type = 'real', low = nan }"), 4, "finite number"),
    (one("age = { type = 'real', high = inf }"), 4, "finite number"),
    (one("age = { type = 'real', high = 1e400 }"), 4, "out of range"),
    (one("age = { type = 'real', high = 1e99999999999999999999 }"), 4, "finite number"),
    (one("age = { type = 'real', high = true }"), 4, "high is a number"),
    (one("age = { type = 'integer', high = 9223372036854775808 }"), 4, "64 bits"),
    (one("sex = { type = 'text', low = 0 }"), 4, "a text column has no low"),
    (one("sex = { type = 'text', categories = [] }"), 4, "at least one"),
    (one("sex = { type = 'text', categories = 'F' }"), 4, "square brackets"),
    (one("sex = { type = 'text', categories = ['F', 'M', 'F'] }"), 4, "'F' stands there twice"),
    (one("sex = { type = 'text', categories = ['F', 1] }"), 4, "category 1 is not text"),
    (one("sex = { type = 'integer', categories = [1, true] }"), 4, "category True is not integer"),
    (one("sex = { type = 'integer', low = 0, high = 9, categories = [1, 12] }"), 4, "12 is above high"),
    (one("sex = { type = 'real', categories = [1] }"), 4, "a real column has no categories"),
    (one("sex = { type = 'text', hierarchy = [['a', '*'], ['b']] }"), 4, "as many rungs"),
    (one("sex = { type = 'text', hierarchy = [1] }"), 4, "hierarchy is a file"),
    (one("sex = { type = 'text', hierarchy = 'sex.csv' }"), 4, "there is no file"),
    (one("sex = { type = 'text' }\n\nSex = { type = 'text' }"), 6, "differ only in case"),
    (one("sex = 'text'"), 4, "sex is a table"),
    (one("'' = { type = 'text' }"), 4, "a name is not empty"),
    (one("age = { type = 'integer', references = 'q.id' }"), 4, "references q.id is no declared column"),
    (
        one(
            "id = { type = 'integer' }\nboss = { type = 'integer', references = 'p.id' }",
            "source = 'p.csv'\nunit = { column = 'boss', rows = 2 }",
        ),
        3,
        "unit follows references in a circle, through p",
    ),
    (
        one("age.type = 'real'", "source = 'p.csv'\nunit = { column = 'id', rows = 2 }"),
        3,
        "unit.column id is not among",
    ),
    (one("age.type = 'real'", "source = 'p.csv'\nunit = { column = 'age', rows = 0 }"), 3, "1 or more"),
    (one("age.type = 'real'", "source = 'p.csv'\nunit = 'person'"), 3, 'unit is "row"'),
    (
        one("age.type = 'real'", "source = 'p.csv'\nneighbours = 'swap'"),
        3,
        "neighbours is one of add-remove, replace-one",
    ),
    (one("age.type = 'real'", "source = 'p.csv'\npublic = 1"), 3, "public is true or false"),
    ("draft = true\n" + one("age.type = 'real'"), 1, "still a draft"),
    ("a = 1\nb = = 2", 2, "is not TOML here"),
    ("a = 1\na = 2", 2, "is not TOML here"),
    ("a = [1,\n", 2, "is not TOML here"),
]


def test_how_many_rows_of_one_person_count_may_be_left_to_be_learnt(tmp_path: Path) -> None:
    settings = written(tmp_path, one("age.type = 'real'", "source = 'p.csv'\nunit = { column = 'age' }"))
    assert settings.tables["p"].unit == Unit("age", 1, told=False)


@pytest.mark.parametrize(("text", "line", "message"), BAD)
def test_what_is_wrong_is_refused_at_its_line(tmp_path: Path, text: str, line: int, message: str) -> None:
    with pytest.raises(BadSchema) as refusal:
        written(tmp_path, text)
    assert message in str(refusal.value)
    assert (refusal.value.line, refusal.value.file) == (line, str(tmp_path / "clinic.toml"))


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadSchema, match="cannot be read: No such file"):
        load(tmp_path / "none.toml")
    (tmp_path / "latin.toml").write_bytes("größe = 1".encode("latin-1"))
    with pytest.raises(BadSchema, match="is not UTF-8"):
        load(tmp_path / "latin.toml")
    for text in ("a = " + "9" * 5000, "a = " + "[" * 100_000 + "]" * 100_000):
        with pytest.raises(BadSchema, match="too large to read"):
            written(tmp_path, text)


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_lines_are_counted_over_texts_lists_and_line_ends(tmp_path: Path, ending: str) -> None:
    text = 'ledger = """\na\n"""\n[tables."p"]\nsource = \'\'\'p.csv\'\'\'\n[tables.p.columns]\na = { type = "real", low = [1,\n2,\n] }\n'
    (tmp_path / "clinic.toml").write_text(text.replace("\n", ending), encoding="utf-8", newline="")
    with pytest.raises(BadSchema, match=r"clinic.toml:7: low is a number"):
        load(tmp_path / "clinic.toml")


def test_an_unknown_column_is_answered_with_the_nearest_as_sql_writes_it(tmp_path: Path) -> None:
    people = written(tmp_path, one('"native-country".type = "text"\nage.type = "integer"')).tables["p"]
    assert people.column("AGE").name == "age"
    for asked, answered in [
        ("agee", "did you mean age?"),
        ("native", 'mean "native-country"?'),
        ("x", 'has "native-country", age'),
    ]:
        with pytest.raises(BadQuestion) as refusal:
            people.column(asked)
        assert answered in str(refusal.value)
