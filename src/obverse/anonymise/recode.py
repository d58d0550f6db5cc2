"""A recoding is a value: it can be saved, applied to new rows, and written as SQL.

A row that lies inside several regions takes the cheapest, which comes first, unless it is an exception; inside none, it
is left out.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from sqlglot import exp

from obverse.anonymise.codes import Domain, Ints, Value, combined, encode
from obverse.anonymise.fitting import Exceptions, first_region, inside
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

    def condition(self, name: str) -> exp.Expr:
        """Whether the label stands for a column's value, in SQL."""
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

    Without `regions` each column is recoded by itself; a region names one test of each column. `exceptions` are
    combinations of values that take another region than the first: rows of the table, for the curator's eyes only. They
    are None where they are too many to be sought.
    """

    columns: tuple[str, ...]
    tests: tuple[tuple[Test, ...], ...]
    regions: tuple[tuple[int, ...], ...] = ()
    exceptions: Exceptions | None = field(default=(), repr=False)

    def public(self) -> Recoding:
        """The same without the exceptions."""
        return replace(self, exceptions=())

    def to_json(self) -> str:
        """The recoding as text, to be kept beside the release."""
        tests = [[vars(test) for test in column] for column in self.tests]
        told: dict[str, object] = {"columns": self.columns, "tests": tests, "regions": self.regions}
        told |= {} if self.exceptions == () else {"exceptions": self.exceptions}
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
            found = read.get("exceptions", ())
            special = None if found is None else tuple((tuple(values), int(r)) for values, r in found)
            made = cls(tuple(read["columns"]), tests, tuple(map(tuple, read["regions"])), special)
            if not made._sound():
                raise ValueError("labels, regions and columns that do not fit each other")
            return made
        except (ValueError, KeyError, TypeError) as error:
            raise BadParameter("this is no saved recoding") from error

    def _sound(self) -> bool:
        """Whether every region names one label of each column, and every label is a text of plain values."""
        counts = [len(tests) for tests in self.tests]
        plain = (str, int, float, bool, type(None))
        return (
            0 < len(self.columns) == len(counts)
            and all(counts)
            and all(
                isinstance(test.label, str | None)
                and all(isinstance(v, plain) for v in (test.low, test.high, *test.among))
                for tests in self.tests
                for test in tests
            )
            and all(
                len(region) == len(counts) and all(0 <= i < n for i, n in zip(region, counts, strict=True))
                for region in self.regions
            )
            and all(
                len(values) == len(counts) and 0 <= region < len(self.regions)
                for values, region in self.exceptions or ()
            )
        )

    def apply(self, table: pa.Table) -> pa.Table:
        """New rows with the labels of this recoding; rows that it has no labels for are left out."""
        if missing := [name for name in self.columns if name not in table.column_names]:
            raise BadParameter(f"the new rows have no column {', '.join(missing)}")
        coded = [encode(name, table[name]) for name in self.columns]
        codes = [its for _, its in coded]
        fits = [inside(domain, tests) for (domain, _), tests in zip(coded, self.tests, strict=True)]
        if self.regions:
            regions = np.array(self.regions, np.int64)
            row = self._special([domain for domain, _ in coded], codes, first_region(codes, fits, regions))
            keep, picked = row >= 0, [regions[row, j] for j in range(len(self.columns))]
        else:
            picked = [np.asarray(each.argmax(axis=0))[its] for each, its in zip(fits, codes, strict=True)]
            keep = np.all(
                [np.asarray(each.any(axis=0))[its] for each, its in zip(fits, codes, strict=True)], axis=0
            )
        for name, tests, which in zip(self.columns, self.tests, picked, strict=True):
            table = relabel(table, name, [test.label or "" for test in tests], which)
        return table.filter(pa.array(keep))

    def _special(self, domains: Sequence[Domain], codes: Sequence[NDArray[np.int32]], row: Ints) -> Ints:
        """The regions of rows, where some combinations have another than the first."""
        places = [{value: code for code, value in enumerate(domain.plain)} for domain in domains]
        listed = [
            (region, [place[v] for place, v in zip(places, values, strict=True)])
            for values, region in self.exceptions or ()
            if all(v in place for place, v in zip(places, values, strict=True))
        ]
        if not listed:
            return row
        rows = [np.append(its, [code[j] for _, code in listed]) for j, its in enumerate(codes)]
        key, _ = combined(rows, [domain.size for domain in domains])
        wanted, first = np.unique(key[len(row) :], return_index=True)
        at = np.minimum(np.searchsorted(wanted, key[: len(row)]), len(wanted) - 1)
        numbers = np.array([region for region, _ in listed], np.int64)[first]
        return np.where(wanted[at] == key[: len(row)], numbers[at], row)

    def sql(self, table: str, others: tuple[str, ...] = (), dialect: str = "duckdb") -> str:
        """One SELECT that does the same in an engine."""
        if self.exceptions is None:
            raise BadParameter(
                "so many different values cannot be labelled by a SELECT: save the recoding as .json, or take ladders"
            )
        source, kept = (
            exp.to_identifier(table, quoted=True),
            [exp.column(name, quoted=True) for name in others],
        )
        pairs = list(zip(self.columns, self.tests, strict=True))
        if not self.regions:
            labels = [_case([(t.condition(name), t) for t in tests], name) for name, tests in pairs]
            known = [exp.or_(*(test.condition(name) for test in tests)) for name, tests in pairs]
            return exp.select(*labels, *kept).from_(source).where(exp.and_(*known)).sql(dialect)
        number, alias = exp.Case(), "region"
        while alias in (*self.columns, *others):
            alias += "_"
        for values, r in self.exceptions:
            alike = [
                Test(None, among=(v,)).condition(name) for name, v in zip(self.columns, values, strict=True)
            ]
            number = number.when(exp.and_(*alike), exp.Literal.number(r))
        for r, region in enumerate(self.regions):
            within = [tests[i].condition(name) for (name, tests), i in zip(pairs, region, strict=True)]
            number = number.when(exp.and_(*within), exp.Literal.number(r))
        inner = exp.select(
            *(exp.column(name, quoted=True) for name in (*self.columns, *others)), exp.alias_(number, alias)
        ).from_(source)
        labels = []
        for j, (name, tests) in enumerate(pairs):
            of = [[r for r, region in enumerate(self.regions) if region[j] == i] for i in range(len(tests))]
            listed = [exp.In(this=exp.column(alias), expressions=[exp.convert(r) for r in rs]) for rs in of]
            labels.append(_case(list(zip(listed, tests, strict=True)), name))
        select = exp.select(*labels, *kept).from_(inner.subquery("held"))
        return select.where(exp.column(alias).is_(exp.null()).not_()).sql(dialect)


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
