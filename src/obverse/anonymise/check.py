"""The second checker: slow, plain, from the papers' words, sharing no line with the search.

It sees only the table as an outsider will see it: it groups the labels as text, counts in Python, and works out each
model from its definition. Nothing leaves unless it agrees.  [Swe02; MKGV07; LLV07; WLFW06; CK12; BS08]
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from math import exp, inf, log

import pyarrow as pa
import pyarrow.compute as pc

from obverse.anonymise.rules import Rule
from obverse.data.hierarchy import Ladder

Counts = dict[object, int]
Key = tuple[object, ...]
WHO = "\0who"
NEAR = 1e-7


def smallest(table: pa.Table, quasi: Sequence[str]) -> int:
    """How many rows, or people where the column WHO says who is who, the smallest class has."""
    keys = list(quasi)
    seen = (
        table.select([*keys, WHO]).group_by([*keys, WHO]).aggregate([])
        if WHO in table.column_names
        else table
    )
    if not keys or not len(table):
        return len(seen)
    counts = seen.group_by(keys).aggregate([([], "count_all")])
    return int(pc.min(counts["count_all"]).as_py())


def keeps(
    table: pa.Table,
    quasi: Sequence[str],
    least: int,
    rules: Sequence[Rule],
    ladders: Mapping[str, Ladder],
    others: Sequence[str] = (),
) -> bool:
    """Whether a table keeps k and every rule; `others` are sensitive columns that count as known too."""
    if smallest(table, quasi) < least:
        return False
    return all(_keeps_rule(table, quasi, least, rule, ladders.get(rule.column), others) for rule in rules)


def _keeps_rule(
    table: pa.Table,
    quasi: Sequence[str],
    least: int,
    rule: Rule,
    ladder: Ladder | None,
    others: Sequence[str],
) -> bool:
    known = [*quasi, *(name for name in others if name != rule.column)]
    table = table.append_column("\0bar", _bars(table[rule.column], rule, ladder))
    overall: Counts = defaultdict(int)
    for _, counts in _classes(table, known):
        for value, count in counts.items():
            overall[value] += count
        if len(known) > len(quasi) and sum(counts.values()) < least:
            return False
    measure = _Measure(rule, overall, ladder)
    return all(measure.holds(counts) for _, counts in _classes(table, known))


def _bars(column: pa.ChunkedArray, rule: Rule, ladder: Ladder | None) -> pa.ChunkedArray:
    """The sensitive values, or the labels of their clusters."""
    if not rule.clusters or ladder is None:
        return column
    label = dict(zip(ladder.levels[0], ladder.levels[rule.clusters], strict=True))
    return pa.chunked_array([[None if v is None else label[str(v)] for v in column.to_pylist()]], pa.string())


def _classes(table: pa.Table, known: Sequence[str]) -> Iterator[tuple[Key, Counts]]:
    """Each class with the counts of its sensitive values, one after the other."""
    counted = table.group_by([*known, "\0bar"]).aggregate([([], "count_all")])
    classes: dict[Key, Counts] = defaultdict(dict)
    columns = [counted[name].to_pylist() for name in (*known, "\0bar", "count_all")]
    for *cells, value, count in zip(*columns, strict=True):
        classes[tuple(cells)][value] = count
    yield from classes.items()


class _Measure:
    """One rule against the distribution of the whole table."""

    def __init__(self, rule: Rule, overall: Counts, ladder: Ladder | None) -> None:
        self.rule, self.ladder = rule, ladder
        total = sum(overall.values())
        self.order = sorted(overall, key=lambda v: (v is None, v))
        self.overall = {value: overall[value] / total for value in self.order}

    def holds(self, counts: Counts) -> bool:
        total = sum(counts.values())
        share = {value: counts.get(value, 0) / total for value in self.order}
        kind, at = self.rule.kind, self.rule.at
        if at == inf:
            return True
        if kind == "distinct":
            return len(counts) >= at
        if kind == "entropy":
            return exp(-sum(p * log(p) for p in share.values() if p)) >= at - NEAR
        if kind == "recursive":
            ranked = sorted(counts.values(), reverse=True)
            return ranked[0] < self.rule.c * sum(ranked[int(at) - 1 :]) + NEAR
        if kind == "alpha":
            return max(share.values()) <= at + NEAR
        if kind == "t":
            return self.distance(share) <= at + NEAR
        if kind == "delta":
            return all(p > 0 and abs(log(p / self.overall[v])) < at + NEAR for v, p in share.items())
        for value, p in share.items():
            q = self.overall[value]
            cap = at if kind == "beta" else min(at, -log(q))
            if p > q and (p - q) / q > cap + NEAR:
                return False
        return True

    def distance(self, share: Mapping[object, float]) -> float:
        """How much must be moved how far to turn the overall distribution into this one."""
        extra = [share[value] - self.overall[value] for value in self.order]
        if self.rule.distance == "equal":
            return sum(x for x in extra if x > 0)
        if self.rule.distance == "tree" and self.ladder is not None:
            return self.on_tree(dict(zip(self.order, extra, strict=True)), self.ladder)
        known = [value for value in self.order if value is not None]
        steps = [1.0] * (len(self.order) - 1)
        if self.rule.distance == "value" and len(known) > 1:
            places = [_place(value) for value in known]
            width = (places[-1] - places[0]) / (len(known) - 1)
            steps[: len(known) - 1] = [(b - a) / width for a, b in pairwise(places)]
        moved = total = 0.0
        for x, step in zip(extra, steps, strict=False):
            moved += x
            total += abs(moved) * step
        return total / max(1, len(self.order) - 1)

    def on_tree(self, extra: Mapping[object, float], ladder: Ladder) -> float:
        """[LLV07, section 5.3]: at each inner node, what its children send each other, times its height."""
        at = {leaf: index for index, leaf in enumerate(ladder.levels[0])}
        total = 0.0
        for height in range(1, ladder.height + 1):
            children: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
            for value, x in extra.items():
                if value is None:
                    parent, child = ladder.levels[height][0] if height == ladder.height else "\0", "\0"
                else:
                    place = at[str(value)]
                    parent, child = ladder.levels[height][place], ladder.levels[height - 1][place]
                children[parent][child] += x
            for sent in children.values():
                more = sum(x for x in sent.values() if x > 0)
                less = -sum(x for x in sent.values() if x < 0)
                total += height / ladder.height * min(more, less)
        return total


def _place(value: object) -> float:
    """Where a number or a date lies on a line."""
    if isinstance(value, int | float):
        return float(value)
    toordinal = getattr(value, "timestamp", None) or getattr(value, "toordinal", None)
    return float(toordinal()) if toordinal else inf
