"""Show who was charged what for which question, newest first; what was answered stays in the ledger."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from obverse.cli.options import found, settings
from obverse.cli.terminal import painter

if TYPE_CHECKING:
    from obverse.ledger.journal import Logged

EXAMPLES = ("obverse log", "obverse log --account research --limit 5", "obverse log --json | jq .seal")
LONGEST = 100


def arguments(parser: ArgumentParser) -> None:
    settings(parser)
    parser.add_argument(
        "-a", "--account", metavar="NAME", default="", help="only what this account was charged"
    )
    parser.add_argument(
        "-n", "--limit", metavar="N", type=int, default=20, help="at most so many (20; 0 for all)"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object a line")


def run(args: Namespace) -> int:
    from obverse.curator.curator import open_settings

    with open_settings(found(args)) as curator:
        entries = list(curator.ledger.log(args.account, args.limit or -1))
    for entry in entries:
        print(json.dumps(_facts(entry), ensure_ascii=False) if args.json else _text(entry))
    return 0


def _text(entry: Logged) -> str:
    charged, paint = entry.charged, painter(sys.stdout)
    about = " ".join(charged.about.split())
    about = about if len(about) <= LONGEST else about[: LONGEST - 1] + "…"
    state = "" if entry.kept else "  (nothing left: it may be asked again, free)"
    paid = f"{_cost(entry)}, for {charged.protects}" if charged.protects else _cost(entry)
    head = f"{entry.number}  {charged.time}  {charged.account}  {', '.join(charged.tables)}  {paid}{state}"
    return paint("head", head) + f"\n    {about}"


def _cost(entry: Logged) -> str:
    from obverse.loss.loss import Loss

    guarantee = entry.guarantee
    if not isinstance(guarantee, Loss):
        return str(guarantee)
    if guarantee.pure is not None:
        return f"ε = {float(guarantee.pure):.6g}"
    return f"ρ = {float(guarantee.rho):.6g}" if guarantee.rho is not None else "no pure ε"


def _facts(entry: Logged) -> dict[str, object]:
    charged = entry.charged
    return {
        "number": entry.number,
        "time": charged.time,
        "account": charged.account,
        "tables": list(charged.tables),
        "kind": charged.kind,
        "about": charged.about,
        "cost": _cost(entry),
        "protects": charged.protects,
        "guarantee": json.loads(charged.guarantee),
        "kept_bytes": entry.kept.size if entry.kept else None,
        "seal": entry.seal,
    }
