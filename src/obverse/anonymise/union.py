"""Recode: new rows with the labels of an earlier release, let out only if both together keep what is asked.  [Swe02]

    Recode("newcomers", recoding, onto=("public.csv",), k=5)

The union is what an attacker will hold, so the union is verified, by both checkers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa

from obverse.anonymise import check, files
from obverse.anonymise.anonymise import MOST
from obverse.anonymise.codes import as_dictionary, written
from obverse.anonymise.measure import Figures, class_of_rows, measure
from obverse.anonymise.reach import SHOWN, refuse_hopeless
from obverse.anonymise.reading import decoded, read
from obverse.anonymise.recode import Recoding
from obverse.anonymise.release import Anonymised, arrange
from obverse.anonymise.rules import Rule
from obverse.data.hierarchy import Ladder
from obverse.data.schema import Role, Schema
from obverse.data.table import Tables
from obverse.errors import BadParameter, BadQuestion, Withheld
from obverse.noise.entropy import Entropy
from obverse.release import Accuracy, Kind, Syntactic, Terms


@dataclass(frozen=True)
class Recode:
    """Rows labelled by a saved recoding; `onto` are the files of the releases they join."""

    table: str
    recoding: Recoding
    onto: tuple[str, ...] = ()
    k: int = 5
    rules: tuple[Rule, ...] = ()
    sensitive: tuple[str, ...] | None = None
    ladders: tuple[Ladder, ...] = ()
    apart: bool = False
    shuffle: bool = True

    def __post_init__(self) -> None:
        if not 1 <= self.k <= MOST:
            raise BadParameter(f"k is a whole number between 1 and {MOST:,}, not {self.k}")

    def plan(self, schemas: Mapping[str, Schema], terms: Terms) -> RecodePlan:
        """All that will be done, from the schema and the recoding alone."""
        if self.table not in schemas:
            raise BadQuestion(f"there is no table {self.table}; there are {', '.join(schemas)}")
        schema = schemas[self.table]
        if terms.smallest_group is not None and self.k < terms.smallest_group:
            raise BadParameter(
                f"the policy's smallest group is {terms.smallest_group}: ask for that k or more"
            )
        quasi = tuple(schema.column(name).name for name in self.recoding.columns)
        by_role = tuple(c.name for c in schema.columns if c.role is Role.SENSITIVE and c.name not in quasi)
        sensitive = (
            by_role if self.sensitive is None else tuple(schema.column(n).name for n in self.sensitive)
        )
        if bad := [rule.column for rule in self.rules if rule.column not in sensitive]:
            raise BadQuestion(f"{', '.join(bad)} has a rule and is not sensitive: name it as sensitive")
        if schema.unit.column is not None:
            raise BadQuestion(
                f"{schema.name} has several rows a person, and releases do not say who is who: "
                "anonymise old and new rows together"
            )
        refuse_hopeless(schema, self.rules, {ladder.column: ladder for ladder in self.ladders})
        return RecodePlan(self, schema, quasi, sensitive)


@dataclass(frozen=True)
class RecodePlan:
    """All that will be done to new rows; made from public facts alone."""

    request: Recode
    schema: Schema
    quasi: tuple[str, ...]
    sensitive: tuple[str, ...]
    kind: Kind = "table"
    delta: Fraction = Fraction(0)

    @property
    def tables(self) -> tuple[str, ...]:
        return (self.schema.name,)

    @property
    def guarantee(self) -> Syntactic:
        """k and every rule of old and new rows together."""
        k = (
            "k",
            f"{self.request.k} (rows alike on {', '.join(self.quasi)}, together with the earlier release)",
        )
        return Syntactic((k, *(rule.term for rule in self.request.rules)))

    @property
    def accuracy(self) -> tuple[Accuracy, ...]:
        return ()

    @cached_property
    def key(self) -> str:
        return f"recode {self.request!r}\n{self.quasi} {self.sensitive}"

    @property
    def dropped(self) -> list[str]:
        """Identifiers, and quasi-identifiers that the recoding has no labels for, do not leave."""
        named, roles = (*self.quasi, *self.sensitive), (Role.IDENTIFIER, Role.QUASI)
        return [c.name for c in self.schema.columns if c.role in roles and c.name not in named]

    def run(self, tables: Tables, entropy: Entropy) -> Anonymised:
        """The new rows with their labels; Withheld unless old and new together keep every promise."""
        earlier = [files.read(Path(name), apart=(*self.quasi, *self.sensitive)) for name in self.request.onto]
        names = [c.name for c in self.schema.columns if c.name not in self.dropped]
        table = decoded(read(tables, self.schema, names))
        made = self.request.recoding.apply(table)
        gone = len(table) - len(made)
        figures = self.together([made, *earlier])
        made = made.take(arrange(made, entropy, shuffle=self.request.shuffle))
        told = (
            ("promise", str(self.guarantee)),
            ("rows", str(len(made))),
            ("rows that no label fits", str(gone)),
            ("rows together", str(figures.rows)),
            ("smallest class together", str(figures.k)),
            *(
                (f"{r.kind} of {r.column}", f"{figure:.4g} reached, {r.at:g} asked")
                for r, figure, _ in figures.rules
            ),
        )
        return Anonymised(made, told, self.request.recoding)

    def pack(self, value: Anonymised) -> bytes:
        return value.pack()

    def unpack(self, kept: bytes) -> Anonymised:
        return Anonymised.unpack(pa.py_buffer(kept))

    def together(self, parts: list[pa.Table]) -> Figures:
        """The figures of old and new rows as one table, as an outsider will see it."""
        used = [name for name in self.sensitive if self.request.rules]
        names = [*self.quasi, *used]
        for part in parts:
            if missing := [name for name in names if name not in part.column_names]:
                raise Withheld(f"an earlier release has no column {', '.join(missing)}")
        union = _one_table(parts, self.quasi, names)
        if not len(union):
            raise Withheld("there are no rows to let out: no label of the recoding fits a row")
        ladders = {ladder.column: ladder for ladder in self.request.ladders}
        figures = measure(
            union,
            self.quasi,
            self.request.rules,
            sensitive=used,
            least=self.request.k,
            ladders=ladders,
            apart=self.request.apart,
        )
        others = () if self.request.apart else used
        second = check.keeps(union, self.quasi, self.request.k, self.request.rules, ladders, others)
        first = figures.k >= self.request.k and figures.holds
        if not (first and second):
            raise Withheld(
                "old and new rows together do not keep what is asked: anonymise them together, or ask for less",
                page=_obstacles(self, union, figures),
            )
        return figures


def _one_table(parts: list[pa.Table], quasi: tuple[str, ...], names: list[str]) -> pa.Table:
    """Old and new rows as one table: labels as texts, as a file holds them; the rest in the new rows' types."""
    kinds = parts[0].schema
    try:
        return pa.concat_tables(
            pa.table({n: _texts(part[n]) if n in quasi else part[n].cast(kinds.field(n).type) for n in names})
            for part in parts
        )
    except pa.ArrowException:
        raise Withheld("an earlier release has other types of values than the new rows") from None


def _texts(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column as a file holds it."""
    coded = as_dictionary(column)
    texts = pa.array([written(value) for value in coded.dictionary.to_pylist()], pa.string())
    return pa.chunked_array([texts.take(coded.indices)])


def _obstacles(plan: RecodePlan, union: pa.Table, figures: Figures) -> str:
    """For the curator's eyes only: how far old and new rows together got, and the classes that are too small."""
    label, sizes = class_of_rows(union, plan.quasi)
    first = np.unique(label, return_index=True)[1]
    small = [int(place) for place in first if sizes[label[place]] < plan.request.k]
    lines = [f"# {plan.schema.name}, joined to an earlier release: for the curator's eyes only", ""]
    lines += [f"k: {figures.k} reached, {plan.request.k} asked; {len(small)} classes are too small"]
    lines += [
        f"{r.kind} of {r.column}: {figure:.4g} reached, {r.at:g} asked" for r, figure, _ in figures.rules
    ]
    for place in small[:SHOWN]:
        cells = ", ".join(str(union[name][place].as_py()) for name in plan.quasi)
        lines += [f"{int(sizes[label[place]])} rows have {cells}"]
    return "\n".join(lines) + "\n"
