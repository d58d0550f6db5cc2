"""Tables are shown with every value or mark in its place, and nothing in HTML that a label could break out of."""

import pyarrow as pa

from obverse.tables.show import NOTE, crosstab, html, page

TABLE = pa.table(
    {
        "town": ["<b>", "<b>", "Total", "Total"],
        "job": ["cook", "Total", "cook", "Total"],
        "value": [None, 1234, 5, 1239],
        "mark": ["c", "", "", ""],
    }
)


def test_a_crosstab_has_the_last_column_across():
    assert crosstab(TABLE) == ["town   cook  Total", "<b>       c  1,234", "Total     5  1,239"]


def test_html_escapes_labels_and_explains_marks():
    made = html(TABLE, "a & b")
    assert "&lt;b&gt;" in made and "<b>" not in made and "a &amp; b" in made and NOTE.split(";")[0] in made


def test_a_file_of_its_own_says_how_its_letters_are_written():
    """Without it a browser shows größe as grÃ¶ÃŸe."""
    made = page(TABLE, "größe")
    assert made.startswith("<!doctype html>") and '<meta charset="utf-8">' in made and "<title>größe<" in made


def test_one_column_is_a_list():
    assert crosstab(TABLE.drop_columns(["job"]).slice(1, 2)) == ["town", "<b>    1,234", "Total      5"]
