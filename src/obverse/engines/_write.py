"""A SELECT in the words of one engine, node by node; what has no rule here is not written.

Every rule is total: where an engine's own function fails on some numbers, the rule is a guarded one. `Said` carries
how large a number can be, so that a guard stands only where it is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from math import inf

from sqlglot import exp

from obverse.data.files import literal, quote
from obverse.data.schema import Schema
from obverse.engines._functions import FUNCTIONS
from obverse.engines._said import (
    CLAUSES,
    KINDS,
    LARGEST,
    OPERATORS,
    SMALL_BESIDE_LARGEST,
    WHOLES,
    Said,
    either,
    number,
    unwritten,
    utc,
)

Kinds = Mapping[str, Said]


class Writer:
    """Writes SELECTs over declared tables; an engine says how its tables and its own functions are written."""

    double = "DOUBLE"
    big = "BIGINT"
    wide = "DECIMAL(38, 0)"

    def __init__(self, tables: Mapping[str, str], schemas: Mapping[str, Schema]) -> None:
        self._tables, self._schemas = tables, schemas
        self._named: dict[str, Kinds] = {}
        self._kinds: Kinds = {}
        self._facts: dict[exp.Expr, float] = {}

    def query(self, node: exp.Expr) -> tuple[str, Kinds]:
        """The text of a query, and what its columns are."""
        if isinstance(node, exp.Union):
            if node.args.get("distinct"):
                raise unwritten()
            one, first = self.query(node.this)
            return f"{one} UNION ALL {self.query(node.expression)[0]}", first
        if not isinstance(node, exp.Select) or any(
            value and name not in CLAUSES for name, value in node.args.items()
        ):
            raise unwritten()
        outside, before = self._kinds, self._with(node)
        source, self._kinds = self._source(node)
        columns = [self._item(item) for item in node.expressions]
        kinds: dict[str, Said] = {}
        for each, item in zip(node.expressions, columns, strict=True):
            kinds.update(self._kinds if isinstance(each, exp.Star) else {each.alias_or_name: item})
        parts = [
            before,
            "SELECT",
            "DISTINCT" if node.args.get("distinct") else "",
            ", ".join(c.sql for c in columns),
        ]
        parts += [source, *self._ends(node)]
        self._kinds = outside
        return " ".join(part for part in parts if part), kinds

    def _with(self, node: exp.Select) -> str:
        if (clause := node.args.get("with_")) is None:
            return ""
        made = []
        for each in clause.expressions:
            sql, self._named[each.alias] = self.query(each.this)
            made.append(f"{self.name(each.alias)} AS ({sql})")
        return f"WITH {', '.join(made)}"

    def _item(self, item: exp.Expr) -> Said:
        if isinstance(item, exp.Alias):
            said = self(item.this)
            return replace(said, sql=f"{said.sql} AS {self.name(item.alias)}")
        return self(item)

    def _source(self, node: exp.Select) -> tuple[str, Kinds]:
        sql, kinds = self._from(node.args["from_"].this)
        for each in node.args.get("joins") or []:
            other, more = self._from(each.this)
            kinds = {**kinds, **more}
            self._kinds = kinds
            on = each.args.get("on")
            how = f"{each.side or 'INNER'} JOIN" if on is not None else "CROSS JOIN"
            sql += f" {how} {other}" + (f" ON {self(on).sql}" if on is not None else "")
        return f"FROM {sql}", kinds

    def _from(self, node: exp.Expr) -> tuple[str, Kinds]:
        if isinstance(node, exp.Subquery):
            sql, kinds = self.query(node.this)
            return f"({sql}) AS {self.name(node.alias)}", kinds
        if (known := self._named.get(node.name)) is not None:
            return self.name(node.name), known
        if node.name not in self._tables:
            raise unwritten()
        kinds = {column.name: KINDS.get(column.type, Said("")) for column in self._schemas[node.name].columns}
        return f"{self._tables[node.name]} AS {self.name(node.alias_or_name)}", kinds

    def _ends(self, node: exp.Select) -> list[str]:
        ends = []
        if (where := node.args.get("where")) is not None:
            ends.append(f"WHERE {self(where.this).sql}")
        if (group := node.args.get("group")) is not None:
            if group.args.get("grouping_sets"):
                raise unwritten()
            ends.append("GROUP BY " + ", ".join(self._keys(node, group.expressions)))
        if (having := node.args.get("having")) is not None:
            ends.append(f"HAVING {self(having.this).sql}")
        if (order := node.args.get("order")) is not None:
            ends.append(self._order(order))
        return ends

    def _keys(self, node: exp.Select, keys: list[exp.Expr]) -> list[str]:
        """Keys by their places among the columns, where they stand there; a constant parts no rows."""
        columns = [each.this if isinstance(each, exp.Alias) else each for each in node.expressions]
        return [
            str(columns.index(key) + 1) if key in columns else self(key).sql
            for key in keys
            if isinstance(key, exp.Literal) or key.find(exp.Column)
        ]

    def _order(self, order: exp.Expr) -> str:
        terms = [
            f"{self(term.this).sql}{' DESC' if term.args.get('desc') else ''} NULLS LAST"
            for term in order.expressions
        ]
        return "ORDER BY " + ", ".join(terms)

    def __call__(self, node: exp.Expr) -> Said:
        if (rule := RULES.get(type(node))) is None:
            raise unwritten()
        said = rule(self, node)
        if self._facts and said.real and (known := self._facts.get(node)) is not None:
            return replace(said, size=min(said.size, known))
        return said

    def name(self, name: str) -> str:
        return quote(name)

    def text(self, value: str) -> str:
        return literal(value)

    def constant(self, value: float) -> Said:
        """A DOUBLE, exactly."""
        sql = f"CAST('{value!r}' AS {self.double})"
        return Said(sql, True, abs(value), value == 0 or abs(value) >= 1)

    def _column(self, node: exp.Column) -> Said:
        kind = self._kinds.get(node.name, Said(""))
        return replace(kind, sql=self.name(node.name))

    def _literal(self, node: exp.Literal) -> Said:
        if node.is_string:
            return Said(self.text(node.name))
        value = abs(float(node.name))
        return Said(node.name, False, value, value == 0 or value >= 1)

    def _operator(self, node: exp.Binary) -> Said:
        return Said(f"({self(node.this).sql} {OPERATORS[type(node)]} {self(node.expression).sql})")

    def _arithmetic(self, node: exp.Binary) -> Said:
        a, b = self(node.this), self(node.expression)
        if not a.real and not b.real:
            return Said(f"({a.sql} {WHOLES[type(node)]} {b.sql})", coarse=a.coarse and b.coarse)
        if isinstance(node, exp.Mul):
            return self._product(a, b)
        size = a.size + b.size
        sql = f"({a.sql} {WHOLES[type(node)]} {b.sql})"
        if size > LARGEST and min(a.size, b.size) > SMALL_BESIDE_LARGEST:
            sql = self.sum(a, b if isinstance(node, exp.Add) else replace(b, sql=f"(- {b.sql})"))
        return Said(sql, True, size if size <= LARGEST else inf, a.coarse and b.coarse)

    def _product(self, a: Said, b: Said) -> Said:
        size = a.size * b.size if 0 not in (a.size, b.size) else 0
        safe = size <= LARGEST and (a.coarse or b.coarse)
        sql = f"({a.sql} * {b.sql})" if safe else self.product(a, b)
        return Said(sql, True, size if size <= LARGEST else inf, a.coarse and b.coarse)

    def _quotient(self, node: exp.Div) -> Said:
        a, b = self(node.this), self(node.expression)
        if not (a.real and b.real):
            raise unwritten()
        if b.coarse and a.size <= LARGEST and a.coarse and b.size < SMALL_BESIDE_LARGEST:
            return Said(f"({a.sql} / {b.sql})", True, a.size)
        return Said(self.quotient(a, b), True, a.size if b.coarse and a.size <= LARGEST else inf)

    def _remainder(self, node: exp.Mod) -> Said:
        a, b = self(node.this), self(node.expression)
        return Said(self.remainder(a, b), True, min(a.size, b.size), a.coarse and b.coarse)

    def _function(self, node: exp.Func) -> Said:
        inner, name = self(node.this), type(node).__name__.upper()
        if isinstance(node, exp.Abs | exp.Neg):
            return replace(inner, sql=f"(- {inner.sql})" if name == "NEG" else f"ABS({inner.sql})")
        if isinstance(node, exp.Exp):  # of −700 to 700
            return Said(f"EXP({inner.sql})", True, LARGEST / 2**10)
        if isinstance(node, exp.Sqrt | exp.Ln):
            return Said(f"{name}({inner.sql})", True, max(1.0, inner.size) if inner.size < inf else inf)
        sql = self.rounded(name, inner)
        return Said(sql, True, inner.size if inner.size == inf else inner.size + 1, coarse=True)

    def _case(self, node: exp.Case) -> Said:
        """CASE; in a branch behind x >= c and x > d, x is no larger than they are (nor NaN, which is above all)."""
        sql, values, above = "CASE", [], None
        for branch in node.args["ifs"]:
            test, facts = branch.this, self._facts
            sql += f" WHEN {self(test).sql}"
            if isinstance(test, exp.GTE | exp.GT) and (end := number(test.expression)) is not None:
                if isinstance(test, exp.GTE):
                    above = test.this, end
                elif above is not None and above[0] == test.this:
                    self._facts = {**facts, test.this: max(abs(above[1]), abs(end))}
            values.append(self(branch.args["true"]))
            self._facts = facts
            sql += f" THEN {values[-1].sql}"
        if (default := node.args.get("default")) is not None:
            values.append(self(default))
            sql += f" ELSE {values[-1].sql}"
        return either(sql + " END", values)

    def _cast(self, node: exp.Cast) -> Said:
        to = str(node.to.this.value)
        if to == "DOUBLE" and (value := number(node)) is not None:
            return self.constant(value)
        if to in ("DATE", "TIMESTAMP") and isinstance(node.this, exp.Literal):
            return Said(f"CAST('{utc(node.this.name)}' AS {to})")
        inner = self(node.this)
        if to == "DATE":
            return Said(f"CAST({inner.sql} AS DATE)")
        if isinstance(
            node, exp.TryCast
        ):  # what is guarded to be a number of digits, as every engine reads it
            real = to == "DOUBLE"
            sql = f"CAST({inner.sql} AS {self.double if real else self.big})"
            return Said(sql, real, LARGEST if real else 2.0**63, coarse=not real)
        if to == "DOUBLE":
            return (
                inner if inner.real else replace(inner, sql=f"CAST({inner.sql} AS {self.double})", real=True)
            )
        if to in ("BIGINT", "INT128"):
            sql = f"CAST({inner.sql} AS {self.big if to == 'BIGINT' else self.wide})"
            return Said(sql, size=inner.size, coarse=True)
        if to == "TEXT":
            return Said(self.as_text(inner))
        raise unwritten()

    def _count(self, node: exp.Count) -> Said:
        if isinstance(node.this, exp.Distinct):
            inner = "DISTINCT " + ", ".join(self(each).sql for each in node.this.expressions)
        else:
            inner = self(node.this).sql
        return Said(f"COUNT({inner})", size=2.0**63, coarse=True)

    def _total(self, node: exp.Sum | exp.Avg) -> Said:
        value = self(node.this)
        if not value.real:
            if isinstance(node, exp.Avg):
                raise unwritten()
            return Said(self.whole_total(value.sql), coarse=value.coarse)
        total = self.total(value.sql)
        if isinstance(node, exp.Sum):
            return Said(total, True, coarse=value.coarse)
        count = f"CAST(NULLIF(COUNT({value.sql}), 0) AS {self.double})"
        return Said(self.quotient(Said(total, True), Said(count, True, 2.0**63, coarse=True)), True)

    def _extreme(self, node: exp.Min | exp.Max) -> Said:
        value = self(node.this)
        return replace(value, sql=f"{type(node).__name__.upper()}({value.sql})")

    def _window(self, node: exp.Window) -> Said:
        value = self(node.this)
        keys = node.args.get("partition_by") or ()
        parts = ["PARTITION BY " + ", ".join(self(key).sql for key in keys)] if keys else []
        if (order := node.args.get("order")) is not None:
            parts.append(self._order(order))
        return replace(value, sql=f"{value.sql} OVER ({' '.join(parts)})")

    def _anonymous(self, node: exp.Anonymous) -> Said:
        if node.name.lower() != "isfinite":
            raise unwritten()
        return Said(self.finite(self(node.expressions[0]).sql))

    def sum(self, a: Said, b: Said) -> str:
        return f"({a.sql} + {b.sql})"

    def product(self, a: Said, b: Said) -> str:
        return f"({a.sql} * {b.sql})"

    def quotient(self, a: Said, b: Said) -> str:
        return f"({a.sql} / {b.sql})"

    def remainder(self, a: Said, b: Said) -> str:
        return f"({a.sql} % {b.sql})"

    def whole_quotient(self, a: Said, b: Said) -> Said:
        raise NotImplementedError

    def rounded(self, name: str, x: Said) -> str:
        raise NotImplementedError

    def total(self, x: str) -> str:
        raise NotImplementedError

    def whole_total(self, x: str) -> str:
        return f"SUM({x})"

    def as_text(self, x: Said) -> str:
        raise NotImplementedError

    def finite(self, x: str) -> str:
        """NaN stands above all numbers, on every engine here."""
        return f"(ABS({x}) < CAST('Infinity' AS {self.double}))"

    def lower(self, x: str) -> str:
        raise NotImplementedError

    def upper(self, x: str) -> str:
        raise NotImplementedError

    def trim(self, x: str, side: str) -> str:
        raise NotImplementedError

    def part(self, name: str, when: str) -> str:
        """A part of a time, Sunday as day 0 of its week and Monday as day 1 of that of ISO 8601."""
        return f"EXTRACT({name} FROM {when})"

    def days(self, later: str, earlier: str) -> str:
        return f"({later} - {earlier})"

    def place(self, x: str, sought: str) -> str:
        return f"STRPOS({x}, {sought})"

    def log10(self, x: str) -> str:
        return f"LOG({x})"

    def matches(self, x: str, pattern: str) -> str:
        return f"({x} ~ {literal(pattern)})"

    def like(self, x: str, pattern: str) -> str:
        raise NotImplementedError

    def digest(self, x: str) -> str:
        return f"MD5({x})"


RULES: dict[type[exp.Expr], Callable[..., Said]] = {
    **dict.fromkeys(OPERATORS, Writer._operator),
    **dict.fromkeys(WHOLES, Writer._arithmetic),
    **dict.fromkeys(
        (exp.Abs, exp.Neg, exp.Sqrt, exp.Ln, exp.Exp, exp.Floor, exp.Ceil, exp.Round, exp.Trunc),
        Writer._function,
    ),
    exp.Div: Writer._quotient,
    exp.IntDiv: lambda write, node: write.whole_quotient(write(node.this), write(node.expression)),
    exp.Mod: Writer._remainder,
    exp.Column: Writer._column,
    exp.Literal: Writer._literal,
    exp.Boolean: lambda write, node: Said("TRUE" if node.this else "FALSE"),
    exp.Null: lambda write, node: Said("NULL", size=0, coarse=True),
    exp.Star: lambda write, node: Said("*"),
    exp.Paren: lambda write, node: write(node.this),
    exp.Not: lambda write, node: Said(f"(NOT {write(node.this).sql})"),
    exp.Case: Writer._case,
    exp.Cast: Writer._cast,
    exp.TryCast: Writer._cast,
    **FUNCTIONS,
    exp.Lower: lambda write, node: Said(write.lower(write(node.this).sql)),
    exp.Upper: lambda write, node: Said(write.upper(write(node.this).sql)),
    exp.Length: lambda write, node: Said(f"CHAR_LENGTH({write(node.this).sql})", size=2.0**63, coarse=True),
    exp.MD5: lambda write, node: Said(write.digest(write(node.this).sql)),
    exp.Anonymous: Writer._anonymous,
    exp.Count: Writer._count,
    exp.Sum: Writer._total,
    exp.Avg: Writer._total,
    exp.Min: Writer._extreme,
    exp.Max: Writer._extreme,
    exp.RowNumber: lambda write, node: Said("ROW_NUMBER()", size=2.0**63, coarse=True),
    exp.Window: Writer._window,
}
