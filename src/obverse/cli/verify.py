"""Measure what anybody's table promises by its form: k, l, t and the like, and the rows that stand alone.

The report names rows and their labels: it is for whoever holds the table.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from obverse.cli.progress import Progress

if TYPE_CHECKING:
    from obverse.anonymise.rules import Rule
    from obverse.anonymise.verify import Verdict

EXAMPLES = (
    "obverse verify public.csv --quasi age,sex,zip --sensitive salary",
    "obverse verify public.csv --quasi age,sex,zip --sensitive salary -k 5 -l 3 -t 0.2",
    "obverse verify public.csv --quasi height,weight,age --original people.csv",
)


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("file", help="the table: .csv, .parquet or .arrow")
    parser.add_argument("--quasi", required=True, help="what an attacker may know, with commas")
    parser.add_argument("--sensitive", default="", help="what must not be learned, with commas")
    parser.add_argument("-k", type=int, default=1, help="fail below this many alike")
    parser.add_argument("-l", type=float, help="fail below this many sensitive values in a class")
    parser.add_argument("-t", type=float, help="fail where a class is further than this from the table")
    parser.add_argument(
        "--distance", default="equal", choices=("equal", "rank", "value"), help="what t measures"
    )
    parser.add_argument(
        "--original", metavar="FILE", help="the rows before, in the same order: are the labels true?"
    )
    parser.add_argument(
        "--who", metavar="COLUMN", help="count people, not rows: the column that says who is who"
    )


def run(args: Namespace) -> int:
    from obverse.anonymise.files import read
    from obverse.anonymise.verify import verify

    quasi, sensitive = _listed(args.quasi), _listed(args.sensitive)
    rules = _rules(args, sensitive)
    with Progress(f"measuring {args.file}"):
        original = read(Path(args.original)) if args.original else None
        verdict = verify(
            read(Path(args.file)), quasi, sensitive, rules, k=args.k, original=original, who=args.who
        )
    for line in lines(verdict, len(rules)):
        print(line)
    kept = verdict.k >= args.k and verdict.figures.holds and not verdict.untrue
    return 0 if kept else 1


def _rules(args: Namespace, sensitive: tuple[str, ...]) -> tuple[Rule, ...]:
    """What was asked for; without thresholds, everything is measured and nothing can fail."""
    from obverse.anonymise.rules import Rule

    rules: list[Rule] = []
    for name in sensitive:
        rules += [Rule("distinct", name, args.l if args.l is not None else 1)]
        rules += [Rule("entropy", name, 1)]
        rules += [Rule("t", name, args.t if args.t is not None else 1, distance=args.distance)]
        rules += [Rule("enhanced-beta", name, float("inf")), Rule("delta", name, float("inf"))]
    return tuple(rules)


def lines(verdict: Verdict, rules: int) -> list[str]:
    """The verdict in words."""
    figures = verdict.figures
    told = [
        f"k = {figures.k}: {figures.rows} rows in {figures.classes} classes, {figures.uniques} of them of one"
    ]
    rows = ", ".join(str(row) for row in verdict.smallest)
    told += [f"smallest classes: row {rows}"] if verdict.smallest else []
    told += [f"suppressed rows: {verdict.suppressed}"] if verdict.suppressed else []
    told += [f"{rule.kind} of {rule.column}: {figure:.4g}" for rule, figure, _ in figures.rules]
    told += [
        f"{name}: {rows} rows are in a class where all have one value" for name, rows in verdict.disclosed
    ]
    told += [f"{who} risk: {risk:.4g}" for who, risk in figures.risks]
    return [*told, *verdict.untrue]


def _listed(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())
