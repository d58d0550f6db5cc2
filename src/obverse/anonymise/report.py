"""What is said of a release: facts for everybody, and a page for the curator's eyes only."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from obverse.anonymise.codes import encode, group
from obverse.anonymise.items import collect
from obverse.anonymise.measure import Figures, histograms, measure, worst
from obverse.anonymise.rules import Rule
from obverse.anonymise.search import Classes

if TYPE_CHECKING:
    from obverse.anonymise.anonymise import AnonymisePlan

COMPARING = ("t", "beta", "enhanced-beta", "delta")
CLASS = "\0class"
Facts = tuple[tuple[str, str], ...]


def facts(plan: AnonymisePlan, classes: Classes, figures: Figures) -> Facts:
    """What the public may know: what was promised, what was reached, what was lost."""
    rows, kept = len(classes.keep), int(classes.keep.sum())
    told = [("promise", str(plan.guarantee)), ("rows", str(kept)), ("suppressed rows", str(rows - kept))]
    told += [("classes", str(figures.classes)), ("smallest class", str(figures.k))]
    told += [
        (f"{rule.kind} of {rule.column}", f"{figure:.4g} reached, {rule.at:g} asked")
        for rule, figure, _ in figures.rules
    ]
    told += [(f"{who} risk", f"{risk:.4g}") for who, risk in figures.risks]
    told += [("information lost (GCP)", f"{classes.loss:.4f}")]
    told += [
        (f"lost of {name}", f"{lost:.4f}") for name, lost in zip(plan.quasi, classes.by_column, strict=True)
    ]
    return (*told, *([("how", classes.note)] if classes.note else []))


def page(plan: AnonymisePlan, table: pa.Table, classes: Classes, figures: Figures) -> str:
    """For the curator's eyes only: what an attacker still learns, and what stood in the way of more."""
    lines = [f"# {plan.schema.name}, anonymised: for the curator's eyes only", ""]
    lines += [f"{name}: {value}" for name, value in facts(plan, classes, figures)]
    lines += ["", "## How the columns were generalised"]
    lines += [_labels(classes, j, name) for j, name in enumerate(plan.quasi)]
    lines += ["", "## What was reached, asked or not"]
    lines += _reached(plan, table, classes) or ["no column is sensitive"]
    lines += ["", "## What an attacker still learns"]
    lines += [line for name in plan.sensitive for line in _learned(table, classes, name)] or [
        "no column is sensitive"
    ]
    lines += ["", "## What stood in the way of more"]
    lines += [_dearest(table, classes, j, name) for j, name in enumerate(plan.quasi)]
    if not classes.keep.all():
        lines += [
            "",
            "## What was reached, compared with all rows and with the kept rows",
            *_both(plan, table, classes, figures),
        ]
        gone = np.flatnonzero(~classes.keep)
        lines += ["", "## Suppressed rows, as they were read", ", ".join(str(row + 1) for row in gone[:1000])]
    return "\n".join(lines) + "\n"


def _labels(classes: Classes, j: int, name: str) -> str:
    """How a column's values look now, and how many rows still show theirs."""
    if classes.exact[j]:
        return f"{name}: every value as it was"
    tests, which = classes.recoding.tests[j], classes.which[j][classes.keep]
    counts = np.bincount(which, minlength=len(tests))
    wide = np.array([test.any or test.low is not None or len(test.among) > 1 for test in tests])
    common = tests[int(np.argmax(np.where(wide, counts, -1)))].label
    own = counts[~wide].sum() / max(1, counts.sum())
    return f"{name}: {int(wide.sum())} wider labels, the commonest {common}; {own:.1%} of the rows show their value"


def _reached(plan: AnonymisePlan, table: pa.Table, classes: Classes) -> list[str]:
    """Every model's figure on every sensitive column by itself, among the rows that are kept."""
    kept = table.filter(pa.array(classes.keep))
    kept = kept.append_column(CLASS, pa.array(classes.number[classes.keep]))
    lines = []
    for name in plan.sensitive:
        rules = [Rule(kind, name, 1) for kind in ("distinct", "entropy", "alpha", "t")]
        rules += [Rule(kind, name, inf) for kind in ("beta", "delta")]
        found = measure(kept, (CLASS,), rules, sensitive=[name]).rules
        lines.append(f"{name}: " + ", ".join(f"{rule.kind} {figure:.4g}" for rule, figure, _ in found))
    return lines


def _both(plan: AnonymisePlan, table: pa.Table, classes: Classes, figures: Figures) -> list[str]:
    """Where rows are suppressed, the figures of rules that compare with the table, for both tables it may be.

    Not among the facts: the two together say what the suppressed rows have.
    """
    used, ladders = [*plan.sensitive], {ladder.column: ladder for ladder in plan.ladders}
    _, joint, rules = histograms(table, plan.rules, used, ladders, plan.request.apart)
    domain, codes = encode("class", pa.chunked_array([classes.number[classes.keep]]))
    items, _ = collect([codes], [domain], joint[classes.keep])
    found, _, _ = worst(items, rules, np.arange(len(items.rows)), len(items.rows), 0)
    pairs = zip(found, figures.rules, strict=True)
    return [
        f"{rule.kind} of {rule.column}: {all_rows:.4g} compared with all rows, {kept:.4g} with the kept rows"
        for all_rows, (rule, kept, _) in pairs
        if rule.kind in COMPARING
    ] or ["no rule compares classes with the table"]


def _learned(table: pa.Table, classes: Classes, name: str) -> list[str]:
    """Homogeneity: classes with one value. Skewness: how far a class moves the belief in a value."""
    domain, codes = encode(name, table[name])
    label = classes.number
    kept = label >= 0
    if not kept.any():
        return []
    size = domain.size
    counts = np.bincount(label[kept], minlength=int(label.max()) + 1)
    first, _, seen = group([label[kept], codes[kept]], [int(label.max()) + 1, size])
    pairs = label[kept][first] * size + codes[kept][first]
    share = seen / counts[pairs // size]
    alike = int(seen[share == 1].sum())
    overall = np.bincount(codes[kept], minlength=size) / kept.sum()
    gain = share / overall[pairs % size]
    both = np.bincount(codes, minlength=size) / len(codes)
    moved = float(np.abs(overall - both).sum() / 2)
    lines = [
        f"{name}: {alike} of {int(kept.sum())} rows are in a class where all have one value (homogeneity)"
    ]
    lines += [f"{name}: in one class a value is {gain.max():.1f} times as frequent as overall (skewness)"]
    if moved:
        lines += [
            f"{name}: suppression moved the distribution by {moved:.4f}; classes are compared with kept rows"
        ]
    return lines


def _dearest(table: pa.Table, classes: Classes, j: int, name: str) -> str:
    """How much a column lost, and its rarest values."""
    domain, codes = encode(name, table[name])
    counts = np.bincount(codes, minlength=domain.size)
    rare = [domain.texts[code] for code in np.argsort(counts, kind="stable")[:3]]
    return f"{name}: lost {classes.by_column[j]:.1%}; its rarest values are {', '.join(rare)}"
