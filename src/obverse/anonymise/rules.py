"""Privacy models on one class of a table: l-diversity, t-closeness and their kin, each as one figure to compare.

A class is the histogram of its sensitive values. Every model turns it into a figure; the model holds where the
figure is on the right side of its threshold. The same kernel guides the search and measures the result; the
independent checker (`check.py`) shares nothing with it.
[MKGV07, Definitions 4.1–4.3; LLV07, Definition 2; WLFW06; CK12, Definitions 3.2–3.3; BS08, Definition 3]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from obverse.anonymise.codes import Domain
from obverse.data.hierarchy import Ladder
from obverse.errors import BadParameter

Kind = Literal["distinct", "entropy", "recursive", "alpha", "t", "beta", "enhanced-beta", "delta"]
Distance = Literal["equal", "rank", "value", "tree"]
KINDS: tuple[Kind, ...] = ("distinct", "entropy", "recursive", "alpha", "t", "beta", "enhanced-beta", "delta")
AT_LEAST = ("distinct", "entropy")
SLACK = 1e-9
MOST = 1e9


@dataclass(frozen=True)
class Rule:
    """One privacy model of one sensitive column, such as `Rule("distinct", "disease", 3)`.

    `at` is l, α, t, β, δ, or for a recursive rule l with the factor `c`. `clusters` counts values that are near
    each other as one, for distinct, entropy and recursive rules: the label of that step of the column's ladder.
    """

    kind: Kind
    column: str
    at: float
    c: float = 0.0
    distance: Distance = "equal"
    clusters: int = 0

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise BadParameter(f"{self.kind} is no privacy model; there are {', '.join(KINDS)}")
        least = {"distinct": 1, "entropy": 1, "recursive": 1}.get(self.kind, 0)
        most = {"alpha": 1, "t": 1, "distinct": MOST, "entropy": MOST, "recursive": MOST}.get(
            self.kind, float("inf")
        )
        if not least <= self.at <= most:
            raise BadParameter(
                f"{self.kind} of {self.column} must be between {least} and {most}, not {self.at}"
            )
        if self.kind == "recursive" and (self.c <= 0 or self.at != int(self.at)):
            raise BadParameter(f"recursive diversity of {self.column} needs a whole l and c above 0")
        if self.distance not in ("equal", "rank", "value", "tree"):
            raise BadParameter(f"{self.distance} is no distance; there are equal, rank, value and tree")

    @property
    def term(self) -> tuple[str, str]:
        """The promise in words, the distance named."""
        letter = {"t": "t", "alpha": "α", "beta": "β", "enhanced-beta": "β", "delta": "δ"}.get(self.kind, "l")
        how = {"t": f"{self.distance} distance, ", "alpha": "largest share, ", "delta": "disclosure, "}
        words = how.get(self.kind, f"{self.kind}, ")
        words += f"c = {self.c:g}, " if self.kind == "recursive" else ""
        words += f"clusters of step {self.clusters}, " if self.clusters else ""
        return letter, f"{self.at:g} ({words}{self.column})"


class Rules(NamedTuple):
    """Rules as arrays. `context` says which histogram a joint code belongs to, `value` which bar of it."""

    kind: NDArray[np.int64]
    at: NDArray[np.float64]
    c: NDArray[np.float64]
    context: NDArray[np.int64]
    contexts: NDArray[np.int64]
    value: NDArray[np.int64]
    values: NDArray[np.int64]
    overall: NDArray[np.float64]
    gap: NDArray[np.float64]
    up: NDArray[np.int64]
    height: NDArray[np.int64]
    joint: int


def compile_rules(
    rules: Sequence[Rule], domains: Sequence[Domain], ladders: Sequence[Ladder | None], apart: bool
) -> Rules:
    """The rules for histograms over joint codes of all sensitive columns, the last column varying fastest.

    Unless `apart`, a rule of one column holds among the rows that agree on every other sensitive column.
    """
    sizes = [domain.size for domain in domains]
    total = int(np.prod(sizes, dtype=np.int64))
    parts = np.array(np.unravel_index(np.arange(total), sizes)) if sizes else np.zeros((0, 1), np.int64)
    names = [domain.name for domain in domains]
    most, tall, count = (
        max(sizes, default=1),
        1 + max((x.height for x in ladders if x), default=1),
        len(rules),
    )
    filled = Rules(
        np.array([KINDS.index(rule.kind) for rule in rules], np.int64),
        np.array([rule.at for rule in rules], np.float64),
        np.array([rule.c for rule in rules], np.float64),
        np.zeros((count, total), np.int64),
        np.ones(count, np.int64),
        np.zeros((count, total), np.int64),
        np.ones(count, np.int64),
        np.zeros((count, most)),
        np.zeros((count, most)),
        np.zeros((count, tall, most), np.int64),
        np.zeros(count, np.int64),
        total,
    )
    for r, rule in enumerate(rules):
        if rule.column not in names:
            raise BadParameter(f"{rule.column} is not among the sensitive columns")
        j = names.index(rule.column)
        bars, filled.values[r] = _bars(rule, domains[j], ladders[j])
        filled.value[r] = bars[parts[j]]
        others = [i for i in range(len(sizes)) if i != j]
        if others and not apart:
            filled.context[r] = np.ravel_multi_index(tuple(parts[others]), [sizes[i] for i in others])
            filled.contexts[r] = int(np.prod([sizes[i] for i in others]))
        _distances(filled, r, rule, domains[j], ladders[j])
    return filled


def _bars(rule: Rule, domain: Domain, ladder: Ladder | None) -> tuple[NDArray[np.int64], int]:
    if not rule.clusters:
        return np.arange(domain.size), domain.size
    if ladder is None or rule.clusters > ladder.height:
        raise BadParameter(
            f"{rule.column} has no hierarchy with a step {rule.clusters} to take clusters from"
        )
    labels = [*ladder.of([domain.text(i) for i in range(len(domain.values))]).levels[rule.clusters]]
    _, bars = np.unique(np.array([*labels, "\0"][: domain.size]), return_inverse=True)
    return bars.astype(np.int64), int(bars.max()) + 1


def _distances(filled: Rules, r: int, rule: Rule, domain: Domain, ladder: Ladder | None) -> None:
    """Steps between neighbouring values, or the tree over them; a missing value is a step of its own."""
    size, known = domain.size, len(domain.values)
    if rule.kind != "t":
        return
    if rule.distance in ("rank", "value"):
        if rule.distance == "value" and not domain.numeric:
            raise BadParameter(f"{rule.column} has no numbers: take the rank, equal or tree distance")
        steps = np.ones(size - 1)
        if rule.distance == "value" and known > 1:
            steps[: known - 1] = np.diff(domain.at) / (domain.at[-1] - domain.at[0]) * max(1, known - 1)
        filled.gap[r, : size - 1] = steps / max(1, size - 1)
        return
    filled.height[r] = 1
    filled.up[r, 0, :size] = np.arange(size)
    if rule.distance == "tree":
        if ladder is None:
            raise BadParameter(f"{rule.column} has no hierarchy: the tree distance needs one")
        for step, level in enumerate(ladder.of([domain.text(i) for i in range(known)]).levels):
            _, filled.up[r, step, :known] = np.unique(np.array(level), return_inverse=True)
            filled.up[r, step, known:] = known + step if step < ladder.height else 0
        filled.height[r] = ladder.height


def set_overall(rules: Rules, joint: NDArray[np.int64]) -> None:
    """The distribution every class is compared with: that of the rows that are kept."""
    for r in range(len(rules.kind)):
        bars = np.bincount(rules.value[r], joint, minlength=rules.overall.shape[1])
        rules.overall[r] = bars / max(1, joint.sum())


@njit(cache=True)
def figure(rules: Rules, r: int, bars: NDArray[np.float64], n: float) -> float:
    """What the r-th rule measures on one histogram of n rows."""
    kind, size = rules.kind[r], rules.values[r]
    if kind == 4:
        return float(_distance(rules, r, bars, n))
    if kind == 2:
        return float(_recursive(bars[:size], int(rules.at[r])))
    found = 0.0
    for v in range(size):
        p, q = bars[v] / n, rules.overall[r, v]
        if kind == 0:
            found += bars[v] > 0
        elif kind == 1 and p > 0:
            found -= p * np.log(p)
        elif kind == 3:
            found = max(found, p)
        elif kind == 5 and q > 0:
            found = max(found, (p - q) / q)
        elif kind == 6 and p > q:
            found = max(found, (p - q) / q if q > 0 and (p - q) / q <= -np.log(q) + SLACK else np.inf)
        elif kind == 7 and q > 0:
            found = max(found, abs(np.log(p / q)) if p > 0 else np.inf)
    return float(np.exp(found) if kind == 1 else found)


@njit(cache=True)
def _recursive(bars: NDArray[np.float64], least: int) -> float:
    """r₁ / (r_l + … + r_m), to be below c."""
    ordered = np.sort(bars)[::-1]
    tail = ordered[least - 1 :].sum()
    return float(ordered[0] / tail) if tail > 0 else np.inf


@njit(cache=True)
def _distance(rules: Rules, r: int, bars: NDArray[np.float64], n: float) -> float:
    """The earth mover's distance to the overall distribution, along a line or on a tree.

    On a line it is Σ gap·|cumulated difference|; on a tree ½·Σ over subtrees of |difference inside| / height,
    which equals the recursion of [LLV07, section 5.3].
    """
    size, total = rules.values[r], 0.0
    if rules.height[r] == 0:
        moved = 0.0
        for v in range(size - 1):
            moved += bars[v] / n - rules.overall[r, v]
            total += abs(moved) * rules.gap[r, v]
        return total
    inside = np.zeros(2 * size + rules.height[r] + 1)
    for step in range(rules.height[r]):
        inside[:] = 0
        for v in range(size):
            inside[rules.up[r, step, v]] += bars[v] / n - rules.overall[r, v]
        total += np.abs(inside).sum()
    return float(total / 2 / rules.height[r])


@njit(cache=True)
def enough(rules: Rules, r: int, found: float) -> bool:
    """Whether a figure is on the right side of the rule's threshold."""
    if rules.at[r] == np.inf:
        return True
    if rules.kind[r] < 2:
        return bool(found >= rules.at[r] * (1 - SLACK))
    if rules.kind[r] == 2:
        return bool(found < rules.c[r])
    if rules.kind[r] == 7:
        return bool(found < rules.at[r])
    return bool(found <= rules.at[r] + SLACK)


@njit(cache=True)
def figures(rules: Rules, r: int, hist: NDArray[np.int64], least: int) -> tuple[float, bool]:
    """The worst figure of the r-th rule over a class's contexts, and whether it is enough with `least` rows each."""
    bars = np.zeros((rules.contexts[r], rules.values[r]))
    for s in range(rules.joint):
        bars[rules.context[r, s], rules.value[r, s]] += hist[s]
    worst, good = -1.0, True
    for context in range(rules.contexts[r]):
        n = bars[context].sum()
        if n == 0:
            continue
        found = figure(rules, r, bars[context], n)
        good = good and n >= least and enough(rules, r, found)
        low = rules.kind[r] < 2
        if worst < 0 or (found < worst if low else found > worst):
            worst = found
    return worst, good


@njit(cache=True)
def holds(rules: Rules, hist: NDArray[np.int64], least: int) -> bool:
    """Whether one class keeps every rule."""
    good = True
    for r in range(len(rules.kind)):
        good = good and figures(rules, r, hist, least if rules.contexts[r] > 1 else 0)[1]
    return good
