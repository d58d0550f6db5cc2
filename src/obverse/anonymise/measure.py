"""What a table promises by its form: k, every model's figure, the classes' risks, as an outsider can count them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numba import njit
from numpy.typing import NDArray

from obverse.anonymise.codes import Domain, Ints, encode, group
from obverse.anonymise.items import Items, collect, headcount, histogram
from obverse.anonymise.lattice import by_class
from obverse.anonymise.rules import Rule, Rules, compile_rules, figures, set_overall
from obverse.data.hierarchy import Ladder
from obverse.data.schema import hint
from obverse.errors import BadParameter


@dataclass(frozen=True)
class Figures:
    """The smallest class, the number of classes and rows, and for each rule its worst figure and whether it holds.

    `people` is the sum over all classes: the rows, unless it is known who is who.
    """

    k: int
    classes: int
    rows: int
    rules: tuple[tuple[Rule, float, bool], ...] = ()
    uniques: int = 0
    people: int = 0

    @property
    def holds(self) -> bool:
        """Whether every rule holds; k is compared by the caller."""
        return all(good for _, _, good in self.rules)

    @property
    def risks(self) -> tuple[tuple[str, float], ...]:
        """The chance to be right about somebody, for three attackers.  [ElE08, section 3]

        The prosecutor knows that her target is in the table, the journalist only wants anybody, the marketer
        wants as many as possible; with no table of the population at hand the journalist's risk is the prosecutor's.
        """
        most = 1 / self.k if self.k else 0.0
        return ("prosecutor", most), ("journalist", most), ("marketer", self.classes / max(1, self.people))


@njit(cache=True)
def worst(
    items: Items, rules: Rules, label: Ints, classes: int, least: int
) -> tuple[NDArray[np.float64], Ints, Ints]:
    """The worst figure of each rule, whether it holds, and each class's number of people."""
    count = len(rules.kind)
    found, good = np.full(count, -1.0), np.ones(count, np.int64)
    hist, seen = np.zeros(rules.joint, np.int64), np.full(items.persons, -1, np.int64)
    order, start = by_class(label, classes)
    people = np.zeros(classes, np.int64)
    for c in range(classes):
        members = order[start[c] : start[c + 1]]
        people[c] = headcount(items, members, seen)
        if count > 0:
            histogram(items, members, hist)
        for r in range(count):
            figure, enough = figures(rules, r, hist, least if rules.contexts[r] > 1 else 0)
            low = rules.kind[r] < 2
            if found[r] < 0 or (figure < found[r] if low else figure > found[r]):
                found[r] = figure
            good[r] = good[r] and enough
    return found, good, people


def measure(
    table: pa.Table,
    quasi: Sequence[str],
    rules: Sequence[Rule] = (),
    *,
    sensitive: Sequence[str] = (),
    least: int = 1,
    ladders: Mapping[str, Ladder] | None = None,
    apart: bool = False,
    who: pa.ChunkedArray | None = None,
) -> Figures:
    """The figures of a table, its labels taken as they are: equal labels are one class, missing is its own category."""
    for name in (*quasi, *sensitive):
        if name not in table.column_names:
            raise BadParameter(f"there is no column {name}{hint(name, tuple(table.column_names))}")
    if not len(table):
        return Figures(0, 0, 0)
    coded = [encode(name, table[name]) for name in quasi]
    _, joint, compiled = histograms(table, rules, sensitive, ladders or {}, apart)
    persons = None if who is None else encode("who", who)[1].astype(np.int64)
    items, _ = collect([codes for _, codes in coded], [domain for domain, _ in coded], joint, persons)
    found, good, people = worst(items, compiled, np.arange(len(items.rows)), len(items.rows), least)
    results = tuple(
        (rule, float(figure), bool(fine)) for rule, figure, fine in zip(rules, found, good, strict=True)
    )
    alone, everybody = int((people == 1).sum()), int(people.sum())
    return Figures(int(people.min()), len(people), len(table), results, alone, everybody)


def histograms(
    table: pa.Table,
    rules: Sequence[Rule],
    sensitive: Sequence[str],
    ladders: Mapping[str, Ladder],
    apart: bool,
) -> tuple[list[Domain], Ints, Rules]:
    """The sensitive columns' domains, their joint code on each row, and the rules for histograms over it."""
    coded = [encode(name, table[name]) for name in sensitive]
    domains = [domain for domain, _ in coded]
    joint = np.zeros(len(table), np.int64)
    for domain, codes in coded:
        joint = joint * domain.size + codes
    if np.prod([float(domain.size) for domain in domains]) > 1e7:
        raise BadParameter("the sensitive columns have too many values together: name fewer, or apart = True")
    compiled = compile_rules(rules, domains, [ladders.get(name) for name in sensitive], apart)
    set_overall(compiled, np.bincount(joint, minlength=compiled.joint))
    return domains, joint, compiled


def class_of_rows(table: pa.Table, quasi: Sequence[str]) -> tuple[Ints, Ints]:
    """The class of each row, and each class's size."""
    coded = [encode(name, table[name]) for name in quasi]
    _, label, sizes = group([codes for _, codes in coded], [domain.size for domain, _ in coded])
    return label, sizes
