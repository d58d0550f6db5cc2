"""A date that is given by its month, its year or a span is still a date, and finds its people."""

import datetime

import numpy as np
import pyarrow as pa
import pytest

from obverse.evaluate.dates import dated, micros, span
from obverse.evaluate.held import Held
from obverse.evaluate.risk import assess

DAYS = np.random.default_rng(8).integers(0, 20_000, 1500)
BORN = [datetime.date(1950, 1, 1) + datetime.timedelta(days=int(day)) for day in DAYS]
PEOPLE = pa.table({"born": BORN, "sex": ["F", "M"] * 750, "ill": ["a", "b", "c"] * 500})


def _given(say):
    return PEOPLE.set_column(0, "born", pa.array([say(born) for born in BORN]))


def _ends(first, after):
    return f"[{micros(datetime.datetime(*first))}, {micros(datetime.datetime(*after))})"


@pytest.mark.parametrize(
    ("text", "first", "after"),
    [
        ("1980", (1980, 1, 1), (1981, 1, 1)),
        ("1980-02", (1980, 2, 1), (1980, 3, 1)),
        ("1980-12", (1980, 12, 1), (1981, 1, 1)),
        ("1980-02-29", (1980, 2, 29), (1980, 3, 1)),
        ("1980s", (1980, 1, 1), (1990, 1, 1)),
        ("1980-1989", (1980, 1, 1), (1990, 1, 1)),
        ("[1980-01-01, 1984-12-31]", (1980, 1, 1), (1985, 1, 1)),
        ("[1980, 1985)", (1980, 1, 1), (1985, 1, 1)),
        ("1980-05 to 1980-07", (1980, 5, 1), (1980, 8, 1)),
    ],
)
def test_a_span_of_dates_is_read_from_its_first_day_to_its_last(text, first, after):
    assert span(text) == _ends(first, after)


@pytest.mark.parametrize("text", ["", "spring", "1980-13", "1989-1980", "80", "0000"])
def test_what_is_no_span_of_dates_is_left_as_it_is(text):
    assert span(text) is None
    table = pa.table({"born": [text, "1980"]})
    assert dated(table, PEOPLE)["born"].to_pylist() == [text, "1980"]


def test_the_month_of_birth_finds_its_people():
    """It was taken for a number that no date is, so a table of months was of no risk."""
    held = Held("people", PEOPLE, ("born", "sex"), ("ill",))
    months = assess(_given(lambda born: born.strftime("%Y-%m")), held)
    assert months.worst["singling out"].evidence.success.share > 0.4
    assert months.verdict[0] == "Do not release"
    for say in (lambda born: born.year, lambda born: f"{born.year // 10 * 10}s"):
        assert assess(_given(say), held).worst["singling out"].word() == "low"


def test_years_are_dates_where_people_have_dates_and_other_numbers_are_not():
    years = dated(pa.table({"born": [1980, None]}), PEOPLE)["born"].to_pylist()
    assert years == [_ends((1980, 1, 1), (1981, 1, 1)), None]
    assert dated(pa.table({"born": [19800512]}), PEOPLE)["born"].to_pylist() == [19800512]
