"""What anonymised tables still say: the attacks that k-anonymity and its successors were each broken by.

A released cell may be an interval, a label or "*"; `known` are the columns an outsider has of a person exactly,
`secret` is what he wants, and the rows whose cells all allow the person are those that could be his.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from math import comb
from typing import ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from obverse.attack.base import Attack, Claims, Harm, View, shuffle
from obverse.attack.mixed import Codes, Ladders, classes_of, encode, numeric
from obverse.attack.nearest import Boxes, Nearest
from obverse.attack.synthetic import NOTHING, categories, plain
from obverse.errors import BadParameter, BadSource
from obverse.noise.entropy import Keyed

CLASSES = 64  # as many classes as one person is looked for in


@dataclass(frozen=True)
class Matching(Attack):
    """Exactly one released row allows the person: it is his, with all else that it says.  [Sam01; Swe02]"""

    known: tuple[str, ...]
    ladders: Ladders | None = None
    harm: ClassVar[Harm] = "linkability"

    @property
    def threat(self) -> str:
        return (
            f"Somebody who knows a person's {', '.join(self.known)} looks for the one row that allows them."
        )

    def claim(self, view: View) -> Claims:
        release, targets = view.table("release", self.known), view.table("targets", self.known)
        boxes, people = encode([release, targets], self.known, self.ladders)
        distance, index = Nearest(boxes).search(people.low, 2)
        alone = (
            distance[:, 0] == 0 if distance.shape[1] == 1 else (distance[:, 0] == 0) & (distance[:, 1] > 0)
        )
        return Claims(index[:, 0], -distance[:, 0].astype(float), alone)

    def truth(self, claims: Claims, release: pa.Table, people: pa.Table) -> Codes:
        """For the judge: the row that is claimed, where all its cells allow the person; else −1."""
        columns = [name for name in release.column_names if name in people.column_names]
        boxes, true = encode([release, people], columns, self.ladders)
        rows = boxes.rows(claims.values.astype(np.int64))
        fits = ((rows.low <= true.low) & (true.low <= rows.high)).all(axis=1)
        return np.where(fits, claims.values, NOTHING)


@dataclass(frozen=True)
class Describing(Attack):
    """A released row, read as a description, fits exactly one person.  [CN20]

    Rows that share their quasi-identifiers with k − 1 others may still be alone with all that they say. Targets
    are `count` released rows drawn at random. Equal rows may be people who are alike or one person's copies: the
    more there are, the less sure is the claim, but a table does not hide its people by holding each row twice.
    """

    count: int = 10_000
    ladders: Ladders | None = None
    seed: str = "describing"
    harm: ClassVar[Harm] = "singling out"

    @property
    def threat(self) -> str:
        return "Somebody with the release alone reads a row as a description, and exactly one person fits it."

    def claim(self, view: View) -> Claims:
        release = view.table("release")
        rows = self._drawn(release)
        _, of = classes_of(encode([release], release.column_names, self.ladders)[0])
        return Claims(rows, 1 / np.bincount(of)[of[rows]], np.ones(len(rows), bool))

    def truth(self, release: pa.Table, people: pa.Table) -> Codes:
        """For the judge: a row's own number where its cells allow exactly one of the people, else −1."""
        boxes, true = encode([release, people], release.column_names, self.ladders)
        rows = self._drawn(release)
        fits = Nearest(true).holds(boxes.rows(rows))
        return np.where(fits == 1, rows, NOTHING)

    def _drawn(self, release: pa.Table) -> Codes:
        """Rows by number."""
        return shuffle(release.num_rows, Keyed(self.seed))[: self.count]


@dataclass(frozen=True)
class Homogeneity(Attack):
    """All rows that could be the person's have one secret.  [MKGV07, section 2.1]"""

    known: tuple[str, ...]
    secret: str
    ladders: Ladders | None = None
    harm: ClassVar[Harm] = "inference"

    @property
    def threat(self) -> str:
        return f"Somebody who knows a person's {', '.join(self.known)} finds only one {self.secret} possible."

    def claim(self, view: View) -> Claims:
        found = [
            np.unique(codes) for codes in _possible(view, "release", self.known, self.secret, self.ladders)
        ]
        return _only(found, view.table("release"), self.secret)


@dataclass(frozen=True)
class Background(Attack):
    """All but one possible secret are known not to be the person's.  [MKGV07, section 2.2]

    The view's `targets` have, beside the `known` columns, one named `denied`: a value that is not theirs.
    """

    known: tuple[str, ...]
    secret: str
    denied: str = "denied"
    ladders: Ladders | None = None
    harm: ClassVar[Harm] = "inference"

    @property
    def threat(self) -> str:
        return (
            f"Somebody who knows one {self.secret} that a person does not have rules it out among the rest."
        )

    def claim(self, view: View) -> Claims:
        denied = plain(view.table("targets", [*self.known, self.denied]), self.denied)
        values, _ = categories(view.table("release", [self.secret]), self.secret)
        possible = _possible(view, "release", self.known, self.secret, self.ladders)
        found = [
            np.array([code for code in np.unique(codes) if values[code] != no], dtype=np.int64)
            for codes, no in zip(possible, denied, strict=True)
        ]
        return _only(found, view.table("release"), self.secret)


@dataclass(frozen=True)
class Skewness(Attack):
    """A secret that is `lift` times commoner among the possible rows than in the release.  [LLV07, section 3]

    Claimed where it is also likelier than not.
    """

    known: tuple[str, ...]
    secret: str
    lift: float = 1.5
    ladders: Ladders | None = None
    harm: ClassVar[Harm] = "inference"

    @property
    def threat(self) -> str:
        return f"Somebody learns that one {self.secret} is far likelier for a person than for everybody."

    def claim(self, view: View) -> Claims:
        release = view.table("release", [self.secret])
        values, codes = categories(release, self.secret)
        usual = np.bincount(codes, minlength=len(values)) / len(codes)
        choice, share = [], []
        for possible in _possible(view, "release", self.known, self.secret, self.ladders):
            here = np.bincount(possible, minlength=len(values)) / max(len(possible), 1)
            likeliest = int(here.argmax())
            choice.append(likeliest)
            share.append(here[likeliest] if here[likeliest] > self.lift * usual[likeliest] else 0.0)
        scores = np.array(share)
        return Claims(values[choice], scores, scores > 0.5)


@dataclass(frozen=True)
class Composition(Attack):
    """Two releases that each leave several secrets possible, and together one.  [GKS08]

    The view's releases are `release` and `other`, each anonymous by itself.
    """

    known: tuple[str, ...]
    secret: str
    ladders: Ladders | None = None
    harm: ClassVar[Harm] = "inference"

    @property
    def threat(self) -> str:
        return f"Somebody who finds a person in two releases keeps only the {self.secret} that both allow."

    def claim(self, view: View) -> Claims:
        tables = [view.table(name, [*self.known, self.secret]) for name in ("release", "other")]
        if len({numeric(table, self.secret) for table in tables}) > 1:
            raise BadSource(
                f"{self.secret} holds numbers in one release and text in the other: read both alike"
            )
        both = pa.concat_tables(
            [table.select([self.secret]) for table in tables], promote_options="permissive"
        )
        one, other = (
            [values for values in _named(view, name, self.known, self.secret, self.ladders)]
            for name in ("release", "other")
        )
        values, _ = categories(both, self.secret)
        places = {value: place for place, value in enumerate(values.tolist())}
        found = [
            np.array([places[value] for value in a & b], dtype=np.int64)
            for a, b in zip(one, other, strict=True)
        ]
        return _only(found, both, self.secret)


@dataclass(frozen=True)
class Minimality(Attack):
    """A class was only merged because one of its parts broke the rule.  [WFPW07]

    Where a publisher generalises no more than l-diversity needs, groups that the `population` list shows apart
    were put together because in one of them `value` was more than 1/l; every way in which that can be is
    weighed alike.
    """

    known: tuple[str, ...]
    secret: str
    value: str
    diversity: int = 2
    ladders: Ladders | None = None
    harm: ClassVar[Harm] = "inference"

    def __post_init__(self) -> None:
        if self.diversity < 2:
            raise BadParameter(f"a rule of {self.diversity}-diversity hides nothing: 2 or more")

    @property
    def threat(self) -> str:
        return f"Somebody who knows how the table was made infers {self.secret} from what had to be hidden."

    def claim(self, view: View) -> Claims:
        release = view.table("release", [*self.known, self.secret])
        parts = [view.table(name, self.known) for name in ("targets", "population")]
        boxes, targets, people = encode([release, *parts], self.known, self.ladders)
        classes, of = classes_of(boxes)
        ill = np.bincount(of, plain(release, self.secret) == self.value, minlength=len(classes)).astype(int)
        size = np.bincount(of, minlength=len(classes))
        groups, counts = np.unique(people.low, axis=0, return_counts=True)
        scores = np.zeros(len(targets))
        home = Nearest(classes).search(targets.low)[1][:, 0]
        for i, (target, place) in enumerate(zip(targets.low, home, strict=True)):
            inside = ((classes.low[place] <= groups) & (groups <= classes.high[place])).all(axis=1)
            mine = (groups[inside] == target).all(axis=1)
            if inside.sum() > 1 and mine.any() and counts[inside].sum() == size[place]:
                parts_ = counts[inside].tolist()
                scores[i] = credibility(parts_, int(mine.argmax()), int(ill[place]), self.diversity)
        return Claims(np.full(len(targets), self.value), scores, scores > 0.5)


@dataclass(frozen=True)
class Downcoding(Attack):
    """The ends of a cell that is no wider than it must be are people's exact values.  [Coh22]

    Where all other cells of a row are exact, its least and its greatest value each describe somebody.
    """

    columns: tuple[str, ...]
    harm: ClassVar[Harm] = "singling out"

    @property
    def threat(self) -> str:
        return "Somebody who knows that cells are as narrow as the rule allows reads exact values off their ends."

    def claim(self, view: View) -> Claims:
        ends = self._ends(encode([view.table("release", self.columns)], self.columns)[0])
        return Claims(np.arange(len(ends)), np.ones(len(ends)), np.ones(len(ends), bool))

    def truth(self, release: pa.Table, people: pa.Table) -> Codes:
        """For the judge: a claim's own number where somebody has exactly these values, else −1."""
        boxes, true = encode([release.select(self.columns), people], self.columns)
        ends = self._ends(boxes)
        distance, _ = Nearest(true).search(ends)
        return np.where(distance[:, 0] == 0, np.arange(len(ends)), NOTHING)

    def _ends(self, boxes: Boxes) -> NDArray[np.float32]:
        classes, _ = classes_of(boxes)
        one = (classes.low < classes.high).sum(axis=1) == 1
        if not one.any():
            raise BadParameter("no row has exactly one generalised cell: there is nothing to narrow down")
        return np.vstack([classes.low[one], classes.high[one]])


def credibility(groups: list[int], mine: int, ill: int, diversity: int) -> float:
    """The chance that a member of group `mine` is ill, given that in some group more than 1/l are.  [WFPW07]

    >>> credibility([2, 4], 0, 2, 2)
    1.0
    """

    def ways(size: int, safe: bool, weighted: bool) -> list[int]:
        """By how many are ill: in how many ways; or in how many of them a given member is."""
        most = size // diversity if safe else size
        if weighted:
            return [comb(size - 1, j - 1) if j else 0 for j in range(most + 1)]
        return [comb(size, j) for j in range(most + 1)]

    def total(safe: bool, weighted: bool) -> int:
        product = [1]
        for place, size in enumerate(groups):
            factor = ways(size, safe, weighted and place == mine)
            length = min(ill, len(product) + len(factor) - 2) + 1
            product = [
                sum(product[i] * factor[n - i] for i in range(len(product)) if 0 <= n - i < len(factor))
                for n in range(length)
            ]
        return product[ill] if ill < len(product) else 0

    broken = total(safe=False, weighted=False) - total(safe=True, weighted=False)
    return (total(safe=False, weighted=True) - total(safe=True, weighted=True)) / broken if broken else 0.0


def _possible(
    view: View, name: str, known: tuple[str, ...], secret: str, ladders: Ladders | None
) -> Iterator[Codes]:
    """For each target, the secrets of all rows that could be his, as numbers of `categories`."""
    release, targets = view.table(name, [*known, secret]), view.table("targets", known)
    boxes, people = encode([release, targets], known, ladders)
    classes, of = classes_of(boxes)
    order, (_, codes) = np.argsort(of, kind="stable"), categories(release, secret)
    sorted_codes = codes[order]
    ends = np.concatenate([[0], np.cumsum(np.bincount(of, minlength=len(classes)))])
    spans = list(pairwise(ends.tolist()))
    distance, index = Nearest(classes).search(people.low, CLASSES)
    for found, near in zip(index, distance, strict=True):
        parts = [sorted_codes[slice(*spans[place])] for place in found[near == 0]]
        yield np.concatenate(parts) if parts else np.zeros(0, np.int64)


def _named(
    view: View, name: str, known: tuple[str, ...], secret: str, ladders: Ladders | None
) -> Iterator[set[object]]:
    """For each target, the secrets that a release leaves possible."""
    values, _ = categories(view.table(name, [secret]), secret)
    for codes in _possible(view, name, known, secret, ladders):
        yield set(values[np.unique(codes)].tolist())


def _only(found: list[Codes], table: pa.Table, secret: str) -> Claims:
    """A claim where one value is left."""
    values, _ = categories(table, secret)
    made = np.array([len(codes) == 1 for codes in found])
    choice = [int(codes[0]) if len(codes) else len(values) - 1 for codes in found]
    scores = np.array([1 / len(codes) if len(codes) else 0.0 for codes in found])
    return Claims(values[choice], scores, made)
