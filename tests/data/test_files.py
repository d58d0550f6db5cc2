"""A source says by how it is written which way it is read."""

from pathlib import Path

import pytest

from obverse.data.files import Form, Source, locate
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
