"""A settings file as sections that read their keys exactly and refuse with the line to mend.

Numbers are whole or `Decimal` as written, never a float: 0.1 in the file is a tenth in the ledger.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from enum import Enum
from fractions import Fraction
from pathlib import Path
from typing import NoReturn, TypeVar

from obverse.errors import BadSchema

Keys = tuple[str, ...]
Choice = TypeVar("Choice", bound=Enum)
LARGEST_EXPONENT = 300
LARGEST_FILE = 16 * 1024 * 1024

_TOKEN = re.compile(
    r"""
      (?P<space>[ \t\r]+|\#[^\n]*)
    | (?P<text>\"{3}(?:[^\\]|\\.)*?\"{3,5}|'{3}.*?'{3,5}|"(?:[^"\\]|\\.)*"|'[^']*')
    | (?P<mark>[\[\]{}=,.\n])
    | (?P<word>[^\s\[\]{}=,.\#"']+)
    """,
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True)
class Section:
    """One table of a settings file. `lines` holds where every key of the file stands."""

    entries: Mapping[str, object]
    path: Keys
    file: str
    lines: Mapping[Keys, int] = field(repr=False)

    def refuse(self, message: str, key: str | None = None) -> NoReturn:
        """Raise a refusal that points at the line of `key`, or of this section."""
        path = self.path if key is None else (*self.path, key)
        while path and path not in self.lines:
            path = path[:-1]
        raise BadSchema(message, file=self.file, line=self.lines.get(path, 1))

    def only(self, *known: str) -> None:
        """Refuse a key that is none of these, naming the nearest."""
        for key in self.entries:
            if key not in known:
                hint = nearest(key, known) or f"; known are {', '.join(known)}"
                self.refuse(f"unknown key {key}{hint}", key)

    def __contains__(self, key: str) -> bool:
        return key in self.entries

    def text(self, key: str, default: str | None = None) -> str:
        value = self._take(key, default)
        if not isinstance(value, str):
            self.refuse(f'{key} is a text in quotes, such as {key} = "…"', key)
        return value

    def flag(self, key: str, default: bool | None = None) -> bool:
        value = self._take(key, default)
        if not isinstance(value, bool):
            self.refuse(f"{key} is true or false", key)
        return value

    def whole(self, key: str, default: int | None = None, *, least: int = 0) -> int:
        value = self._take(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value < 2**63:
            self.refuse(f"{key} is a whole number, {least} or more", key)
        return value

    def number(self, key: str, default: Fraction | None = None) -> Fraction:
        """Exactly the number that is written."""
        value = self._take(key, default)
        if isinstance(value, Fraction):
            return value
        if isinstance(value, bool) or not isinstance(value, int | Decimal):
            self.refuse(f"{key} is a number", key)
        if isinstance(value, Decimal) and not value.is_finite():
            self.refuse(f"{key} is a finite number that can be written out", key)
        if value and abs(Decimal(value).adjusted()) > LARGEST_EXPONENT:
            self.refuse(f"{key} is out of range: at most 10^{LARGEST_EXPONENT}", key)
        return Fraction(value)

    def day(self, key: str) -> date:
        value = self._take(key, None)
        if not isinstance(value, date) or isinstance(value, datetime):
            self.refuse(f"{key} is a date without quotes, such as {key} = 1990-12-31", key)
        return value

    def moment(self, key: str) -> datetime:
        value = self._take(key, None)
        if not isinstance(value, datetime) or value.tzinfo is not None:
            self.refuse(f"{key} is a time without a zone, such as {key} = 1990-12-31T23:59:59", key)
        return value

    def list(self, key: str) -> list[object]:
        value = self._take(key, None)
        if not isinstance(value, list):
            self.refuse(f"{key} is a list in square brackets", key)
        return value

    def choice(self, key: str, words: type[Choice], default: Choice | None = None) -> Choice:
        """One of an enum's words."""
        if key not in self.entries and default is not None:
            return default
        word, known = self.text(key), tuple(str(each.value) for each in words)
        if word not in known:
            self.refuse(f"{key} is one of {', '.join(known)}, not {word!r}{nearest(word, known)}", key)
        return words(word)

    def section(self, key: str) -> Section:
        """The table under a key; an empty one where it is not given."""
        value = self.entries.get(key, {})
        if not isinstance(value, dict):
            self.refuse(f"{key} is a table: [{'.'.join((*self.path, key))}]", key)
        return Section(value, (*self.path, key), self.file, self.lines)

    def sections(self) -> dict[str, Section]:
        """Every table in this section, by name."""
        return {key: self.section(key) for key in self.entries}

    def _take(self, key: str, default: object) -> object:
        if key in self.entries:
            return self.entries[key]
        if default is None:
            self.refuse(f"{'.'.join(self.path) or 'the file'} needs {key}")
        return default


def nearest(word: str, known: tuple[str, ...]) -> str:
    """`: did you mean …?`, or nothing where none of the known words is near."""
    from difflib import get_close_matches

    begun = [each for each in known if word and each.startswith(word.lower())]
    close = begun or get_close_matches(word.lower(), known, n=1, cutoff=0.5)
    return f": did you mean {close[0]}?" if close else ""


def read(path: Path) -> Section:
    """The whole file as a section."""
    file = str(path)
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise BadSchema(f"is larger than {LARGEST_FILE >> 20} MB", file=file)
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise BadSchema(f"cannot be read: {error.strerror}", file=file) from None
    except UnicodeDecodeError:
        raise BadSchema("is not UTF-8 text", file=file) from None
    try:
        entries = tomllib.loads(text, parse_float=_decimal)
        return Section(entries, (), file, dict(_places(text.replace("\r\n", "\n"))))
    except tomllib.TOMLDecodeError as error:
        message, _, place = str(error).rpartition(" (at line ")
        line = place.partition(",")[0]
        where = int(line) if line.isdigit() else text.count("\n") + 1
        raise BadSchema(f"is not TOML here: {(message or str(error))}", file=file, line=where) from None
    except (ValueError, RecursionError):
        raise BadSchema("holds a number or a nesting too large to read", file=file) from None


def _decimal(text: str) -> Decimal:
    """Exactly what is written; NaN for what no Decimal can hold, to be refused at its line."""
    try:
        return Decimal(text)
    except InvalidOperation:
        return Decimal("NaN")


class _Tokens:
    """The tokens of a text that tomllib has found valid, one ahead, with the line of each."""

    def __init__(self, text: str) -> None:
        self._tokens = self._scan(text + "\n")
        self.token, self.line = "", 1
        self.next()

    def _scan(self, text: str) -> Iterator[tuple[str, int]]:
        line = 1
        for match in _TOKEN.finditer(text):
            if match.lastgroup != "space":
                yield match.group(), line
            line += match.group().count("\n")
        yield "", line

    def next(self) -> str:
        """The token, and on to the one after."""
        token = self.token
        self.token, self.line = next(self._tokens, ("", self.line))
        return token

    def skip(self, marks: str) -> None:
        while self.token and self.token in marks:
            self.next()


def _places(text: str) -> Iterator[tuple[Keys, int]]:
    """Every table and key of the file, and the line it stands on."""
    tokens = _Tokens(text)
    table: Keys = ()
    tokens.skip("\n")
    while tokens.token:
        line = tokens.line
        if tokens.token == "[":
            tokens.skip("[")
            table = _name(tokens)
            tokens.skip("]")
            yield table, line
        else:
            yield from _entry(tokens, table)
        tokens.skip("\n")


def _entry(tokens: _Tokens, table: Keys) -> Iterator[tuple[Keys, int]]:
    line = tokens.line
    name = (*table, *_name(tokens))
    yield name, line
    tokens.skip("=")
    yield from _value(tokens, name)


def _value(tokens: _Tokens, name: Keys) -> Iterator[tuple[Keys, int]]:
    if tokens.token == "{":
        tokens.skip("{\n")
        while tokens.token not in ("}", ""):
            yield from _entry(tokens, name)
            tokens.skip(",\n")
        tokens.next()
    elif tokens.token == "[":
        tokens.next()
        tokens.skip("\n")
        while tokens.token not in ("]", ""):
            yield from _value(tokens, name)
            tokens.skip(",\n")
        tokens.next()
    else:
        while tokens.token not in ("", "\n", ",", "]", "}"):
            tokens.next()


def _name(tokens: _Tokens) -> Keys:
    parts = [_key(tokens.next())]
    while tokens.token == ".":
        tokens.next()
        parts.append(_key(tokens.next()))
    return tuple(parts)


def _key(token: str) -> str:
    if token[:1] not in "\"'":
        return token
    return next(iter(tomllib.loads(f"{token} = 0")))
