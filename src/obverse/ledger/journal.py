"""The journal: what the ledger wrote down, in order, each line sealed by the one before.  [HS91]

    seal(0) = SHA-256("obverse journal 1")        seal(n) = SHA-256(seal(n - 1) + line(n))

Whoever changes, removes or swaps a line changes every seal after it. What remains is to cut the tail, or to put an
old copy back: the seal of a later line, kept anywhere else, notices both. `anchor.py` keeps one beside the ledger, and
every receipt holds one.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import sha256

from obverse.ledger.codec import decode, to_json
from obverse.release import Guarantee, Kind

GENESIS = sha256(b"obverse journal 1").digest()
Cost = tuple[int | None, ...]  # in grains, under each notion in turn: its size, and the δ given up


@dataclass(frozen=True)
class Charged:
    """A line that says who was charged what, for which question, and whom it protects against which change.

    The cost stands there in whole grains, so that a later version of Obverse adds up the same totals.
    """

    time: str
    account: str
    about: str
    cost: Cost
    tables: tuple[str, ...]
    kind: Kind
    key: str
    guarantee: str
    protects: str = ""


@dataclass(frozen=True)
class Kept:
    """A line that says which answer was kept for a question: the digest of its bytes, and how many there are."""

    key: str
    digest: str
    size: int


@dataclass(frozen=True)
class Adopted:
    """A line that says that the curator went on from this copy knowingly, and what the anchor had said."""

    time: str
    anchor: str


Line = Charged | Kept | Adopted


@dataclass(frozen=True)
class Logged:
    """A charge as the journal has it, with its number and its seal; and the answer that was kept, if any was."""

    number: int
    seal: str
    charged: Charged
    kept: Kept | None

    @property
    def guarantee(self) -> Guarantee:
        """What was charged."""
        return decode(self.charged.guarantee)


def write(line: Line) -> str:
    """The line as JSON, under the name of its class; the guarantee is already JSON."""
    inside = dict(vars(line))
    guarantee = inside.pop("guarantee", None)
    text = to_json(inside)
    if guarantee is not None:
        text = f'{text[:-1]},"guarantee":{guarantee}}}'
    return f'{{"{type(line).__name__}":{text}}}'


def read(text: str) -> Line:
    """The line back from its JSON; a KeyError, TypeError or ValueError where it is none."""
    ((name, inside),) = json.loads(text).items()
    if name == "Kept":
        return Kept(**inside)
    if name == "Adopted":
        return Adopted(**inside)
    guarantee = to_json(inside.pop("guarantee"))
    tables, cost = tuple(inside.pop("tables")), tuple(inside.pop("cost"))
    return {"Charged": Charged}[name](tables=tables, cost=cost, guarantee=guarantee, **inside)


def terms(text: str) -> str:
    """The part of a charge's line that two accounts share when they ask the same; no text in it can hold the mark."""
    return text.partition(',"tables":')[2]


def seal(previous: bytes, text: str) -> bytes:
    """The seal of a line that follows the line with the seal `previous`."""
    return sha256(previous + text.encode()).digest()


def digest(key: str) -> str:
    """What the journal writes for a key: plans and questions can be long, and are not needed to compare."""
    return sha256(key.encode(errors="surrogatepass")).hexdigest()
