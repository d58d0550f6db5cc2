"""The cells of a column, from what is declared of it: what is counted, and what values are drawn from.

A column with few values has a cell for each. Numbers between wide bounds have cells of a public grid: 0 by itself, then
four to every doubling, so that the small ones of a skewed column are told apart. Days have a cell each, or each month
one. Behind them comes one cell for rows that have no declared value: a value outside the bounds is as if missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from fractions import Fraction
from itertools import pairwise
from math import ceil, floor

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from obverse.data.schema import Category, Type
from obverse.data.table import Cell as Held
from obverse.errors import BadQuestion
from obverse.mechanisms.coins import dice
from obverse.noise.entropy import Entropy

FEW = 128  # values that have a cell each
DOUBLINGS, PARTS = 20, 4
LONGEST = 366  # days that have a cell each
FINE = 1 << 20
Interval = tuple[Fraction, Fraction]
Codes = NDArray[np.int64]
Shown = Category | Fraction | float | None


@dataclass(frozen=True)
class Span:
    """The numbers from low up to but not including high: whole ones, where both ends are meant to be."""

    low: Fraction
    high: Fraction


@dataclass(frozen=True)
class Axis:
    """One column's cells: what an engine groups by, what it then says of each, and what is drawn from them.

    `holds` is for each cell its one value, or the span that its values lie in; `says` is what `key` is for a row of
    that cell. `ordered` tells cells whose neighbours are alike.
    """

    name: str
    type: Type
    key: exp.Expr
    says: tuple[Category, ...]
    holds: tuple[Category | Span, ...]
    ordered: bool
    missing: bool = True

    @property
    def size(self) -> int:
        """How many cells there are, that of rows without a value included where there may be such rows."""
        return len(self.holds) + self.missing

    def codes(self, said: Sequence[Held]) -> list[int]:
        """The cell of each row by what its key says; −1 where the question leaves such rows out."""
        places: dict[Held, int] = {value: place for place, value in enumerate(self.says)}
        places[None] = len(self.holds) if self.missing else -1
        return [places.get(each, -1) for each in said]

    def narrowed(self, holds: Callable[[Shown], bool], breaks: Iterable[Fraction]) -> Axis:
        """The cells in which a condition on this column may hold, each cut to where it does.

        It changes from true to false nowhere but at `breaks`; a row without a value stays where it holds for None.
        """
        cut = [
            (said, self._cut(held, holds, breaks)) for said, held in zip(self.says, self.holds, strict=True)
        ]
        kept = [(said, held) for said, held in cut if held is not None]
        says, held = tuple(said for said, _ in kept), tuple(held for _, held in kept)
        return replace(self, says=says, holds=held, missing=self.missing and holds(None))

    def _cut(
        self, held: Category | Span, holds: Callable[[Shown], bool], breaks: Iterable[Fraction]
    ) -> Category | Span | None:
        if not isinstance(held, Span):
            return held if holds(held) else None
        true = [piece for piece, value in self._pieces(held, breaks) if holds(value)]
        return Span(true[0].low, true[-1].high) if true else None

    def _pieces(self, held: Span, breaks: Iterable[Fraction]) -> list[tuple[Span, Shown]]:
        """A span cut at the breaks, and where it is of real numbers also their points; a value of each piece."""
        real = self.type is Type.REAL
        ends = {held.low, held.high}
        ends |= {each for at in breaks for each in (at, at + (not real)) if held.low < each < held.high}
        pieces = [
            (Span(a, b), (a + b) / 2 if real else _written(self.type, int(a)))
            for a, b in pairwise(sorted(ends))
        ]
        if real:
            pieces += [
                (Span(at, at), at) for at in sorted({*breaks} | {held.low}) if held.low <= at < held.high
            ]
        return sorted(pieces, key=lambda piece: (piece[0].low, piece[0].high))

    def probes(self, breaks: Iterable[Fraction]) -> list[list[Shown]]:
        """For each cell values between which whatever changes at `breaks` alone shows all that it does there."""
        breaks, found = tuple(breaks), list[list[Shown]]()
        for held in self.holds:
            if isinstance(held, Span):
                found.append([value for _, value in self._pieces(held, breaks)])
            else:
                found.append([held])
        if self.type is Type.REAL and self.holds and isinstance(last := self.holds[-1], Span):
            found[-1].append(last.high)  # the upper bound itself is in the last cell
        return [*found, [None]] if self.missing else found

    def draw(self, cells: Codes, entropy: Entropy) -> list[Shown]:
        """A value out of each of these cells."""
        drawn = np.empty(len(cells), object)
        for cell in np.unique(cells).tolist():
            where = np.flatnonzero(cells == cell)
            if cell < len(self.holds):
                drawn[where] = self._draw(cell, len(where), entropy)
        found: list[Shown] = drawn.tolist()
        return found

    def _draw(self, cell: int, count: int, entropy: Entropy) -> Sequence[Shown]:
        held = self.holds[cell]
        if not isinstance(held, Span):
            return [held] * count
        width = held.high - held.low
        if self.type is Type.REAL:
            parts = dice(FINE, count, entropy).tolist()
            return [float(held.low + width * part / FINE) for part in parts]
        steps = dice(min(int(width), (1 << 32) - 1), count, entropy).tolist()
        return [_written(self.type, int(held.low) + step) for step in steps]


def axis(
    name: str,
    sql: exp.Expr,
    type: Type,
    *,
    domain: tuple[Category, ...] | None = None,
    interval: Interval | None = None,
    days: tuple[date, date] | None = None,
    missing: bool = True,
) -> Axis | None:
    """The cells of a column or expression by what is known of it in public; None where that is too little."""
    if type is Type.BOOLEAN:
        domain = domain or (False, True)
    if domain is not None and (len(domain) <= FEW or interval is None):
        return _each(name, sql, type, domain, missing)
    if interval is not None:
        return _binned(name, sql, type, interval, missing)
    return None if days is None else _dated(name, sql, type, days, missing)


def stepped(name: str, sql: exp.Expr, type: Type, interval: Interval, step: Fraction) -> Axis:
    """Cells of one width from the lower bound on, the last up to the upper; at 1 a cell for each whole number."""
    low, high = interval
    if type is Type.INTEGER:
        low, high = Fraction(ceil(low)), Fraction(floor(high) + 1)
        if step == 1:
            return _each(name, sql, type, tuple(range(int(low), int(high))), True)
    count = max(1, ceil((high - low) / step))
    spans = tuple(Span(low + step * i, min(low + step * (i + 1), high)) for i in range(count))
    from_low = exp.Paren(this=exp.Sub(this=_double(sql), expression=_number(low)))
    number: exp.Expr = exp.Floor(
        this=exp.Div(this=from_low, expression=_number(step), typed=False, safe=False)
    )
    if type is Type.REAL:
        top = exp.If(this=exp.GTE(this=sql, expression=_number(high)), true=exp.convert(count - 1))
        number = exp.Case(ifs=[top], default=number)
    inside = _between(sql, _number(low), _number(interval[1]))
    return Axis(name, type, _only(inside, number), tuple(range(count)), spans, True)


def _each(name: str, sql: exp.Expr, type: Type, domain: tuple[Category, ...], missing: bool) -> Axis:
    numbers = all(isinstance(value, int) and not isinstance(value, bool) for value in domain)
    inside: exp.Expr = exp.In(this=sql, expressions=[exp.convert(value) for value in domain])
    if numbers and domain == tuple(range(int(domain[0]), int(domain[-1]) + 1)):
        inside = _between(sql, exp.convert(int(domain[0])), exp.convert(int(domain[-1])))
    return Axis(name, type, _only(inside, sql), domain, domain, numbers, missing)


def _binned(name: str, sql: exp.Expr, type: Type, interval: Interval, missing: bool) -> Axis:
    """Cells of the public grid, numbered in order."""
    low, high = interval
    is_whole = type is Type.INTEGER
    edges = grid(low, high, is_whole)
    spans = tuple(Span(a, b) for a, b in pairwise(edges))
    write = _number if not is_whole else lambda edge: exp.convert(int(edge))
    steps = [
        exp.If(this=exp.LT(this=sql, expression=write(span.high)), true=exp.convert(i))
        for i, span in enumerate(spans)
    ]
    top = exp.convert(floor(high)) if is_whole else _number(high)
    steps[-1] = exp.If(this=exp.LTE(this=sql, expression=top), true=exp.convert(len(spans) - 1))
    bottom = exp.convert(ceil(low)) if is_whole else _number(low)
    inside = exp.GTE(this=sql, expression=bottom)
    return Axis(
        name, type, _only(inside, exp.Case(ifs=steps)), tuple(range(len(spans))), spans, True, missing
    )


def grid(low: Fraction, high: Fraction, is_whole: bool) -> list[Fraction]:
    """Public edges from low to high: four cells to every doubling of the distance from 0, or alike where 0 is far.

    >>> [int(edge) for edge in grid(Fraction(0), Fraction(100), True)][:12]
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 13]
    """
    size = max(abs(low), abs(high))
    if min(abs(low), abs(high)) * 4 > size and low * high > 0:
        found = [low + (high - low) * part / 64 for part in range(65)]
    else:
        sizes = {
            size * (PARTS + part) / PARTS / 2**k for k in range(1, DOUBLINGS) for part in range(PARTS)
        } | {size}
        found = sorted({*sizes, *(-each for each in sizes), Fraction(0)})
    if is_whole:
        end = Fraction(floor(high) + 1)
        inner = {Fraction(ceil(edge)) for edge in found} | {Fraction(1)}
    else:
        end, inner = high, set(found)
    start = Fraction(ceil(low)) if is_whole else low
    return [start, *sorted(edge for edge in inner if start < edge < end), end]


def _dated(name: str, sql: exp.Expr, type: Type, days: tuple[date, date], missing: bool) -> Axis:
    """A cell a day, or a month where there are many, numbered through the years by what EXTRACT finds in them."""
    first, last = (_day(each) for each in days)
    by_month = (last - first).days >= LONGEST
    if by_month:
        months = range(_months(first), _months(last) + 1)
        starts = [max(first, date((n - 1) // 12, (n - 1) % 12 + 1, 1)) for n in months]
        says = tuple(months)
    else:
        starts = [date.fromordinal(n) for n in range(first.toordinal(), last.toordinal() + 1)]
        says = tuple(_months(day) * 31 + day.day for day in starts)
    edges = [_counted(type, day) for day in starts]
    edges[0], end = _counted(type, days[0]), _counted(type, days[1]) + 1
    spans = tuple(Span(Fraction(a), Fraction(b)) for a, b in pairwise([*edges, end]))
    year, month, of_month = (
        exp.Extract(this=exp.var(part), expression=sql) for part in ("YEAR", "MONTH", "DAY")
    )
    key: exp.Expr = exp.Add(this=exp.Mul(this=year, expression=exp.convert(12)), expression=month)
    if not by_month:
        numbered = exp.Mul(this=exp.Paren(this=key), expression=exp.convert(31))
        key = exp.Add(this=numbered, expression=of_month)
    named = exp.DataType.build("DATE" if type is Type.DATE else "TIMESTAMP")
    low, high = (exp.Cast(this=exp.Literal.string(_iso(each)), to=named) for each in days)
    return Axis(name, type, _only(_between(sql, low, high), key), says, spans, True, missing)


def _counted(type: Type, moment: date) -> int:
    """A day by its number, a time by its second."""
    if type is Type.DATE:
        return moment.toordinal()
    seconds = 0
    if isinstance(moment, datetime):
        seconds = moment.hour * 3600 + moment.minute * 60 + moment.second
    return moment.toordinal() * 86_400 + seconds


def _iso(moment: date) -> str:
    return moment.isoformat(" ") if isinstance(moment, datetime) else moment.isoformat()


def _months(day: date) -> int:
    return day.year * 12 + day.month


def _day(moment: date) -> date:
    return moment.date() if isinstance(moment, datetime) else moment


def _written(type: Type, number: int) -> Shown:
    """A whole number as the value it stands for."""
    if type is Type.DATE:
        return date.fromordinal(number).isoformat()
    if type is Type.TIMESTAMP:
        moment = datetime.combine(date.fromordinal(number // 86_400), datetime.min.time())
        return (moment + timedelta(seconds=number % 86_400)).isoformat(" ")
    return number


def _only(inside: exp.Expr, key: exp.Expr) -> exp.Expr:
    """The key of rows inside, NULL elsewhere."""
    return exp.Case(ifs=[exp.If(this=inside, true=key)])


def _between(sql: exp.Expr, low: exp.Expr, high: exp.Expr) -> exp.Expr:
    return exp.And(this=exp.GTE(this=sql, expression=low), expression=exp.LTE(this=sql, expression=high))


def _number(edge: Fraction) -> exp.Expr:
    literal = exp.Literal.number(repr(abs(float(edge))))
    signed = exp.Paren(this=exp.Neg(this=literal)) if edge < 0 else literal
    return exp.Cast(this=signed, to=exp.DataType.build("DOUBLE"))


def _double(sql: exp.Expr) -> exp.Expr:
    return exp.Cast(this=sql, to=exp.DataType.build("DOUBLE"))


def known(name: str, axis: Axis | None, column: str) -> Axis:
    """The axis, or a refusal that says what to declare."""
    if axis is None:
        raise BadQuestion(
            f"{name} has no values that are known in public: add categories, or low and high, for {column}, "
            "or leave it out"
        )
    return axis
