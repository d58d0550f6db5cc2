"""Show what a question would cost and its ±, without reading or charging anything.

Made from the settings alone: no row is read, no budget is touched, and it can be asked as often as one likes.
"""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, Namespace

from obverse.cli.options import account, asking, found, settings

EXAMPLES = (
    'obverse preview "DP-SELECT 0.5 COUNT(*) FROM people"',
    'obverse preview "SELECT AVG(age) FROM people" --account research --json',
    'obverse preview --explain "SELECT sex, MEDIAN(age) FROM people GROUP BY sex"',
)


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("sql", help="the question, or - to read it from standard input")
    settings(parser)
    account(parser)
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="the cost and each ± as JSON")
    form.add_argument(
        "--explain", action="store_true", help="also what would be read, and the noise of each part"
    )


def run(args: Namespace) -> int:
    from obverse.curator.curator import open_settings

    sql = sys.stdin.read() if args.sql == "-" else args.sql
    with open_settings(found(args)) as curator:
        asker = asking(curator, args)
        if args.explain:
            print(asker.explain(sql))
            return 0
        preview = asker.preview(sql)
    if not args.json:
        print(preview)
        return 0
    from dataclasses import asdict

    from obverse.loss.loss import Loss
    from obverse.query.bias import expected
    from obverse.query.show import cost
    from obverse.query.within import in_all

    promised = preview.guarantee
    price = (cost(promised) if isinstance(promised, Loss) else str(promised)) + in_all(preview.plan)
    accuracy = [
        {"name": each.name, "margin": each.margin, "confidence": each.confidence, "note": each.note}
        for each in preview.accuracy
    ]
    bias = [asdict(each) for each in expected(preview.plan)]
    print(json.dumps({"cost": price, "accuracy": accuracy, "bias": bias}, ensure_ascii=False))
    return 0
