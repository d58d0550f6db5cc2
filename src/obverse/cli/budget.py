"""Show what an account has spent and what is left, on every table; asks nothing and charges nothing.

A table's budget adds up what all accounts spend on it; an account's adds up what it spends on all tables.
"""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, Namespace
from fractions import Fraction
from math import isfinite
from typing import TYPE_CHECKING

from obverse.cli.options import account, found, settings
from obverse.cli.terminal import painter

if TYPE_CHECKING:
    from obverse.ledger.budget import Balance, Budget
    from obverse.ledger.ledger import Ledger
    from obverse.loss.explain import Explained

EXAMPLES = (
    "obverse budget",
    "obverse budget --account research --explain",
    "obverse budget --account research --json",
)
SHOWN_DELTA = Fraction(1, 10**6)  # where a budget has no δ of its own


def arguments(parser: ArgumentParser) -> None:
    settings(parser)
    account(parser)
    parser.add_argument(
        "--explain", action="store_true", help="what several accountants say of the same charges"
    )
    parser.add_argument("--json", action="store_true", help="the same as JSON")


def run(args: Namespace) -> int:
    from obverse.curator.curator import CURATOR, open_settings

    name = args.account or CURATOR
    with open_settings(found(args)) as curator:
        budget = curator.budget(name)
        explained = _explained(curator.ledger, budget) if args.explain else {}
    if args.json:
        print(json.dumps(_facts(budget, explained), ensure_ascii=False))
    else:
        print("\n".join(_lines(budget, explained)))
    return 0


def _lines(budget: Budget, explained: dict[str, Explained]) -> list[str]:
    from obverse.ledger.budget import NAMES

    paint = painter(sys.stdout)
    lines = str(budget).splitlines()
    shown = [paint("head", lines[0])]
    for share, line in zip(budget.tables, lines[1:], strict=True):
        shown.append(paint("head", line))
        if share.all.limits is not None:
            kept = NAMES[share.all.limits.notion]
            shown.append(paint("note", f"  kept by {kept}; neighbours: {share.neighbours.value}"))
        shown.append(paint("note", f"  of these questions {share.mine.questions} by {budget.account}"))
        if share.table in explained:
            shown.append(
                f"  all of it together, by each way of adding up, at δ = {explained[share.table].delta:g}:"
            )
            for name, figure, theorem in explained[share.table].lines:
                shown.append(
                    f"    {name:10}{f'ε = {figure:.6g}' if isfinite(figure) else 'none':16}{theorem}"
                )
    return shown


def _explained(ledger: Ledger, budget: Budget) -> dict[str, Explained]:
    from obverse.loss.explain import explain

    found = {}
    for share in budget.tables:
        delta = (share.all.limits and share.all.limits.delta) or SHOWN_DELTA
        found[share.table] = explain(ledger.loss(table=share.table), float(delta))
    return found


def _figures(explained: Explained) -> dict[str, float | None]:
    return {name: figure if isfinite(figure) else None for name, figure, _ in explained.lines}


def _facts(budget: Budget, explained: dict[str, Explained]) -> dict[str, object]:
    return {
        "account": budget.account,
        **_balance(budget.own),
        "tables": {
            share.table: {
                **_balance(share.all),
                "questions_by_account": share.mine.questions,
                "neighbours": share.neighbours.value,
                **({"explained": _figures(explained[share.table])} if explained else {}),
            }
            for share in budget.tables
        },
    }


def _balance(balance: Balance) -> dict[str, object]:
    """Exact numbers as texts, so that a script may compare them exactly."""
    limits = balance.limits
    return {
        "epsilon": None if limits is None else str(limits.epsilon),
        "delta": None if limits is None else str(limits.delta),
        "filter": None if limits is None else limits.notion,
        "left": None if balance.left is None else str(balance.left),
        "spent": None if balance.spent is None else str(balance.spent),
        "questions": balance.charged.questions,
        "questions_left": balance.questions_left,
    }
