"""What is told for nothing, from public facts alone: EXPLAIN of a question, DESCRIBE of a table, SHOW BUDGET."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from math import sqrt

from obverse.data.schema import Column, Schema, hint, protected, with_owners
from obverse.errors import BadQuestion
from obverse.mechanisms.gaussian import Gaussian
from obverse.mechanisms.laplace import Laplace
from obverse.query.bias import expected
from obverse.query.choose import Noisy, NoisyChoice, NoisyQuantile
from obverse.query.plan import AskPlan
from obverse.query.show import cost

_STATEMENT = re.compile(
    r"(?:\s|--[^\n]*\n|/\*.*?\*/)*+(EXPLAIN|DESCRIBE|DESC|SHOW)\b\s*(.*?)\s*;?\s*", re.IGNORECASE | re.DOTALL
)


def statement(sql: str) -> tuple[str, str] | None:
    """EXPLAIN, DESCRIBE or SHOW, and of what; None for a question.

    >>> statement("describe people;")
    ('DESCRIBE', 'people')
    """
    found = _STATEMENT.fullmatch(sql)
    if found is None:
        return None
    verb, rest = found[1].upper(), found[2]
    if verb == "SHOW" and rest.upper() not in ("BUDGET", "RELEASES"):
        raise BadQuestion("SHOW BUDGET and SHOW RELEASES are answered, nothing else is shown")
    if verb == "EXPLAIN" and rest.upper().startswith(("ANALYZE", "(")):
        raise BadQuestion("EXPLAIN runs nothing: put it right before SELECT")
    return "DESCRIBE" if verb == "DESC" else verb, rest


def explain(plan: AskPlan) -> str:
    """The SELECTs that would run, the noise of each statistic, the cost and each ±."""
    question = plan.question
    lines = [f"protects    {protected(question.relation.private)}"]
    lines += [f"bounds      {line}" for line in _bounds(plan)]
    lines += [f"groups      {_groups(plan)}"] if question.keys else []
    for select in plan.reads:
        lines.append(f"reads       {select.sql(dialect='duckdb')}")
    for noisy in plan.noisy:
        lines.append(
            f"statistic   {_of(plan, plan.numbers.index(noisy))}: {_noise(noisy)}; cost {cost(noisy.loss)}"
        )
    for stated in plan.accuracy:
        note = f" ({stated.note})" if stated.note else ""
        lines.append(
            f"±           {stated.name}  ± {stated.margin:,.4g} in {stated.confidence:.0%} of runs{note}"
        )
    lines += [f"bias        {bias}" for bias in expected(plan)]
    if plan.aim is not None and plan.aim.steps:
        most = f"ε = {float(plan.aim.most):.7g}"
        lines.append(
            f"then        what ± {plan.aim.within} of the numbers found so takes, up to {most} in all, charged"
        )
        lines.append(
            "            before it is read; if that is not enough, all of it, and the answer says so"
        )
    return "\n".join([*lines, f"cost        {cost(plan.guarantee)}; nothing was read, nothing charged"])


def _bounds(plan: AskPlan) -> list[str]:
    """What no ± includes: what is clamped, and what is left out of people with many rows."""
    rows = plan.question.relation.rows
    said = []
    if rows.unit.column is not None:
        most = f"{rows.unit.rows:,} {'row' if rows.unit.rows == 1 else 'rows'}"
        said.append(
            f"of one person {most} count; what they have beyond is scaled down or left out, which no ± includes"
        )
    if any(not noisy.measure.counts for noisy in plan.noisy):
        said.append("numbers are clamped to their bounds, which no ± includes")
    return said


def _groups(plan: AskPlan) -> str:
    if plan.question.looked_up:
        said = "those of a public table, each answered, empty ones too"
    elif plan.naming is None:
        said = f"{len(plan.groups()):,}, each answered, empty ones too"
    else:
        said = f"found in the data, named where enough people are in them; {cost(plan.naming.loss)}"
    return f"{said}; totals are sums of these" if plan.question.rolled else said


def _of(plan: AskPlan, place: int) -> str:
    """The aggregates that are made of a statistic."""
    pairs = zip(plan.question.aggregates, plan.recipes, strict=True)
    names = [aggregate.text for aggregate, recipe in pairs if place in recipe.totals]
    return ", ".join(names) or "rows of each group, for the smallest that may be shown"


def _noise(noisy: Noisy) -> str:
    """A mechanism in words, in the units of the answer."""
    moved = _number(noisy.sensitivity.l1 * noisy.grid)
    if isinstance(noisy, NoisyQuantile):
        low, high = (_number(end * noisy.grid) for end in (noisy.measure.low, noisy.measure.high))
        each, rows = _number(noisy.mechanism.epsilon), _number(noisy.sensitivity.l1)
        steps = f"from {low} to {high} in steps of {_number(noisy.grid)}"
        return f"chosen by rank {steps}, ε = {each} a value, {rows} of one unit at most"
    if isinstance(noisy, NoisyChoice):
        how = "counts with Laplace noise" if isinstance(noisy.mechanism, Laplace) else "permute-and-flip"
        most = _number(noisy.sensitivity.l1 * noisy.counted)
        of = f"{noisy.width:,} of {len(noisy.domain):,} values by {how}"
        return f"{of}; one unit moves their counts by {most} at most"
    if isinstance(noisy.mechanism, Gaussian):
        spread = sqrt(noisy.mechanism.variance) * noisy.grid
        return f"Gaussian noise of standard deviation {spread:.6g}; one unit moves it by {moved} at most"
    return f"Laplace noise of scale {_number(noisy.mechanism.scale * noisy.grid)}; one unit moves it by {moved} at most"


def describe(name: str, schemas: Mapping[str, Schema]) -> str:
    """A table's declared facts: columns, types, bounds, categories, and whom it protects."""
    wanted = name.strip('"').lower()
    schema = next((each for each in schemas.values() if each.name.lower() == wanted), None)
    if schema is None:
        close = hint(name[:80], tuple(schemas)).replace("; it has", "; declared are")
        raise BadQuestion(f"there is no table {name[:80]}{close}")
    lines = [
        (column.name, column.type.value, _role(column), _values(schema, column)) for column in schema.columns
    ]
    widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
    shown = ["  ".join(map(str.ljust, line, widths)).rstrip() for line in lines]
    return "\n".join([f"{schema.name}: {_whose(schema, schemas)}", *shown])


def _whose(schema: Schema, known: Mapping[str, Schema]) -> str:
    if schema.public:
        return "public"
    if schema.unit.column is None:
        return f"protects {schema.protects}"
    whom = protected(with_owners(schema, known))
    if schema.unit.told:
        return f"protects {whom}; {schema.unit.rows:,} rows of one person count"
    learnt = "is chosen for each question" if schema.learnt is not None else "is to be declared or learnt"
    return f"protects {whom}; how many rows of one person count {learnt}"


def _values(schema: Schema, column: Column) -> str:
    if column.categories is not None:
        return f"one of {', '.join(str(each) for each in column.categories)}"
    if column.bounded:
        return f"{_end(column.low)} … {_end(column.high)}"
    if schema.learnt is not None and schema.learnt.sizes(column.name) is not None:
        return "no bounds; each question chooses its own from what was learnt"
    return "no bounds"


def _role(column: Column) -> str:
    return column.role.value + (f", references {column.references}" if column.references else "")


def _end(bound: object) -> str:
    return _number(bound) if isinstance(bound, Fraction) else str(bound)


def _number(number: Fraction) -> str:
    return f"{float(number):,.7g}"
