"""From columns to classes: the one place where an algorithm is chosen and run on codes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from obverse.anonymise.boxes import TREE, Lines, Style, boxes_of, labels, lines, losses, places, step_test
from obverse.anonymise.cluster import mdav, members
from obverse.anonymise.codes import Domain, Ints, encode, reorder
from obverse.anonymise.fitting import exceptions
from obverse.anonymise.items import Items, allowed, collect, part
from obverse.anonymise.ladders import ladder_for
from obverse.anonymise.lattice import Search, by_class
from obverse.anonymise.mondrian import Wish, mondrian
from obverse.anonymise.recode import Recoding, Test
from obverse.anonymise.regions import cheapest_first, local
from obverse.anonymise.rules import Rules
from obverse.anonymise.settle import absorb, adopt, settle
from obverse.data.hierarchy import Ladder, number
from obverse.errors import Withheld

MOST_TOGETHER, BLOCK = 10_000, 1_000
How = Literal["mondrian", "lattice", "local", "members", "mdav"]


@dataclass(frozen=True)
class Prepared:
    """The quasi-identifiers as codes, with the ladders and prices of their labels."""

    domains: tuple[Domain, ...]
    codes: tuple[NDArray[np.int32], ...]
    ladders: tuple[Ladder | None, ...]
    line: Lines


@dataclass(frozen=True)
class Classes:
    """Labels of each quasi-identifier, which of them each row has, and the rows that stay."""

    recoding: Recoding
    which: tuple[NDArray[np.int32] | Ints, ...]
    exact: tuple[bool, ...]
    number: Ints
    by_column: tuple[float, ...]
    note: str = ""

    @property
    def keep(self) -> NDArray[np.bool_]:
        """Which rows stay."""
        return self.number >= 0

    @property
    def loss(self) -> float:
        """The global certainty penalty: the mean loss of all cells."""
        return float(np.mean(self.by_column))


def prepare(
    table: pa.Table,
    quasi: Sequence[str],
    ranges: Mapping[str, tuple[float | None, float | None]],
    ladders: Mapping[str, Ladder],
    style: Style,
    factor: Sequence[float],
    *,
    fan: int = 2,
) -> Prepared:
    """Codes and ladders; a column without a ladder gets an automatic one where labels come from ladders."""
    coded = [encode(name, table[name], *ranges.get(name, (None, None))) for name in quasi]
    raw_domains, raw_codes = [domain for domain, _ in coded], [codes for _, codes in coded]
    domains, codes, climbed = [], [], []
    for place, (domain, column) in enumerate(coded):
        ladder = None
        if style == "hierarchy":
            given = ladders.get(domain.name)
            ladder = _given(domain, given) if given else ladder_for(place, raw_domains, raw_codes, fan)
            order = sorted(range(len(domain.values)), key=_climb(ladder, domain))
            domain, column = reorder(domain, column, order)
            ladder = ladder.of([domain.text(i) for i in range(len(domain.values))])
        domains.append(domain)
        codes.append(column)
        climbed.append(ladder)
    line = lines(domains, climbed, style, factor)
    return Prepared(tuple(domains), tuple(codes), tuple(climbed), line)


def _climb(ladder: Ladder, domain: Domain):  # type: ignore[no-untyped-def]
    """The order in which every subtree of a ladder is one run of codes."""
    return lambda i: (*(level[i] for level in ladder.levels[:0:-1]), float(domain.at[i]))


def _given(domain: Domain, ladder: Ladder) -> Ladder:
    """The curator's ladder, which must cover the column."""
    values = [domain.text(i) for i in range(len(domain.values))]
    if not ladder.covers(values):
        raise Withheld(f"the hierarchy of {domain.name} may miss a value of the column: add a line for it")
    return ladder.of(values)


def search(
    prepared: Prepared,
    joint: Ints,
    rules: Rules,
    how: How,
    wish: Wish,
    *,
    limit: float = 0.0,
    who: Ints | None = None,
    target: NDArray[np.int32] | None = None,
    relaxed: bool = False,
) -> Classes:
    """The classes of one release."""
    items, item = collect(prepared.codes, prepared.domains, joint, who, target, each_row=relaxed)
    if how == "lattice":
        return _full_domain(prepared, items, item, rules, wish, limit)
    everything = np.arange(len(items.rows))
    seen, hist = np.full(items.persons, -1, np.int64), np.zeros(rules.joint, np.int64)
    if not allowed(items, rules, everything, wish.least, hist, seen):
        raise Withheld("this cannot be reached, even with every quasi-identifier hidden in every row")
    if how == "local":
        nodes, due, limits = cheapest_first(items, prepared.line, _heights(prepared))
        label, classes = local(items, prepared.line, rules, nodes, due, limits, wish.least)
        label, classes = _taken_in(prepared, items, rules, wish, label, classes)
        ways = (
            boxed(prepared, items, item, *way)
            for way in ((label, classes), _cut(prepared, items, rules, wish))
        )
        return min(ways, key=_weighed(prepared))
    elif how in ("members", "mdav"):
        label, classes = _clusters(prepared, items, rules, wish, averaged=how == "mdav")
        label, classes = _taken_in(prepared, items, rules, wish, label, classes)
        if how == "members":
            label = settle(items, prepared.line, rules, wish, label, classes, (20, 2))
    else:
        label, classes = _cut(prepared, items, rules, wish)
    found = boxed(prepared, items, item, label, classes)
    return averages(prepared, items, item, found) if how == "mdav" else found


def _cut(prepared: Prepared, items: Items, rules: Rules, wish: Wish) -> tuple[Ints, int]:
    """Classes by cuts, and by rows that then move between them."""
    label, classes = mondrian(items, prepared.line, rules, wish)
    effort = (20, 2) if len(items.rows) < 200_000 else (6, 1)
    return settle(items, prepared.line, rules, wish, label, classes, effort), classes


def _taken_in(
    prepared: Prepared, items: Items, rules: Rules, wish: Wish, label: Ints, classes: int
) -> tuple[Ints, int]:
    """Classes that hold every item: those left over join one that they fit into, or are joined with several."""
    label = adopt(items, prepared.line, rules, wish, label, classes)
    label = absorb(items, prepared.line, rules, wish, label, classes)
    used, number = np.unique(label, return_inverse=True)
    return number, len(used)


def _weighed(prepared: Prepared) -> Callable[[Classes], float]:
    """What classes lose, columns weighted as was asked."""
    return lambda classes: float(prepared.line.factor @ np.array(classes.by_column))


def _clusters(
    prepared: Prepared, items: Items, rules: Rules, wish: Wish, *, averaged: bool
) -> tuple[Ints, int]:
    """Classes grown around members; to be averaged, the columns must be numbers and known everywhere.

    Growing takes time with the square of the rows: many rows are first cut into blocks of rows near each other.
    """
    if averaged and (bad := [d.name for d in prepared.domains if not _averages(d)]):
        raise Withheld(f"{', '.join(bad)} cannot be averaged: mdav needs numbers that are never missing")
    blocks, count = np.zeros(len(items.rows), np.int64), 1
    if len(items.rows) > MOST_TOGETHER:
        blocks, count = mondrian(items, prepared.line, rules, Wish(max(BLOCK, 20 * wish.least), 0.0))
    label, classes = np.full(len(items.rows), -1, np.int64), 0
    order, start = by_class(blocks, count)
    for block in range(count):
        chosen = order[start[block] : start[block + 1]]
        grown, more = _grown(prepared, part(items, chosen), rules, wish, averaged=averaged)
        label[chosen] = np.where(grown >= 0, grown + classes, -1)
        classes += more
    return label, classes


def _grown(prepared: Prepared, items: Items, rules: Rules, wish: Wish, *, averaged: bool) -> tuple[Ints, int]:
    """Classes grown among some items, each compared with all others."""
    if averaged:
        points = np.array([places(d)[items.codes[:, j]] for j, d in enumerate(prepared.domains)]).T
        label, classes = mdav(items, np.ascontiguousarray(points), rules, wish)
    else:
        label, classes = members(items, prepared.line, rules, wish)
    return label, classes


def _averages(domain: Domain) -> bool:
    """Whether a column has a mean."""
    return domain.numeric and not domain.missing and not pa.types.is_temporal(domain.type)


def _recoding(
    prepared: Prepared, items: Items, tests: Sequence[Sequence[Test]], regions: Ints, own: Ints
) -> Recoding:
    """The labels and regions of classes, with the combinations that lie in an earlier region than their own."""
    special = exceptions(prepared.domains, items.codes, tests, regions, own)
    names = tuple(domain.name for domain in prepared.domains)
    return Recoding(names, tuple(map(tuple, tests)), tuple(map(tuple, regions.tolist())), special)


def averages(prepared: Prepared, items: Items, item: Ints, classes: Classes) -> Classes:
    """Classes whose labels are the mean of their values: microaggregation."""
    row = np.unique(np.array(classes.which), axis=1, return_inverse=True)[1].reshape(-1)
    first = np.zeros(int(row.max(initial=0)) + 1, np.int64)
    first[row] = np.arange(len(row))
    named = [tuple(int(its[i]) for its in classes.which) for i in first]
    made, which = [], []
    for j, domain in enumerate(prepared.domains):
        at = domain.at[prepared.codes[j]]
        mean = np.bincount(row, at) / np.bincount(row)
        mean = np.rint(mean) if domain.whole else mean
        tests = [classes.recoding.tests[j][region[j]] for region in named]
        made.append(tuple(replace(test, label=number(float(m))) for test, m in zip(tests, mean, strict=True)))
        which.append(row)
    own = np.zeros(len(items.rows), np.int64)
    own[item] = row
    regions = np.repeat(np.arange(len(first))[:, None], len(made), axis=1)
    recoding = _recoding(prepared, items, made, regions, own)
    return replace(classes, recoding=recoding, which=tuple(which))


def _heights(prepared: Prepared) -> list[int]:
    return [ladder.height if ladder else 0 for ladder in prepared.ladders]


def boxed(prepared: Prepared, items: Items, item: Ints, label: Ints, classes: int) -> Classes:
    """Classes of items as labels of rows."""
    boxes = boxes_of(prepared.line, items.codes, label, classes)
    used = np.unique(label[label >= 0])
    boxes = boxes[used]
    place = np.full(classes + 1, -1, np.int64)
    place[used] = np.arange(len(used))
    rows = np.bincount(place[label[label >= 0]], items.rows[label >= 0], minlength=len(used))
    price = losses(prepared.line, boxes)
    lost = rows @ price
    gone = float(items.rows[label < 0].sum())
    total = float(items.rows.sum())
    by_column = tuple(float(x) for x in (lost + gone) / total)
    named = [
        labels(prepared.line, j, domain, ladder, boxes)
        for j, (domain, ladder) in enumerate(zip(prepared.domains, prepared.ladders, strict=True))
    ]
    cheapest = np.argsort(price.sum(axis=1), kind="stable")
    regions = np.array([its[cheapest] for _, its in named]).T
    made = _recoding(
        prepared,
        items,
        [tests for tests, _ in named],
        regions,
        np.where(label >= 0, np.argsort(cheapest)[place[label]], -1),
    )
    row_class = place[label[item]]
    free = (price == 0).all(axis=0).tolist()
    exact = tuple(same and not d.marked for same, d in zip(free, prepared.domains, strict=True))
    which = tuple(its.astype(np.int32)[row_class] for _, its in named)
    return Classes(made, which, exact, row_class, by_column)


def _full_domain(
    prepared: Prepared, items: Items, item: Ints, rules: Rules, wish: Wish, limit: float
) -> Classes:
    finder = Search(items, prepared.line, rules, _heights(prepared), wish.least)
    best = finder.best(limit)
    if best is None or not (best.label >= 0).any():
        raise Withheld(f"this cannot be reached with at most {limit:.1%} of the rows suppressed")
    number = best.label[item]
    keep = number >= 0
    line, which, tests, by_column = prepared.line, [], [], []
    for j, (domain, ladder) in enumerate(zip(prepared.domains, prepared.ladders, strict=True)):
        assert ladder is not None and line.kind[j] == TREE
        up = line.up[:, line.start[j] : line.start[j] + domain.size]
        kept = np.bincount(prepared.codes[j][keep], minlength=domain.size) > 0  # no value of suppressed rows
        group = up[best.node[j]]
        labels, first = np.unique(group[kept], return_index=True)
        codes = np.flatnonzero(kept)[first]
        tests.append(tuple(step_test(domain, ladder, up, best.node[j], int(c), kept) for c in codes))
        which.append(np.minimum(np.searchsorted(labels, group), len(labels) - 1)[prepared.codes[j]])
        price = line.price[best.node[j], line.start[j] + prepared.codes[j]]
        by_column.append(float(np.where(keep, price, 1.0).mean()))
    regions = () if keep.all() else np.unique(np.array(which)[:, keep], axis=1).T.tolist()
    names = tuple(domain.name for domain in prepared.domains)
    made = Recoding(names, tuple(tests), tuple(map(tuple, regions)))
    exact = tuple(step == 0 and not d.marked for step, d in zip(best.node, prepared.domains, strict=True))
    note = f"the best of {best.nodes} full-domain recodings, proved after looking at {best.evaluated}"
    return Classes(made, tuple(which), exact, number, tuple(by_column), note)
