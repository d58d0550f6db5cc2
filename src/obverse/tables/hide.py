"""Which cells are confidential: too few people, or too much of the total theirs; hidden together with what
would give them away.  [HDFG+12, chapter 4]"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain

import numpy as np

from obverse.errors import BadParameter, Forbidden
from obverse.noise.entropy import Entropy
from obverse.release import Syntactic, Terms
from obverse.tables.audit import ranges
from obverse.tables.cube import Totals
from obverse.tables.insiders import guarded, insiders
from obverse.tables.pattern import Pattern
from obverse.tables.protect import Exact, Protected, Shape, syntactic
from obverse.tables.published import COUNT, knowledge, shown
from obverse.tables.suppress import suppress

SMALLEST = 3
SHARE = Fraction(15, 100)
HIDDEN = "c"
LEFT = 1 - 1e-6  # of a range that floats may have made too wide


@dataclass(frozen=True)
class Suppress(Exact):
    """Hides cells with fewer contributors than `threshold`, and further ones so that sums do not give them away.

    `full` also hides a cell that holds everybody of one of its margins. `dominance` = (n, k) hides an amount of
    which the n largest contributors have more than the share k. `p` hides one where the second largest can tell
    the largest to within the share p, and says how well an amount hidden for few contributors may be known.
    `zeros` lets empty cells be hidden too. All hidden cells wear the same mark: two marks would tell which
    ones are small.
    """

    threshold: int | None = None
    full: bool = False
    dominance: tuple[int, Fraction] | None = None
    p: Fraction | None = None
    zeros: bool = False
    together = True

    def within(self, shape: Shape) -> float:
        return 0.0

    @property
    def top(self) -> int:  # type: ignore[override]
        """How many of the largest contributors the rules look at."""
        return max(2, self.dominance[0] if self.dominance else 0)

    def settled(self, shape: Shape, terms: Terms) -> Suppress:
        least = terms.smallest_group or 0
        threshold = self.threshold if self.threshold is not None else max(SMALLEST, least)
        if threshold < 1:
            raise BadParameter(f"a threshold is a number of people, 1 or more, not {threshold}")
        if threshold < least:
            raise Forbidden(f"the policy's smallest group is {least}, so the threshold cannot be {threshold}")
        for name, share in (("p", self.p), ("k", self.dominance and self.dominance[1])):
            if share is not None and not 0 < share <= 1:
                raise BadParameter(f"{name} is a share above 0 and at most 1, such as 15/100, not {share}")
        if self.dominance and self.dominance[0] < 1:
            raise BadParameter("(n, k) dominance looks at n = 1 or more of the largest contributors")
        if shape.measure is None and (self.dominance or self.p):
            raise BadParameter("dominance and p are about amounts: name a measure, or leave them out")
        for amount, (low, _) in zip((shape.measure, shape.weight), shape.bounds, strict=True):
            if amount is not None and (low is None or low < 0):
                raise BadParameter(
                    f"hiding amounts needs low = 0 or more for {amount}: who contributes most?"
                )
        measures(shape)
        return replace(self, threshold=threshold)

    def guarantee(self, shape: Shape) -> Syntactic:
        rules: list[tuple[str, object]] = [("threshold", self.threshold)]
        rules += [("full cells", "hidden")] if self.full else []
        rules += [("dominance", f"{self.dominance[0]}, {self.dominance[1]}")] if self.dominance else []
        rules += [("p", self.p)] if self.p else []
        return syntactic(*rules, ("secondary", "no sum narrows a hidden cell below its protection interval"))

    def protect(self, shape: Shape, totals: Totals, entropy: Entropy) -> Protected:
        pattern = self.pattern(shape, totals).scaled()
        first = len(pattern.truth) - totals.value.size
        parts = pattern.truth[first:].reshape(totals.value.shape)
        alone = [insiders(totals.dimensions, each, parts, first) for each in totals.alone]
        hidden = guarded(pattern, suppress(pattern), list(chain(*alone)))
        value = shape.figures(totals.value)
        cells = hidden[-value.size :].reshape(value.shape)
        return Protected(value, np.where(cells, HIDDEN, "").astype(object))

    def pattern(self, shape: Shape, totals: Totals) -> Pattern:
        """The confidential cells with the room each is promised, among everything published about the table.

        What earlier tables left of a confidential cell of theirs is promised too. A cell costs 1 to hide, and up
        to 1 more the more of the total it holds.
        """
        names = measures(shape)
        around = bounds(shape, totals)
        known = knowledge(totals.dimensions, names, shape.published, around, whole=shape.whole)
        visible = shown(totals.dimensions, shape.by)
        own = np.zeros(len(known.system.low), bool)
        own[known.block(shape.name)] = True
        truth = np.zeros(len(own))
        truth[known.block(shape.name)] = totals.value.ravel()
        if len(names) == 2:
            truth[known.block(COUNT)] = totals.rows.ravel()

        def spread(values: np.ndarray) -> np.ndarray:
            whole = np.zeros(len(own), values.dtype)
            whole[own] = values.ravel()
            return whole

        primary, up, down = (spread(array) for array in self.confidential(shape, totals))
        here = spread(visible)
        before = primary & ~here & spread(shown(totals.dimensions, [part.by for part in shape.published]))
        if before.any():
            low, high = ranges(known.system, before)
            left = 1.0 if shape.whole else LEFT
            up = np.where(before, np.minimum(up, (high - truth) * left), up)
            down = np.where(before, np.minimum(down, (truth - low) * left), down)
            before &= (up > 0) | (down > 0)
        free = ~here
        return Pattern(
            known.system,
            truth,
            primary=(primary & here) | before,
            up=up,
            down=down,
            weight=1 + truth / max(1.0, truth.max(initial=0)),
            free=free,
            fixed=~free & (truth == 0) & (not self.zeros),
        )

    def confidential(self, shape: Shape, totals: Totals) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Which cells, and how far above and below the truth an outsider's range has to reach for each."""
        value = totals.value
        up, down = np.zeros(value.shape), np.zeros(value.shape)
        primary = np.zeros(value.shape, bool)
        for unit, people in enumerate(totals.contributors):
            few = (people > 0) & (people < (self.threshold or 0))
            missing = value * ((self.threshold or 0) - people) / np.maximum(people, 1)
            if shape.measure is not None:
                missing = float(self.p or SHARE) * totals.largest[unit, 0]
            primary |= few
            up = np.where(few, np.maximum(up, missing), up)
            down = np.where(
                few, np.maximum(down, np.minimum(value, missing) if shape.measure else value), down
            )
            if shape.measure is not None:
                for lacking in self._dominated(value, totals.largest[unit]):
                    primary |= lacking > 0
                    up, down = np.maximum(up, lacking), np.maximum(down, np.minimum(lacking, value))
        if self.full:
            everybody = _everybody(totals)
            primary |= everybody
            up = np.where(everybody, np.maximum(up, 1), up)
            down = np.where(everybody, np.maximum(down, 1), down)
        return primary, up, down

    def _dominated(self, value: np.ndarray, largest: np.ndarray) -> list[np.ndarray]:
        """How much the total lacks for the p % and the (n, k) rule to be kept."""
        lacking = []
        if self.p is not None:
            lacking.append(float(self.p) * largest[0] - (value - largest[0] - largest[1]))
        if self.dominance is not None:
            n, k = self.dominance
            lacking.append(largest[:n].sum(axis=0) / float(k) - value)
        return [np.where(value > 0, np.maximum(part, 0), 0) for part in lacking]


def measures(shape: Shape) -> tuple[str, ...]:
    """Counts, if what was published before is about them, and then the table's own measure."""
    named = {name for earlier in shape.published for name in earlier.measures}
    if not named <= {COUNT, shape.name}:
        raise BadParameter("what was published before is about another measure than the table and its counts")
    return tuple(sorted(named | {shape.name}))


def bounds(shape: Shape, totals: Totals) -> tuple[float, float] | None:
    """Between what a row's amount lies, for all that an outsider may know; a missing one counts as 0."""
    low, high = shape.bounds[0]
    if shape.measure is None or shape.weight is not None or low is None or high is None:
        return None
    least = float(low) if (totals.value >= float(low) * totals.rows).all() else 0.0
    return least, float(high)


def _everybody(totals: Totals) -> np.ndarray:
    """Cells that hold all people of a margin right above them: whoever is in the margin is in the cell."""
    people = totals.contributors[0]
    found = np.zeros(people.shape, bool)
    for axis, dimension in enumerate(totals.dimensions):
        parents = np.array([parent if parent >= 0 else node for node, parent in enumerate(dimension.parents)])
        above = np.take(people, parents, axis=axis)
        only = np.array([parent >= 0 and len(dimension.children[parent]) > 1 for parent in dimension.parents])
        wide = np.moveaxis(np.broadcast_to(only, (*np.delete(people.shape, axis), len(only))), -1, axis)
        found |= wide & (people > 0) & (people == above)
    return found
