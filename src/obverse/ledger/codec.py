"""A guarantee as JSON and back, field by field; the class of each part is found by its name.

A new mechanism is told nothing: any frozen dataclass of `loss/`, `mechanisms/` or `release.py` whose fields are whole
numbers, fractions, truth values, texts, enums, tuples or other such dataclasses goes through. A float does not,
because what is charged must come back exactly; a class from anywhere else does not, because a reader may not have it.
"""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass
from enum import Enum
from fractions import Fraction
from functools import cache
from importlib import import_module
from typing import cast

from obverse.catalogue import modules
from obverse.errors import BadParameter
from obverse.release import Guarantee

PLACES = ("obverse.release", "obverse.loss.", "obverse.mechanisms.")
# One encoder for all: to make it takes longer than to use it.
to_json = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode
Json = None | bool | int | str | list["Json"] | dict[str, "Json"]


def encode(guarantee: Guarantee) -> str:
    """The guarantee as one line of JSON: equal guarantees make equal lines.

    >>> from obverse.release import Syntactic
    >>> encode(Syntactic((("k", "5"),)))
    '{"Syntactic":{"terms":[["k","5"]]}}'
    """
    return to_json(_plain(guarantee))


def decode(line: str) -> Guarantee:
    """The guarantee back from its line.

    >>> decode('{"Syntactic":{"terms":[["k","5"]]}}')
    Syntactic(terms=(('k', '5'),))
    """
    return cast(Guarantee, _value(json.loads(line)))


def _plain(value: object) -> Json:
    kind = type(value)
    if value is None or kind is bool or kind is int or kind is str:
        return cast(Json, value)
    if kind is Fraction:
        return {"/": str(value)}
    if kind is tuple:
        return [_plain(each) for each in cast(tuple[object, ...], value)]
    if not kind.__module__.startswith(PLACES):
        raise BadParameter(f"a {kind.__name__} cannot be charged: the ledger could not read it back")
    if isinstance(value, Enum):
        return {kind.__name__: value.name}
    if is_dataclass(value):
        inside = [field.name for field in fields(value) if field.init]
        return {kind.__name__: {name: _plain(getattr(value, name)) for name in inside}}
    raise BadParameter(f"a {kind.__name__} cannot be charged: the ledger could not read it back")


def _value(plain: Json) -> object:
    if isinstance(plain, list):
        return tuple(_value(each) for each in plain)
    if not isinstance(plain, dict):
        return plain
    ((name, inside),) = plain.items()
    if name == "/":
        return Fraction(cast(str, inside))
    found = _known().get(name)
    if found is None:
        raise BadParameter(f"this ledger names {name}, which this version of Obverse does not know")
    if issubclass(found, Enum):
        return found[cast(str, inside)]
    return found(**{key: _value(each) for key, each in cast(dict[str, Json], inside).items()})


@cache
def _known() -> dict[str, type]:
    """Every dataclass and enum that a guarantee may be made of, by name: no two share one."""
    places = ["obverse.release", *modules("obverse.loss"), *modules("obverse.mechanisms")]
    found: dict[str, type] = {}
    for place in places:
        for name, member in vars(import_module(place)).items():
            if isinstance(member, type) and member.__module__ == place and _storable(member):
                assert name not in found, f"two classes are called {name}"
                found[name] = member
    return found


def _storable(member: type) -> bool:
    return is_dataclass(member) or issubclass(member, Enum)
