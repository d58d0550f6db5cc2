"""Publish a table of counts once, from which later questions are answered free, for every account.

`ranges` measures whatever makes ranges sharp, `cube` every margin beside the cells, `marginal` the cells alone. SQL
says the same: CREATE RELEASE ages AS SELECT COUNT(*) FROM people GROUP BY RANGES(age).
"""

from __future__ import annotations

import re
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, cast

from obverse.cli.options import account, found, fraction, settings
from obverse.cli.progress import Progress
from obverse.errors import BadParameter

if TYPE_CHECKING:
    from obverse.mechanisms.strategy import Strategy
    from obverse.query.publication import PublishPlan
    from obverse.query.publish import Publish

EXAMPLES = (
    "obverse release ranges people.age --epsilon 0.5",
    "obverse release cube people sex,race,education --epsilon 0.5 --name jobs",
    "obverse release ranges people.capital-gain --step 1000",
    "obverse release list",
)
WAYS: dict[str, Strategy] = {"ranges": "hats", "cube": "total", "marginal": "cells"}


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("form", choices=(*WAYS, "list"), help="what is measured; or list what was published")
    parser.add_argument("table", nargs="?", help="the table, or table.column")
    parser.add_argument("columns", nargs="?", default="", help="its columns, with commas between")
    parser.add_argument(
        "--epsilon", type=fraction, metavar="ε", help="what it may cost (else the policy's default)"
    )
    parser.add_argument("--name", help="what it is called (else after its table and columns)")
    parser.add_argument("--step", type=fraction, metavar="WIDTH", help="how wide a cell of a number is")
    settings(parser)
    account(parser)


def run(args: Namespace) -> int:
    from obverse.curator.curator import CURATOR, open_settings
    from obverse.query.answer import Answered
    from obverse.query.show import text

    with open_settings(found(args)) as curator, Progress("counting"):
        if args.form == "list":
            print(curator.releases())
            return 0
        request = _request(args)
        release = curator.release(request, args.account or CURATOR)
    print(text(Answered(release.value, cast("PublishPlan", release.plan), release.receipt)))
    return 0


def _request(args: Namespace) -> Publish:
    from obverse.query.publish import Cut, Publish

    table, _, column = (args.table or "").partition(".")
    columns = [name.strip() for name in (column, *args.columns.split(",")) if name.strip()]
    if not table or not columns:
        raise BadParameter("name a table and its columns: obverse release ranges people.age")
    cuts = tuple(Cut(name, WAYS[args.form], args.step) for name in columns)
    name = args.name or re.sub(r"\W+", "_", "_".join([table, *columns, args.form]))
    return Publish(name, table, cuts, args.epsilon)
