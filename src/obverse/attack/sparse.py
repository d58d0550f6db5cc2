"""De-anonymising large sparse tables: a few ratings, some wrong, find the one record.  [NS08]

`scoreboard` and `entropic` are the published algorithm (Scoreboard-RH); `likelihood` weighs how much likelier
what is known is if it was drawn from a record than if it was drawn from everybody's ratings, and weighs all
records against the hypothesis that the person is not there at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numba
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from obverse.attack.base import Attack, Claims, View
from obverse.errors import BadParameter, BadSource

Matcher = Literal["likelihood", "scoreboard", "entropic"]
RATING_SCALE, DAY_SCALE, ECCENTRICITY = 1.5, 30.0, 1.5  # [NS08, section 5]
ANY_DAY = 1 << 20
COLUMNS = ("item", "rating", "day")
PRESENT = 0.5  # before anything is known, a target is as likely in the release as not
SURE = 0.999  # facts about one person are not independent, so posteriors flatter: see the false positives in the tests


@dataclass(frozen=True, eq=False)
class Index:
    """Ratings by item, each item's by day: who, how, when. Seven bytes a rating."""

    starts: NDArray[np.int64]
    people: NDArray[np.int32]
    ratings: NDArray[np.uint8]
    days: NDArray[np.uint16]
    sizes: NDArray[np.int32]

    @property
    def columns(self) -> tuple[NDArray[np.generic], ...]:
        return self.starts, self.people, self.ratings, self.days, self.sizes

    @classmethod
    def of(cls, table: pa.Table) -> Index:
        """From a table of person, item, rating and day: whole numbers from 0, ratings below 256, days below 65,536."""
        person, item, rating, day = (_whole(table, name) for name in ("person", *COLUMNS))
        if rating.max() > 255 or day.max() > 65_535:
            raise BadSource("ratings must be below 256 and days below 65,536: count days from the first one")
        order = np.lexsort((day, item))
        starts = np.concatenate([[0], np.cumsum(np.bincount(item))])
        return cls(
            starts.astype(np.int64),
            person[order].astype(np.int32),
            rating[order].astype(np.uint8),
            day[order].astype(np.uint16),
            np.bincount(person).astype(np.int32),
        )


@dataclass(frozen=True)
class Sparse(Attack):
    """Finds whose ratings the adversary knows; targets are those of `known` (target, item, rating, day).

    `wrong` is the share of what he knows that may be about somebody else, `days` how far off a date may be (None
    where he knows no dates), `off` how far off a rating. The release is a table (person, item, rating, day) or an
    `Index` of it.
    """

    release: str
    known: str
    matcher: Matcher = "likelihood"
    wrong: float = 0.25
    days: int | None = 14
    off: int = 0

    harm = "singling out"

    def __post_init__(self) -> None:
        if not 0 < self.wrong < 1:
            raise BadParameter(f"the share that may be wrong is above 0 and below 1, not {self.wrong}")
        if self.off < 0 or (self.days is not None and self.days < 0):
            raise BadParameter("a rating or a date is off by 0 or more")
        if self.matcher not in get_args(Matcher):
            raise BadParameter(f"no matcher {self.matcher}; there are {', '.join(get_args(Matcher))}")

    @property
    def threat(self) -> str:
        dates = "no dates" if self.days is None else f"dates within {self.days} days"
        return (
            f"Somebody who knows a few of a person's ratings, {self.wrong:.0%} of them wrong, and {dates}, "
            "looks for the record."
        )

    def claim(self, view: View) -> Claims:
        release = view.release(self.release)
        index = release if isinstance(release, Index) else Index.of(view.table(self.release))
        known = view.table(self.known, ["target", *COLUMNS])
        target, item, rating, day = (_whole(known, name) for name in ("target", *COLUMNS))
        order = np.argsort(target, kind="stable")
        first = np.concatenate([[0], np.cumsum(np.bincount(target))]).astype(np.int64)
        facts = first, item[order], rating[order], day[order]
        if self.matcher == "likelihood":
            span = ANY_DAY if self.days is None else self.days
            return _posterior(_likelihood(index.columns, facts, (span, self.off, self.wrong)))
        return _published(_scoreboard(index.columns, facts, self.days is not None), self.matcher)


def _posterior(found: tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.bool_]]) -> Claims:
    """A claim where one record leaves next to nothing to all others and to absence."""
    people, posterior, tied = found
    return Claims(people, posterior, (posterior > SURE) & ~tied)


def _published(found: NDArray[np.float64], matcher: Matcher) -> Claims:
    """Best record, by how many standard deviations it leads; or by e^(score/σ) among all.  [NS08, section 4]"""
    people, best, second, deviation, total = found.T
    lead = (best - second) / np.where(deviation > 0, deviation, np.inf)
    if matcher == "scoreboard":
        return Claims(people.astype(np.int32), lead, lead > ECCENTRICITY)
    return Claims(people.astype(np.int32), 1 / total, (total < 2) & (best > second))


def _whole(table: pa.Table, name: str) -> NDArray[np.int64]:
    if name not in table.column_names:
        raise BadSource(f"there is no column {name}; there are {', '.join(table.column_names)}")
    column = table[name]
    if not pa.types.is_integer(column.type) or column.null_count:
        raise BadSource(f"{name} must be whole numbers, none missing; it is {column.type}")
    numbers: NDArray[np.int64] = column.to_numpy().astype(np.int64)
    if (numbers < 0).any():
        raise BadSource(f"{name} must be 0 or more")
    return numbers


@numba.njit(cache=True, nogil=True)
def _window(days, start, end, day, span):  # type: ignore[no-untyped-def]
    """Where an item's ratings from day − span to day + span begin and end."""
    low, high = start, end
    while low < high:
        middle = (low + high) // 2
        if np.int64(days[middle]) < day - span:
            low = middle + 1
        else:
            high = middle
    first, high = low, end
    while low < high:
        middle = (low + high) // 2
        if np.int64(days[middle]) <= day + span:
            low = middle + 1
        else:
            high = middle
    return first, low


@numba.njit(cache=True, nogil=True)
def _likelihood(index, facts, noise):  # type: ignore[no-untyped-def]
    """The likeliest record of each target, its posterior, and whether another one is as likely.

    A fact is drawn from one of a record's n ratings, or is wrong and drawn from everybody's. Of all N ratings, M
    fit the fact: drawn from everybody's it fits with chance M/N, from a record that has it with chance 1/n. So a
    record that has it is likelier by wrong + (1 − wrong)·N/(n·M), any other by wrong.
    """
    starts, people, ratings, days, sizes = index
    first, item, rating, day = facts
    span, off, wrong = noise
    targets = len(first) - 1
    found, posterior, tied = np.zeros(targets, np.int32), np.zeros(targets), np.zeros(targets, np.bool_)
    gain = np.zeros(len(sizes), np.float32)
    touched = np.empty(len(sizes), np.int32)
    octaves = np.rint(8 * np.log2(np.maximum(sizes, 1))).astype(np.uint8)  # n to an eighth of an octave
    gains = np.empty(octaves.max() + 1, np.float32)
    for t in range(targets):
        count = 0
        for f in range(first[t], first[t + 1]):
            if item[f] >= len(starts) - 1:
                continue
            low, high = starts[item[f]], starts[item[f] + 1]
            if span < ANY_DAY:
                low, high = _window(days, low, high, day[f], span)
            least, most = np.uint8(max(0, rating[f] - off)), np.uint8(min(255, rating[f] + off))
            fit = 0
            for at in range(low, high):
                fit += (ratings[at] >= least) & (ratings[at] <= most)
            odds = (1 - wrong) / wrong * len(people) / max(fit, 1)
            for octave in range(len(gains)):
                gains[octave] = np.log1p(odds * 2.0 ** (-octave / 8))
            for at in range(low, high):
                if least <= ratings[at] <= most:
                    person = people[at]
                    if gain[person] == 0:
                        touched[count] = person
                        count += 1
                    gain[person] += gains[octaves[person]]
        best, second, who = np.float32(0), np.float32(0), 0
        for n in range(count):
            if gain[touched[n]] > best:
                best, second, who = gain[touched[n]], best, touched[n]
            elif gain[touched[n]] > second:
                second = gain[touched[n]]
        # Absence is as likely as `wrong` to the power of all facts is unlikely, against each of N records.
        missed = (first[t + 1] - first[t]) * np.log(wrong)
        absent = np.exp(-np.float64(best) - missed) * len(sizes) * (1 - PRESENT) / PRESENT
        total = absent + np.exp(-np.float64(best)) * (len(sizes) - count)
        for n in range(count):
            total += np.exp(np.float64(gain[touched[n]]) - best)
            gain[touched[n]] = 0
        found[t], posterior[t], tied[t] = who, 1 / total, best == second
    return found, posterior, tied


@numba.njit(cache=True, nogil=True)
def _scoreboard(index, facts, dated):  # type: ignore[no-untyped-def]
    """Each target's best record, its score, the next one's, the deviation of all, and Σ e^((score − best)/σ)."""
    starts, people, ratings, days, sizes = index
    first, item, rating, day = facts
    out = np.zeros((len(first) - 1, 5))
    score = np.zeros(len(sizes), np.float32)
    for t in range(len(first) - 1):
        score[:] = 0
        for f in range(first[t], first[t + 1]):
            if item[f] >= len(starts) - 1:
                continue
            low, high = starts[item[f]], starts[item[f] + 1]
            weight = 1 / np.log(max(high - low, 2))
            for at in range(low, high):
                near = np.exp(-abs(np.float32(ratings[at]) - rating[f]) / RATING_SCALE)
                if dated:
                    near += np.exp(-abs(np.float32(days[at]) - day[f]) / DAY_SCALE)
                score[people[at]] += weight * near
        who = np.argmax(score)
        best = score[who]
        deviation = score.std()
        score[who] = -1
        second = score.max()
        score[who] = best
        total = np.exp((score - best) / deviation).sum() if deviation > 0 else np.float64(len(sizes))
        out[t, 0], out[t, 1], out[t, 2], out[t, 3], out[t, 4] = who, best, second, deviation, total
    return out
