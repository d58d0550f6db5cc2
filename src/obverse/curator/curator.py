"""The one door: everything that leaves is planned from public facts, charged, run, kept, and only then handed over."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from hashlib import sha256
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import TypeVar, cast

from obverse.curator.account import Account
from obverse.curator.clock import now
from obverse.curator.preview import Preview
from obverse.curator.shelf import Shelf
from obverse.data.bounding import ranked
from obverse.data.files import locate
from obverse.data.learnt import Learnt
from obverse.data.schema import Schema, protected
from obverse.data.settings import load
from obverse.data.table import USUAL, Limits, Tables
from obverse.errors import BadParameter, BadSource, Withheld
from obverse.ledger.budget import Budget
from obverse.ledger.ledger import Clock, Ledger
from obverse.ledger.policy import Account as Allowed
from obverse.ledger.policy import Policy
from obverse.loss.loss import FREE
from obverse.noise.entropy import Entropy, System
from obverse.query.answer import Answer, Answered, Answering
from obverse.query.ask import Ask
from obverse.query.create import request
from obverse.query.explain import describe, explain, statement
from obverse.query.plan import AskPlan
from obverse.query.publication import PublishPlan
from obverse.query.register import REGISTER, Register
from obverse.query.rows import RowsPlan
from obverse.query.show import plus_minus
from obverse.release import KINDS, Charge, Guarded, Linked, Plan, Release, Request, Terms

Value = TypeVar("Value")
CURATOR = "curator"
PLANS = 256  # of questions asked lately, which are kept


class Curator:
    """Holds the tables, the ledger and the entropy; lets nothing out but releases that were paid for."""

    def __init__(
        self,
        schemas: Iterable[Schema],
        ledger: Ledger,
        entropy: Entropy,
        tables: Mapping[str, Tables] | None = None,
        limits: Limits = USUAL,
    ) -> None:
        self._limits = limits
        self.schemas = {schema.name: schema for schema in schemas}
        self._plans = lru_cache(maxsize=PLANS)(self._plan_of)
        self.ledger = ledger
        self._declared = {name: repr(replace(each, learnt=None)) for name, each in self.schemas.items()}
        for kept in ledger.told(REGISTER):
            self._learn(Learnt.unpack(kept))
        self._entropy = entropy
        self._tables = dict(tables or {})
        self._opening = Lock()
        self._linking = Lock()
        self._shelf = Shelf(ledger)

    def __repr__(self) -> str:
        return f"Curator({', '.join(self.schemas)}; ledger {self.ledger.path})"

    def release(self, wanted: Request[Value], to: str = CURATOR) -> Release[Value]:
        """What was asked for, paid for and kept; the same again is free, and says the same."""
        plan = self._planned(wanted, to)
        if isinstance(plan, AskPlan) and (free := self._free(plan, to)) is not None:
            return cast(Release[Value], free)
        tables = self._open(plan.tables)
        if isinstance(plan, PublishPlan):
            self._shelf.check(plan, self._key(plan, tables))
        if not isinstance(plan, Linked):
            return self._charged(plan, tables, wanted, to)
        with self._linking:  # so that of two at once the later counts in the earlier
            left = self.ledger.answers(plan.tables, plan.kind)
            linked = plan.after(left, "\n".join(map(tables.version, plan.tables)))
            return self._charged(linked, tables, wanted, to)

    def _planned(self, wanted: Request[Value], to: str) -> Plan[Value]:
        """The plan of a request. Plans are public and follow from what is declared, so those of questions are kept."""
        terms = self.ledger.policy.terms(to)
        if isinstance(wanted, Ask):
            return cast(Plan[Value], self._plans(wanted, terms))
        return wanted.plan(self.schemas, terms)

    def _plan_of(self, wanted: Ask, terms: Terms) -> Answering:
        return wanted.plan(self.schemas, terms)

    def _charged(self, plan: Plan[Value], tables: Tables, wanted: Request[Value], to: str) -> Release[Value]:
        whom = protected(self.schemas[name] for name in plan.tables)
        pending = self.ledger.submit(
            Charge(
                to,
                plan.tables,
                plan.kind,
                self._key(plan, tables),
                plan.guarantee,
                str(wanted),
                whom,
                plan.delta,
            )
        )
        try:
            kept = self.ledger.kept(pending)
            if kept is None:
                fresh = plan.run(tables, self._entropy)
                packed = plan.pack(fresh)
                kept = self.ledger.keep(pending, packed)
                if kept == packed and isinstance(
                    plan, AskPlan
                ):  # which is what it unpacks to, and shown already
                    return Release(fresh, plan, pending.receipt())
        except Withheld as error:
            raise (error if to == CURATOR else Withheld(str(error))) from None  # its page may quote rows
        finally:
            receipt = pending.receipt()  # that it failed is an answer too, and leaves when it is paid for
        value = plan.unpack(kept)
        return Release(
            value.public() if isinstance(value, Guarded) and to != CURATOR else value, plan, receipt
        )

    def _free(self, plan: AskPlan, to: str) -> Release[Answer] | None:
        """What a release that was published tells already: no row is read and nothing charged. What was asked before
        is answered as before."""
        volumes = [] if plan.fresh else self._shelf.about(plan.tables)
        if not volumes:
            return None
        self.ledger.policy.allow(Charge(to, plan.tables, plan.kind, "", FREE))
        tables = self._open(plan.tables)
        if self.ledger.kept_under(self._key(plan, tables)) is not None:
            return None
        found = self._shelf.answer(plan, volumes, self.schemas, lambda release: self._key(release, tables))
        return None if found is None else Release(found[0].answer, found[0], found[1])

    def preview(self, wanted: Request[Value], to: str = CURATOR) -> Preview:
        """What a release would cost and how wrong it may be; reads nothing and charges nothing."""
        plan = self._planned(wanted, to)
        return Preview(plan, self._told_by(plan))

    def _told_by(self, plan: Plan[Value]) -> str:
        """Which release would tell it free, as far as that is known without a look at the data."""
        if not isinstance(plan, AskPlan) or plan.fresh:
            return ""
        found = self._shelf.answer(plan, self._shelf.about(plan.tables), self.schemas, None)
        if found is None:
            return ""
        told = "; ".join(map(plus_minus, found[0].accuracy))
        return f"release '{found[0].name}' answers it free if the data are as they were: {told}"

    def explain(self, sql: str, to: str = CURATOR) -> str:
        """The plan of a question in full, with or without EXPLAIN before it; reads nothing and charges nothing."""
        said = statement(sql)
        plan = request(sql if said is None else said[1]).plan(self.schemas, self.ledger.policy.terms(to))
        if not isinstance(plan, AskPlan):
            return plan.told
        free = self._told_by(plan)
        return explain(plan) + (f"\nfree        {free}" if free else "")

    def tell(self, sql: str, to: str = CURATOR) -> str | None:
        """What EXPLAIN, DESCRIBE or SHOW tells, for nothing; None of a question, which is asked by `ask`."""
        said = statement(sql)
        if said is None:
            return None
        if said[0] == "EXPLAIN":
            return self.explain(said[1], to)
        if said[0] == "DESCRIBE":
            return describe(said[1], self.schemas)
        return str(self.budget(to)) if said[1].upper() == "BUDGET" else self.releases()

    def releases(self) -> str:
        """Every release that was published, a line each."""
        return (
            "\n".join(map(str, self._shelf.volumes()))
            or "nothing was published yet: CREATE RELEASE … AS SELECT …"
        )

    def ask(self, sql: str, to: str = CURATOR) -> Answered:
        """The private answer to a question in SQL."""
        wanted = request(sql)
        release = self.release(wanted, to)
        plan, terms = release.plan, self.ledger.policy.terms(to)
        if isinstance(wanted, Ask) and isinstance(plan, AskPlan):
            second = wanted.after(plan, release.value, self.schemas, terms)
            if second is not None:  # it asks more sharply, by what the first one released
                again = self.release(second, to)
                return Answered(again.value, cast(Answering, again.plan), again.receipt, plan.guarantee)
        return Answered(release.value, cast(Answering, plan), release.receipt)

    def register(
        self, table: str, epsilon: float | Fraction, columns: Iterable[str] | None = None
    ) -> Release[Learnt]:
        """Learn once, for ε, what later questions need to bound: people's rows, and numbers that have no bounds."""
        named = None if columns is None else tuple(columns)
        spent = Fraction(str(epsilon)) if isinstance(epsilon, float) else epsilon
        release = self.release(Register(table, spent, named))
        self._learn(release.value)
        return release

    def learnt(self, table: str) -> Learnt | None:
        """What was learnt of a table before, for nothing."""
        if table not in self.schemas:
            raise BadParameter(f"there is no table {table}; declared are {', '.join(self.schemas)}")
        return self.schemas[table].learnt

    def stale(self, table: str) -> bool:
        """Whether a table's data may have changed since its registration: what was learnt then is still private."""
        learnt = self.learnt(table)
        return learnt is not None and learnt.version != self._open((table,)).version(table)

    def _learn(self, learnt: Learnt) -> None:
        """Plan from now on with what was learnt, if it is about the people that are declared."""
        schema = self.schemas.get(learnt.table)
        if schema is not None and schema.unit.column == learnt.unit:
            self.schemas[learnt.table] = replace(schema, learnt=learnt)
            self._plans.cache_clear()

    def account(self, name: str) -> Account:
        """The analyst's side of this door."""
        self.ledger.policy.account(name)
        return Account(self, name)

    def budget(self, account: str = CURATOR) -> Budget:
        """What an account and its tables have spent, and what is left."""
        return self.ledger.budget(account)

    def check(self) -> None:
        """Open every table, or refuse with what is wrong."""
        for name in self.schemas:
            self._open((name,))

    def close(self) -> None:
        self.ledger.close()
        for tables in self._tables.values():
            tables.close()

    def __enter__(self) -> Curator:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _key(self, plan: Plan[Value], tables: Tables) -> str:
        """One key for the same plan on the same data: what is kept is the answer, and never for other data."""
        public = plan.public if isinstance(plan, AskPlan | RowsPlan) else ()
        versions = "\n".join(
            f"{self._declared[name]} {tables.version(name)}" for name in (*plan.tables, *public)
        )
        return sha256(f"{plan.key}\n{versions}".encode()).hexdigest()

    def _open(self, names: tuple[str, ...]) -> Tables:
        """The engine that holds these tables; opened when it is first needed, by the module its scheme names."""
        schemes = {locate(self.schemas[name].source).scheme for name in names}
        if len(schemes) != 1:
            raise BadSource(f"{', '.join(names)} are kept by different engines and cannot be read together")
        scheme = schemes.pop()
        with self._opening:
            if scheme not in self._tables:
                if find_spec(f"obverse.engines.{scheme}") is None:
                    raise BadSource(f"no engine reads {scheme}://")
                own = [s for s in self.schemas.values() if locate(s.source).scheme == scheme]
                secret = self._entropy.secret() if any(map(ranked, own)) else b""
                engine = import_module(f"obverse.engines.{scheme}").open_tables(own, secret, self._limits)
                self._tables[scheme] = cast(Tables, engine)
            return self._tables[scheme]


def open_settings(path: str | Path, *, clock: Clock = now) -> Curator:
    """The curator of a settings file, with everybody's past charges in its ledger."""
    settings = load(path)
    policy = Policy.read(settings.policy, settings.accounts, settings.schemas)
    if all(account.name != CURATOR for account in policy.accounts):
        policy = replace(policy, accounts=(*policy.accounts, Allowed(CURATOR, kinds=KINDS)))
    return Curator(
        settings.schemas,
        Ledger(settings.ledger, policy, clock),
        System(settings.ledger.with_suffix(".secret")),
        limits=settings.limits,
    )
