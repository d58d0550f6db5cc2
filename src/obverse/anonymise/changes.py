"""Changes to single columns before classes are sought: top and bottom coding, rounding, masking, hiding, hashing.

None of them is a privacy model. Rounding and coding make values coarser; PRAM and rank swapping make them unsure;
a hashed quasi-identifier is still a quasi-identifier, and only as secret as the key.  [HDFGNSW12; GKWW98; Moo96]
"""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from hashlib import sha256
from math import floor
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from obverse.anonymise.codes import CELL, encode
from obverse.data.schema import Column, Type
from obverse.errors import BadParameter, BadSource
from obverse.noise.entropy import Entropy
from obverse.noise.exact import below, bernoulli

What = Literal["top", "bottom", "round", "mask", "hide", "pram", "swap", "hash"]
WHATS: tuple[What, ...] = ("top", "bottom", "round", "mask", "hide", "pram", "swap", "hash")
SHORTEST_KEY = 16
TRIES = 20


@dataclass(frozen=True)
class Change:
    """One change to one column.

    top, bottom: values beyond `at` become `at`. round: to multiples of `at`. mask: the first `at` characters, the
    rest `*`. hide: rarer than `at` times becomes `*`. pram: kept with probability `at`, else drawn from
    the column's own distribution. swap: exchanged with a value at most `at` of the rows away in rank. hash:
    HMAC-SHA256 with the key in the file `key`, which stays with the curator.
    """

    what: What
    column: str
    at: Fraction = Fraction(0)
    key: str = ""

    def __post_init__(self) -> None:
        if self.what not in WHATS:
            raise BadParameter(f"{self.what} is no change; there are {', '.join(WHATS)}")
        if self.what == "hash" and not self.key:
            raise BadParameter(
                f"hashing {self.column} needs the file of a key: a hash without one is undone by trying"
            )
        if self.what == "round" and self.at <= 0:
            raise BadParameter(f"rounding {self.column} needs a step above 0, not {self.at}")
        if self.what in ("pram", "swap") and not 0 <= self.at <= 1:
            raise BadParameter(f"{self.what} of {self.column} needs a share between 0 and 1, not {self.at}")
        if self.what in ("mask", "hide") and (self.at < 0 or self.at.denominator != 1):
            raise BadParameter(f"{self.what} of {self.column} needs a whole number, not {self.at}")

    def fits(self, column: Column) -> None:
        """Refuses a change that the column's type does not allow, or a key that could be tried."""
        if self.what in ("top", "bottom", "round") and column.type not in (Type.INTEGER, Type.REAL):
            raise BadParameter(f"{self.column} has no numbers to {self.what}")
        if (
            self.what in ("top", "bottom", "round")
            and column.type is Type.INTEGER
            and self.at.denominator != 1
        ):
            raise BadParameter(f"{self.what} of {self.column} needs a whole number, not {self.at}")
        if self.what == "hash":
            secret(self.key)


def change(table: pa.Table, changes: Sequence[Change], entropy: Entropy) -> pa.Table:
    """The table after all changes, in order."""
    for each in changes:
        column = changed(table[each.column], each, entropy)
        table = table.set_column(table.column_names.index(each.column), each.column, column)
    return table


def changed(column: pa.ChunkedArray, each: Change, entropy: Entropy) -> pa.ChunkedArray:
    """One column after one change; a missing value stays missing."""
    kind = column.type
    numeric = pa.types.is_integer(kind) or pa.types.is_floating(kind)
    if each.what in ("top", "bottom", "round") and not numeric:
        raise BadParameter(f"{each.column} has no numbers to {each.what}")
    if each.what in ("top", "bottom"):
        clip = pc.min_element_wise if each.what == "top" else pc.max_element_wise
        return clip(column, pa.scalar(float(each.at)).cast(kind, safe=False), skip_nulls=False)
    if each.what == "pram":
        return pram(column, each.at, entropy)
    if each.what == "swap":
        return swap(column, each.at, entropy)
    return _by_value(column, each)


def _by_value(column: pa.ChunkedArray, each: Change) -> pa.ChunkedArray:
    """A change that looks at nothing but the value, and how often it occurs."""
    domain, codes = encode(each.column, column)
    counts = np.bincount(codes, minlength=domain.size)
    kind = column.type if each.what == "round" else pa.string()
    fresh: list[object] = []
    for code, value in enumerate(domain.values):
        if each.what == "round":
            nearest = floor(Fraction(str(value)) / each.at + Fraction(1, 2)) * each.at
            fresh.append(int(nearest) if pa.types.is_integer(kind) else float(nearest))
        elif each.what == "hide":
            fresh.append(CELL if counts[code] < each.at else domain.text(code))
        elif each.what == "mask":
            fresh.append(masked(str(value), int(each.at)))
        else:
            fresh.append(hashed(str(value), secret(each.key)))
    known = pa.array([*fresh, None], kind)
    return pa.chunked_array([pc.take(known, pa.array(codes))])


def masked(text: str, shown: int) -> str:
    """The first characters, one `*` for the rest.

    >>> masked("CV1 3BF", 3)
    'CV1*'
    """
    return text if len(text) <= shown else text[:shown] + CELL


def hashed(text: str, key: bytes) -> str:
    """A keyed pseudonym: whoever has no key can neither compute nor try it."""
    return hmac.new(key, text.encode(), sha256).hexdigest()


@lru_cache(maxsize=4)
def secret(file: str) -> bytes:
    """The curator's key; at least 16 bytes."""
    try:
        key = Path(file).read_bytes().strip()
    except OSError as error:
        raise BadSource(f"the key file {file} cannot be read") from error
    if len(key) < SHORTEST_KEY:
        raise BadParameter(f"the key in {file} is shorter than {SHORTEST_KEY} bytes: it could be tried")
    return key


def pram(column: pa.ChunkedArray, keep: Fraction, entropy: Entropy) -> pa.ChunkedArray:
    """Post-randomisation: each value stays with probability `keep`, else it is drawn from the column's own values.

    Invariant: the matrix keep·I + (1 − keep)·1πᵀ has the column's distribution π as its fixed point, so that counts
    are unbiased without correction.  [GKWW98, section 4]
    """
    order = np.argsort(encode("", column)[1], kind="stable")
    source = np.arange(len(column))
    for row in order:
        if not bernoulli(keep, entropy):
            source[row] = order[below(len(column), entropy)]
    return pc.take(column, pa.array(source))


def swap(column: pa.ChunkedArray, share: Fraction, entropy: Entropy) -> pa.ChunkedArray:
    """Rank swapping: each value changes places with one at most `share`·n ranks above it.  [Moo96]"""
    n = len(column)
    order, reach = np.argsort(encode("", column)[1], kind="stable"), int(share * n)
    source, free = np.arange(n), np.ones(n, bool)
    for rank in range(n):
        other = _free_above(rank, min(n - 1 - rank, reach), free, entropy) if free[rank] else None
        if other is not None:
            free[rank] = free[other] = False
            source[order[rank]], source[order[other]] = order[other], order[rank]
    return pc.take(column, pa.array(source))


def _free_above(rank: int, reach: int, free: NDArray[np.bool_], entropy: Entropy) -> int | None:
    """A free rank among the next ones, each as likely as the others: tried first, since listing them takes long."""
    for _ in range(TRIES if reach > TRIES else 0):
        other = rank + 1 + below(reach, entropy)
        if free[other]:
            return other
    others = np.flatnonzero(free[rank + 1 : rank + 1 + reach])
    return rank + 1 + int(others[below(len(others), entropy)]) if len(others) else None
