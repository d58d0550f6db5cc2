"""Verify anybody's table: how many are alike, what follows about their secrets, and are its labels true.  [Swe02]

The figures come from the product's kernels; where the independent checker disagrees, nothing is said.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from obverse.anonymise import check
from obverse.anonymise.codes import ROW, Ints, as_dictionary, written
from obverse.anonymise.labels import contains
from obverse.anonymise.measure import Figures, class_of_rows, measure
from obverse.anonymise.rules import Rule
from obverse.data.hierarchy import Ladder
from obverse.data.schema import hint
from obverse.errors import BadParameter, Withheld

MOST_NAMED = 20


@dataclass(frozen=True)
class Verdict:
    """What a table promises, the rows (from 1) that are alone or in the smallest classes, and labels that are untrue.

    `suppressed` rows hide everything and are not counted.
    """

    figures: Figures
    smallest: tuple[int, ...]
    untrue: tuple[str, ...]
    suppressed: int
    disclosed: tuple[tuple[str, int], ...]

    @property
    def k(self) -> int:
        return self.figures.k


def verify(
    table: pa.Table,
    quasi: Sequence[str],
    sensitive: Sequence[str] = (),
    rules: Sequence[Rule] = (),
    *,
    k: int = 1,
    ladders: Mapping[str, Ladder] | None = None,
    original: pa.Table | None = None,
    apart: bool = False,
    who: str | None = None,
) -> Verdict:
    """The verdict on a table; with the original, row by row, also on whether every label contains its value."""
    if k < 1:
        raise BadParameter(f"k is a whole number, at least 1, not {k}")
    if not quasi:
        raise BadParameter("name the quasi-identifiers: what an attacker may know of somebody")
    for name in (*quasi, *sensitive, *([who] if who else [])):
        if name not in table.column_names:
            raise BadParameter(f"there is no column {name}{hint(name, tuple(table.column_names))}")
    shown = _shown(table, quasi)
    kept = table.filter(pa.array(shown))
    persons = kept[who] if who else None
    figures = measure(
        kept, quasi, rules, sensitive=sensitive, least=k, ladders=ladders, apart=apart, who=persons
    )
    seen = kept if persons is None else kept.append_column(check.WHO, persons)
    if len(kept):
        others = () if apart else tuple(sensitive)
        second = check.keeps(seen, quasi, k, rules, ladders or {}, others)
        if second != (figures.k >= k and figures.holds):
            raise Withheld("the two checkers disagree about this table: trust neither, and please report it")
    place = np.flatnonzero(shown) + 1
    label, sizes = class_of_rows(kept, quasi) if len(kept) else (np.zeros(0, np.int64), np.zeros(0, np.int64))
    least = place[sizes[label] == sizes.min()] if len(kept) else place
    untrue = tuple(untruths(table, original, quasi)) if original is not None else ()
    disclosed = tuple((name, _alike(kept, label, name)) for name in sensitive)
    return Verdict(figures, tuple(int(x) for x in least[:MOST_NAMED]), untrue, int((~shown).sum()), disclosed)


def _shown(table: pa.Table, quasi: Sequence[str]) -> np.ndarray:
    """Which rows are not suppressed as a whole."""
    hidden = np.ones(len(table), bool)
    for name in quasi:
        coded = as_dictionary(table[name])
        mark = coded.dictionary.to_pylist().index(ROW) if _marked(coded) else -1
        hidden &= pc.fill_null(coded.indices, -2).to_numpy(zero_copy_only=False) == mark
    return ~hidden


def _marked(coded: pa.DictionaryArray) -> bool:
    """Whether a column has the mark of hidden rows."""
    kind = coded.dictionary.type
    text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    return bool(text and pc.is_in(pa.array([ROW], kind), coded.dictionary)[0].as_py())


def _alike(table: pa.Table, label: Ints, name: str) -> int:
    """How many rows are in a class where everybody has the same value."""
    if not len(table):
        return 0
    values, _ = class_of_rows(table, [name])
    pairs, counts = np.unique(np.array([label, values]), axis=1, return_counts=True)
    _, different = np.unique(pairs[0], return_counts=True)
    return int(counts[different[pairs[0]] == 1].sum())


def untruths(table: pa.Table, original: pa.Table, quasi: Sequence[str]) -> list[str]:
    """Labels that do not contain the value they stand for: both tables have the same rows in the same order."""
    if len(table) != len(original):
        raise BadParameter(
            f"the original has {len(original)} rows and the table {len(table)}: labels cannot be compared"
        )
    found = []
    for name in quasi:
        if name not in original.column_names:
            raise BadParameter(f"the original has no column {name}")
        pairs = zip(table[name].to_pylist(), original[name].to_pylist(), strict=True)
        for row, (label, value) in enumerate(pairs, 1):
            if not contains(_text(label), _text(value)):
                found.append(f"row {row}: {value} is not in {label} ({name})")
    return found


def _text(value: object) -> str | None:
    return None if value is None else written(value)
