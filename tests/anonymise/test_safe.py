"""The table with an ε is charged as a loss, shows only classes that are large enough, and only what was asked for."""

from collections import Counter
from fractions import Fraction

import pyarrow as pa
import pytest
from tests.anonymise.test_anonymise import Rows

from obverse.anonymise.safe import SafeAnonymise
from obverse.data.schema import Column, Neighbours, Schema, Type, Unit
from obverse.errors import BadParameter, BadQuestion
from obverse.ledger.codec import decode, encode
from obverse.noise.entropy import Keyed
from obverse.release import Terms

COLUMNS = (
    Column("age", Type.INTEGER, low=Fraction(0), high=Fraction(99)),
    Column("sex", Type.TEXT, categories=("F", "M")),
    Column("note", Type.TEXT),
)
TABLE = pa.table(
    {
        "age": pa.array([20 + i % 10 for i in range(2000)] + [77, 150], pa.int64()),
        "sex": ["F", "M"] * 1001,
        "note": [f"n{i}" for i in range(2002)],
    }
)


PEOPLE = Schema("people", "people.csv", COLUMNS)


def plan(schema=PEOPLE, **options):
    given = {"epsilon": Fraction(1), "delta": 1e-6, "steps": (("age", 2), ("sex", 0)), **options}
    return SafeAnonymise("people", **given).plan({"people": schema}, Terms())


def test_it_is_charged_as_a_loss_that_the_ledger_can_write_down():
    """ε and δ are no more than asked for, for added and for replaced rows."""
    for neighbours in Neighbours:
        made = plan(Schema("people", "people.csv", COLUMNS, neighbours=neighbours))
        assert made.guarantee.delta(1.0) <= 1e-6
        assert decode(encode(made.guarantee)) == made.guarantee


def test_only_labels_of_large_classes_leave():
    """The man of 77 is alone and vanishes; a value outside the public range is left out; notes do not leave."""
    made = plan()
    table = made.unpack(made.pack(made.run(Rows(TABLE), Keyed("s")))).table
    assert table.column_names == ["age", "sex"] and len(table) > 500
    classes = Counter(map(str, table.to_pylist()))
    assert min(classes.values()) >= made.mechanism.least
    assert {row["age"] for row in table.to_pylist()} == {"20-39"} or len(classes) == 2


def test_what_is_not_public_is_refused():
    for wrong in (
        lambda: plan(steps=(("note", 0),)),
        lambda: plan(steps=(("age", 99),)),
        lambda: plan(steps=()),
        lambda: plan(epsilon=Fraction(0)),
        lambda: plan(Schema("people", "people.csv", COLUMNS, Unit("note"))),
        lambda: SafeAnonymise("x", Fraction(1), 0.1, (("a", 0),)).plan({}, Terms()),
    ):
        with pytest.raises((BadParameter, BadQuestion)):
            wrong()
