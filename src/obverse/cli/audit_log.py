"""Check that the ledger is what was written, and say its head: every row against its seals, its anchor and its file.

`verify` notices any change to what was written, a tail that was cut, and an older copy put back; it prints the head,
`number:seal`, which may be kept elsewhere and given to a later `verify --head`. An older copy of the ledger and its
anchor together is noticed only so. `adopt` goes on from an older copy where the newest is lost: what the missing lines
had charged may then be spent again, and the journal says so for good.
"""

from __future__ import annotations

import json
import re
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from obverse.cli.options import found, settings
from obverse.cli.progress import Progress
from obverse.cli.terminal import painter

if TYPE_CHECKING:
    from obverse.ledger.anchor import Head

EXAMPLES = (
    "obverse audit-log verify",
    "obverse audit-log verify --head 17:9f2c4e5d… --json",
    "obverse audit-log adopt",
)
DAMAGED = 9


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "what", choices=("verify", "adopt"), help="read all of it; or go on from an older copy"
    )
    settings(parser)
    parser.add_argument(
        "--head",
        metavar="NUMBER:SEAL",
        action="append",
        default=[],
        type=_head,
        help="a line that must be there",
    )
    parser.add_argument("--json", action="store_true", help="the verdict as JSON")


def run(args: Namespace) -> int:
    from obverse.data.settings import load
    from obverse.ledger.verify import verify

    ledger = load(found(args)).ledger
    if args.what == "adopt":
        return _adopt(ledger)
    with Progress("reading the ledger"):
        verdict = verify(ledger, args.head)
    if args.json:
        facts = {"whole": bool(verdict), "damage": verdict.damage, "head": str(verdict.head)}
        print(json.dumps({**facts, "every_byte": verdict.whole_file}, ensure_ascii=False))
        return 0 if verdict else DAMAGED
    paint = painter(sys.stdout)
    for damage in verdict.damage:
        print(paint("bad", f"! {damage}"))
    if verdict:
        read = (
            "every byte of the file" if verdict.whole_file else "every row (the ledger was not closed since)"
        )
        print(paint("good", f"{ledger} is what was written: {verdict.head.number} lines, {read}"))
        print(paint("note", f"head {verdict.head}"))
        for number in verdict.adopted:
            print(paint("note", f"line {number}: from here on the curator went on from an older copy"))
    return 0 if verdict else DAMAGED


def _adopt(ledger: Path) -> int:
    from obverse.curator.clock import now
    from obverse.ledger.verify import adopt

    head = adopt(ledger, now().isoformat(timespec="seconds"))
    print(f"{ledger} goes on from line {head.number - 1}; what later lines had charged is forgotten")
    print(f"head {head}")
    return 0


def _head(text: str) -> Head:
    from obverse.ledger.anchor import Head

    if not (match := re.fullmatch(r"(\d{1,18}):([0-9a-f]{64})", text)):
        raise ArgumentTypeError("a head is a number, a colon and 64 hexadecimal digits")
    return Head(int(match[1]), bytes.fromhex(match[2]))
