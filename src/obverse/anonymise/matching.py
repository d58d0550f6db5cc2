"""What somebody who knows people's quasi-identifiers concludes from labels: k-map, δ-presence, several releases.

A person fits a row when every label contains the person's value.  [Swe02, section 5; NAC07, Definition 4; XT07]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numba import njit
from numpy.typing import NDArray

from obverse.anonymise.codes import Domain, Ints, encode, group, written
from obverse.anonymise.labels import contains
from obverse.anonymise.measure import class_of_rows

Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Match:
    """Which groups of people fit which classes of a release: pairs, and each side's sizes."""

    classes: Ints
    groups: Ints
    class_size: Ints
    group_size: Ints
    class_of_row: Ints
    group_of_row: Ints


@njit(cache=True)
def _pairs(
    classes: NDArray[np.int32], groups: NDArray[np.int32], fits: Bools, start: Ints, width: Ints
) -> tuple[Ints, Ints]:
    """Every (class, group) such that each column's label contains the group's value."""
    found, capacity = 0, 1024
    left, right = np.empty(capacity, np.int64), np.empty(capacity, np.int64)
    for c in range(len(classes)):
        for g in range(len(groups)):
            inside = True
            for j in range(classes.shape[1]):
                if not fits[start[j] + classes[c, j] * width[j] + groups[g, j]]:
                    inside = False
                    break
            if inside:
                if found == capacity:
                    left, right = np.append(left, np.empty_like(left)), np.append(right, np.empty_like(right))
                    capacity *= 2
                left[found], right[found] = c, g
                found += 1
    return left[:found], right[:found]


def match(release: pa.Table, people: pa.Table, quasi: Sequence[str]) -> Match:
    """Who fits what. The release's labels are read as a reader would read them."""
    told = [encode(name, release[name]) for name in quasi]
    known = [encode(name, people[name]) for name in quasi]
    class_first, class_of, class_size = group([c for _, c in told], [d.size for d, _ in told])
    group_first, group_of, group_size = group([c for _, c in known], [d.size for d, _ in known])
    tables = [_fits(labels, values) for (labels, _), (values, _) in zip(told, known, strict=True)]
    start = np.concatenate([[0], np.cumsum([t.size for t in tables])[:-1]]).astype(np.int64)
    width = np.array([t.shape[1] for t in tables], np.int64)
    classes = np.ascontiguousarray(np.array([c[class_first] for _, c in told]).T)
    groups = np.ascontiguousarray(np.array([c[group_first] for _, c in known]).T)
    fits = np.concatenate([t.ravel() for t in tables])
    left, right = _pairs(classes, groups, fits, start, width)
    return Match(left, right, class_size, group_size, class_of, group_of)


def _fits(labels: Domain, values: Domain) -> Bools:
    """Which label contains which value."""
    texts = [None if v is None else written(v) for v in (*values.values, *([None] * values.missing))]
    names = [None if v is None else written(v) for v in (*labels.values, *([None] * labels.missing))]
    return np.array([[contains(label, text) for text in texts] for label in names], bool)


def k_map(release: pa.Table, population: pa.Table, quasi: Sequence[str]) -> int:
    """The fewest people of a population that fit a row of the release."""
    found = match(release, population, quasi)
    fitting = np.bincount(found.classes, found.group_size[found.groups], minlength=len(found.class_size))
    return int(fitting.min()) if len(fitting) else 0


def presence(release: pa.Table, population: pa.Table, quasi: Sequence[str]) -> tuple[float, float]:
    """δ-presence: the least and the largest chance that a person of the population is in the release."""
    found = match(release, population, quasi)
    fitting = np.bincount(found.classes, found.group_size[found.groups], minlength=len(found.class_size))
    share = np.minimum(1.0, found.class_size / np.maximum(1, fitting))
    chance = np.zeros(len(found.group_size))
    np.maximum.at(chance, found.groups, share[found.classes])
    return float(chance.min(initial=1.0)), float(chance.max(initial=0.0))


def certain(
    people: pa.Table, releases: Sequence[pa.Table], quasi: Sequence[str], sensitive: str
) -> tuple[int, ...]:
    """How many people's sensitive value is certain after the first release, after the first two, and so on.

    Everybody is thought to be in every release: a value is possible if a fitting row of each release has it. Two
    releases can be k-anonymous and l-diverse and betray together what neither betrays alone.  [XT07, section 1]
    """
    values = sorted({written(v) for table in releases for v in table[sensitive].unique().to_pylist()})
    place = {value: number for number, value in enumerate(values)}
    possible: Bools | None = None
    counts = []
    for release in releases:
        found = match(release, people, quasi)
        codes = np.array([place[written(v)] for v in release[sensitive].to_pylist()], np.int64)
        has = np.zeros((len(found.class_size), len(values)), bool)
        has[found.class_of_row, codes] = True
        now = np.zeros((len(found.group_size), len(values)), bool)
        np.logical_or.at(now, found.groups, has[found.classes])
        possible = now if possible is None else possible & now
        counts.append(int(found.group_size[possible.sum(axis=1) == 1].sum()))
    return tuple(counts)


def same_company(first: pa.Table, second: pa.Table, quasi: Sequence[str], sensitive: str, who: str) -> int:
    """How many people in both tables change their class's set of sensitive values; 0 is m-invariance.  [XT07]"""
    sets = [_company(table, quasi, sensitive, who) for table in (first, second)]
    return sum(1 for person, company in sets[0].items() if person in sets[1] and sets[1][person] != company)


def _company(
    table: pa.Table, quasi: Sequence[str], sensitive: str, who: str
) -> dict[object, frozenset[object]]:
    label, _ = class_of_rows(table, quasi)
    company: dict[int, set[object]] = {}
    for number, value in zip(label.tolist(), table[sensitive].to_pylist(), strict=True):
        company.setdefault(number, set()).add(value)
    frozen = {number: frozenset(values) for number, values in company.items()}
    return {
        person: frozen[number] for person, number in zip(table[who].to_pylist(), label.tolist(), strict=True)
    }
