"""Register: a little spent once, so that every later question knows how to bound.

A table's people are counted by how many rows they have, and for each number without declared bounds by the largest |x|
among their rows, in bins of powers of two. Each person is in one bin of each histogram, so that one person more or
less moves one number by one [DMNS06]: the histograms are grouped counts of people, bounded where all rows are. Rows of
nobody are left out: together they are no one person's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product

from sqlglot import exp

from obverse.data.bounding import Measure, Rows, totals
from obverse.data.learnt import Binned, Learnt, Sizes
from obverse.data.schema import Column, Role, Schema, Type
from obverse.data.table import Tables
from obverse.errors import BadQuestion
from obverse.loss.loss import Loss
from obverse.loss.number import positive
from obverse.mechanisms.laplace import Laplace
from obverse.noise.entropy import Entropy
from obverse.query.choose import NoisyTotal, choose, whole_loss
from obverse.query.relation import MARK, Field, Relation, selected
from obverse.query.sources import Sources
from obverse.query.typed import Typed, as_double, kept_finite, written
from obverse.release import Accuracy, Kind, Terms

ROWS = range(41)
WHOLE = range(63)
REAL = range(-30, 63)
POSITIVE, NEGATIVE, MIXED = SIGNS = range(3)
PEOPLE = Measure(None, 1, 1)
REGISTER = "register "


@dataclass(frozen=True)
class Register:
    """Learn what bounds a table's people and numbers need, once, for ε; of the number `columns` that have none."""

    table: str
    epsilon: Fraction
    columns: tuple[str, ...] | None = None

    def __str__(self) -> str:
        only = "" if self.columns is None else f" ({', '.join(self.columns)})"
        return f"{REGISTER}{self.table}{only} at ε = {self.epsilon}"

    def plan(self, schemas: Mapping[str, Schema], terms: Terms) -> RegisterPlan:
        relation = Sources(schemas, {}, sampled=False).of(_whole(self.table))
        schema = relation.schemas[0]
        if schema.public:
            raise BadQuestion(f"{schema.name} is public: there is nothing to learn privately")
        columns = _wanted(schema, self.columns)
        if relation.owner is None and not columns:
            raise BadQuestion(
                f"{schema.name} needs nothing learnt: each row is a unit, and every number has bounds"
            )
        epsilon = Fraction(positive(self.epsilon, "ε"))
        share = epsilon / (len(columns) + (relation.owner is not None))
        return RegisterPlan(schema.name, schema.unit.column, relation, columns, epsilon, share)


def _whole(table: str) -> exp.Select:
    return exp.Select(from_=exp.From(this=exp.Table(this=exp.to_identifier(table, quoted=True))))


def _wanted(schema: Schema, named: tuple[str, ...] | None) -> tuple[Column, ...]:
    """The numbers to learn clamps of: those that are named, or all that have no bounds and could be added up."""
    if named is not None:
        columns = tuple(schema.column(name) for name in named)
        for column in columns:
            if column.type not in (Type.INTEGER, Type.REAL) or column.bounded:
                raise BadQuestion(f"{schema.name}.{column.name} is no number without declared bounds")
        return columns
    return tuple(
        column
        for column in schema.columns
        if column.type in (Type.INTEGER, Type.REAL)
        and not (column.bounded or column.categories or column.references)
        and column.role is not Role.IDENTIFIER
        and column.name != schema.unit.column
    )


@dataclass(frozen=True)
class Histogram:
    """People in bins: the rows of which each person has one, the key of each bin, and the noise of its count."""

    rows: Rows
    where: exp.Expr | None
    keys: tuple[exp.Expr, ...]
    bins: tuple[tuple[int, ...], ...]
    noisy: NoisyTotal

    @cached_property
    def select(self) -> exp.Select:
        return totals(self.rows, self.where, self.keys, (PEOPLE,))

    def release(self, tables: Tables, entropy: Entropy) -> list[int]:
        """The noisy number of people in each bin, to the nearest whole one."""
        exact = dict.fromkeys(self.bins, 0)
        for *key, people in tables.run(self.select):
            exact[tuple(int(part or 0) for part in key)] = int(people or 0)
        (noisy,) = self.noisy.release([exact[bin_] for bin_ in self.bins], entropy)
        return [round(steps * self.noisy.grid) for steps in noisy]

    @property
    def scale(self) -> Fraction:
        """The scale of the noise, in people."""
        assert isinstance(self.noisy.mechanism, Laplace)
        return self.noisy.mechanism.scale * self.noisy.grid


@dataclass(frozen=True)
class RegisterPlan:
    """The histograms that a registration takes, and what they cost together."""

    table: str
    unit: str | None
    relation: Relation
    columns: tuple[Column, ...]
    epsilon: Fraction
    share: Fraction
    kind: Kind = "answer"
    delta: Fraction = Fraction(0)

    @property
    def tables(self) -> tuple[str, ...]:
        return self.relation.tables

    @cached_property
    def counted(self) -> Histogram | None:
        """People by how many rows they have."""
        if self.relation.owner is None:
            return None
        n = Field("n", "", Typed(exp.Count(this=exp.Star()), Type.INTEGER))
        people = _people(self.relation, (n,))
        size = people.fields[0].typed.sql
        ends = [exp.Literal.number(str(2**k)) for k in ROWS[1:]]
        return self._histogram(people, None, (_bin([_at_least(size, end) for end in ends]),), (ROWS,))

    @cached_property
    def sized(self) -> tuple[Histogram, ...]:
        """People by the signs and the largest |x| of each column."""
        return tuple(self._sized(column) for column in self.columns)

    def _sized(self, column: Column) -> Histogram:
        bins = WHOLE if column.type is Type.INTEGER else REAL
        people, high, low = self._extremes(column)
        both = exp.and_(_below(low, Fraction(0)), _above(high, Fraction(0)), copy=False)
        sign = _cases((both, MIXED), (_below(low, Fraction(0)), NEGATIVE), otherwise=POSITIVE)
        ends = [Fraction(2) ** k for k in bins[1:]]
        sizes = [
            exp.or_(_at_least(high, written(end)), _at_most(low, written(-end)), copy=False) for end in ends
        ]
        known = exp.Not(this=exp.Is(this=high, expression=exp.Null()))
        return self._histogram(people, known, (sign, _bin(sizes)), (SIGNS, range(len(bins))))

    def _extremes(self, column: Column) -> tuple[Relation, exp.Expr, exp.Expr]:
        """One row a person, and the largest and least number there; a row that is a unit by itself has one number."""
        typed = kept_finite(self.relation.lookup(exp.column(exp.to_identifier(column.name, quoted=True))))
        number = as_double(typed)
        if self.relation.owner is None:
            return self.relation, number, number
        ends = (("high", exp.Max(this=number)), ("low", exp.Min(this=number)))
        people = _people(self.relation, tuple(Field(name, "", Typed(sql, Type.REAL)) for name, sql in ends))
        high, low = (field.typed.sql for field in people.fields)
        return people, high, low

    def _histogram(
        self,
        people: Relation,
        where: exp.Expr | None,
        keys: tuple[exp.Expr, ...],
        bins: tuple[range, ...],
    ) -> Histogram:
        (noisy,) = choose(people.rows, (PEOPLE,), True, self.share, Fraction(0))
        assert isinstance(noisy, NoisyTotal)
        return Histogram(people.rows, where, keys, tuple(product(*bins)), noisy)

    @cached_property
    def histograms(self) -> tuple[Histogram, ...]:
        return (*([] if self.counted is None else [self.counted]), *self.sized)

    @cached_property
    def guarantee(self) -> Loss:
        return whole_loss(tuple(histogram.noisy for histogram in self.histograms))

    @property
    def accuracy(self) -> tuple[Accuracy, ...]:
        names = ([] if self.counted is None else ["rows a person"]) + [c.name for c in self.columns]
        return tuple(
            Accuracy(name, float(histogram.noisy.margin(0.95)), 0.95, "people in each bin")
            for name, histogram in zip(names, self.histograms, strict=True)
        )

    @cached_property
    def key(self) -> str:
        read = "\n".join(histogram.select.sql(dialect="duckdb") for histogram in self.histograms)
        return f"register {self.table}\n{self.share}\n{read}"

    def run(self, tables: Tables, entropy: Entropy) -> Learnt:
        rows = None
        if self.counted is not None:
            noisy = self.counted.release(tables, entropy)
            rows = Binned(0, tuple(noisy), self.counted.scale, whole=True)
        values = tuple(
            _sizes(column, histogram.release(tables, entropy), histogram.scale)
            for column, histogram in zip(self.columns, self.sized, strict=True)
        )
        return Learnt(self.table, self.unit, self.epsilon, rows, values, tables.version(self.table))

    def pack(self, value: Learnt) -> bytes:
        return value.pack()

    def unpack(self, kept: bytes) -> Learnt:
        return Learnt.unpack(kept)


def _sizes(column: Column, noisy: list[int], scale: Fraction) -> Sizes:
    bins, whole = (WHOLE, True) if column.type is Type.INTEGER else (REAL, False)
    width = len(bins)
    of = [
        Binned(bins[0], tuple(noisy[sign * width : (sign + 1) * width]), scale, whole=whole) for sign in SIGNS
    ]
    return Sizes(column.name, of[POSITIVE], of[NEGATIVE], of[MIXED])


def _people(relation: Relation, fields: tuple[Field, ...]) -> Relation:
    """One row for each person, of their rows' aggregates."""
    assert relation.owner is not None
    somebodys = exp.Not(this=exp.Is(this=relation.owner, expression=exp.Null()))
    return selected(relation, fields, somebodys, alias=f"{MARK}person", group=(relation.owner,), rows=1)


def _bin(reached: Sequence[exp.Expr]) -> exp.Expr:
    """The number of the last end that is reached: a bin."""
    ends = list(enumerate(reached, 1))
    return _cases(*((test, bin_) for bin_, test in reversed(ends)), otherwise=0)


def _cases(*cases: tuple[exp.Expr, int], otherwise: int) -> exp.Expr:
    ifs = [exp.If(this=test, true=exp.Literal.number(str(value))) for test, value in cases]
    return exp.Case(ifs=ifs, default=exp.Literal.number(str(otherwise)))


def _at_least(sql: exp.Expr, end: exp.Expr) -> exp.Expr:
    return exp.GTE(this=sql, expression=end)


def _at_most(sql: exp.Expr, end: exp.Expr) -> exp.Expr:
    return exp.LTE(this=sql, expression=end)


def _below(sql: exp.Expr, end: Fraction) -> exp.Expr:
    return exp.LT(this=sql, expression=written(end))


def _above(sql: exp.Expr, end: Fraction) -> exp.Expr:
    return exp.GT(this=sql, expression=written(end))
