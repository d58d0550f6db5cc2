"""What several verbs ask for in the same words: the settings file, and the account that asks."""

from __future__ import annotations

import os
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from obverse.errors import BadParameter

if TYPE_CHECKING:
    from obverse.curator.account import Account
    from obverse.curator.curator import Curator

DEFAULT = "obverse.toml"
MOST = 10**15


def settings(parser: ArgumentParser) -> None:
    """The option that names the settings file."""
    parser.add_argument(
        "-s",
        "--settings",
        metavar="FILE",
        help=f"the settings file (else $OBVERSE_SETTINGS, {DEFAULT}, or the only .toml here that declares tables)",
    )


def fraction(text: str) -> Fraction:
    """A number as it is written, such as 0.1 or 1/3; what is beyond 10¹⁵ is a slip."""
    try:
        found = Fraction(text) if abs(float(text.partition("/")[0])) < MOST else None
    except (ValueError, ZeroDivisionError):
        found = None
    if found is None or abs(found) > MOST:
        raise ArgumentTypeError(f"{text} is no number: write it such as 0.1 or 1/3")
    return found


def account(parser: ArgumentParser) -> None:
    """The option that names the account."""
    parser.add_argument("-a", "--account", metavar="NAME", help="who asks (else the curator)")


def found(args: Namespace) -> Path:
    """The settings file that was named, or the one that is meant."""
    if named := args.settings or os.environ.get("OBVERSE_SETTINGS"):
        return Path(named)
    if Path(DEFAULT).is_file():
        return Path(DEFAULT)
    here = [file for file in sorted(Path().glob("*.toml")) if _declares_tables(file)]
    if len(here) == 1:
        return here[0]
    which = f"several settings files here: {', '.join(map(str, here))}" if here else "no settings file here"
    raise BadParameter(f"{which}; name one with --settings FILE, or write one with obverse draft")


def writable(*files: str | None) -> None:
    """Refuse files that could not be written, before anything is spent on them."""
    from obverse.errors import BadSource

    for file in files:
        if file is not None and (not file or Path(file).is_dir()):
            raise BadSource(f"{file or 'an empty name'} is no file that could be written")
        if file and not Path(file).parent.is_dir():
            raise BadSource(f"{file}: there is no folder {Path(file).parent}")


def _declares_tables(file: Path) -> bool:
    try:
        return "\n[tables." in "\n" + file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return False


def asking(curator: Curator, args: Namespace) -> Account:
    """The account that was named, or the curator's own."""
    from obverse.curator.curator import CURATOR

    return curator.account(args.account or CURATOR)
