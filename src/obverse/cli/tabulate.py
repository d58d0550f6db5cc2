"""Make a table of counts or amounts with its margins, protected as official statistics are, and show or write it.

Small cells are hidden together with what would give them away, or collapsed, rounded, perturbed, or made private.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, cast

from obverse.cli.models import listed
from obverse.cli.options import account, found, fraction
from obverse.cli.progress import Progress
from obverse.errors import BadParameter

if TYPE_CHECKING:
    from argparse import _ArgumentGroup as Group

    import pyarrow as pa

    from obverse.tables.protect import Protection
    from obverse.tables.published import Published
    from obverse.tables.tabulate import Tabulate, TabulatePlan

EXAMPLES = (
    "obverse tabulate people.toml --by education,sex",
    "obverse tabulate people.toml --by town,job --ladder town=towns.csv --protect collapse --threshold 10",
    "obverse tabulate people.toml --by town --by job,sex --protect round --base 5 -o tables.csv",
    "obverse tabulate people.toml --by town,job --unit person --unit household --percentages shares.csv job",
    "obverse tabulate people.toml --by branch --measure turnover -p 0.1 --published last.csv -o branches.html",
)
WAYS = ("suppress", "collapse", "round", "cellkey", "private")


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("settings", nargs="?", help="the settings file (else the one that is found here)")
    parser.add_argument("--table", help="which table, where the settings declare several")
    parser.add_argument(
        "--by", action="append", required=True, help="columns with commas; again for a linked table"
    )
    parser.add_argument("--measure", help="add up this column instead of counting")
    parser.add_argument("--weight", help="the column of sampling weights")
    parser.add_argument(
        "--unit",
        action="append",
        default=[],
        metavar="COLUMN",
        help="count contributors by this column, such as person or household; again: each of them",
    )
    parser.add_argument(
        "--ladder", action="append", default=[], metavar="COLUMN=FILE", help="a hierarchy file"
    )
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="write .csv, .parquet, .arrow or .html instead"
    )
    _protections(parser.add_argument_group("how it is protected"))
    _others(parser.add_argument_group("what left in another way (the ledger's own tables count anyway)"))
    account(parser)


def _protections(group: Group) -> None:
    group.add_argument("--protect", default="suppress", choices=WAYS, help="how (suppress)")
    group.add_argument(
        "--threshold", type=int, help="the fewest people of a cell that is shown (3, or the policy's)"
    )
    group.add_argument("--full", action="store_true", help="also hide cells that hold everybody of a margin")
    group.add_argument("--zeros", action="store_true", help="empty cells may be hidden too")
    group.add_argument(
        "--dominance", metavar="N,K", help="hide where the N largest have more than the share K"
    )
    group.add_argument("-p", type=fraction, help="hide where the largest can be told to within this share")
    group.add_argument("--base", type=int, default=5, help="round to multiples of this (5)")
    group.add_argument("--how", default="controlled", choices=("controlled", "random", "conventional"))
    group.add_argument("--variance", type=fraction, default=Fraction(2), help="of the cell key's noise (2)")
    group.add_argument("--epsilon", type=fraction, help="of a private table (else the policy's)")
    group.add_argument("--delta", type=fraction, help="of a private table: Gaussian noise instead of Laplace")


def _others(group: Group) -> None:
    group.add_argument(
        "--published",
        action="append",
        default=[],
        metavar="FILE",
        help="a table that left in another way (those in the ledger count anyway)",
    )
    group.add_argument(
        "--within",
        type=float,
        default=0.0,
        metavar="B",
        help="how far those may be from the truth: rounded by B",
    )
    group.add_argument(
        "--percentages",
        action="append",
        default=[],
        nargs=2,
        metavar=("FILE", "OF"),
        help="rounded percentages that left, and the columns whose total they are of",
    )
    group.add_argument(
        "--means", action="append", default=[], metavar="FILE", help="rounded means of the measure that left"
    )
    group.add_argument("--digits", type=int, default=0, help="of those percentages and means (0)")


def run(args: Namespace) -> int:
    from obverse.curator.curator import CURATOR, open_settings
    from obverse.query.show import cost
    from obverse.release import Syntactic
    from obverse.tables.show import NOTE, crosstab, page

    named = Path(args.settings) if args.settings else found(args)
    with open_settings(named) as curator, Progress("tabulating"):
        if args.table is None and len(curator.schemas) != 1:
            raise BadParameter(f"name one of the tables with --table: {', '.join(curator.schemas)}")
        release = curator.release(
            _request(args, args.table or next(iter(curator.schemas))), args.account or CURATOR
        )
    if not args.output:
        print("\n".join(crosstab(release.value)))
    elif args.output.endswith(".html"):
        Path(args.output).write_text(page(release.value, f"by {'; '.join(args.by)}"), encoding="utf-8")
    else:
        from obverse.anonymise.files import write

        write(release.value, Path(args.output))
    promised = release.guarantee
    told = [
        str(promised) if isinstance(promised, Syntactic) else cost(promised),
        *(f"{a.name}: ± {a.margin:g} ({a.note})" for a in release.accuracy),
    ]
    before = len(cast("TabulatePlan", release.plan).shape.published)
    told += [f"protected together with {before} earlier table{'s' * (before > 1)}"] if before else []
    told += [NOTE] if any(release.value["mark"].to_pylist()) else []
    print(
        "\n".join(["", *told, f"receipt: {release.receipt.number}"]),
        file=sys.stderr if args.output else sys.stdout,
    )
    return 0


def _request(args: Namespace, table: str) -> Tabulate:
    from obverse.data.hierarchy import from_csv
    from obverse.tables.tabulate import Tabulate

    if alone := [part for part in args.ladder if "=" not in part]:
        raise BadParameter(f"--ladder is a column and a file, such as town=towns.csv, not {alone[0]}")
    ladders = dict(part.split("=", 1) for part in args.ladder)
    return Tabulate(
        table,
        by=tuple(listed(part) or () for part in args.by),
        measure=args.measure,
        weight=args.weight,
        units=tuple(args.unit),
        protect=_protection(args),
        ladders=tuple(from_csv(column, Path(file)) for column, file in ladders.items()),
        published=tuple(_published(args)),
    )


def _protection(args: Namespace) -> Protection:
    from obverse.tables.cellkey import CellKey
    from obverse.tables.collapse import Collapse
    from obverse.tables.hide import Suppress
    from obverse.tables.private import Private
    from obverse.tables.rounding import Round

    if args.protect == "collapse":
        return Collapse(args.threshold)
    if args.protect == "round":
        return Round(args.base, args.how)
    if args.protect == "cellkey":
        return CellKey(args.variance)
    if args.protect == "private":
        return Private(args.epsilon, args.delta or Fraction(0))
    return Suppress(args.threshold, args.full, _dominance(args.dominance), args.p, args.zeros)


def _dominance(text: str | None) -> tuple[int, Fraction] | None:
    if text is None:
        return None
    n, _, k = text.partition(",")
    try:
        return int(n), Fraction(k)
    except (ValueError, ZeroDivisionError):
        raise BadParameter(f"--dominance is a number and a share, such as 1,0.75, not {text}") from None


def _published(args: Namespace) -> Iterator[Published]:
    """What left in other ways: cells, percentages and means."""
    from obverse.anonymise.files import read
    from obverse.tables.published import cells, means, percentages

    if args.means and not args.measure:
        raise BadParameter("--means are of an amount: name it with --measure")
    for file in args.published:
        yield cells(_valued(file, read(Path(file))), args.measure or "", within=args.within)
    for file, of in args.percentages:
        yield percentages(_valued(file, read(Path(file))), listed(of) or (), digits=args.digits)
    for file in args.means:
        yield means(_valued(file, read(Path(file))), args.measure, digits=args.digits)


def _valued(file: str, table: pa.Table) -> pa.Table:
    """A table as `tabulate` writes it: a column a dimension, then `value`; labels are texts."""
    import pyarrow as pa

    if "value" not in table.column_names:
        raise BadParameter(f"{file} has no column value: a table has a column for each of --by, then value")
    named = [name for name in table.column_names if name not in ("value", "mark")]
    texts = {name: table[name].cast(pa.string()) for name in named}
    return pa.table({**texts, "value": table["value"]})
