"""Names put back on a release by a list of the whole population, and how often they are right.

Whose a row is the curator alone knows: names are judged by the identifier that the people share with the list.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from obverse.attack.base import Claims, Controls, Game, View, judge, shuffle
from obverse.attack.fuzzy import FuzzyLinkage
from obverse.attack.interval import Rate
from obverse.attack.linkage import Key
from obverse.attack.mixed import encode
from obverse.attack.naming import Names, Naming, named, one_row_each, true_names
from obverse.attack.nearest import Nearest
from obverse.errors import BadParameter
from obverse.evaluate.held import Held, Listed
from obverse.evaluate.tried import ENOUGH, Tried
from obverse.noise.entropy import Keyed


def naming(release: pa.Table, known: Held, listed: Listed) -> Naming | FuzzyLinkage:
    """By what the list can name the release's rows: the columns that both have, those people are known by if said."""
    keys = _keys(release, known, listed)
    if not listed.misspelt:
        return Naming(keys, listed.person, known.ladders)
    return FuzzyLinkage("release", "population", listed.person, tuple(map(Key, keys)))


def _keys(release: pa.Table, known: Held, listed: Listed) -> tuple[str, ...]:
    both = [name for name in release.column_names if name in listed.table.column_names]
    keys = tuple(name for name in both if name in (known.quasi or both) and name != listed.person)
    if not keys:
        raise BadParameter(
            f"{listed.name} shares no column by which people are known with the release: "
            f"it has {', '.join(listed.table.column_names)}"
        )
    return keys


def by_name(release: pa.Table, known: Held, game: Game, size: int, copies: int) -> Tried:
    """Names for some rows of the release; and for rows whose person was taken off the list, where all are wrong."""
    assert known.listed is not None and known.names is not None
    attack = naming(release, known, known.listed)
    population = _population(release, known, known.listed)
    rows = release.take(shuffle(release.num_rows, Keyed(game.seed + "named"))[:size])
    claims = attack.run(View({"release": rows}, {"population": population}))
    truth = true_names(claims, rows, known.people, known.names, known.ladders)
    idle = _off_the_list(attack, release, known, population, game.seed, size)
    planted = _planted(attack, _keys(release, known, known.listed), population, copies)
    game = replace(game, ledger=None, baseline=1 / population.num_rows, positive=planted)
    control = None if idle is None else Controls(idle, np.full(len(idle.made), None))
    evidence = judge(attack, claims, truth, control, game)
    where = {name: place for place, name in enumerate(known.names.tolist())}
    right = claims.made & (claims.values == truth)
    wins = np.array([where[name] for name in claims.values[right]], dtype=np.int64)
    return Tried(evidence, f"in {known.listed.name}", wins, _note(evidence.precision, idle))


def unjudged(release: pa.Table, known: Held, listed: Listed) -> str:
    """What can be said where the people share no identifier with the list: how many rows would be named."""
    attack = naming(release, known, listed)
    view = View({"release": release}, {"population": _population(release, known, listed)})
    made = attack.run(view).made
    return (
        f"{int(made.sum()):,} of {len(made):,} rows fit exactly one person in {listed.name}; whether it is the right "
        f"one cannot be told: the people need their {listed.person} too, as an identifier"
    )


def _off_the_list(
    attack: Naming | FuzzyLinkage, release: pa.Table, known: Held, population: pa.Table, seed: str, size: int
) -> Claims | None:
    """The attack on rows of a tenth of the people, with a list that lacks them."""
    assert known.names is not None
    count = known.people.num_rows
    drawn = shuffle(count, Keyed(seed + "off the list"))[: max(1, min(size, count // 10))]
    columns = [name for name in release.column_names if name in known.people.column_names]
    rows, people = encode([release, known.people.take(drawn)], columns, known.ladders)
    distance, index = Nearest(rows).search(people.low)
    theirs = release.take(index[distance[:, 0] == 0, 0])
    gone = set(known.names[drawn].tolist())
    left = np.array([name not in gone for name in named(population, attack.person).tolist()], dtype=bool)
    if not theirs.num_rows or not left.any():
        return None
    return attack.run(View({"release": theirs}, {"population": population.filter(pa.array(left))}))


def _population(release: pa.Table, known: Held, listed: Listed) -> pa.Table:
    """The list, everybody once, with names as text."""
    people = one_row_each(listed.table, listed.person, _keys(release, known, listed))
    place = people.column_names.index(listed.person)
    return people.set_column(place, listed.person, people[listed.person].cast(pa.string()))


def _planted(
    attack: Naming | FuzzyLinkage, keys: tuple[str, ...], population: pa.Table, copies: int
) -> Rate | None:
    """How many of the listed people who are alone on the list are named from an exact copy of their rows."""
    sizes = population.group_by(list(keys)).aggregate([(attack.person, "count"), (attack.person, "min")])
    alone = (
        sizes.filter(pa.array(sizes[f"{attack.person}_count"].to_numpy() == 1)).slice(0, copies).drop_null()
    )
    if alone.num_rows < ENOUGH:
        return None
    claims = attack.run(View({"release": alone.select(list(keys))}, {"population": population}))
    true: Names = named(alone, f"{attack.person}_min")
    return Rate(int((claims.made & (claims.values == true)).sum()), len(true))


def _note(precision: Rate, idle: Claims | None) -> str:
    told = f"{precision.right:,} of {precision.of:,} names right"
    if idle is None:
        return told
    wrong, rows = int(idle.made.sum()), len(idle.made)
    return f"{told}; of {rows:,} rows whose person was taken off the list {wrong:,} were named, wrongly"
