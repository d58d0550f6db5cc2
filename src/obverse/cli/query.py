"""Ask a question in SQL and get the private answer, with its ± and what it cost.

`DP-SELECT 0.5 COUNT(*) FROM people` spends ε = 0.5; a plain SELECT spends the policy's default. Asked again, the
same question gives the same answer and is free. EXPLAIN SELECT …, DESCRIBE people and SHOW BUDGET are free too.
"""

from __future__ import annotations

import csv
import json
import sys
from argparse import ArgumentParser, Namespace
from math import isinf
from typing import TYPE_CHECKING

from obverse.cli.options import account, asking, found, settings
from obverse.cli.progress import Progress
from obverse.cli.terminal import painter
from obverse.errors import BadParameter

if TYPE_CHECKING:
    from obverse.query.answer import Answered

EXAMPLES = (
    "obverse query \"DP-SELECT 0.5 COUNT(age) FROM people WHERE sex = 'Female'\"",
    'obverse query "SELECT sex, AVG(age) FROM people GROUP BY sex" --account research --csv > ages.csv',
    'obverse query "EXPLAIN SELECT sex, MEDIAN(age) FROM people GROUP BY sex"',
    "obverse query - --json < question.sql",
)


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("sql", help="the question, or - to read it from standard input")
    settings(parser)
    account(parser)
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="columns, rows, margins and cost as JSON")
    form.add_argument("--csv", action="store_true", help="columns and their ± as CSV")


def run(args: Namespace) -> int:
    from obverse.curator.curator import open_settings

    sql = sys.stdin.read() if args.sql == "-" else args.sql
    with open_settings(found(args)) as curator, Progress("asking"):
        asker = asking(curator, args)
        told = asker.tell(sql)
        if told is not None:
            return _tell(told, args)
        answered = asker.ask(sql)
    if args.json:
        print(json.dumps(_facts(answered), ensure_ascii=False))
    elif args.csv:
        columns = answered.to_dict()
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(columns)
        for row in zip(*columns.values(), strict=True):  # a list is written as JSON: CSV has none
            writer.writerow([json.dumps(cell) if isinstance(cell, tuple) else cell for cell in row])
    else:
        _print(answered)
    return 0


def _tell(told: str, args: Namespace) -> int:
    if args.json or args.csv:
        raise BadParameter("EXPLAIN, DESCRIBE and SHOW BUDGET give text: leave --json and --csv away")
    print(told)
    return 0


def _facts(answered: Answered) -> dict[str, object]:
    from dataclasses import asdict

    from obverse.query.bias import expected
    from obverse.query.show import cost, holds_for

    return {
        "columns": answered.columns,
        "rows": answered.rows,
        "margins": [
            ["unbounded" if m is not None and isinf(m) else m for m in row] for row in answered.margins
        ],
        "confidence": float(answered.plan.confidence),
        "cost": cost(answered.loss),
        "protects": holds_for(answered),
        "synthetic": answered.synthetic,
        "bias": [asdict(bias) for bias in expected(answered.plan)],
        "again": answered.receipt.again,
        "receipt": answered.receipt.number,
    }


def _print(answered: Answered) -> None:
    from obverse.query.show import notes, table

    paint = painter(sys.stdout)
    print("\n".join(table(answered.value, paint)))
    print("\n" + "\n".join(paint("note", note) for note in notes(answered)))
