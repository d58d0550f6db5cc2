"""A file that is not what was declared is refused clearly, without quoting a row, and nothing is charged."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import obverse
from obverse.curator.curator import Curator
from obverse.errors import BadSchema, BadSource

SETTINGS = """\
[tables.people]
source = "people.csv"
[tables.people.columns]
age = { type = "integer", low = 0, high = 100 }
"first name" = { type = "text" }
[policy]
epsilon = 3
"""
GOOD = "age,first name\n30,Ann\n40,Bob\n"
COUNT = "DP-SELECT 1 COUNT(*) FROM people WHERE age > 20"
SECRET = "Rumpelstiltskin"


@pytest.fixture
def clinic(tmp_path: Path) -> Iterator[Curator]:
    (tmp_path / "clinic.toml").write_text(SETTINGS)
    (tmp_path / "people.csv").write_text(GOOD)
    with obverse.open(tmp_path / "clinic.toml") as opened:
        yield opened


def people(clinic: Curator) -> Path:
    return clinic.ledger.path.parent / "people.csv"


BAD = [
    (f"age,first name\n30,Ann\n{SECRET}\n".encode(), "people.csv:3: .*not as many values"),
    (f'age,first name\n30,Ann\n40,"{SECRET}\n'.encode(), "people.csv:3: .*a quote is not closed"),
    (f"age,first name\n30,{SECRET}ä\n".encode("latin-1"), "people.csv is not UTF-8 text"),
    (f"age,first name\n30,{SECRET}\n".encode("utf-16"), "people.csv is not UTF-8 text"),
    (f"ages,first name\n30,{SECRET}\n".encode(), "has no column age: did you mean ages"),
    (b"", "is no header"),
]


@pytest.mark.parametrize(("content", "message"), BAD)
@pytest.mark.parametrize("late", [False, True], ids=["from the start", "changed after a question"])
def test_a_bad_table_is_refused_and_nothing_is_charged(
    clinic: Curator, content: bytes, message: str, late: bool
) -> None:
    if late:
        clinic.ask(COUNT)
    charged = len(list(clinic.ledger.log()))
    people(clinic).write_bytes(content)
    for _ in range(2):
        with pytest.raises(BadSource, match=message) as refusal:
            clinic.ask(COUNT)
        assert SECRET not in str(refusal.value)
    assert len(list(clinic.ledger.log())) == charged
    people(clinic).write_text(GOOD + "50,Eve\n")
    clinic.ask(COUNT)
    assert len(list(clinic.ledger.log())) == charged + 1


def test_a_table_that_is_gone_is_refused(clinic: Curator) -> None:
    people(clinic).unlink()
    with pytest.raises(BadSource, match="there is no such file"):
        clinic.ask(COUNT)
    assert not list(clinic.ledger.log())


def test_changed_data_is_a_new_question_with_new_noise(clinic: Curator) -> None:
    first = clinic.ask(COUNT)
    assert clinic.ask(COUNT).receipt.again
    people(clinic).write_text(GOOD + "50,Eve\n")
    second = clinic.ask(COUNT)
    assert not second.receipt.again and second.receipt.number != first.receipt.number


@pytest.mark.parametrize(
    ("rows", "neighbour"),
    [
        ("30,Ann\n40,Bob\n", "30,Ann\n4O,Bob\n"),
        ("30,Ann\n40,Bob\n", "30,Ann\n99999999999999999999999,Bob\n"),
        ("30,Ann\n40,Bob\n", "30,Ann\nnan,Bob\n"),
        ("30,Ann\n40,Bob\n", ""),
    ],
)
def test_a_value_of_another_type_makes_no_difference_that_shows(
    clinic: Curator, rows: str, neighbour: str
) -> None:
    """Whether there is an error, its text and the form of an answer do not depend on one row."""
    shapes = []
    for table in (rows, neighbour):
        people(clinic).write_text("age,first name\n" + table)
        answer = clinic.ask("DP-SELECT 0.5 COUNT(*) AS n, SUM(age) AS s, AVG(age) AS a FROM people")
        shapes.append((answer.columns, len(answer.rows), [type(cell) for cell in answer.rows[0][:2]]))
    assert shapes[0] == shapes[1]


def test_a_settings_file_that_changed_is_read_again_and_says_its_line(clinic: Curator) -> None:
    file = clinic.ledger.path.parent / "clinic.toml"
    file.write_text(SETTINGS.replace("high = 100", "high = -1"))
    with pytest.raises(BadSchema, match=r"clinic\.toml:4: age has low 0 and high -1"):
        obverse.open(file)
