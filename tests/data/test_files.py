"""A source says by how it is written which way it is read; what it holds never does."""

import gzip
from dataclasses import replace
from datetime import date
from pathlib import Path

import duckdb
import pytest
from pyarrow import feather, ipc

from obverse.data.files import Source, declare, locate, quote
from obverse.data.forms import Form
from obverse.data.schema import Column, Schema, Type
from obverse.errors import BadSource


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("people.csv", Source(Form.CSV, "/data/people.csv")),
        ("a/people.CSV", Source(Form.CSV, "/data/a/people.CSV")),
        ("/else/people.parquet", Source(Form.PARQUET, "/else/people.parquet")),
        ("people #1.arrow", Source(Form.ARROW, "/data/people #1.arrow")),
        ("clinic.duckdb#people", Source(Form.DUCKDB, "/data/clinic.duckdb", "people")),
        ("clinic.duckdb#main.people", Source(Form.DUCKDB, "/data/clinic.duckdb", "main.people")),
        ("postgresql://me:pw@db/x#people", Source(Form.URL, "postgresql://me:pw@db/x", "people")),
    ],
)
def test_a_source_is_recognised(text: str, source: Source) -> None:
    assert locate(text, Path("/data")) == source
    assert locate(str(source)) == source  # an absolute source means the same from anywhere


def test_the_scheme_names_the_engine() -> None:
    assert locate("people.csv").scheme == "duckdb"
    assert locate("postgresql+psycopg://db/x#t").scheme == "postgresql"


@pytest.mark.parametrize(
    "text", ["people", "people.xlsx", "clinic.duckdb", "people.txt#people", "spark://host", "#x"]
)
def test_what_names_no_table_is_refused(text: str) -> None:
    with pytest.raises(BadSource):
        locate(text)


def test_a_password_is_not_repeated() -> None:
    with pytest.raises(BadSource) as refusal:
        locate("postgresql://me:secret@db/x")
    assert "secret" not in str(refusal.value)


SCHEMA = Schema(
    "people",
    "people.csv",
    (
        Column("age", Type.INTEGER),
        Column("the \"Job\", 'x'", Type.TEXT),
        Column("größe", Type.REAL),
        Column("born", Type.DATE),
    ),
    missing=("?",),
)
CSV = """\
größe,age,"the ""Job"", 'x'",born,more
1.5,39,"a, b",1990-01-31,z
x,4x,?,1990-13-01,z
,,,,
nan,-7,"say ""so""
and on",2000-01-01,z
"""
ROWS = [
    (39, "a, b", 1.5, date(1990, 1, 31)),
    (None,) * 4,
    (None,) * 4,
    (-7, 'say "so"\nand on', None, date(2000, 1, 1)),
]


def read(schema: Schema, connection: duckdb.DuckDBPyConnection | None = None) -> list[tuple[object, ...]]:
    connection = connection or duckdb.connect()
    declare(connection, schema)
    return connection.execute(f"SELECT * FROM {quote(schema.name)}").fetchall()


def kept(folder: Path, ending: str) -> str:
    """The same rows in another form."""
    csv, file = folder / "people.csv", folder / f"people{ending}"
    csv.write_text(CSV, encoding="utf-8")
    if ending.startswith(".csv"):
        file.write_bytes(gzip.compress(csv.read_bytes()) if ending.endswith(".gz") else csv.read_bytes())
        return str(file)
    with duckdb.connect(str(folder / "clinic.duckdb")) as connection:
        declare(connection, replace(SCHEMA, source=str(csv)))
        rows = connection.sql("FROM people").to_arrow_table()
        connection.execute("CREATE OR REPLACE TABLE main.people AS FROM rows")
        connection.execute(f"COPY people TO '{folder}/people.parquet'")
    if ending == ".arrow":
        feather.write_feather(rows, str(file))
    if ending == ".ipc":
        with ipc.new_stream(str(file), rows.schema) as stream:
            stream.write_table(rows)
    return f"{folder}/clinic.duckdb#people" if ending == ".duckdb" else str(file)


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".parquet", ".arrow", ".ipc", ".duckdb"])
def test_every_form_gives_the_same_declared_columns(tmp_path: Path, ending: str) -> None:
    """And what is not of its type is missing, whichever row it stands in: a cast never fails."""
    assert str(read(replace(SCHEMA, source=kept(tmp_path, ending)))) == str(ROWS)


@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
def test_the_header_alone_decides_how_a_csv_is_split(tmp_path: Path, mark: str) -> None:
    (tmp_path / "p.csv").write_text(f"\ufeffa{mark}b\r\n1{mark}x;,|y\r\n".replace("x;,|y", f'"x;,|{mark}y"'))
    schema = Schema("p", str(tmp_path / "p.csv"), (Column("B", Type.TEXT), Column("a", Type.INTEGER)))
    assert read(schema) == [(f"x;,|{mark}y", 1)]


SECRET = "Rumpelstiltskin"
BROKEN = [
    (f"a,b\n1,x\n{SECRET}\n".encode(), r"p.csv:3: .*not as many values"),
    (f"a,b\n1,x\n2,{SECRET},3\n".encode(), r"p.csv:3: .*not as many values"),
    (f'a,b\n1,x\n2,"{SECRET}\n3,y\n'.encode(), r"p.csv:3: .*a quote is not closed"),
    (f"a,b\n1,{SECRET}ö\n".encode("latin-1"), "not UTF-8"),
    (f"a,ö\n1,{SECRET}\n".encode("latin-1"), "not UTF-8"),
    (f"a,b\n1,{SECRET}\n".encode("utf-16"), "not UTF-8"),
    (b"", "no header"),
    (f"a,\n1,{SECRET}\n".encode(), "every column needs a name"),
    (f"a,b,A\n1,{SECRET},2\n".encode(), "names a column twice"),
    (f"a,c\n1,{SECRET}\n".encode(), "has no column b; it has a, c"),
    (f"1,{SECRET}\n2,x\n".encode(), "none of the declared columns: does it begin with a header?"),
]


@pytest.mark.parametrize(("content", "message"), BROKEN)
def test_a_broken_csv_is_refused_whole_and_nothing_is_quoted(
    tmp_path: Path, content: bytes, message: str
) -> None:
    (tmp_path / "p.csv").write_bytes(content)
    with pytest.raises(BadSource, match=message) as refusal:
        read(Schema("p", str(tmp_path / "p.csv"), (Column("a", Type.INTEGER), Column("b", Type.TEXT))))
    assert SECRET not in str(refusal.value)


@pytest.mark.parametrize(
    "source", ["p.parquet", "p.arrow", "p.duckdb#people", "postgresql://me:secret@db/x#p"]
)
def test_what_cannot_be_read_is_refused(tmp_path: Path, source: str) -> None:
    schema = Schema("p", str(locate(source, tmp_path)), (Column("a", Type.INTEGER),))
    with pytest.raises(BadSource) as missing:
        read(schema)
    assert "secret" not in str(missing.value)
    (tmp_path / source.partition("#")[0].replace("/", "")).write_bytes(SECRET.encode() * 99)
    with pytest.raises(BadSource) as damaged:
        read(schema)
    assert SECRET not in str(damaged.value)


def test_an_empty_table_is_a_table(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("a\n")
    assert read(Schema("p", str(tmp_path / "p.csv"), (Column("a", Type.INTEGER),))) == []
