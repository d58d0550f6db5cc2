"""Release a table in which everybody hides among at least k others alike, and say what that promises and what not.

The columns' roles in the settings say what is a quasi-identifier, what is sensitive and what must not leave.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from obverse.cli.options import account, found
from obverse.cli.progress import Progress
from obverse.errors import BadParameter, Withheld

if TYPE_CHECKING:
    from obverse.anonymise.anonymise import Anonymise
    from obverse.anonymise.release import Anonymised
    from obverse.curator.curator import Curator
    from obverse.release import Release

EXAMPLES = (
    "obverse anonymise people.toml -k 5 -l 2 --sensitive salary-class -o public.csv",
    "obverse anonymise people.toml -k 10 --how lattice --suppress 0.02 -o public.parquet",
    "obverse anonymise people.toml -k 5 -t 0.2 --sensitive income --distance value -o public.csv --page curator.md",
)


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("settings", nargs="?", help="the settings file (else the one that is found here)")
    parser.add_argument("--table", help="which table, where the settings declare several")
    parser.add_argument("-k", type=int, default=5, help="how many people are alike at least (5)")
    parser.add_argument("-l", type=float, help="how many sensitive values every class has at least")
    parser.add_argument("-t", type=float, help="how far a class's sensitive values may be from the table's")
    parser.add_argument(
        "--distance", default="equal", choices=("equal", "rank", "value", "tree"), help="what t measures"
    )
    parser.add_argument("--quasi", help="the quasi-identifiers, with commas (else by role)")
    parser.add_argument("--sensitive", help="the sensitive columns, with commas (else by role)")
    parser.add_argument(
        "--how", default="mondrian", choices=("mondrian", "lattice", "local", "members", "mdav")
    )
    parser.add_argument(
        "--labels", choices=("set", "range", "hierarchy"), help="what generalised values look like"
    )
    parser.add_argument(
        "--suppress", type=float, default=0.0, help="the largest share of rows that lattice may drop"
    )
    parser.add_argument("--target", help="a column that somebody will predict from the release")
    parser.add_argument("--population", metavar="FILE", help="everybody, for --k-map")
    parser.add_argument(
        "--k-map", type=int, default=1, help="how many of the population fit every row at least"
    )
    parser.add_argument(
        "--earlier", metavar="FILE", action="append", default=[], help="a release of the same people"
    )
    parser.add_argument(
        "--bear", type=float, default=0.0, help="the share of people that may become certain with it"
    )
    parser.add_argument("--hierarchies", metavar="FOLDER", help="a folder of hierarchies named column.csv")
    parser.add_argument(
        "-o", "--output", required=True, metavar="FILE", help="the release: .csv, .parquet or .arrow"
    )
    parser.add_argument("--recoding", metavar="FILE", help="write what was done, to be applied to new rows")
    parser.add_argument("--page", metavar="FILE", help="write the page for the curator's eyes")
    account(parser)


def run(args: Namespace) -> int:
    from obverse.anonymise.files import write
    from obverse.curator.curator import CURATOR, open_settings

    named = Path(args.settings) if args.settings else found(args)
    with open_settings(named) as curator, Progress("anonymising"):
        if args.table is None and len(curator.schemas) != 1:
            raise BadParameter(f"name one of the tables with --table: {', '.join(curator.schemas)}")
        request = _request(args, args.table or next(iter(curator.schemas)))
        release = _told(curator, request, args.account or CURATOR)
    value = release.value
    write(value.table, Path(args.output))
    if args.recoding:
        Path(args.recoding).write_text(value.recoding.to_json() + "\n", encoding="utf-8")
    if args.page:
        Path(args.page).write_text(value.page, encoding="utf-8")
    for name, told in value.facts:
        print(f"{name}: {told}")
    print(f"receipt: {release.receipt.number}")
    return 0


def _told(curator: Curator, request: Anonymise, account: str) -> Release[Anonymised]:
    """The release; where it is withheld, the curator alone is told what stood in the way."""
    from obverse.curator.curator import CURATOR

    try:
        return curator.release(request, account)
    except Withheld as error:
        if account == CURATOR and error.page:
            print(error.page, file=sys.stderr)
        raise


def _request(args: Namespace, table: str) -> Anonymise:
    from obverse.anonymise.anonymise import Anonymise
    from obverse.data.hierarchy import from_csv

    folder = Path(args.hierarchies) if args.hierarchies else None
    ladders = tuple(from_csv(file.stem, file) for file in sorted(folder.glob("*.csv"))) if folder else ()
    return Anonymise(
        table,
        k=args.k,
        l=args.l,
        t=args.t,
        distance=args.distance,
        quasi=_listed(args.quasi),
        sensitive=_listed(args.sensitive),
        how=args.how,
        labels=args.labels,
        suppress=args.suppress,
        target=args.target,
        ladders=ladders,
        population=args.population,
        k_map=args.k_map,
        earlier=tuple(args.earlier),
        bear=args.bear,
    )


def _listed(text: str | None) -> tuple[str, ...] | None:
    return None if text is None else tuple(name.strip() for name in text.split(",") if name.strip())
