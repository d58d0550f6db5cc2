"""A release of our own, taken from the ledger by its number: what left, to whom, when, and the ε it was charged.

What is read is what was kept, so it is what left; nothing is charged, and no row of the true table is read here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isfinite

import pyarrow as pa

from obverse.anonymise.release import FACTS
from obverse.data.schema import Schema, Type
from obverse.errors import BadParameter
from obverse.ledger.ledger import Ledger
from obverse.loss.loss import Loss
from obverse.query.ask import Ask
from obverse.release import Guarantee

DELTAS = (0.0, 1e-9, 1e-6, 1e-5, 1e-4, 1e-3)
"""A loss without an ε of its own is held to the least of these δ at which it has one."""

KINDS = {
    Type.INTEGER: pa.int64(),
    Type.REAL: pa.float64(),
    Type.DATE: pa.date32(),
    Type.TIMESTAMP: pa.timestamp("us"),
    Type.BOOLEAN: pa.bool_(),
    Type.TEXT: pa.string(),
}


@dataclass(frozen=True, eq=False)
class Released:
    """A table of records that left, and what is known of how; `epsilon` is None where no ε was promised."""

    name: str
    sha256: str
    table: pa.Table = field(repr=False)
    to: str = "not said"
    date: str = "not said"
    epsilon: float | None = None
    delta: float = 0.0


def own(number: int, ledger: Ledger, schemas: Mapping[str, Schema]) -> Released:
    """The release that `obverse log` shows under this number, if it is one of records."""
    entry, packed = ledger.left(number)
    charged = entry.charged
    if charged.kind == "table":
        table = _anonymised(number, packed)
    elif charged.kind == "synthetic":
        plan = Ask(charged.about).plan(schemas, ledger.policy.terms(charged.account))
        answer = plan.unpack(packed)
        columns = list(zip(*answer.rows, strict=True)) or [()] * len(answer.columns)
        table = _typed(dict(zip(answer.columns, columns, strict=True)), schemas[charged.tables[0]])
    else:
        raise BadParameter(
            f"number {number} is an answer, and this report attacks tables of records: answers are attacked through an "
            "account (docs/attack-accounts.md) or put together (docs/attack-reconstruction.md)"
        )
    assert entry.kept is not None
    epsilon, delta = _promised(entry.guarantee)
    return Released(
        f"release {number}", entry.kept.digest, table, charged.account, charged.time, epsilon, delta
    )


def _anonymised(number: int, packed: bytes) -> pa.Table:
    """Records with plain texts."""
    table = pa.ipc.open_file(pa.py_buffer(packed)).read_all()
    if FACTS not in (table.schema.metadata or {}):
        raise BadParameter(
            f"number {number} is a table of counts or amounts, and this report attacks tables of records: what such a "
            "table still tells, obverse.tables.audit says, and docs/attack-reconstruction.md puts several together"
        )
    plain = [
        column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
        for column in table.columns
    ]
    return pa.table(dict(zip(table.column_names, plain, strict=True)))


def _typed(columns: Mapping[str, tuple[object, ...]], schema: Schema) -> pa.Table:
    """Columns with the types that are declared, where they are columns of the table."""
    kinds = {column.name: KINDS[column.type] for column in schema.columns}
    arrays = {name: pa.array(list(cells)) for name, cells in columns.items()}
    return pa.table(
        {name: each.cast(kinds[name]) if name in kinds else each for name, each in arrays.items()}
    )


def _promised(guarantee: Guarantee) -> tuple[float | None, float]:
    """The ε of a loss, and the δ it is meant at."""
    if not isinstance(guarantee, Loss):
        return None, 0.0
    found = ((guarantee.epsilon(delta), delta) for delta in DELTAS)
    return next(((epsilon, delta) for epsilon, delta in found if isfinite(epsilon)), (None, 0.0))
