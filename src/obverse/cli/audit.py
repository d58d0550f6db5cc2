"""Try to catch every mechanism lying about its ε; with a name, any function of yours.

Prints a line a check, with the ε proved from what was seen beside the ε that is charged, and fails if one lies. A
function is called again and again on two neighbouring inputs; it draws its noise itself.
"""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from obverse.audit.finding import Finding

EXAMPLES = (
    "obverse audit",
    "obverse audit my_module:my_mechanism --epsilon 1",
    "obverse audit my_module:noisy_mean --epsilon 1 --delta 1e-6 --with '[1, 2, 3]' '[1, 2]'",
)


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "function", nargs="?", metavar="MODULE:FUNCTION", help="what to try; everything if left out"
    )
    parser.add_argument("--epsilon", type=float, default=1.0, help="the ε it claims (1)")
    parser.add_argument("--delta", type=float, default=0.0, help="the δ it claims (0)")
    parser.add_argument(
        "--with",
        dest="neighbours",
        nargs=2,
        metavar="JSON",
        default=["0", "1"],
        help="two neighbouring inputs (0 and 1)",
    )
    parser.add_argument("--seconds", type=float, default=20.0, help="how long to try, about (20)")


def run(args: Namespace) -> int:
    lied = []
    for finding in _function(args) if args.function else _everything():
        print(finding, flush=True)
        if finding.lies:
            lied.append(finding.name)
    if lied:
        print(f"\nlies: {', '.join(dict.fromkeys(lied))}")
        return 1
    print("\nno lie was found; an ε seen below the one charged is no proof that it is that low")
    return 0


def _everything() -> Iterator[Finding]:
    from obverse.audit.suite import suite

    return suite()


def _function(args: Namespace) -> Iterator[Finding]:
    import sys
    from importlib import import_module

    from obverse.audit.black_box import of_callable
    from obverse.errors import BadParameter

    module, _, name = args.function.partition(":")
    sys.path.insert(0, "")
    try:
        function = getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError):
        raise BadParameter(
            f"{args.function} is no function: write module:function, from this folder"
        ) from None
    if not callable(function):
        raise BadParameter(f"{args.function} cannot be called")
    if args.epsilon < 0 or not 0 <= args.delta < 1:
        raise BadParameter("--epsilon is 0 or more, and --delta is at least 0 and below 1")
    try:
        one, other = (json.loads(text) for text in args.neighbours)
    except json.JSONDecodeError:
        raise BadParameter("--with takes two inputs as JSON, such as --with '[1, 2]' '[1]'") from None
    yield of_callable(args.function, function, (one, other), args.epsilon, args.delta, seconds=args.seconds)
