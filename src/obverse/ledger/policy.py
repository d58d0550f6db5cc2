"""Who may: limits by table and by account, and what an account is granted.

A table's limit adds up what all accounts spend on it, so that analysts who pool their answers stay within it. An
account's limit adds up what it spends on all tables. Numbers are fractions, whole numbers or decimal texts, never
floats: a limit of "0.1" is a tenth.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import cast

from obverse.data.schema import Neighbours, Schema
from obverse.data.toml import Section
from obverse.errors import BadParameter, Forbidden
from obverse.loss.filters import GRAIN, Amounts, Filter, Notion
from obverse.loss.number import chance, positive
from obverse.release import KINDS, Charge, Kind, Terms

Number = Fraction | int | str
LARGEST = Fraction(1 << 20)


@dataclass(frozen=True)
class Account:
    """What one analyst may: how much in all, how often, and which kinds of release.

    No `limits`: as far as its tables' limits go. `smallest_group` is the least noisy count that it may be shown.
    """

    name: str
    limits: Filter | None = None
    questions: int | None = None
    kinds: tuple[Kind, ...] = ("answer",)
    smallest_group: int | None = None

    def __post_init__(self) -> None:
        if not self.name or not self.name.isprintable():
            raise BadParameter("an account's name is not empty and holds no control character")
        _whole(self.questions, "a number of questions", 0)
        _whole(self.smallest_group, "a smallest group", 1)
        if unknown := [kind for kind in self.kinds if kind not in KINDS]:
            raise BadParameter(f"a kind of release is one of {', '.join(KINDS)}, not {unknown[0]}")


@dataclass(frozen=True)
class Policy:
    """The limits of every table, and the accounts.

    >>> policy = Policy(limits("1"), accounts=(Account("research", limits("0.5")),))
    >>> policy.terms("research").epsilon
    Fraction(1, 10)
    >>> policy.account("press")
    Traceback (most recent call last):
    obverse.errors.Forbidden: no account is called press: the curator adds [accounts.press]
    """

    limits: Filter
    tables: Mapping[str, Filter] = field(default_factory=dict)
    accounts: tuple[Account, ...] = ()
    default_epsilon: Fraction = Terms.epsilon
    default_delta: Fraction = Terms.delta
    smallest_group: int | None = None
    neighbours: Mapping[str, Neighbours] = field(default_factory=dict)

    def __post_init__(self) -> None:
        positive(self.default_epsilon, "default_epsilon", LARGEST)
        chance(self.default_delta, "default_delta", zero=True)
        _whole(self.smallest_group, "a smallest group", 1)
        if len({account.name for account in self.accounts}) != len(self.accounts):
            raise BadParameter("two accounts have the same name")

    @classmethod
    def read(cls, policy: Section, accounts: Section, schemas: Iterable[Schema] = ()) -> Policy:
        """The policy of a settings file; a refusal points at the line to mend."""
        policy.only(
            "epsilon", "delta", "filter", "tables", "default_epsilon", "default_delta", "smallest_group"
        )
        base, known = _limits(policy), {schema.name: schema.neighbours for schema in schemas}
        tables = policy.section("tables").sections()
        for name, section in tables.items():
            section.only("epsilon", "delta", "filter")
            if known and name not in known:
                policy.section("tables").refuse(f"no table is called {name}", name)
        shared = {name: _limits(section, base) for name, section in tables.items()}
        named = tuple(_account(name, section, base) for name, section in accounts.sections().items())
        epsilon = policy.number("default_epsilon", Terms.epsilon)
        delta = policy.number("default_delta", Terms.delta)
        smallest = policy.whole("smallest_group", least=1) if "smallest_group" in policy else None
        try:
            return cls(base, shared, named, epsilon, delta, smallest, known)
        except BadParameter as error:
            policy.refuse(str(error))

    def account(self, name: str) -> Account:
        """The account of this name, or Forbidden."""
        for account in self.accounts:
            if account.name == name:
                return account
        raise Forbidden(f"no account is called {name}: the curator adds [accounts.{name}]")

    def table(self, name: str) -> Filter:
        """The limits of a table."""
        return self.tables.get(name, self.limits)

    def terms(self, name: str) -> Terms:
        """What an account's plans may assume, in public: the stricter of its own smallest group and everybody's."""
        groups = [g for g in (self.account(name).smallest_group, self.smallest_group) if g is not None]
        return Terms(self.default_epsilon, self.default_delta, max(groups, default=None))

    def allow(self, charge: Charge) -> Account:
        """The account that may be charged for this kind of release; or Forbidden."""
        account = self.account(charge.account)
        if charge.kind not in account.kinds:
            allowed = ", ".join(account.kinds) or "nothing"
            raise Forbidden(
                f"{account.name} may not be given a release of kind {charge.kind}, only {allowed}: "
                f'the curator adds "{charge.kind}" to the kinds of [accounts.{account.name}]'
            )
        return account


def limits(epsilon: Number, delta: Number = 0, filter: Notion = "pure") -> Filter:
    """A budget of (ε, δ), in exact numbers.

    >>> limits("1.5", "1e-6", "zcdp").epsilon
    Fraction(3, 2)
    >>> limits(0.1)
    Traceback (most recent call last):
    obverse.errors.BadParameter: a budget is written exactly, such as "0.1", not as the float 0.1
    """
    return Filter(filter, _exact(epsilon), _exact(delta))


def over(limit: Filter, spent: Amounts, cost: int | None) -> str:
    """What is left of a limit, and that this is too much for it; `cost` is its pure ε in grains, if it has one."""
    left = f"has ε = {float(limit.remaining(spent)):.6g} left of {float(limit.epsilon):.6g}"
    if cost is not None and limit.notion == "pure" and Fraction(cost, GRAIN) <= limit.remaining(spent):
        return f"{left}, but too little δ for this, of {float(limit.delta):.6g} in all"
    if cost is not None and Fraction(cost, GRAIN) <= limit.remaining(spent):
        return (
            f"{left} for questions without a δ; with this one, which has a δ, all that was asked counts as "
            f"{limit.notion}, and that is too much"
        )
    if cost is not None:
        return f"{left}, and this costs {cost / GRAIN:.6g}"
    if limit.notion == "pure":
        return f"{left} in pure ε, which this noise does not have; Laplace noise has, or use the filter zcdp or renyi"
    return f"{left}, and this takes more"


def _limits(section: Section, base: Filter | None = None) -> Filter:
    epsilon = section.number("epsilon", base.epsilon if base else None)
    delta = section.number("delta", base.delta if base else Fraction(0))
    notion = section.text("filter", base.notion if base else ("zcdp" if delta else "pure"))
    try:
        return Filter(cast(Notion, notion), epsilon, delta)
    except BadParameter as error:
        section.refuse(str(error))


def _account(name: str, section: Section, base: Filter) -> Account:
    section.only("epsilon", "delta", "filter", "questions", "kinds", "smallest_group")
    kinds = section.list("kinds") if "kinds" in section else list(Account.kinds)
    try:
        return Account(
            name,
            _limits(section, base) if "epsilon" in section else None,
            section.whole("questions") if "questions" in section else None,
            cast(tuple[Kind, ...], tuple(kinds)),
            section.whole("smallest_group", least=1) if "smallest_group" in section else None,
        )
    except BadParameter as error:
        section.refuse(str(error))


def _exact(number: Number) -> Fraction:
    if isinstance(number, bool | float):
        raise BadParameter(
            f'a budget is written exactly, such as "0.1", not as the {type(number).__name__} {number}'
        )
    try:
        return Fraction(number)
    except (ValueError, ZeroDivisionError):
        raise BadParameter("a budget is a number, such as 1 or 0.1") from None


def _whole(number: int | None, what: str, least: int) -> None:
    if number is not None and (type(number) is not int or number < least):
        raise BadParameter(f"{what} is a whole number, {least} or more")
