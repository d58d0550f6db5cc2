"""How an answer is kept: by what was read and the noise it got, however it was asked for.

Two questions with the same exact totals and the same noise are one question: names, spacing, the order of AND, of the
columns and of the keys are how it is asked; HAVING, ORDER BY, LIMIT, items and the confidence are how its noisy totals
are shown. So the noisy totals are kept in one order of their own, and each question shows them in its own way: for
nothing, since that is post-processing [DR14, Proposition 2.1].

Which of a person's rows are kept, where they are too many to be scaled, a hash of keys and value decides; there the
order of the keys is part of what is read.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import product

from obverse.data.bounding import Rows
from obverse.data.schema import Category
from obverse.errors import Broken
from obverse.query.choose import Naming, Noisy, NoisyTotal
from obverse.query.keys import Key
from obverse.query.normal import NOTHING, Meant, Names, meaning, rows, terms, told
from obverse.query.resolve import Question

Group = tuple[Category, ...]
Totals = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Form:
    """What is read, in one text; and the places of a question's keys and of its numbers in the order they are kept."""

    text: str
    keys: tuple[int, ...]
    numbers: tuple[int, ...]

    def packed(self, domains: list[Group] | None, groups: tuple[Group, ...], totals: Totals) -> list[object]:
        """Groups, where they were found in the data, and totals, in the order they are kept."""
        kept = {self._kept(group): row for group, row in zip(groups, totals, strict=True)}
        if domains is None:
            found = in_order(kept)
            return [found, [[kept[group][place] for place in self.numbers] for group in found]]
        declared = product(*[domains[place] for place in self.keys])
        return [None, [[kept[group][place] for place in self.numbers] for group in declared]]

    def unpacked(
        self, domains: list[Group] | None, found: object, totals: object
    ) -> tuple[tuple[Group, ...], Totals]:
        """The same in the question's own order."""
        if not isinstance(totals, list) or (domains is None) != isinstance(found, list):
            raise Broken("a kept answer does not fit its plan")
        kept = list(product(*[domains[place] for place in self.keys])) if domains is not None else found
        if not isinstance(kept, list) or len(kept) != len(totals):
            raise Broken("a kept answer does not fit its plan")
        by_group = {self._asked(tuple(group)): row for group, row in zip(kept, totals, strict=True)}
        groups = tuple(product(*domains)) if domains is not None else tuple(in_order(by_group))
        back = sorted(range(len(self.numbers)), key=self.numbers.__getitem__)
        return groups, tuple(tuple(by_group[group][place] for place in back) for group in groups)

    def _kept(self, group: Group) -> Group:
        return tuple(group[place] for place in self.keys)

    def _asked(self, kept: Group) -> Group:
        return tuple(kept[place] for place in sorted(range(len(self.keys)), key=self.keys.__getitem__))


def in_order(groups: Iterable[Group]) -> list[Group]:
    """Groups that were found, in the order of their values and not of the rows."""
    held = list(groups)
    try:
        return sorted(held)
    except TypeError:  # where a value is missing
        return sorted(held, key=lambda group: [(cell is None, str(type(cell)), cell) for cell in group])


def form(question: Question, noisy: tuple[Noisy, ...], naming: Naming | None) -> Form:
    """What a question reads, however it is asked."""
    read = question.relation.rows
    meant = rows(read.source)
    names = meant.names or NOTHING
    keys = [_key(key, names) for key in question.keys]
    by_key = (
        sorted(range(len(keys)), key=keys.__getitem__) if _scaled(read, noisy, naming) else range(len(keys))
    )
    statistics = [told(each, names) for each in noisy]
    by_text = sorted(range(len(noisy)), key=statistics.__getitem__)
    starts = [sum(each.width for each in noisy[:place]) for place in range(len(noisy))]
    numbers = [starts[place] + at for place in by_text for at in range(noisy[place].width)]
    where = () if question.where is None else terms(question.where, names)
    lines = [
        Meant(meant.base, meant.where + where).text,
        f"whose {_whose(read, meant)}",
        *(f"key {keys[place]}" for place in by_key),
        *(f"noise {statistics[place]}" for place in by_text),
        f"named {naming}",
    ]
    return Form("\n".join(lines), tuple(by_key), tuple(numbers))


def _key(key: Key, names: Names) -> str:
    return f"{meaning(key.sql, names)} {key.domain}"


def _whose(read: Rows, meant: Meant) -> str:
    """The owner by what the column means; ranked rows of a table are apart from what is made of it, without ranks."""
    unit = read.unit
    column = unit.column and (meant.names or NOTHING).get(unit.column, f".{unit.column!r}")
    ranked = unit.rank is not None and meant.names is None
    return f"{column} {replace(unit, column=None)} {ranked} {read.neighbours.value}"


def _scaled(read: Rows, noisy: tuple[Noisy, ...], naming: Naming | None) -> bool:
    """Whether all that counts of a person is scaled, and no row is left out by a hash of its keys."""
    if read.unit.column is None:
        return True
    totals = all(
        isinstance(each, NoisyTotal) and (not each.measure.distinct or each.measure.people) for each in noisy
    )
    return totals and naming is None
