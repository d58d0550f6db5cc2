"""Reconstruction from published tables: every world that fits all counts, medians and rounded means.  [GAM18]

What holds in every world that fits is true: such a claim is right by proof. A world says how many people there
are of each kind, so no two worlds differ only in the order of people.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from math import ceil, floor, isfinite
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from obverse.attack.base import Attack, Claims, View
from obverse.errors import BadParameter, BadSource, Missing

if TYPE_CHECKING:
    from ortools.sat.python.cp_model import CpModel, Domain, IntVar, LinearExpr

Value = int | str | bool
Where = Mapping[str, Value | Collection[Value]]
Kind = tuple[Value, ...]
World = dict[Kind, int]
NUMBER = 1 << 40  # larger than any number of a person
WORLDS = 1000  # as many are listed; where there are more, the solver is asked of each claim


@dataclass(frozen=True)
class Statistic:
    """One line of a table: how many people there are `where`, and the median and mean of one of their numbers.

    A median of an even number is half-way between two people; a mean is rounded to `digits`.
    """

    name: str
    where: Where
    count: int
    of: str = ""
    median: float | None = None
    mean: float | None = None
    digits: int = 1


@dataclass(frozen=True)
class Suppressed:
    """A line that was withheld because it holds fewer than `below` people."""

    name: str
    where: Where
    below: int = 3


Line = Statistic | Suppressed


@dataclass(frozen=True)
class Published:
    """A set of tables about the same people, and what anybody knows of people.

    `columns` lists each column's possible values, `never` what no person is.

    >>> block = Published({"sex": "FM", "age": range(100)}, (
    ...     Statistic("everybody", {}, 3, "age", median=30), Statistic("women", {"sex": "F"}, 1, "age", mean=8.0),
    ...     Statistic("men", {"sex": "M"}, 2, "age", mean=57.0)))
    >>> block.worlds()
    [{('F', 8): 1, ('M', 30): 1, ('M', 84): 1}]
    """

    columns: Mapping[str, Sequence[Value]]
    lines: tuple[Line, ...]
    never: tuple[Where, ...] = ()

    def __post_init__(self) -> None:
        for where in (*(line.where for line in self.lines), *self.never):
            if unknown := [column for column in where if column not in self.columns]:
                raise BadParameter(f"no column {', '.join(unknown)}; there are {', '.join(self.columns)}")
        if empty := [name for name, values in self.columns.items() if not values]:
            raise BadParameter(f"{', '.join(empty)} has no possible value")
        for line in self.lines:
            _check(line, self.columns)

    @property
    def size(self) -> int:
        """How many people there are: some line counts everybody."""
        for line in self.lines:
            if isinstance(line, Statistic) and not line.where:
                return line.count
        raise BadParameter("no line counts everybody: add one whose `where` is empty")

    def worlds(self, most: int = WORLDS) -> list[World]:
        """All worlds that fit, or the first `most` of them."""
        found = _enumerate(self, self.lines, most)
        if not found:
            raise BadSource(f"no world fits these tables: {_disagree(self)}")
        return found

    def agreeing(self, of: Sequence[str]) -> list[World]:
        """Worlds seen through the columns `of`, enough for what they agree on to hold in every world that fits.

        Where there are too many to list, the solver is asked of each kind for a world with fewer of it.
        """
        places = [list(self.columns).index(column) for column in of]
        found = [_projected(world, places) for world in self.worlds()]
        open_ = list(found[0]) if len(found) == WORLDS else []
        for kind in open_:
            while least := min(world.get(kind, 0) for world in found):
                fewer = Suppressed("fewer", dict(zip(of, kind, strict=True)), below=least)
                other = _enumerate(self, (*self.lines, fewer), 1)
                if not other:
                    break
                found.append(_projected(other[0], places))
        return found


@dataclass(frozen=True)
class Tables(Attack):
    """Claims what is so in every world that fits the `Published` tables of `release`; targets are its people.

    `of` are the columns claimed. Values are tuples; the claims of people who are not pinned down are withheld.
    """

    release: str
    of: tuple[str, ...]

    harm = "reconstruction"

    @property
    def threat(self) -> str:
        return f"Somebody with the published tables and a solver wants every person's {', '.join(self.of)}."

    def claim(self, view: View) -> Claims:
        published = view.release(self.release)
        if not isinstance(published, Published):
            raise BadSource(f"{self.release} is not a set of published tables")
        if unknown := [column for column in self.of if column not in published.columns]:
            raise BadParameter(f"no column {', '.join(unknown)}; there are {', '.join(published.columns)}")
        worlds = published.agreeing(self.of)
        people = [kind for kind, count in sorted(worlds[0].items()) for _ in range(count)]
        sure = {kind: min(world.get(kind, 0) for world in worlds) for kind in worlds[0]}
        first = {kind: people.index(kind) for kind in worlds[0]}
        made = np.array([i - first[kind] < sure[kind] for i, kind in enumerate(people)], dtype=np.bool_)
        return Claims(records(people), made.astype(np.float64), made)


def records(people: Sequence[tuple[object, ...]]) -> NDArray[np.object_]:
    """People as an array of tuples."""
    out = np.empty(len(people), dtype=object)
    out[:] = people
    return out


def aligned(claims: Claims, truth: Sequence[Kind]) -> tuple[Claims, NDArray[np.object_]]:
    """Claims, and the truth in an order that matches them where it can; nobody is matched twice.

    Claims that are made are matched first. People whom no claim is left for are targets too. For the judge alone.
    """
    left, out = Counter(truth), np.full(len(claims.values), None, dtype=object)
    for i in np.argsort(~claims.made, kind="stable"):
        if left[claims.values[i]]:
            left[claims.values[i]] -= 1
            out[i] = claims.values[i]
    rest = list(left.elements())
    empty = np.flatnonzero(out == None)  # noqa: E711 (element by element)
    out[empty[: len(rest)]] = records(rest[: len(empty)])
    missed = rest[len(empty) :]
    none = Claims(records([()] * len(missed)), np.zeros(len(missed)), np.zeros(len(missed), dtype=np.bool_))
    every = replace(
        claims,
        values=np.concatenate([claims.values, none.values]),
        scores=np.concatenate([claims.scores, none.scores]),
        made=np.concatenate([claims.made, none.made]),
    )
    return every, np.concatenate([out, records(missed)])


def sums(upper: Sequence[int], totals: Sequence[tuple[NDArray[np.int64], int]], most: int) -> list[list[int]]:
    """Whole numbers between 0 and `upper`, so many solutions, whose sums over the places given are the totals."""
    model = _model()
    numbers = [model.new_int_var(0, int(high), "") for high in upper]
    for places, total in totals:
        model.add(sum(numbers[i] for i in places) == int(total))
    return _solutions(model, numbers, most)


def _enumerate(published: Published, lines: Sequence[Line], most: int) -> list[World]:
    """Worlds as people in order of their numbers, so that no world is found twice."""
    model, size = _model(), published.size
    people = [_Person(model, published.columns) for _ in range(size)]
    codes = [person.code() for person in people]
    for before, after in pairwise(codes):
        model.add(before <= after)
    for never in published.never:
        for person in people:
            model.add(person.fits(never) == 0)
    for line in lines:
        _constrain(model, line, people)
    variables = [person.variables[column] for person in people for column in published.columns]
    found = _solutions(model, variables, most)
    return [_world(published.columns, world) for world in found]


def _world(columns: Mapping[str, Sequence[Value]], numbers: Sequence[int]) -> World:
    kinds = [tuple(numbers[i : i + len(columns)]) for i in range(0, len(numbers), len(columns))]
    people = [
        tuple(n if _whole(values) else values[n] for n, values in zip(kind, columns.values(), strict=True))
        for kind in kinds
    ]
    return dict(Counter(people))


class _Person:
    """One person's columns as variables, and what has been asked of them as truth values."""

    def __init__(self, model: CpModel, columns: Mapping[str, Sequence[Value]]) -> None:
        self.model, self.columns = model, columns
        self.variables = {
            name: model.new_int_var_from_domain(_domain(v, v), name) for name, v in columns.items()
        }
        self.known: dict[tuple[str, tuple[int, ...]], IntVar] = {}

    def code(self) -> LinearExpr | int:
        """A number that orders kinds of people, by whole numbers first."""
        code: LinearExpr | int = 0
        for name in sorted(self.columns, key=lambda name: not _whole(self.columns[name])):
            spread = max(_numbers(self.columns[name])) - min(0, *_numbers(self.columns[name])) + 1
            code = code * spread + self.variables[name]
        return code

    def fits(self, where: Where) -> IntVar:
        """A truth value: whether the person is one of these."""
        each = [self._is(column, wanted) for column, wanted in where.items()]
        if len(each) == 1:
            return each[0]
        both = self.model.new_bool_var("")
        self.model.add_bool_and(each).only_enforce_if(both)
        self.model.add_bool_or([~one for one in each] + [both])
        return both

    def _is(self, column: str, wanted: Value | Collection[Value]) -> IntVar:
        some, values = _wanted(wanted), self.columns[column]
        inside = _domain(values, [value for value in values if value in some])
        key = (column, tuple(inside.flattened_intervals()))
        if key not in self.known:
            self.known[key] = self.model.new_bool_var("")
            for domain, truth in ((inside, self.known[key]), (inside.complement(), ~self.known[key])):
                self.model.add_linear_expression_in_domain(self.variables[column], domain).only_enforce_if(
                    truth
                )
        return self.known[key]


def _wanted(wanted: Value | Collection[Value]) -> Collection[Value]:
    return wanted if isinstance(wanted, Collection) and not isinstance(wanted, str) else (wanted,)


def _constrain(model: CpModel, line: Line, people: Sequence[_Person]) -> None:
    inside = [person.fits(line.where) for person in people]
    if isinstance(line, Suppressed):
        model.add(sum(inside) < line.below)
        return
    model.add(sum(inside) == line.count)
    if line.mean is not None:
        half = 0.5 * 10.0**-line.digits
        least, most = ((line.mean + side) * line.count for side in (-half, half))
        parts = [
            _part(model, person.variables[line.of], within)
            for person, within in zip(people, inside, strict=True)
        ]
        model.add_linear_constraint(sum(parts), ceil(least - 1e-9), floor(most + 1e-9))
    if line.median is not None:
        values = [person.variables[line.of] for person in people]
        middle = [
            _ranked(model, values, inside, rank) for rank in ((line.count + 1) // 2, line.count // 2 + 1)
        ]
        model.add(sum(middle) == round(2 * line.median))


def _part(model: CpModel, value: IntVar, within: IntVar) -> IntVar:
    """The value of whoever is within, and 0 of others."""
    part = model.new_int_var(-NUMBER, NUMBER, "")
    model.add(part == value).only_enforce_if(within)
    model.add(part == 0).only_enforce_if(~within)
    return part


def _ranked(model: CpModel, values: Sequence[IntVar], inside: Sequence[IntVar], rank: int) -> IntVar:
    """The value of the one of this rank among those inside; people come in order of their values."""
    ranked = model.new_int_var(-NUMBER, NUMBER, "")
    here = [model.new_bool_var("") for _ in values]
    model.add_exactly_one(here)
    for i, value in enumerate(values):
        model.add_implication(here[i], inside[i])
        model.add(sum(inside[: i + 1]) == rank).only_enforce_if(here[i])
        model.add(ranked == value).only_enforce_if(here[i])
    return ranked


def _solutions(model: CpModel, numbers: list[IntVar], most: int) -> list[list[int]]:
    from ortools.sat.python import cp_model

    found: list[list[int]] = []

    class Collect(cp_model.CpSolverSolutionCallback):
        def on_solution_callback(self) -> None:
            found.append([self.value(number) for number in numbers])
            if len(found) >= most:
                self.stop_search()

    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.enumerate_all_solutions = True
    solver.parameters.cp_model_probing_level = 0  # the models are small: probing takes longer than the search
    solver.parameters.linearization_level = 0
    solver.solve(model, Collect())
    return found


def _model() -> CpModel:
    try:
        from ortools.sat.python import cp_model
    except ImportError as failed:
        raise Missing("reconstruction needs OR-tools: pip install obverse[attack]") from failed
    return cp_model.CpModel()


def _whole(values: Sequence[Value]) -> bool:
    return all(isinstance(value, int) and not isinstance(value, bool) for value in values)


def _numbers(values: Sequence[Value]) -> list[int]:
    """A column's values as the solver has them: whole numbers as they are, others by their place."""
    return [int(value) for value in values] if _whole(values) else list(range(len(values)))


def _domain(values: Sequence[Value], some: Collection[Value]) -> Domain:
    from ortools.sat.python import cp_model

    return cp_model.Domain.from_values(
        [n for n, v in zip(_numbers(values), values, strict=True) if v in some]
    )


def _most(line: Line) -> int:
    return line.count if isinstance(line, Statistic) else line.below - 1


def _check(line: Line, columns: Mapping[str, Sequence[Value]]) -> None:
    if _most(line) % 1 or _most(line) < 0:
        raise BadParameter(f"{line.name}: a count is a whole number, 0 or more")
    for column, wanted in line.where.items():
        some = _wanted(wanted)
        strange = [str(value) for value in some if value not in columns[column]]
        if strange and not (isinstance(some, range) and len(strange) < len(some)):
            raise BadParameter(f"{line.name}: {column} has no value {', '.join(strange[:3])}")
    if isinstance(line, Statistic):
        _check_numbers(line, columns)


def _check_numbers(line: Statistic, columns: Mapping[str, Sequence[Value]]) -> None:
    told = [number for number in (line.median, line.mean) if number is not None]
    if told and not _whole(columns.get(line.of, ("",))):
        raise BadParameter(
            f"{line.name}: a median or mean is of a column of whole numbers, not of {line.of!r}"
        )
    if told and not line.count:
        raise BadParameter(f"{line.name}: nobody has no median and no mean")
    if not all(map(isfinite, told)):
        raise BadParameter(f"{line.name}: a median or mean is a number")
    if line.median is not None and not float(2 * line.median).is_integer():
        raise BadParameter(f"{line.name}: a median of whole numbers is whole or half-way between two")


def _disagree(published: Published) -> str:
    """The fewest lines that no world fits: one, two, or a set that fits as soon as any one is dropped."""
    for size in (1, 2):
        for lines in combinations(published.lines, size):
            if not _enumerate(published, lines, 1):
                return " and ".join(line.name for line in lines) + (
                    " disagree" if size == 2 else " cannot be"
                )
    kept = published.lines
    for line in published.lines:
        without = tuple(one for one in kept if one is not line)
        kept = kept if _enumerate(published, without, 1) else without
    return ", ".join(line.name for line in kept) + " disagree together"


def _projected(world: World, places: Sequence[int]) -> World:
    out: World = {}
    for kind, count in world.items():
        part = tuple(kind[i] for i in places)
        out[part] = out.get(part, 0) + count
    return out
