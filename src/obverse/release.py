"""What is asked, what will be done, what it promises, and what left: Request, Plan, Guarantee, Release."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Generic, Literal, Protocol, Self, TypeVar, runtime_checkable

from obverse.data.schema import Schema
from obverse.data.table import Tables
from obverse.loss.loss import Loss
from obverse.noise.entropy import Entropy

Kind = Literal["answer", "table", "synthetic", "model"]
KINDS: tuple[Kind, ...] = ("answer", "table", "synthetic", "model")


@dataclass(frozen=True)
class Syntactic:
    """A promise about the form of a table, such as k-anonymity: it promises no ε.

    `terms` are the promises, in order, such as (("k", "5"), ("l", "3 (distinct, salary-class)")).
    """

    terms: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        promised = ", ".join(f"{name} = {value}" for name, value in self.terms)
        return f"{promised}; a promise about the form of the table, not about ε: it bounds no later attack"


Guarantee = Loss | Syntactic


@dataclass(frozen=True)
class Accuracy:
    """How wrong one number of a release may be: within ± `margin` in `confidence` of all runs, bounds apart."""

    name: str
    margin: float
    confidence: float
    note: str = ""


@dataclass(frozen=True)
class Terms:
    """What the policy grants an account, in public: what a plan may assume when the request does not say."""

    epsilon: Fraction = Fraction(1, 10)
    delta: Fraction = Fraction(0)
    smallest_group: int | None = None
    confidence: float = 0.95


Value = TypeVar("Value")


class Plan(Protocol[Value]):
    """All that will be done, made from public facts alone. A frozen dataclass: it can be printed, hashed, stored."""

    @property
    def kind(self) -> Kind: ...

    @property
    def tables(self) -> tuple[str, ...]:
        """The private tables read."""
        ...

    @property
    def guarantee(self) -> Guarantee: ...

    @property
    def delta(self) -> Fraction:
        """The δ that the guarantee is meant at: 0 where its ε holds without one."""
        ...

    @property
    def accuracy(self) -> tuple[Accuracy, ...]: ...

    @property
    def key(self) -> str:
        """Text that two plans share exactly when they do the same."""
        ...

    def run(self, tables: Tables, entropy: Entropy) -> Value:
        """Read, add noise, and give back what may leave."""
        ...

    def pack(self, value: Value) -> bytes:
        """The value as bytes for the ledger to keep."""
        ...

    def unpack(self, kept: bytes) -> Value:
        """The value back from its bytes."""
        ...


@runtime_checkable
class Linked(Protocol):
    """A plan whose release tells together with earlier ones what none of them tells alone."""

    def after(self, left: Iterable[bytes], version: str) -> Self:
        """The plan with all counted in that left before, oldest first, packed; `version` is the data's."""
        ...


@runtime_checkable
class Guarded(Protocol):
    """A value of which a part is for the curator's eyes only."""

    def public(self) -> Self:
        """The same without that part."""
        ...


class Request(Protocol[Value]):
    """What somebody asks for. A frozen dataclass."""

    def plan(self, schemas: Mapping[str, Schema], terms: Terms) -> Plan[Value]:
        """All that would be done, from public facts alone; or a Refusal."""
        ...


@dataclass(frozen=True)
class Charge:
    """What the ledger is asked to write down before a row is read.

    `delta` is what of δ may be given up for a loss that has no ε otherwise. `protects` says in words whom the
    guarantee is about, and which two tables count as neighbours.
    """

    account: str
    tables: tuple[str, ...]
    kind: Kind
    key: str
    guarantee: Guarantee
    about: str = ""
    protects: str = ""
    delta: Fraction = Fraction(0)


@dataclass(frozen=True)
class Receipt:
    """What the ledger wrote down: its number, what was charged, and the seal of its journal line."""

    number: int
    charge: Charge
    seal: str
    again: bool = False


@dataclass(frozen=True)
class Release(Generic[Value]):
    """What left: the value, how it was made, what it cost and how wrong it may be."""

    value: Value
    plan: Plan[Value]
    receipt: Receipt

    @property
    def guarantee(self) -> Guarantee:
        return self.plan.guarantee

    @property
    def accuracy(self) -> tuple[Accuracy, ...]:
        return self.plan.accuracy
