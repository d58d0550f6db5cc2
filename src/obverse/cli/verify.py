"""Measure what anybody's table promises by its form: k, l, t and the like, and the rows that stand alone.

The report names rows and their labels: it is for whoever holds the table.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from obverse.cli import models
from obverse.cli.progress import Progress
from obverse.errors import BadParameter

if TYPE_CHECKING:
    import pyarrow as pa

    from obverse.anonymise.rules import Rule
    from obverse.anonymise.verify import Verdict

EXAMPLES = (
    "obverse verify public.csv --quasi age,sex,zip --sensitive salary",
    "obverse verify public.csv --quasi age,sex,zip --sensitive salary -k 5 -l 3 -t 0.2",
    "obverse verify public.csv --quasi height,weight,age --original people.csv",
    "obverse verify sample.csv --quasi age,sex,zip --people 100000 --special 3",
    "obverse verify public.csv --quasi age,zip --sensitive job --rule t job 0.2 distance=tree --hierarchies trees",
)
SHOWN = 10


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("file", help="the table: .csv, .parquet or .arrow")
    parser.add_argument("--quasi", required=True, help="what an attacker may know, with commas")
    parser.add_argument("--sensitive", default="", help="what must not be learned, with commas")
    parser.add_argument("-k", type=int, default=1, help="fail below this many alike")
    parser.add_argument("-l", type=float, help="fail below this many sensitive values in a class")
    parser.add_argument("-t", type=float, help="fail where a class is further than this from the table")
    parser.add_argument(
        "--distance", default="equal", choices=("equal", "rank", "value", "tree"), help="what t measures"
    )
    models.rules(parser)
    parser.add_argument(
        "--original", metavar="FILE", help="the rows before, in the same order: are the labels true?"
    )
    parser.add_argument(
        "--who", metavar="COLUMN", help="count people, not rows: the column that says who is who"
    )
    parser.add_argument(
        "--population",
        metavar="FILE",
        help="everybody: how many fit each row, and who is probably in the table",
    )
    parser.add_argument(
        "--people", type=int, metavar="N", help="the size of the population: who is probably alone in it"
    )
    parser.add_argument(
        "--special", type=int, metavar="COLUMNS", help="the rows that so many columns single out (SUDA2)"
    )


def run(args: Namespace) -> int:
    from obverse.anonymise.files import read
    from obverse.anonymise.verify import verify

    quasi, sensitive = models.listed(args.quasi) or (), models.listed(args.sensitive) or ()
    with Progress(f"measuring {args.file}"):
        known = (*quasi, *([args.who] if args.who else []))
        table = read(Path(args.file), apart=known)
        rules = _rules(args, sensitive)
        verdict = verify(
            table,
            quasi,
            sensitive,
            rules,
            k=args.k,
            ladders={ladder.column: ladder for ladder in models.ladders(args.hierarchies)},
            original=read(Path(args.original), apart=quasi) if args.original else None,
            apart=args.apart,
            who=args.who,
        )
        more = list(_more(args, table, quasi))
    for line in [*lines(verdict), *more]:
        print(line)
    kept = verdict.k >= args.k and verdict.figures.holds and not verdict.untrue
    return 0 if kept else 1


def _more(args: Namespace, table: pa.Table, quasi: tuple[str, ...]) -> Iterator[str]:
    """What else was asked: about the population, and about rows that stand out."""
    from obverse.anonymise.files import read
    from obverse.anonymise.matching import k_map, presence
    from obverse.anonymise.uniques import population_uniques, suda

    if args.population:
        people = read(Path(args.population), apart=quasi)
        if missing := [name for name in quasi if name not in people.column_names]:
            raise BadParameter(f"{args.population} has no column {', '.join(missing)}")
        low, high = presence(table, people, quasi)
        yield f"k-map: at least {k_map(table, people, quasi)} of {len(people)} people fit each row"
        yield f"δ-presence: each is in the table with a chance of {low:.4g} to {high:.4g}"
    if args.people is not None:
        alone = population_uniques(table, quasi, args.people)
        estimates = {
            "Dankar": alone.dankar(len(table) / args.people),
            "Pitman": alone.pitman,
            "Zayatz": alone.zayatz,
            "SNB": alone.negative_binomial,
        }
        told = ", ".join(f"{name} {'no fit' if x is None else f'{x:.4g}'}" for name, x in estimates.items())
        yield f"{alone.sample} rows are unique; of them alone among {args.people} people, estimated: {told}"
    if args.special is not None:
        special = suda(table, quasi, most=args.special)
        worst = sorted(range(len(table)), key=lambda row: (-special.score[row], row))
        for row in [row for row in worst if special.sets[row]][:SHOWN]:
            sets = "; ".join(", ".join(names) for names in special.sets[row])
            yield f"row {row + 1} stands alone by {sets} (score {special.score[row]:g})"


def _rules(args: Namespace, sensitive: tuple[str, ...]) -> tuple[Rule, ...]:
    """What was asked for; without thresholds, everything is measured and nothing can fail."""
    from obverse.anonymise.rules import Rule

    if (args.l is not None or args.t is not None) and not sensitive:
        raise BadParameter("-l and -t need a sensitive column: name it with --sensitive")
    rules: list[Rule] = [models.rule(words) for words in args.rule]
    for name in sensitive:
        rules += [Rule("distinct", name, args.l if args.l is not None else 1)]
        rules += [Rule("entropy", name, 1), Rule("alpha", name, 1)]
        rules += [Rule("t", name, args.t if args.t is not None else 1, distance=args.distance)]
        rules += [Rule("beta", name, float("inf")), Rule("delta", name, float("inf"))]
    return tuple(rules)


def lines(verdict: Verdict) -> list[str]:
    """The verdict in words."""
    figures = verdict.figures
    told = [
        f"k = {figures.k}: {figures.rows} rows in {figures.classes} classes, {figures.uniques} of them of one"
    ]
    rows = ", ".join(str(row) for row in verdict.smallest)
    told += [f"smallest classes: row {rows}"] if verdict.smallest else []
    told += [f"suppressed rows: {verdict.suppressed}"] if verdict.suppressed else []
    told += [
        f"{_named(rule)}: {figure:.4g}{'' if good else ', NOT KEPT'}" for rule, figure, good in figures.rules
    ]
    told += [
        f"{name}: {rows} rows are in a class where all have one value" for name, rows in verdict.disclosed
    ]
    told += [f"{who} risk: {risk:.4g}" for who, risk in figures.risks]
    return [*told, *verdict.untrue]


def _named(rule: Rule) -> str:
    """A rule with the distance it measures."""
    how = f" ({rule.distance} distance)" if rule.kind == "t" else ""
    return f"{rule.kind} of {rule.column}{how}"
