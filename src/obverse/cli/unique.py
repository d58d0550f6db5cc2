"""Show how unique people are in any table, by which columns and in which combination.

It reads true rows: for the curator's eyes.
"""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace

from obverse.cli.progress import Progress

EXAMPLES = (
    "obverse unique people.csv --columns age,sex,zip",
    "obverse unique people.toml",
    "obverse unique people.parquet --columns age,sex,zip,job --most 2 --json",
)
SHOWN = 5


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "people", help="a CSV, Parquet or Arrow file, or a settings file with its quasi-identifiers"
    )
    parser.add_argument("--table", default="", help="which table of the settings file")
    parser.add_argument(
        "--columns", default="", help="which columns, with commas; else all that are known by"
    )
    parser.add_argument("--most", type=int, default=0, help="the most columns together, beside all of them")
    parser.add_argument("--json", action="store_true", help="every combination, as JSON")


def run(args: Namespace) -> int:
    from obverse.errors import BadParameter
    from obverse.evaluate.alone import alone
    from obverse.evaluate.held import against

    if args.most < 0:
        raise BadParameter(f"at least one column is looked at, not {args.most}")
    with Progress(f"reading {args.people}"):
        known = against(args.people, table=args.table)
        columns = [name.strip() for name in args.columns.split(",") if name.strip()]
        found = alone(known.people, columns or known.quasi, args.most)
    if args.json:
        told = [
            {"columns": one.columns, "alone": one.unique, "under_five": one.under_five, "rows": one.rows}
            for one in found
        ]
        print(json.dumps(told))
        return 0
    shown: dict[int, int] = {}
    print(f"{known.people.num_rows:,} rows; alone with their values, and one of fewer than five:")
    for one in found:
        size = len(one.columns)
        shown[size] = shown.get(size, 0) + 1
        if shown[size] <= SHOWN:
            print(f"  {one.share:7.2%} {one.under_five / one.rows:8.2%}  {', '.join(one.columns)}")
    return 0
