"""What cannot be reached: refused where the schema alone says so, else told to the curator with how far it got."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from obverse.anonymise.codes import Ints
from obverse.anonymise.measure import class_of_rows, measure
from obverse.anonymise.rules import Rule
from obverse.data.hierarchy import Ladder
from obverse.data.schema import Column, Schema, Type
from obverse.errors import BadParameter

if TYPE_CHECKING:
    from obverse.anonymise.anonymise import AnonymisePlan

SHOWN = 20
ALL = "\0all"
NUMBERS = (Type.INTEGER, Type.REAL, Type.DATE, Type.TIMESTAMP)


def refuse_hopeless(schema: Schema, rules: Sequence[Rule], ladders: Mapping[str, Ladder]) -> None:
    """Refuses rules that no table of this schema can keep, and distances that a column does not have."""
    for rule in rules:
        column, ladder = schema.column(rule.column), ladders.get(rule.column)
        if rule.clusters and (ladder is None or rule.clusters > ladder.height):
            raise BadParameter(
                f"{rule.column} has no hierarchy with a step {rule.clusters} to take clusters from"
            )
        if rule.kind == "t" and rule.distance == "tree" and ladder is None:
            raise BadParameter(f"{rule.column} has no hierarchy: the tree distance needs one")
        if rule.kind == "t" and rule.distance == "value" and column.type not in NUMBERS:
            raise BadParameter(f"{rule.column} has no numbers: take the rank, equal or tree distance")
        known, what = _declared(column, rule, ladder)
        if known is None:
            continue
        if rule.kind in ("distinct", "entropy", "recursive") and rule.at > known:
            raise BadParameter(f"{rule.column} has {known} {what}: l is at most {known}")
        if rule.kind == "alpha" and rule.at * known < 1:
            raise BadParameter(f"{rule.column} has {known} {what}: α is at least 1/{known}")


def _declared(column: Column, rule: Rule, ladder: Ladder | None) -> tuple[int | None, str]:
    """How many different values a column is declared to have, or clusters of them; None where nothing says."""
    if rule.clusters and ladder is not None:
        return len(set(ladder.levels[rule.clusters])), "declared clusters"
    if column.categories is not None:
        return len(column.categories), "declared categories"
    return (2, "values") if column.type is Type.BOOLEAN else (None, "")


def obstacles(plan: AnonymisePlan, table: pa.Table, who: Ints | None) -> str:
    """For the curator's eyes only: what the table gives with every quasi-identifier hidden, and which rows forbid more.

    One class of all rows has the largest k, distinct, entropy and recursive diversity, and the smallest α, t and β
    that any release of all rows can have: what fails there fails in every release.
    """
    lines = [f"# {plan.schema.name}: why nothing leaves, for the curator's eyes only", ""]
    if not len(table):
        return "\n".join([*lines, "the table has no rows", ""])
    used = [name for name in plan.sensitive if plan.rules]
    persons = None if who is None else pa.chunked_array([pa.array(who)])
    ladders = {ladder.column: ladder for ladder in plan.ladders}
    alike = table.append_column(ALL, pa.array(np.zeros(len(table), np.int8)))
    whole = measure(
        alike,
        (ALL,),
        plan.rules,
        sensitive=used,
        least=0,
        ladders=ladders,
        apart=plan.request.apart,
        who=persons,
    )
    lines += ["With every quasi-identifier hidden in every row, which no release of all rows betters:", ""]
    lines += [_reached("k", plan.request.k, whole.k, whole.k >= plan.request.k)]
    lines += [_reached(f"{r.kind} of {r.column}", r.at, figure, good) for r, figure, good in whole.rules]
    lines += ["", "## Columns and rows in the way", ""]
    if whole.k < plan.least:
        lines += [
            f"every class would need {plan.least} members: {whole.k} are too few, all rows are in the way"
        ]
    lines += [line for rule, _, good in whole.rules if not good for line in _values(table, rule)]
    if len(used) > 1 and not plan.request.apart:
        lines += [line for rule in plan.rules for line in _small_groups(table, rule, used, plan.least)]
    return "\n".join(lines) + "\n"


def _reached(name: str, asked: float, figure: float, good: bool) -> str:
    return (
        f"{name}: {round(figure, 4):.12g} reached, {asked:.12g} asked: {'enough' if good else 'IN THE WAY'}"
    )


def _values(table: pa.Table, rule: Rule) -> list[str]:
    """The values that a failing rule counts, the rarest first, with how many rows each has."""
    counts = table[rule.column].value_counts()
    pairs = sorted(zip(counts.field("counts").to_pylist(), map(str, counts.field("values")), strict=True))
    shown = ", ".join(f"{value} in {count} rows" for count, value in pairs[:SHOWN])
    more = ", …" if len(pairs) > SHOWN else ""
    return [f"{rule.column} has {len(pairs)} different values: {shown}{more}"]


def _small_groups(table: pa.Table, rule: Rule, used: Sequence[str], least: int) -> list[str]:
    """With several sensitive columns: rows that agree with too few others on all but this one."""
    others = [name for name in used if name != rule.column]
    label, sizes = class_of_rows(table, others)
    few = np.flatnonzero(sizes[label] < least)
    if not len(few):
        return []
    rows = ", ".join(str(row + 1) for row in few[:SHOWN]) + (", …" if len(few) > SHOWN else "")
    return [f"{', '.join(others)}: {len(few)} rows agree with fewer than {least}: rows {rows}; see `apart`"]
