"""Privacy models and changes to columns as words on a command line: a kind, a column, a number, and name=value."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, cast

from obverse.cli.options import fraction
from obverse.errors import BadParameter

if TYPE_CHECKING:
    from obverse.anonymise.changes import Change, What
    from obverse.anonymise.rules import Distance, Kind, Rule
    from obverse.data.hierarchy import Ladder

KINDS = "distinct, entropy, recursive, alpha, t, beta, enhanced-beta, delta"
CHANGES = "top, bottom, round, mask, hide, pram, swap, hash"


def rules(parser: ArgumentParser) -> None:
    """The options that name privacy models and what they need."""
    parser.add_argument(
        "--rule",
        action="append",
        nargs="+",
        default=[],
        metavar=("KIND COLUMN AT", "NAME=VALUE"),
        help=f"a privacy model of a sensitive column: {KINDS}; with c=, distance= or clusters=",
    )
    parser.add_argument(
        "--apart",
        action="store_true",
        help="several sensitive columns are not thought to be known to each other",
    )
    parser.add_argument("--hierarchies", metavar="FOLDER", help="a folder of hierarchies named column.csv")


def changes(parser: ArgumentParser) -> None:
    """The option that changes single columns before classes are sought."""
    parser.add_argument(
        "--change",
        action="append",
        nargs="+",
        default=[],
        metavar=("WHAT COLUMN", "AT"),
        help=f"a change to a column: {CHANGES}; with a number, for hash key=FILE",
    )


def rule(words: Sequence[str]) -> Rule:
    """A privacy model from its words.

    >>> rule(["recursive", "illness", "2", "c=3"])
    Rule(kind='recursive', column='illness', at=2.0, c=3.0, distance='equal', clusters=0)
    """
    from obverse.anonymise.rules import Rule

    if len(words) < 3:
        raise BadParameter(f"--rule needs a kind, a column and a number, such as entropy illness 3 ({KINDS})")
    kind, column, at, *more = words
    named = _named("--rule", more, ("c", "distance", "clusters"))
    return Rule(
        cast("Kind", kind),
        column,
        float(_fraction("--rule", at)),
        c=float(_fraction("--rule", named.get("c", "0"))),
        distance=cast("Distance", named.get("distance", "equal")),
        clusters=_whole("--rule", named.get("clusters", "0")),
    )


def change(words: Sequence[str]) -> Change:
    """A change to a column from its words.

    >>> change(["top", "age", "90"])
    Change(what='top', column='age', at=Fraction(90, 1), key='')
    """
    from obverse.anonymise.changes import Change

    if len(words) < 3:
        raise BadParameter(f"--change needs a change, a column and a number, such as top age 90 ({CHANGES})")
    what, column, at = words[0], words[1], words[2]
    if len(words) > 3:
        raise BadParameter(f"--change takes three words, not {' '.join(words)}")
    if what == "hash":
        return Change("hash", column, key=_named("--change", [at], ("key",)).get("key", ""))
    return Change(cast("What", what), column, _fraction("--change", at))


def ladders(folder: str | None) -> tuple[Ladder, ...]:
    """The hierarchies of a folder, each named as its column."""
    from obverse.data.hierarchy import from_csv

    if folder is None:
        return ()
    if not Path(folder).is_dir():
        raise BadParameter(f"{folder} is no folder of hierarchies")
    return tuple(from_csv(file.stem, file) for file in sorted(Path(folder).glob("*.csv")))


def listed(text: str | None) -> tuple[str, ...] | None:
    """Names with commas between them; a name that holds a comma stands in double quotes.

    >>> listed('age, "town, district"')
    ('age', 'town, district')
    """
    import csv

    if text is None:
        return None
    row = next(csv.reader([text], skipinitialspace=True), [])
    return tuple(name.strip() for name in row if name.strip())


def pairs(option: str, given: Sequence[str]) -> tuple[tuple[str, Fraction], ...]:
    """Columns with a number each, from COLUMN=NUMBER."""
    split = [part.rpartition("=")[::2] for part in given]
    return tuple((column, _fraction(option, number)) for column, number in split)


def _named(option: str, words: Sequence[str], known: tuple[str, ...]) -> dict[str, str]:
    parts = [word.partition("=") for word in words]
    if bad := [name for name, equals, _ in parts if not equals or name not in known]:
        raise BadParameter(
            f"{option} takes {', '.join(f'{name}=' for name in known)} at its end, not {bad[0]}"
        )
    return {name: value for name, _, value in parts}


def _fraction(option: str, text: str) -> Fraction:
    try:
        return fraction(text)
    except ArgumentTypeError:
        raise BadParameter(f"{option} needs a number, not {text}") from None


def _whole(option: str, text: str) -> int:
    number = _fraction(option, text)
    if number.denominator != 1:
        raise BadParameter(f"{option} needs a whole number, not {text}")
    return int(number)
