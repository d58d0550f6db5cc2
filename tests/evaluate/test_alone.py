"""How unique people are is answered for any table, in words and figures."""

import json

import pyarrow as pa
import pytest

from obverse.cli.main import main
from obverse.evaluate.alone import FEW, SOME, alone, worst

from .conftest import SETTINGS, world


def test_of_every_number_of_columns_the_worst_combination_is_named():
    people = pa.table({"a": [1, 1, 2, 2], "b": [1, 2, 3, 4], "c": [0, 0, 0, 1]})
    found = worst(alone(people))
    assert [(one.columns, one.unique) for one in found] == [
        (("b",), 4),
        (("a", "b"), 4),
        (("a", "b", "c"), 4),
    ]
    assert [one.columns for one in worst(alone(people, ("a", "c")))] == [("c",), ("a", "c")]


@pytest.mark.parametrize(("columns", "sets"), [(FEW, 8 + 28 + 56 + 1), (SOME, 14 + 91 + 1), (SOME + 1, 16)])
def test_a_wide_table_is_asked_fewer_combinations_and_all_its_columns_at_once(columns, sets):
    people = pa.table({f"c{i}": [0, 1, i] for i in range(columns)})
    found = alone(people)
    assert len(found) == sets and len(found[-1].columns) == columns


def test_the_command_answers_for_a_file_and_for_a_settings_file(tmp_path, capsys):
    pa.csv.write_csv(world(0, 500), tmp_path / "people.csv")
    (tmp_path / "people.toml").write_text(SETTINGS)
    assert main(["unique", str(tmp_path / "people.csv"), "--columns", "age,town", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert main(["unique", str(tmp_path / "people.toml")]) == 0
    said = capsys.readouterr().out
    assert told[-1]["columns"] == ["age", "town"] and told[-1]["rows"] == 500
    assert said.startswith("500 rows") and f"{told[-1]['alone'] / 500:.2%}" in said
    assert main(["unique", str(tmp_path / "people.csv"), "--columns", "age,nope"]) == 2
    assert "no column nope; there are age, town, income, ill" in capsys.readouterr().err
    assert main(["unique", str(tmp_path / "people.csv"), "--most", "-1"]) == 2
