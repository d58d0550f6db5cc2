"""What a question will do: the SELECTs it runs, the noise each total gets, and how the answer is made of them."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import isinf

import numpy as np
from sqlglot import exp

from obverse.data.bounding import Measure, Rows, apart, totals
from obverse.data.picked import histogram
from obverse.data.schema import Category, protected
from obverse.data.table import Tables
from obverse.loss.loss import Loss
from obverse.mechanisms.lazily import Whole
from obverse.noise.entropy import Entropy
from obverse.query.answer import Answer, Cell, distinct
from obverse.query.choose import Naming, Noisy, NoisyChoice, NoisyQuantile, NoisyTotal, whole_loss
from obverse.query.groups import among, every_group, folded, known_groups, within
from obverse.query.kept import Form, Group, form, in_order
from obverse.query.options import Aim
from obverse.query.ranges import Range, Scalar, Single
from obverse.query.recipes import Recipe
from obverse.query.released import Row, margin, reach, value
from obverse.query.resolve import End, Order, Question
from obverse.query.rollup import Shown, rolled_up
from obverse.query.stated import Off, Stated, bare
from obverse.release import Accuracy, Kind

COUNTED = Measure(None, 1, 1)


@dataclass(frozen=True)
class AskPlan:
    """All that will be done for one question; made from public facts alone."""

    text: str
    question: Question
    noisy: tuple[Noisy, ...]
    recipes: tuple[Recipe, ...]
    confidence: Fraction
    smallest_group: int | None = None
    nonnegative: bool = False
    naming: Naming | None = None
    delta: Fraction = Fraction(0)
    fresh: bool = False
    aim: Aim | None = None
    kind: Kind = "answer"

    @property
    def tables(self) -> tuple[str, ...]:
        return self.question.relation.tables

    @property
    def public(self) -> tuple[str, ...]:
        return self.question.relation.public

    @property
    def protects(self) -> str:
        """Whom an answer protects."""
        return protected(self.question.relation.private)

    @property
    def notes(self) -> tuple[str, ...]:
        """What is said below an answer."""
        return (f"each ± holds in {float(100 * self.confidence):.4g} % of runs",)

    @cached_property
    def guarantee(self) -> Loss:
        loss = whole_loss(self.noisy)
        return loss if self.naming is None else loss + self.naming.loss

    @cached_property
    def selects(self) -> tuple[tuple[tuple[int, ...], exp.Select], ...]:
        """The SELECTs that read totals, each with their places among the statistics."""
        rows, where, keys = self._read
        wanted = tuple(place for place, each in enumerate(self.noisy) if isinstance(each, NoisyTotal))
        measures = tuple(self.noisy[place].measure for place in wanted)
        return tuple(
            (tuple(wanted[i] for i in some), totals(rows, where, keys, tuple(measures[i] for i in some)))
            for some in (apart(rows, measures) if measures else ())
        )

    @cached_property
    def histograms(self) -> tuple[tuple[tuple[int, ...], exp.Select], ...]:
        """The SELECTs that read values and how often they are there, each with the places of what is found in them."""
        rows, where, keys = self._read
        found: dict[Measure, tuple[int, ...]] = {}
        for place, each in enumerate(self.noisy):
            if isinstance(each, NoisyQuantile):
                found[each.measure] = (*found.get(each.measure, ()), place)
        return tuple((places, histogram(rows, where, keys, measure)) for measure, places in found.items())

    @cached_property
    def choices(self) -> tuple[tuple[int, exp.Select], ...]:
        """The SELECTs that count the rows of each value, each with the place of what is chosen by them."""
        rows, where, keys = self._read
        return tuple(
            (place, totals(rows, among(where, each), (*keys, each.value), (COUNTED,)))
            for place, each in enumerate(self.noisy)
            if isinstance(each, NoisyChoice)
        )

    @property
    def reads(self) -> tuple[exp.Select, ...]:
        """All SELECTs that read what goes into the noise."""
        return tuple(select for _, select in (*self.selects, *self.histograms, *self.choices))

    @cached_property
    def numbers(self) -> tuple[Noisy, ...]:
        """The statistic that each of the released numbers of a group is of."""
        return tuple(each for each in self.noisy for _ in range(each.width))

    @property
    def _read(self) -> tuple[Rows, exp.Expr | None, tuple[exp.Expr, ...]]:
        question = self.question
        return question.relation.rows, within(question), tuple(key.sql for key in question.keys)

    @cached_property
    def key(self) -> str:
        """What is read and the noise it gets, however it was asked, and the public tables beside it."""
        public = "".join(repr(schema) for schema in self.question.relation.schemas if schema.public)
        public += "".join(repr(schema.learnt) for schema in self.question.relation.private if schema.learnt)
        return f"ask\n{self.form.text}\n{public}"

    @cached_property
    def form(self) -> Form:
        """How its answer is kept."""
        return form(self.question, self.noisy, self.naming)

    @property
    def accuracy(self) -> tuple[Accuracy, ...]:
        """The noise's ± of each aggregate, in ranks where it is found by one; an average's waits for its count."""
        stated = []
        for aggregate, recipe in zip(self.question.aggregates, self.recipes, strict=True):
            size = self.numbers[recipe.totals[0]].off(float(self.confidence))
            stated.append(Accuracy(aggregate.text, size, float(self.confidence), recipe.note))
        return tuple(stated)

    def groups(self) -> tuple[Group, ...]:
        """Every group that is answered, in the order of the declared values."""
        return known_groups(self.question)

    def run(self, tables: Tables, entropy: Entropy) -> Answer:
        groups = (
            every_group(self.question, tables)
            if self.naming is None
            else self._named(self.naming, tables, entropy)
        )
        places = {folded(group): place for place, group in enumerate(groups)}
        totals, values = self._totals(places, tables), self._values(places, tables)
        counts = self._counts(places, tables)
        released = []
        for i, each in enumerate(self.noisy):
            if isinstance(each, NoisyTotal):
                released += each.release(totals[i], entropy)
            else:
                released += each.release((values | counts)[i], entropy)
        return self.present(groups, tuple(zip(*released, strict=True)), self.confidence)

    def _totals(self, places: dict[Group, int], tables: Tables) -> dict[int, list[int]]:
        """The bounded totals of each group, by the statistic's place."""
        exact = {i: [0] * len(places) for which, _ in self.selects for i in which}
        keys = len(self.question.keys)
        for which, select in self.selects:
            for row in tables.run(select):
                place = places.get(folded(row[:keys]))
                if place is not None:
                    for total, cell in zip(which, row[keys:], strict=True):
                        exact[total][place] = 0 if cell is None else int(cell)
        return exact

    def _values(self, places: dict[Group, int], tables: Tables) -> dict[int, list[Whole]]:
        """The bounded values of each group, by the statistic's place."""
        exact: dict[int, list[Whole]] = {}
        keys = len(self.question.keys)
        for which, select in self.histograms:
            held: list[list[tuple[int, int]]] = [[] for _ in places]
            for row in tables.run(select):
                place, (value, count) = places.get(folded(row[:keys])), row[keys:]
                if place is not None and value is not None:
                    held[place].append((int(value), int(count or 0)))
            pairs = [np.array(each, np.int64).reshape(-1, 2) for each in held]
            pairs = [each[each[:, 0].argsort()] for each in pairs]  # in order, where they are many
            values = [np.repeat(each[:, 0], each[:, 1]) for each in pairs]
            exact |= {place: values for place in which}
        return exact

    def _counts(self, places: dict[Group, int], tables: Tables) -> dict[int, list[Whole]]:
        """How many rows of each group have each value, by the statistic's place."""
        exact: dict[int, list[Whole]] = {}
        for i, select in self.choices:
            each = self.noisy[i]
            assert isinstance(each, NoisyChoice)
            known = {value: at for at, value in enumerate(each.domain)}
            counts = np.zeros((len(places), len(known)), np.int64)
            for row in tables.run(select):
                *group, value = folded(row[:-1])
                place, at = places.get(tuple(group)), known.get(value)
                if place is not None and at is not None:
                    counts[place, at] += int(row[-1] or 0)
            exact[i] = list(counts)
        return exact

    def _named(self, naming: Naming, tables: Tables, entropy: Entropy) -> tuple[Group, ...]:
        """The groups that have enough units to be named, in the order of their values and not of the rows."""
        rows, where, keys = self._read
        said = list[Group]()
        for at in naming.rounds:
            single = tuple(group[0] for group in said) if len(keys) == 1 else ()
            found = tables.run(naming.select(rows, where, keys, single))
            units = {folded(row[:-1]): int(row[-1] or 0) for row in found}
            ordered = in_order(units)
            named = naming.named(at, [units[group] for group in ordered], entropy)
            said += [group for group, is_named in zip(ordered, named, strict=True) if is_named]
        return tuple(in_order(set(said)))

    def present(
        self,
        groups: tuple[Group, ...],
        noisy: tuple[tuple[int, ...], ...],
        confidence: Fraction,
        off: Off | None = None,
    ) -> Answer:
        """The answer that noisy totals make: post-processing, as often as one likes.

        `off` says how far a group's total is off, where it is not this plan's own noise.
        """
        question, stated = self.question, Stated(confidence, off or self.noise, own=off is None)
        lines = [(self._row(shown, stated), shown.steps) for shown in rolled_up(question.sets, groups, noisy)]
        lines = [line for line in lines if self._shown(*line)]
        for order in reversed(question.order):
            lines = ordered(lines, order)
        end = None if question.limit is None else question.offset + question.limit
        rows, margins = [], []
        for row, steps in lines[question.offset : end]:
            found = [value(item.tree, row) for item in question.items]
            rows.append(tuple(cell(each) for each in found))
            margins.append(tuple(self._margin(i, each, row, steps, stated) for i, each in enumerate(found)))
        names = distinct(item.name for item in question.items)
        return Answer(names, tuple(rows), tuple(margins), noisy, groups)

    def at(self, answer: Answer, confidence: Fraction) -> Answer:
        """The same answer, with the ± of another confidence."""
        return self.present(answer.groups, answer.totals, confidence)

    def _row(self, shown: Shown, stated: Stated) -> Row:
        numbers = self._numbers(shown.steps)
        values = [recipe.value(numbers) for recipe in self.recipes]
        row = Row(shown.key, values, shown.rolled, shown.parts)
        if not self.question.ends:
            return row
        return replace(row, ends=[self._end(end, row, shown.steps, stated) for end in self.question.ends])

    def _end(self, end: End, row: Row, steps: tuple[int, ...], stated: Stated) -> Scalar:
        """An end of the interval about a number; NULL where nothing can be told."""
        around = self._around(end.tree, self._totals_of(end.tree), row, steps, stated)
        if around is None or not isinstance(value(end.tree, row), int | Fraction):
            return None
        found = around.low if end.which == "low" else around.high
        return None if isinstance(found, float) and isinf(found) else found

    def _numbers(self, steps: tuple[int, ...]) -> list[Fraction]:
        numbers = [step * total.grid for step, total in zip(steps, self.numbers, strict=True)]
        if not self.nonnegative:
            return numbers
        return [
            max(number, Fraction(0)) if total.measure.low >= 0 else number
            for number, total in zip(numbers, self.numbers, strict=True)
        ]

    def _shown(self, row: Row, steps: tuple[int, ...]) -> bool:
        """Whether the policy's smallest group and HAVING, both on released numbers, let a group be shown."""
        if self.smallest_group is not None and steps[0] * self.noisy[0].grid < self.smallest_group:
            return False
        return self.question.having is None or value(self.question.having, row) is True

    def _margin(
        self, item: int, found: Scalar, row: Row, steps: tuple[int, ...], stated: Stated
    ) -> float | None:
        """How far the noise may have moved a number."""
        if isinstance(found, bool):
            return None
        if (bare := self._bare[item]) is not None:
            width = stated.width(bare, row, float(stated.confidence))
            return None if width is None else float(width)
        return margin(found, self.around(item, row, steps, stated))

    def around(self, item: int, row: Row, steps: tuple[int, ...], stated: Stated) -> Range | None:
        """Where a number was before the noise: all its totals hold together with this confidence."""
        return self._around(self.question.items[item].tree, self.used[item], row, steps, stated)

    def _around(
        self, tree: exp.Expr, used: frozenset[int], row: Row, steps: tuple[int, ...], stated: Stated
    ) -> Range | None:
        if not used:
            return None
        each = float(1 - (1 - stated.confidence) / len(used))
        margins = [stated.width(i, row, each) if i in used else Fraction(0) for i in range(len(self.numbers))]
        ranges = [
            Range(number - width, number + width)
            for number, width in zip(self._numbers(steps), margins, strict=True)
            if width is not None
        ]
        if len(ranges) < len(margins):
            return None
        around = [recipe.range(ranges) for recipe in self.recipes]
        return reach(tree, row, around)

    def noise(self, place: int, row: Row, confidence: float) -> Fraction | None:
        return self.numbers[place].margin(confidence, row.parts)

    @cached_property
    def used(self) -> tuple[frozenset[int], ...]:
        """The totals that each column depends on."""
        return tuple(self._totals_of(item.tree) for item in self.question.items)

    def _totals_of(self, tree: exp.Expr) -> frozenset[int]:
        places = {int(c.name) for c in tree.find_all(exp.Column) if c.table == "§aggregate"}
        return frozenset(total for place in places for total in self.recipes[place].totals)

    @cached_property
    def _bare(self) -> tuple[int | None, ...]:
        return tuple(bare(item.tree, self.recipes) for item in self.question.items)

    def pack(self, value: Answer) -> bytes:
        kept = self.form.packed(self._domains, value.groups, value.totals)
        return json.dumps(kept, separators=(",", ":")).encode()

    def unpack(self, kept: bytes) -> Answer:
        groups, totals = self.form.unpacked(self._domains, *json.loads(kept))
        return self.present(groups, totals, self.confidence)

    @property
    def _domains(self) -> list[Group] | None:
        """Every value of each key; None where the groups are found in the data, or in a public table."""
        if self.naming is not None or self.question.looked_up:
            return None
        return [key.domain or () for key in self.question.keys]


Line = tuple[Row, tuple[int, ...]]


def ordered(lines: list[Line], order: Order) -> list[Line]:
    """Sorted by one term, stably; NULL stands apart from all values."""
    known = [line for line in lines if value(order.tree, line[0]) is not None]
    missing = [line for line in lines if value(order.tree, line[0]) is None]
    known.sort(key=lambda line: _sortable(value(order.tree, line[0])), reverse=order.descending)
    return missing + known if order.nulls_first else known + missing


def cell(found: Scalar) -> Cell:
    """The one exact scaling at the end: a whole number of 64 bits stays whole, another becomes the nearest float."""
    if isinstance(found, tuple):
        return tuple(_single(each) for each in found)
    return _single(found)


def _single(found: Single) -> Category | float | None:
    if isinstance(found, bool) or not isinstance(found, int | Fraction):
        return found
    exact = Fraction(found)
    return exact.numerator if exact.denominator == 1 and abs(exact) < 2**63 else float(exact)


def _sortable(found: Scalar) -> tuple[int, float | str]:
    assert not isinstance(found, tuple), "a list is not sorted by"
    if isinstance(found, str):
        return 1, found
    return 0, 0.0 if found is None else float(found)
