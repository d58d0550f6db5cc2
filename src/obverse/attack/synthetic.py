"""What a table of records says about the people it was made from: singling out, linkability, inference.

The three questions are the Article 29 Working Party's, the measures Anonymeter's [GBWT23]; beside each stands
a stronger attack, which a copy of the people cannot pass. The view holds the `release`; what else, each class
says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

import numpy as np
import pyarrow as pa
from numba import njit
from numpy.typing import NDArray

from obverse.attack.base import Attack, Claims, Harm, View, shuffle, words
from obverse.attack.mixed import MISSING, Codes, Ladders, classes_of, counted, encode, numeric
from obverse.attack.nearest import Boxes, Nearest, Reals
from obverse.errors import BadParameter
from obverse.noise.entropy import Keyed

Scores: TypeAlias = NDArray[np.float64]
Yes: TypeAlias = NDArray[np.bool_]

TIES = 64  # as many equally near classes of like records as are asked for their opinion
NOTHING = -1
NEAR = 0.05  # a number claimed is right where it is as near as this share of itself  [GBWT23]
BATCHES = 10  # of draws; the attacker goes on while as many bring him a tenth of what he wants
LEAST = -1.0  # below every number, above a missing one


@dataclass(frozen=True)
class SinglingOut(Attack):
    """Descriptions that fit one record of the release: does each fit one person?  [CN20; GBWT23]

    `size` columns a description, more extreme than the median where they are numbers; 1 takes the rarest
    values and the ends of every column; 0 takes whole records. `count` descriptions are wanted, as many as there
    are records at most; each that is not to be had is an attack that failed.
    """

    size: int = 3
    count: int = 1000
    seed: str = "singling out"
    harm: ClassVar[Harm] = "singling out"

    @property
    def threat(self) -> str:
        how = {0: "a whole record", 1: "one rare or extreme value"}.get(self.size, f"{self.size} columns")
        return f"Somebody with the release alone describes a person by {how}, and exactly one person fits."

    def claim(self, view: View) -> Claims:
        release = view.table("release")
        found = len(self._described(encode([release], release.column_names)[0], release))
        made = np.arange(self._wanted(release)) < found
        return Claims(np.arange(len(made)), made.astype(float), made)

    def truth(self, release: pa.Table, people: pa.Table) -> NDArray[np.int64]:
        """For the judge: a description's own number where it fits exactly one of the people, else −1."""
        return self.truths(release, people)[0]

    def truths(self, release: pa.Table, *lists: pa.Table) -> list[NDArray[np.int64]]:
        """The same for several lists of people, whose descriptions are made once."""
        records, *held = encode([release, *lists], release.column_names)
        described = self._described(records, release)
        fits = np.zeros((len(lists), self._wanted(release)), np.int64)
        for found, people in zip(fits, held, strict=True):
            found[: len(described)] = Nearest(people).holds(described)
        return [np.where(found == 1, np.arange(len(found)), NOTHING) for found in fits]

    def _wanted(self, release: pa.Table) -> int:
        return min(self.count, int(release.num_rows))

    def _described(self, records: Boxes, release: pa.Table) -> Boxes:
        """Descriptions as boxes, each of which holds one record of the release."""
        numbers = np.array([numeric(release, name) for name in release.column_names])
        if not 0 <= self.size <= len(numbers):
            raise BadParameter(f"a description cannot use {self.size} of {len(numbers)} columns")
        tree, entropy = Nearest(records), Keyed(self.seed)
        if self.size == 1:
            found = _alone(tree, *self._rarest(records, numbers, entropy))
        else:
            found = self._sought(tree, records, numbers, entropy)
        low, high = np.hsplit(found[: self._wanted(release)], 2)
        return Boxes(np.ascontiguousarray(low), np.ascontiguousarray(high))

    def _sought(self, tree: Nearest, records: Boxes, numbers: NDArray[np.bool_], entropy: Keyed) -> Reals:
        """Drawn until there are as many as are wanted, or too few more come for it to be worth while."""
        middle = np.partition(records.low, len(records) // 2, axis=0)[len(records) // 2]
        found, worth = np.empty((0, 2 * len(numbers)), np.float32), True
        wanted = min(self.count, len(records))
        while worth:
            before = len(found)
            for _ in range(BATCHES):
                if len(found) < wanted:
                    more = _alone(tree, *self._drawn(records, numbers, middle, entropy))
                    found = np.vstack([found, more])
                    found = found[np.sort(np.unique(found, axis=0, return_index=True)[1])]
            worth = before + wanted / 10 < len(found) < wanted
        return found

    def _drawn(
        self, records: Boxes, numbers: NDArray[np.bool_], middle: Reals, entropy: Keyed
    ) -> tuple[Reals, Reals]:
        """Descriptions of drawn records, several times as many as are wanted."""
        draws = (10 if self.size else 2) * min(self.count, len(records))
        rows = words(draws, entropy) % len(records)
        used = np.ones((draws, len(numbers)), bool)
        if 0 < self.size < len(numbers):
            keys = words(draws * len(numbers), entropy).reshape(draws, -1)
            used = keys <= np.partition(keys, self.size - 1, axis=1)[:, [self.size - 1]]
        value = records.low[rows]
        upper = value > middle
        loose = used & numbers & (value != MISSING) if self.size else np.zeros_like(used)
        low = np.where(loose & ~upper, LEAST, np.where(used, value, -np.inf))
        high = np.where(used & ~(loose & upper), value, np.inf)
        return low.astype(np.float32), high.astype(np.float32)

    def _rarest(self, records: Boxes, numbers: NDArray[np.bool_], entropy: Keyed) -> tuple[Reals, Reals]:
        """The ends of each number, and every value that occurs once."""
        found: list[tuple[int, float, float]] = []
        for j, number in enumerate(numbers):
            values, counts = np.unique(records.low[:, j], return_counts=True)
            found += [(j, value, value) for value in values[counts == 1]]
            if number:
                found += [(j, LEAST, values[values > MISSING].min(initial=1)), (j, values.max(), np.inf)]
        order = shuffle(len(found), entropy)[: 10 * self.count]
        low = np.full((len(order), len(numbers)), -np.inf, np.float32)
        high = np.full((len(order), len(numbers)), np.inf, np.float32)
        for i, place in enumerate(order):
            j, least, most = found[place]
            low[i, j], high[i, j] = least, most
        return low, high


@dataclass(frozen=True)
class Linking(Attack):
    """Are these two halves of a record the same person's?  [GBWT23]

    The view's `targets` hold both halves. With `neighbours`, yes where one released record is among that many
    nearest to each half: Anonymeter's question. Without, yes where some released record is nearer to the two
    than all but one in a hundred pairs that were put together wrongly, from the release itself, ever are; or
    is just these two halves, where more of the wrong pairs are rows. With `near` wrong pairs that are rows do not
    count: so a copy with a little noise is linked too, and more strangers are.
    """

    left: tuple[str, ...]
    right: tuple[str, ...]
    neighbours: int = 0
    seed: str = "linking"
    near: bool = False
    harm: ClassVar[Harm] = "linkability"

    @property
    def threat(self) -> str:
        return (
            "Somebody with two lists that share no column tells by the release which rows are one person's."
        )

    def claim(self, view: View) -> Claims:
        columns = [*self.left, *self.right]
        release, targets = encode([view.table("release", columns), view.table("targets", columns)], columns)
        together = self._shared if self.neighbours else self._joint
        scores, made = together(release, targets.low, len(self.left))
        return Claims(np.ones(len(made), bool), scores, made)

    def _shared(self, release: Boxes, points: Reals, cut: int) -> tuple[Scores, Yes]:
        halves = list(range(cut)), list(range(cut, points.shape[1]))
        found = [
            Nearest(release.columns(half)).search(points[:, half], self.neighbours)[1] for half in halves
        ]
        together = (found[0][:, :, None] == found[1][:, None, :]).any(axis=(1, 2))
        return together.astype(float), together

    def _joint(self, release: Boxes, points: Reals, cut: int) -> tuple[Scores, Yes]:
        tree = Nearest(release)
        distance = tree.search(points)[0][:, 0].astype(float)
        wrong = self._wrong(release, tree, cut)
        share = min(1.0, self._rows_among(wrong) + 0.01) if self.near else 0.01
        bar = np.quantile(wrong, share, method="higher" if self.near else "linear") if len(wrong) else 0.0
        return -distance, distance <= bar if bar == 0 else distance < bar

    def _wrong(self, release: Boxes, tree: Nearest, cut: int) -> Reals:
        """How far pairs that were put together wrongly are from the nearest row."""
        entropy = Keyed(self.seed)
        one, other = (words(2000, entropy) % len(release) for _ in range(2))
        pairs = np.hstack([release.low[one, :cut], release.low[other, cut:]])[one != other]
        return tree.search(pairs)[0][:, 0]

    def alarms(self, release: pa.Table) -> float:
        """The share of wrong pairs that would be claimed: more than half in a table so coarse that most are rows."""
        (boxes,) = encode([release], [*self.left, *self.right])
        alike = self._rows_among(self._wrong(boxes, Nearest(boxes), len(self.left)))
        return min(1.0, alike + 0.01) if self.near else max(alike, 0.01)

    def _rows_among(self, wrong: Reals) -> float:
        """The share of wrong pairs that are rows all the same."""
        return float((wrong == 0).mean()) if len(wrong) else 0.0


@dataclass(frozen=True)
class Inferring(Attack):
    """The secret of the nearest released record is the target's secret.  [GBWT23]

    The view's `targets` hold the `known` columns and no more. All records that are equally near are asked,
    and where the secrets tie there is no claim; `single` asks one record only, as Anonymeter does.
    """

    known: tuple[str, ...]
    secret: str
    single: bool = False
    ladders: Ladders | None = None
    harm: ClassVar[Harm] = "inference"

    @property
    def threat(self) -> str:
        return f"Somebody who knows a person's {', '.join(self.known)} reads {self.secret} off the release."

    def claim(self, view: View) -> Claims:
        release = view.table("release", [*self.known, self.secret])
        boxes, targets = encode([release, view.table("targets", self.known)], self.known, self.ladders)
        values, codes = categories(release, self.secret)
        if self.single:
            distance, index = Nearest(boxes).search(targets.low)
            votes = np.arange(len(codes) + 1), codes, np.ones_like(codes)
        else:
            classes, of = classes_of(boxes)
            distance, index = Nearest(classes).search(targets.low, TIES)
            votes = _counted(of, codes, len(classes))
        choice, surer = _vote(distance, index, votes, len(values))
        scores = surer - distance[:, 0].astype(float)
        return Claims(values[choice], scores, choice != NOTHING)


@dataclass(frozen=True)
class Closest(Attack):
    """A member is nearer to the release than to an outsider's sample of as many people.  [HHB19]

    The view's `targets` and `population` share columns with the release; the population is people the release
    was not made from. A claim where the release is nearer than to all but 1 % of the population's other half.
    """

    seed: str = "closest"
    harm: ClassVar[Harm] = "membership"

    @property
    def threat(self) -> str:
        return "Somebody with a person's record, and with strangers' records, tells whether it was used."

    def claim(self, view: View) -> Claims:
        release, targets = view.table("release"), view.table("targets")
        columns = [name for name in release.column_names if name in targets.column_names]
        parts = [release, targets, view.table("population", columns)]
        records, people, strangers = encode(parts, columns)
        order = shuffle(len(strangers), Keyed(self.seed))
        near, away = (strangers.rows(half) for half in np.array_split(order, 2))
        trees = Nearest(records), Nearest(near)
        scores, idle = (_nearer(*trees, points) for points in (people.low, away.low))
        bar = np.quantile(idle, 0.99) if len(idle) else np.inf
        return Claims(np.ones(len(scores), bool), scores, scores > bar)


def within(claims: Claims, truth: NDArray[np.generic], tolerance: float = NEAR) -> NDArray[np.generic]:
    """For the judge: the truth of numbers, where a claim this near to it counts as right.  [GBWT23]"""
    claimed, true = claims.values.astype(float), truth.astype(float)
    close = np.abs(claimed - true) <= tolerance * np.abs(claimed) + 1e-12
    return np.where(close, claimed, true)


def best_guess(truth: NDArray[np.generic], tolerance: float = NEAR) -> float:
    """The share of these numbers that the best one number, claimed of everybody, is `within` the tolerance of.

    >>> best_guess(np.array([100.0, 101.0, 109.0, 200.0]))
    0.75
    """
    numbers = truth.astype(float)
    found = [int((numbers == 0).sum())]
    for side in (numbers[numbers > 0], -numbers[numbers < 0]):
        rising = np.sort(side)
        ends = np.searchsorted(rising, rising * (1 + tolerance) / (1 - tolerance), side="right")
        found.append(int((ends - np.arange(len(rising))).max(initial=0)))
    return max(found) / len(numbers)


def categories(table: pa.Table, name: str) -> tuple[NDArray[np.generic], NDArray[np.int64]]:
    """The distinct values of a column (and a last one for a claim that is none), and each row's number."""
    numbers, coded = numeric(table, name), table.column(name).combine_chunks().dictionary_encode()
    kind = pa.float64() if numbers else pa.string()
    plain = (counted(coded.dictionary) if numbers else coded.dictionary).cast(kind, safe=False)
    values = np.array([*plain.to_pylist(), np.nan if numbers else ""], dtype=float if numbers else str)
    return values, coded.indices.fill_null(len(values) - 1).to_numpy(zero_copy_only=False).astype(np.int64)


def plain(table: pa.Table, name: str) -> NDArray[np.generic]:
    """A column as an attack claims it: numbers as floats, all else as text; NaN or "" where missing."""
    values, codes = categories(table, name)
    return values[codes]


def halves(columns: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Columns dealt out in turn to two lists, as two holders might have them."""
    return tuple(columns[::2]), tuple(columns[1::2])


def _alone(tree: Nearest, low: Reals, high: Reals) -> Reals:
    """Of descriptions, those that one record fits: least and greatest values side by side."""
    return np.asarray(np.hstack([low, high])[tree.holds(Boxes(low, high)) == 1], dtype=np.float32)


def _nearer(records: Nearest, strangers: Nearest, points: Reals) -> NDArray[np.float64]:
    """How much nearer, in logarithms, a point is to the records than to strangers."""
    distances = [tree.search(points)[0][:, 0].astype(float) for tree in (records, strangers)]
    return np.asarray(np.log(distances[1] + 1e-3) - np.log(distances[0] + 1e-3), dtype=np.float64)


def _counted(of: Codes, secrets: Codes, classes: int) -> tuple[Codes, Codes, Codes]:
    """Where each class's votes begin and end, the secrets that its records have, and how often."""
    kinds = int(secrets.max()) + 1
    pairs, counts = np.unique(of * kinds + secrets, return_counts=True)
    return np.searchsorted(pairs // kinds, np.arange(classes + 1)), pairs % kinds, counts


@njit(cache=True, nogil=True)
def _vote(
    distance: Reals, index: Codes, votes: tuple[Codes, Codes, Codes], kinds: int
) -> tuple[Codes, NDArray[np.float64]]:
    """Among the records of the classes at the least distance, the commonest secret and its share; −1 for a tie."""
    ends, secrets, counts = votes
    choice = np.full(len(distance), -1, np.int64)
    surer = np.zeros(len(distance), np.float64)
    tally = np.zeros(kinds, np.int64)
    for i in range(len(distance)):
        near = index[i][distance[i] == distance[i, 0]]
        asked, most, tied = 0, 0, False
        for place in near:
            for at in range(ends[place], ends[place + 1]):
                tally[secrets[at]] += counts[at]
                asked += counts[at]
        for place in near:
            for at in range(ends[place], ends[place + 1]):
                kind = secrets[at]
                if tally[kind] > most:
                    most, tied, choice[i] = tally[kind], False, kind
                elif tally[kind] == most and kind != choice[i]:
                    tied = True
        surer[i] = most / asked
        if tied:
            choice[i] = -1
        for place in near:
            tally[secrets[ends[place] : ends[place + 1]]] = 0
    return choice, surer
