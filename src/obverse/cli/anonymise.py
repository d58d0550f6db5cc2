"""Release a table in which everybody hides among at least k others alike, and say what that promises and what not.

The columns' roles in the settings say what is a quasi-identifier, what is sensitive and what must not leave.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from obverse.cli import models
from obverse.cli.options import account, found, fraction, writable
from obverse.cli.progress import Progress
from obverse.errors import BadParameter, Withheld

if TYPE_CHECKING:
    from argparse import _ArgumentGroup as Group

    from obverse.anonymise.anonymise import Anonymise
    from obverse.anonymise.release import Anonymised
    from obverse.anonymise.rules import Rule
    from obverse.anonymise.safe import SafeAnonymise
    from obverse.anonymise.union import Recode
    from obverse.curator.curator import Curator
    from obverse.release import Release

EXAMPLES = (
    "obverse anonymise people.toml -k 5 -l 2 --sensitive salary-class -o public.csv",
    "obverse anonymise people.toml -k 10 --how lattice --suppress 0.02 -o public.parquet",
    "obverse anonymise people.toml -k 5 -t 0.2 --sensitive income --distance value -o public.csv --page curator.md",
    "obverse anonymise people.toml --sensitive job --rule recursive job 3 c=2 --change top age 85 -o public.csv",
    "obverse anonymise new.toml -k 5 --apply recoding.json --onto public.csv -o more.csv",
    "obverse anonymise people.toml --epsilon 1 --step age=2 --step sex=0 -o public.csv",
)


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("settings", nargs="?", help="the settings file (else the one that is found here)")
    parser.add_argument("--table", help="which table, where the settings declare several")
    parser.add_argument("--quasi", help="the quasi-identifiers, with commas (else by role)")
    parser.add_argument("--sensitive", help="the sensitive columns, with commas (else by role)")
    parser.add_argument(
        "-o", "--output", required=True, metavar="FILE", help="the release: .csv, .parquet or .arrow"
    )
    parser.add_argument("--page", metavar="FILE", help="write the page for the curator's eyes")
    parser.add_argument(
        "--recoding", metavar="FILE", help="write what was done: .json, to be applied again, or .sql"
    )
    _promises(parser.add_argument_group("what is promised"))
    models.rules(parser)
    _labels(parser.add_argument_group("how the table is generalised"))
    models.changes(parser)
    _others(parser.add_argument_group("other people and other releases"))
    _private(parser.add_argument_group("a table with an ε instead, charged to the ledger"))
    account(parser)


def _promises(group: Group) -> None:
    group.add_argument("-k", type=int, default=5, help="how many people are alike at least (5)")
    group.add_argument("-l", type=float, help="how many sensitive values every class has at least")
    group.add_argument("-t", type=float, help="how far a class's sensitive values may be from the table's")
    group.add_argument(
        "--distance", default="equal", choices=("equal", "rank", "value", "tree"), help="what t measures"
    )


def _labels(group: Group) -> None:
    group.add_argument(
        "--how", default="mondrian", choices=("mondrian", "lattice", "local", "members", "mdav")
    )
    group.add_argument(
        "--labels", choices=("set", "range", "hierarchy"), help="what generalised values look like"
    )
    group.add_argument(
        "--suppress", type=float, default=0.0, help="the largest share of rows that lattice may drop"
    )
    group.add_argument("--relaxed", action="store_true", help="equal rows may part: less is lost")
    group.add_argument("--target", help="a column that somebody will predict from the release")
    group.add_argument("--care", type=fraction, default=Fraction(1), help="how much cuts care for it (1)")
    group.add_argument(
        "--weight",
        action="append",
        default=[],
        metavar="COLUMN=W",
        help="a column that matters more, or less",
    )
    group.add_argument(
        "--in-order", action="store_true", help="rows in the order of their content, not shuffled"
    )


def _others(group: Group) -> None:
    group.add_argument("--population", metavar="FILE", help="everybody, for --k-map and --presence")
    group.add_argument(
        "--k-map", type=int, default=1, help="how many of the population fit every row at least"
    )
    group.add_argument(
        "--presence",
        nargs=2,
        type=float,
        default=(0.0, 1.0),
        metavar=("LOW", "HIGH"),
        help="between which chances each of the population is in the release",
    )
    group.add_argument(
        "--earlier", metavar="FILE", action="append", default=[], help="a release of the same people"
    )
    group.add_argument(
        "--bear", type=float, default=0.0, help="the share of people that may become certain with it"
    )
    group.add_argument(
        "--apply", metavar="FILE", help="label the rows by a saved recoding, and search for none"
    )
    group.add_argument(
        "--onto", metavar="FILE", action="append", default=[], help="the release that --apply adds rows to"
    )


def _private(group: Group) -> None:
    group.add_argument("--epsilon", type=fraction, help="sample the rows and show only large classes")
    group.add_argument("--delta", type=fraction, default=Fraction(1, 10**6), help="its δ (1/1000000)")
    group.add_argument(
        "--step",
        action="append",
        default=[],
        metavar="COLUMN=N",
        help="how far a column climbs its hierarchy",
    )


def run(args: Namespace) -> int:
    from obverse.anonymise.files import write
    from obverse.curator.curator import CURATOR, open_settings

    if args.page and args.account not in (None, CURATOR):
        raise BadParameter(
            f"the page is for the curator's eyes only: leave out --page, or --account {args.account}"
        )
    if args.relaxed and (args.recoding or "").endswith(".sql"):
        raise BadParameter("--relaxed parts equal rows, which no SELECT can: save the recoding as .json")
    writable(args.output, args.page, args.recoding)
    named = Path(args.settings) if args.settings else found(args)
    with open_settings(named) as curator, Progress("anonymising"):
        if args.table is None and len(curator.schemas) != 1:
            raise BadParameter(f"name one of the tables with --table: {', '.join(curator.schemas)}")
        table = args.table or next(iter(curator.schemas))
        release = _told(curator, _request(args, table), args.account or CURATOR)
    value = release.value
    write(value.table, Path(args.output))
    if args.recoding:
        _keep(value, args.recoding, table)
    if args.page:
        Path(args.page).write_text(value.page, encoding="utf-8")
    for name, told in value.facts:
        print(f"{name}: {told}")
    print(f"receipt: {release.receipt.number}")
    return 0


def _keep(value: Anonymised, file: str, table: str) -> None:
    """What was done, as JSON or as one SELECT."""
    if file.endswith(".sql"):
        others = tuple(name for name in value.table.column_names if name not in value.recoding.columns)
        text = value.recoding.sql(table, others) + ";"
    else:
        text = value.recoding.to_json()
    Path(file).write_text(text + "\n", encoding="utf-8")


def _told(curator: Curator, request: Anonymise | Recode | SafeAnonymise, account: str) -> Release[Anonymised]:
    """The release; where it is withheld, the curator alone is told what stood in the way."""
    from obverse.curator.curator import CURATOR

    try:
        return curator.release(request, account)
    except Withheld as error:
        if account == CURATOR and error.page:
            print(error.page, file=sys.stderr)
        raise


def _request(args: Namespace, table: str) -> Anonymise | Recode | SafeAnonymise:
    if args.epsilon is not None or args.step:
        return _safe(args, table)
    if args.apply or args.onto:
        return _again(args, table)
    return _anonymise(args, table)


def _safe(args: Namespace, table: str) -> SafeAnonymise:
    from obverse.anonymise.safe import SafeAnonymise

    if args.epsilon is None or not args.step:
        raise BadParameter(
            "a table with an ε needs --epsilon, and --step COLUMN=N for each column that leaves"
        )
    steps = models.pairs("--step", args.step)
    if bad := [column for column, step in steps if step.denominator != 1]:
        raise BadParameter(f"--step of {bad[0]} needs a whole number")
    return SafeAnonymise(
        table, args.epsilon, float(args.delta), tuple((name, int(step)) for name, step in steps)
    )


def _again(args: Namespace, table: str) -> Recode:
    from obverse.anonymise.recode import Recoding
    from obverse.anonymise.union import Recode

    if not args.apply:
        raise BadParameter("--onto adds rows to a release by its recoding: name that with --apply")
    try:
        recoding = Recoding.from_json(Path(args.apply).read_text(encoding="utf-8"))
    except UnicodeDecodeError:
        raise BadParameter(f"{args.apply} is no saved recoding") from None
    return Recode(
        table,
        recoding,
        onto=tuple(args.onto),
        k=args.k,
        rules=_rules(args),
        sensitive=models.listed(args.sensitive),
        ladders=models.ladders(args.hierarchies),
        apart=args.apart,
        shuffle=not args.in_order,
    )


def _rules(args: Namespace) -> tuple[Rule, ...]:
    return tuple(models.rule(words) for words in args.rule)


def _anonymise(args: Namespace, table: str) -> Anonymise:
    from obverse.anonymise.anonymise import Anonymise

    return Anonymise(
        table,
        k=args.k,
        l=args.l,
        t=args.t,
        distance=args.distance,
        rules=_rules(args),
        quasi=models.listed(args.quasi),
        sensitive=models.listed(args.sensitive),
        how=args.how,
        labels=args.labels,
        suppress=args.suppress,
        relaxed=args.relaxed,
        target=args.target,
        care=float(args.care),
        weights=tuple((name, float(weight)) for name, weight in models.pairs("--weight", args.weight)),
        changes=tuple(models.change(words) for words in args.change),
        ladders=models.ladders(args.hierarchies),
        apart=args.apart,
        shuffle=not args.in_order,
        population=args.population,
        k_map=args.k_map,
        presence=tuple(args.presence),
        earlier=tuple(args.earlier),
        bear=args.bear,
    )
