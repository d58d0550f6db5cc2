"""Learn once, for a little ε, how many rows people have and how large numbers without bounds are.

Later questions choose their bounds from it, and say what the bounds are expected to take off. It is kept in the ledger:
asked again it is free, and without --epsilon it shows what was learnt before.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from fractions import Fraction
from typing import TYPE_CHECKING

from obverse.cli.options import found, settings
from obverse.cli.progress import Progress
from obverse.errors import BadParameter

if TYPE_CHECKING:
    from obverse.data.learnt import Learnt

EXAMPLES = (
    "obverse register visits --epsilon 0.1",
    "obverse register visits --epsilon 0.1 --columns income,pay",
    "obverse register visits",
)


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("table", help="a declared table")
    parser.add_argument(
        "--epsilon", metavar="ε", help="what to spend; without it, what was learnt before is shown"
    )
    parser.add_argument(
        "--columns", metavar="NAMES", help="only these numbers, separated by commas (else all)"
    )
    settings(parser)


def run(args: Namespace) -> int:
    from obverse.curator.curator import open_settings
    from obverse.query.learning import text

    with open_settings(found(args)) as curator, Progress(f"learning of {args.table}"):
        if args.epsilon is None:
            learnt, paid = _before(curator.learnt(args.table), args.table), "learnt before; this was free"
        else:
            columns = args.columns.split(",") if args.columns else None
            release = curator.register(args.table, _number(args.epsilon), columns)
            again = release.receipt.again
            learnt = release.value
            paid = (
                f"asked before: free; receipt {release.receipt.number}"
                if again
                else f"receipt {release.receipt.number}"
            )
        stale = curator.stale(learnt.table)
    print("\n".join(text(learnt)))
    print(f"\ncost ε = {float(learnt.epsilon):.7g}, once; {paid}")
    if stale:
        print("learnt on an earlier version of the data: still private, but it may be out of date")
    return 0


def _before(learnt: Learnt | None, table: str) -> Learnt:
    if learnt is None:
        raise BadParameter(f"nothing was learnt of {table} yet: obverse register {table} --epsilon 0.1")
    return learnt


def _number(text: str) -> Fraction:
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise BadParameter(f"--epsilon is a number such as 0.1, not {text}") from None
