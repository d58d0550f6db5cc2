"""A settings file's keys stand where it says they stand, and its numbers are what is written."""

import tomllib
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from obverse.data.toml import nearest, read
from obverse.errors import BadSchema

names = st.text(st.characters(blacklist_categories=("Cs", "Cc")), min_size=0, max_size=6)
VALUES = [
    "1",
    '"a # b"',
    "'it [ is'",
    '"""\n[x]\ny = 1\n"""',
    "'''\n\n'''",
    "[\n 1, # ]\n 2,\n]",
    "[[1], ['''\n''']]",
    "2020-01-01T00:00:00",
    "1.5e3",
    '"\\" \\\\"',
    "[ ]",
    "{ }",
]
entries = st.dictionaries(names, st.sampled_from(VALUES), max_size=4)
layouts = st.dictionaries(names, st.tuples(st.integers(0, 2), entries, st.booleans()), max_size=4)


def quoted(name: str) -> str:
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200)
@given(layouts)
def test_every_key_is_found_on_its_line(tmp_path: Path, layout: dict) -> None:
    text, expected = "", {}
    for table, (blank, keys, inline) in layout.items():
        text += "\n" * blank + "# a comment = [\n" * blank
        expected[(table,)] = text.count("\n") + 1
        if inline:
            continue
        text += f"[ {quoted(table)} ] # [x]\n"
        for key, value in keys.items():
            expected[(table, key)] = text.count("\n") + 1
            text += f"{quoted(key)} = {value} # = {{\n"
    for table, (_, keys, inline) in layout.items():
        if inline:
            plain = {key: value for key, value in keys.items() if "\n" not in value}
            line = (
                f"{quoted(table)} = {{ " + ", ".join(f"{quoted(k)} = {v}" for k, v in plain.items()) + " }\n"
            )
            text = line + text
            expected = {path: number + 1 for path, number in expected.items() if path[0] != table}
            expected |= {(table,): 1, **{(table, key): 1 for key in plain}}
    tomllib.loads(text)
    (tmp_path / "x.toml").write_text(text, encoding="utf-8", newline="")
    lines = read(tmp_path / "x.toml").lines
    assert dict(lines) == expected


@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**20), max_value=10**20))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_number_is_exactly_what_is_written(tmp_path: Path, number: Decimal) -> None:
    written = f"{number:f}"
    (tmp_path / "x.toml").write_text(f"x = {written if '.' in written else written + '.0'}\n")
    assert read(tmp_path / "x.toml").number("x") == Fraction(number)


@pytest.mark.parametrize(
    "written", ["nan", "-inf", "1e400", "1e-400", "1e99999999999999999999", "9" * 400, "'1'", "true", "[1]"]
)
def test_what_is_no_number_to_compute_with_is_refused(tmp_path: Path, written: str) -> None:
    (tmp_path / "x.toml").write_text(f"\nx = {written}\n")
    with pytest.raises(BadSchema, match=r"x\.toml:2: x is"):
        read(tmp_path / "x.toml").number("x")


def test_the_nearest_word_is_near() -> None:
    assert nearest("colums", ("source", "columns")) == ": did you mean columns?"
    assert nearest("quasi", ("plain", "quasi-identifier")) == ": did you mean quasi-identifier?"
    assert nearest("zzz", ("plain",)) == nearest("", ("plain",)) == ""
