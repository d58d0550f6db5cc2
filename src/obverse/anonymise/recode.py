"""A recoding is a value: it can be saved, applied to new rows, and written as SQL.

A row that lies inside several regions takes the cheapest, which comes first; inside none, it is suppressed.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from sqlglot import exp

from obverse.anonymise.codes import Value, encode
from obverse.anonymise.reading import ordered
from obverse.errors import BadParameter


@dataclass(frozen=True)
class Test:
    """One label and the values it stands for: any, those between two, or those listed (None: a missing value)."""

    label: str | None
    low: Value = None
    high: Value = None
    among: tuple[Value, ...] = ()
    any: bool = False

    def holds(self, value: Value) -> bool:
        """Whether the label stands for this value."""
        if self.any:
            return True
        if self.low is None or self.high is None:
            return value in self.among
        return value is not None and self.low <= value <= self.high  # type: ignore[operator]

    def condition(self, name: str) -> exp.Expr:
        """The same for a column in SQL."""
        column = exp.column(name, quoted=True)
        if self.any:
            return exp.true()
        if self.low is not None and self.high is not None:
            return column.between(exp.convert(self.low), exp.convert(self.high))
        listed = [exp.convert(value) for value in self.among if value is not None]
        found: exp.Expr = exp.In(this=column, expressions=listed) if listed else exp.false()
        missing = exp.Is(this=column.copy(), expression=exp.null())
        return exp.or_(found, missing) if None in self.among else found


@dataclass(frozen=True)
class Recoding:
    """What a release did to its quasi-identifiers: `tests` are each column's labels.

    Without `regions` each column is recoded by itself; a region names one test of each column.
    """

    columns: tuple[str, ...]
    tests: tuple[tuple[Test, ...], ...]
    regions: tuple[tuple[int, ...], ...] = ()

    def to_json(self) -> str:
        """The recoding as text, to be kept beside the release."""
        tests = [[vars(test) for test in column] for column in self.tests]
        told = {"columns": self.columns, "tests": tests, "regions": self.regions}
        return json.dumps(told, ensure_ascii=False, sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Recoding:
        """The recoding back from its text."""
        try:
            read = json.loads(text)
            tests = tuple(
                tuple(Test(t["label"], t["low"], t["high"], tuple(t["among"]), t["any"]) for t in column)
                for column in read["tests"]
            )
            return cls(tuple(read["columns"]), tests, tuple(tuple(region) for region in read["regions"]))
        except (ValueError, KeyError, TypeError) as error:
            raise BadParameter("this is no saved recoding") from error

    def apply(self, table: pa.Table) -> pa.Table:
        """New rows with the labels of this recoding; rows that it has no labels for are left out."""
        if missing := [name for name in self.columns if name not in table.column_names]:
            raise BadParameter(f"the new rows have no column {', '.join(missing)}")
        coded = [_coded(table[name], tests) for name, tests in zip(self.columns, self.tests, strict=True)]
        if self.regions:
            regions = np.array(self.regions, np.int64)
            row = _first_region([codes for codes, _ in coded], [inside for _, inside in coded], regions)
            keep, picked = row >= 0, [regions[row, j] for j in range(len(self.columns))]
        else:
            picked = [np.asarray(inside.argmax(axis=0))[codes] for codes, inside in coded]
            keep = np.all([np.asarray(inside.any(axis=0))[codes] for codes, inside in coded], axis=0)
        for name, tests, which in zip(self.columns, self.tests, picked, strict=True):
            table = relabel(table, name, [test.label or "" for test in tests], which)
        return table.filter(pa.array(keep))

    def sql(self, table: str, others: tuple[str, ...] = (), dialect: str = "duckdb") -> str:
        """One SELECT that does the same in an engine."""
        source, kept = (
            exp.to_identifier(table, quoted=True),
            [exp.column(name, quoted=True) for name in others],
        )
        pairs = list(zip(self.columns, self.tests, strict=True))
        if not self.regions:
            labels = [_case([(t.condition(name), t) for t in tests], name) for name, tests in pairs]
            known = [exp.or_(*(test.condition(name) for test in tests)) for name, tests in pairs]
            return exp.select(*labels, *kept).from_(source).where(exp.and_(*known)).sql(dialect)
        number = exp.Case()
        for r, region in enumerate(self.regions):
            inside = [tests[i].condition(name) for (name, tests), i in zip(pairs, region, strict=True)]
            number = number.when(exp.and_(*inside), exp.Literal.number(r))
        inner = exp.select("*", exp.alias_(number, "region")).from_(source)
        labels = []
        for j, (name, tests) in enumerate(pairs):
            of = [[r for r, region in enumerate(self.regions) if region[j] == i] for i in range(len(tests))]
            listed = [
                exp.In(this=exp.column("region"), expressions=[exp.convert(r) for r in rs]) for rs in of
            ]
            labels.append(_case(list(zip(listed, tests, strict=True)), name))
        select = exp.select(*labels, *kept).from_(inner.subquery("held"))
        return select.where("region IS NOT NULL").sql(dialect)


def _coded(column: pa.ChunkedArray, tests: Sequence[Test]) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """The column's codes, and which of its values each test holds for."""
    domain, codes = encode("", column)
    inside = np.array([[test.holds(value) for value in domain.plain] for test in tests], bool)
    return codes, inside.reshape(len(tests), domain.size)


def _first_region(
    codes: Sequence[NDArray[np.int32]], inside: Sequence[NDArray[np.bool_]], regions: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The first region that holds each row, or −1."""
    found = np.full(len(codes[0]), -1, np.int64)
    for number, region in enumerate(regions):
        left = np.flatnonzero(found < 0)
        for column, test, i in zip(codes, inside, region, strict=True):
            left = left[test[i][column[left]]]
        found[left] = number
    return found


def _case(branches: Sequence[tuple[exp.Expr, Test]], name: str) -> exp.Expr:
    case = exp.Case()
    for condition, test in branches:
        case = case.when(condition, exp.convert(test.label))
    return exp.alias_(case, name, quoted=True)


def relabel(
    table: pa.Table,
    name: str,
    labels: list[str],
    which: NDArray[np.int32] | NDArray[np.int64],
    kind: pa.DataType | None = None,
) -> pa.Table:
    """The table with one column's values replaced by labels, as text or another type; a missing value stays missing."""
    texts = pa.array([label or None for label in labels], pa.string())
    if pa.types.is_dictionary(table[name].type):
        made = ordered(pa.chunked_array([pa.DictionaryArray.from_arrays(which.astype(np.int32), texts)]))
    else:
        made = pc.take(texts if kind is None else texts.cast(kind), pa.array(which))
    return table.set_column(table.column_names.index(name), name, made)
