"""Ask people who need not trust you: print what each runs on their own machine, or conclude from their reports.

Each report is private before it is sent, so nothing is read from your tables and no budget is charged.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from obverse.errors import BadParameter, BadSource

if TYPE_CHECKING:
    from obverse.local.collect import Collect

EXAMPLES = (
    "obverse collect --answers yes,no --epsilon 1 > ask.py",
    "obverse collect --answers yes,no --epsilon 1 --answer yes",
    "obverse collect --answers yes,no --epsilon 1 --reports reports.txt",
    "obverse collect --low 0 --high 80 --epsilon 2 --reports hours.txt",
)


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--answers", default="", help="the answers to choose from, with commas")
    parser.add_argument("--low", help="the least a number can be, instead of answers")
    parser.add_argument("--high", help="the most a number can be")
    parser.add_argument("--epsilon", required=True, help="what one report costs its sender")
    parser.add_argument(
        "--how", default="auto", choices=("auto", "response", "unary", "hadamard"), help="which protocol"
    )
    parser.add_argument("--answer", help="make one report of this answer, here")
    parser.add_argument("--reports", metavar="FILE", help="a report a line: conclude from them")
    parser.add_argument("--confidence", type=float, default=0.95, help="how sure the ± are")


def run(args: Namespace) -> int:
    from obverse.local.collect import Collect
    from obverse.noise.entropy import System

    answers = tuple(answer.strip() for answer in args.answers.split(",") if answer.strip())
    collect = Collect(answers, _number(args.epsilon), args.how, _bound(args.low), _bound(args.high))
    if not 0 < args.confidence < 1:
        raise BadParameter("a confidence is above 0 and below 1")
    if args.answer is not None:
        print(collect.report(args.answer, System()))
    elif args.reports:
        _conclude(collect, Path(args.reports), args.confidence)
    else:
        sys.stdout.write(collect.script())
    return 0


def _conclude(collect: Collect, file: Path, confidence: float) -> None:
    try:
        lines = file.read_text(encoding="utf-8").split()
    except (OSError, UnicodeDecodeError) as reason:
        raise BadSource(f"{file} cannot be read as text: {type(reason).__name__}") from None
    found = collect.estimate(lines)
    for name, value, margin in zip(
        collect.answers or ("mean",), found.values.tolist(), found.margin(confidence).tolist(), strict=True
    ):
        print(f"{name}\t{value:.1f}\t± {margin:.1f}")


def _number(text: str) -> Fraction:
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise BadParameter(f"{text[:40]!r} is no number") from None


def _bound(text: str | None) -> Fraction | None:
    return None if text is None else _number(text)
