"""Ratings of Netflix's size, made by hashing: index them, find a thousand targets, find everybody.  [NS08]

480,189 people × 17,770 films × 100,480,507 ratings over 2,243 days: skewed popularity, tastes in 32 genres,
people who rate in sittings. Nothing is stored but the index: a person's ratings are made again when asked for.
"""

from __future__ import annotations

import resource
import sys
from time import perf_counter, process_time

import numba
import numpy as np
import pyarrow as pa

from obverse.attack.base import Controls, Evidence, View, judge
from obverse.attack.sparse import Index, Sparse
from obverse.noise.entropy import Keyed

PEOPLE, FILMS, RATINGS, DAYS = 480_189, 17_770, 100_480_507, 2_243
GENRES, LIKED, TOP = 32, 6, 500
SEED = np.uint64(Keyed("netflix").bits(64))


@numba.njit(cache=True)
def mixed(a, b):
    """Sixty-four bits that follow from two numbers.  [SLF14, SplitMix64]"""
    z = SEED + np.uint64(a) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(b) * np.uint64(0xD1B54A32D192ED03)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@numba.njit(cache=True)
def below(bits, count):
    return np.int64((bits >> np.uint64(32)) * np.uint64(count) >> np.uint64(32))


@numba.njit(cache=True)
def rate(person, size, films, seen, item, rating, day):
    """This person's ratings: distinct films, each with a rating from 1 to 5 and a day. `seen` is scratch."""
    start, sittings = below(mixed(person, -1), DAYS - 30), 1 + size // 12
    length = 30 + below(mixed(person, -2), DAYS - 30 - start)
    taste = mixed(person, -3)
    count, draw = 0, 0
    while count < size:
        bits = mixed(person, draw)
        draw += 1
        film = films[bits & np.uint64(len(films) - 1)]
        if draw > 60 * size:  # he has seen all that he likes
            film = below(bits, FILMS)
        genre, liked = film % GENRES, False
        for n in range(LIKED):
            liked |= np.int64(taste >> np.uint64(5 * n)) % GENRES == genre
        if seen[film] == person + 1 or (not liked and draw < 30 * size and (bits >> np.uint64(20)) % 4):
            continue
        seen[film] = person + 1
        item[count] = film
        more = mixed(film + 1_000_000_007, bits)
        mean = 2 + below(mixed(film, -5), 21) / 10 + below(taste, 11) / 10 - 0.5
        noise = (
            below(more, 1000) + below(more * np.uint64(31), 1000) + below(more * np.uint64(961), 1000)
        ) / 500 - 3
        rating[count] = min(5, max(1, int(np.round(mean + noise))))
        day[count] = start + below(mixed(person, -10 - below(more * np.uint64(7), sittings)), length)
        count += 1


@numba.njit(cache=True)
def generate(sizes, films, starts, people, ratings, days, fill):
    """Count every film's ratings into `starts`, or put them in place where `fill`."""
    seen, most = np.zeros(FILMS, np.int32), sizes.max()
    item, rating, day = np.empty(most, np.int32), np.empty(most, np.uint8), np.empty(most, np.uint16)
    for person in range(len(sizes)):
        rate(person, sizes[person], films, seen, item, rating, day)
        for n in range(sizes[person]):
            at = starts[item[n]]
            starts[item[n]] += 1
            if fill:
                people[at], ratings[at], days[at] = person, rating[n], day[n]


@numba.njit(cache=True)
def by_day(starts, people, ratings, days):
    """Each film's ratings in order of days."""
    for film in range(len(starts) - 1):
        low, high = starts[film], starts[film + 1]
        order = low + np.argsort(days[low:high], kind="mergesort")
        people[low:high], ratings[low:high], days[low:high] = people[order], ratings[order], days[order]


def popularity() -> np.ndarray:
    """A table from which a random entry is a film, popular ones often."""
    weight = (np.arange(FILMS) + 60.0) ** -1.35
    ends = np.round(np.cumsum(weight) / weight.sum() * (1 << 20)).astype(np.int64)
    return np.repeat(np.arange(FILMS), np.diff(ends, prepend=0)).astype(np.uint16)


def people_sizes(people: int, ratings: int) -> np.ndarray:
    """How many ratings each has: lognormal with Netflix's median of 96, scaled to their sum."""
    bits = np.frombuffer(Keyed("sizes").bytes(16 * people), dtype=np.uint64).reshape(2, -1) / 2.0**64
    normal = np.sqrt(-2 * np.log(1 - bits[0])) * np.cos(2 * np.pi * bits[1])
    wanted = np.clip(np.exp(1.25 * normal), 0.02, 60)
    sizes = np.maximum(1, wanted * ratings / wanted.sum()).astype(np.int32)
    sizes[: ratings - sizes.sum()] += 1
    return sizes


def build(people: int, ratings: int) -> tuple[Index, np.ndarray]:
    sizes, films = people_sizes(people, ratings), popularity()
    counted = np.zeros(FILMS, np.int64)
    nothing = (np.empty(0, np.int32), np.empty(0, np.uint8), np.empty(0, np.uint16))
    generate(sizes, films, counted, *nothing, False)
    starts = np.concatenate([[0], np.cumsum(counted)])
    columns = np.empty(ratings, np.int32), np.empty(ratings, np.uint8), np.empty(ratings, np.uint16)
    generate(sizes, films, starts[:-1].copy(), *columns, True)
    started = perf_counter()
    by_day(starts, *columns)
    print(f"  sorted in {perf_counter() - started:.1f} s", file=sys.stderr)
    return Index(starts, *columns, sizes), films


@numba.njit(cache=True)
def known(persons, sizes, films, count, wrong, span, unpopular, salt):
    """So many facts of each person, some replaced by others' and all dates off by up to `span` days."""
    seen, most = np.zeros(FILMS, np.int32), sizes.max() + 1
    item, rating, day = np.empty(most, np.int32), np.empty(most, np.uint8), np.empty(most, np.uint16)
    facts = np.zeros((len(persons) * count, 4), np.int64)
    row = 0
    for t in range(len(persons)):
        person, size = persons[t], sizes[persons[t] % len(sizes)]
        rate(person, size, films, seen, item, rating, day)
        kept = 0
        for n in range(size):  # a random order, in which those that must be are unpopular
            other = n + below(mixed(person + salt, -100 - n), size - n)
            item[n], item[other] = item[other], item[n]
            rating[n], rating[other] = rating[other], rating[n]
            day[n], day[other] = day[other], day[n]
            if kept < count and unpopular[item[n]]:
                off = below(mixed(person, -(1 << 20) - n), 2 * span + 1) - span
                facts[row, 0], facts[row, 1], facts[row, 2] = t, item[n], rating[n]
                facts[row, 3] = max(0, np.int64(day[n]) + off)
                row, kept = row + 1, kept + 1
        for n in range(min(wrong, kept)):
            film = np.int64(films[mixed(person, -(1 << 21) - n) & np.uint64(len(films) - 1)])
            while unpopular[film] == 0:
                film = (film + 7919) % FILMS
            facts[row - 1 - n, 1] = film
            facts[row - 1 - n, 2] = 1 + below(mixed(person, -(1 << 22) - n), 5)
            facts[row - 1 - n, 3] = below(mixed(person, -(1 << 23) - n), DAYS)
    return facts[:row]


def table(facts: np.ndarray) -> pa.Table:
    return pa.table(dict(zip(("target", "item", "rating", "day"), facts.T, strict=True)))


def tried(
    index: Index, films: np.ndarray, attack: Sparse, targets: int, facts: tuple[int, int, int, bool]
) -> Evidence:
    """The attack on so many people who are there and as many who are not."""
    count, wrong, span, rare = facts
    allowed = np.ones(FILMS, np.int8)
    if rare:
        allowed[np.argsort(-np.diff(index.starts))[:TOP]] = 0
    enough = np.flatnonzero(index.sizes >= (60 if rare else count))
    persons = enough[:: max(1, len(enough) // targets)][:targets]
    sizes = index.sizes
    here = known(persons, sizes, films, count, wrong, span, allowed, 0)
    away = known(persons + len(sizes), sizes, films, count, wrong, span, allowed, 0)
    claims = attack.run(View({"ratings": index}, {"known": table(here)}))
    control = Controls(attack.run(View({"ratings": index}, {"known": table(away)})))
    return judge(attack, claims, persons.astype(np.int32), control)


CASES = (
    (
        "8 ratings, 2 wrong, ±14 days",
        0.99,
        Sparse("ratings", "known", wrong=0.25, days=14),
        (8, 2, 14, False),
    ),
    ("2 ratings, ±3 days", 0.68, Sparse("ratings", "known", wrong=0.01, days=3), (2, 0, 3, False)),
    (
        "6 of 8 outside the top 500, no dates",
        0.84,
        Sparse("ratings", "known", wrong=0.25, days=None),
        (8, 2, 0, True),
    ),
)


def main(people: int = PEOPLE, ratings: int = RATINGS) -> None:
    started = perf_counter()
    index, films = build(people, ratings)
    print(
        f"generated and indexed {len(index.people):,} ratings in {perf_counter() - started:.0f} s",
        file=sys.stderr,
    )
    tried(index, films, CASES[0][2], 10, CASES[0][3])
    for name, goal, attack, facts in CASES:
        got = tried(index, films, attack, 1000, facts)
        at_one = got.at_false_positives[0][1].share
        print(f"sparse: {name}, right at 1 % false positives  {goal}  {at_one:.4f}  {at_one / goal:.3f}")
        print(f"sparse: {name}, claimed and right; absent and claimed  -  {got.success}; {got.control}  -")
        print(f"sparse: {name}, 1,000 targets  1 s  {got.seconds:.3f} s  {got.seconds:.3f}")
    everybody = np.flatnonzero(index.sizes >= 8)
    used, began = process_time(), perf_counter()
    right = 0
    for part in np.array_split(everybody, 16):
        facts = known(part, index.sizes, films, 8, 2, 14, np.ones(FILMS, np.int8), 0)
        claims = CASES[0][2].run(View({"ratings": index}, {"known": table(facts)}))
        right += int((claims.made & (claims.values == part)).sum())
    taken = perf_counter() - began
    share = right / len(everybody)
    print(
        f"sparse: everybody ({len(everybody):,}), {share:.4f} right  480 s  {taken:.0f} s ({process_time() - used:.0f} s CPU)  {taken / 480:.3f}"
    )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"sparse: peak memory  1.5 GB  {peak:.2f} GB  {peak / 1.5:.3f}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
