"""Anonymise: a table whose rows hide among others, and its plan.  [Swe02; MKGV07; LLV07]

    Anonymise("people", k=5, l=3, sensitive=("disease",))

promises a form of the released table, and no ε: `Syntactic` says so. Every release is measured by the search's own
kernels and again by a second checker that shares nothing with them; when either finds a promise broken, it is withheld.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil, inf
from pathlib import Path

import pyarrow as pa

from obverse.anonymise.boxes import Style
from obverse.anonymise.changes import Change
from obverse.anonymise.reach import refuse_hopeless
from obverse.anonymise.release import Anonymised, run_plan
from obverse.anonymise.rules import Distance, Rule
from obverse.anonymise.search import How
from obverse.data.hierarchy import Ladder, from_csv, from_rows
from obverse.data.schema import Role, Schema
from obverse.data.table import Tables
from obverse.errors import BadParameter, BadQuestion
from obverse.noise.entropy import Entropy
from obverse.release import Accuracy, Kind, Syntactic, Terms

MOST = 10**9
HOWS: tuple[How, ...] = ("mondrian", "lattice", "local", "members", "mdav")


@dataclass(frozen=True)
class Anonymise:
    """A table in which everybody hides among at least k people.

    `how` is mondrian (cuts; the least loss), lattice (every column on one step of its ladder; proved the best),
    local (labels from ladders, each class its own), members (k-member clusters) or mdav (numbers averaged).
    `labels` are sets, ranges, or from the hierarchy. With several sensitive columns, each one's rules hold
    among the rows that agree on the others too, unless `apart`. `population` is a file of everybody: at least `k_map`
    of them fit each row, and the chance that one of them is in the release lies within `presence`. `earlier` are
    files of releases about the same people: together with them, at most a share `bear` becomes certain.
    """

    table: str
    k: int = 5
    l: float | None = None  # noqa: E741
    t: float | None = None
    distance: Distance = "equal"
    rules: tuple[Rule, ...] = ()
    quasi: tuple[str, ...] | None = None
    sensitive: tuple[str, ...] | None = None
    how: How = "mondrian"
    labels: Style | None = None
    suppress: float = 0.0
    relaxed: bool = False
    target: str | None = None
    care: float = 1.0
    weights: tuple[tuple[str, float], ...] = ()
    changes: tuple[Change, ...] = ()
    ladders: tuple[Ladder, ...] = ()
    apart: bool = False
    shuffle: bool = True
    population: str | None = None
    k_map: int = 1
    presence: tuple[float, float] = (0.0, 1.0)
    earlier: tuple[str, ...] = ()
    bear: float = 0.0

    def __post_init__(self) -> None:
        if not 1 <= self.k <= MOST or int(self.k) != self.k or not 1 <= self.k_map <= MOST:
            wrong = self.k_map if 1 <= self.k <= MOST and int(self.k) == self.k else self.k
            raise BadParameter(f"k is a whole number between 1 and {MOST:,}, not {wrong}")
        if self.how not in HOWS:
            raise BadParameter(f"{self.how} is no way to anonymise; there are {', '.join(HOWS)}")
        if not 0 <= self.suppress <= 1:
            raise BadParameter(f"the share of suppressed rows is between 0 and 1, not {self.suppress}")
        if self.suppress and self.how != "lattice":
            raise BadParameter(f"{self.how} suppresses no rows; how = lattice does")
        if self.labels not in (None, "set", "range", "hierarchy"):
            raise BadParameter(f"{self.labels} is no kind of label; there are set, range, hierarchy")
        if self.how in ("lattice", "local") and self.labels not in (None, "hierarchy"):
            raise BadParameter(
                f"{self.how} takes its labels from hierarchies: for {self.labels}s take mondrian"
            )
        if self.population is None and (self.k_map > 1 or self.presence != (0.0, 1.0)):
            raise BadParameter("k-map and δ-presence need the file of a population")
        if not 0 <= self.presence[0] < self.presence[1] <= 1 or not 0 <= self.bear <= 1:
            raise BadParameter("presence and bear are shares between 0 and 1, the lower before the higher")
        if not all(0 < weight < inf for _, weight in self.weights) or not 0 <= self.care < inf:
            raise BadParameter("a column's weight is above 0 and finite, and `care` at least 0")

    def plan(self, schemas: Mapping[str, Schema], terms: Terms) -> AnonymisePlan:
        """All that will be done, from the schema alone."""
        if self.table not in schemas:
            raise BadQuestion(f"there is no table {self.table}; there are {', '.join(schemas)}")
        schema = schemas[self.table]
        if terms.smallest_group is not None and self.k < terms.smallest_group:
            raise BadParameter(
                f"the policy's smallest group is {terms.smallest_group}: ask for that k or more"
            )
        quasi, sensitive = self._roles(schema)
        rules = self._rules(sensitive)
        changed = {each.column for each in self.changes}
        for name in (*(rule.column for rule in rules), *sensitive, *([self.target] if self.target else [])):
            if schema.column(name).role is Role.IDENTIFIER and name not in changed:
                raise BadParameter(f"{name} is an identifier, which does not leave: name another column")
        for each in self.changes:
            each.fits(schema.column(each.column))
        used = tuple(name for name in sensitive if any(rule.column == name for rule in rules))
        given = {ladder.column for ladder in self.ladders}
        found = tuple(x for name in (*quasi, *used) if name not in given and (x := ladder_of(schema, name)))
        ladders = (*self.ladders, *found)
        refuse_hopeless(schema, rules, {ladder.column: ladder for ladder in ladders})
        return AnonymisePlan(self, schema, quasi, sensitive, rules, ladders)

    def _roles(self, schema: Schema) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The quasi-identifiers and the sensitive columns: those that are named, else by their roles."""
        quasi = self._columns(schema, self.quasi, Role.QUASI)
        sensitive = self._columns(schema, self.sensitive, Role.SENSITIVE)
        if self.quasi is None:  # what is named as one thing is not the other by its role
            quasi = tuple(name for name in quasi if name not in sensitive)
        elif self.sensitive is None:
            sensitive = tuple(name for name in sensitive if name not in quasi)
        if not quasi:
            raise BadQuestion(
                f"{schema.name} has no quasi-identifiers: give columns the role quasi-identifier"
            )
        if both := set(quasi) & set(sensitive):
            raise BadParameter(f"{', '.join(sorted(both))} cannot be quasi-identifier and sensitive at once")
        if twice := [name for name in (*quasi, *sensitive) if (*quasi, *sensitive).count(name) > 1]:
            raise BadParameter(f"{twice[0]} is named twice")
        if bad := [name for name, _ in self.weights if schema.column(name).name not in quasi]:
            raise BadParameter(f"{bad[0]} has a weight and is no quasi-identifier")
        return quasi, sensitive

    def _columns(self, schema: Schema, named: tuple[str, ...] | None, role: Role) -> tuple[str, ...]:
        if named is None:
            return tuple(column.name for column in schema.columns if column.role is role)
        return tuple(schema.column(name).name for name in named)

    def _rules(self, sensitive: tuple[str, ...]) -> tuple[Rule, ...]:
        if (self.l is not None or self.t is not None) and not sensitive:
            raise BadQuestion("l and t need a sensitive column: name one, or give one that role")
        asked = [Rule("distinct", name, self.l) for name in sensitive if self.l is not None]
        asked += [Rule("t", name, self.t, distance=self.distance) for name in sensitive if self.t is not None]
        if bad := [rule.column for rule in self.rules if rule.column not in sensitive]:
            raise BadQuestion(f"{', '.join(bad)} has a rule and is not sensitive: name it as sensitive")
        return (*asked, *self.rules)


def ladder_of(schema: Schema, name: str) -> Ladder | None:
    """The ladder that the schema declares for a column, which must cover its declared categories."""
    column = schema.column(name)
    if column.ladders:
        ladder = from_rows(column.name, column.ladders)
    elif column.hierarchy:
        ladder = from_csv(column.name, Path(column.hierarchy))
    else:
        return None
    if column.categories and not ladder.covers(str(value) for value in column.categories):
        raise BadParameter(f"the hierarchy of {name} misses a declared category")
    return ladder


@dataclass(frozen=True)
class AnonymisePlan:
    """All that will be done to one table; made from public facts alone."""

    request: Anonymise
    schema: Schema
    quasi: tuple[str, ...]
    sensitive: tuple[str, ...]
    rules: tuple[Rule, ...]
    ladders: tuple[Ladder, ...]
    kind: Kind = "table"
    delta: Fraction = Fraction(0)

    @property
    def tables(self) -> tuple[str, ...]:
        return (self.schema.name,)

    @property
    def guarantee(self) -> Syntactic:
        """k over all quasi-identifiers, then every rule with its distance."""
        counted = "people" if self.schema.unit.column else "rows"
        k = ("k", f"{self.request.k} ({counted} alike on {', '.join(self.quasi)})")
        return Syntactic((k, *(rule.term for rule in self.rules), *self._among_everybody()))

    def _among_everybody(self) -> tuple[tuple[str, str], ...]:
        """The promises about a population."""
        request = self.request
        if request.population is None:
            return ()
        low, high = request.presence
        return ("k-map", f"{request.k_map}"), ("δ-presence", f"{low:g} to {high:g}")

    @property
    def accuracy(self) -> tuple[Accuracy, ...]:
        return ()

    @cached_property
    def key(self) -> str:
        return f"anonymise {self.request!r}\n{self.quasi} {self.sensitive} {self.rules!r} {self.ladders!r}"

    @property
    def style(self) -> Style:
        """Labels from the hierarchy where the algorithm walks one, else sets."""
        return self.request.labels or ("hierarchy" if self.request.how in ("lattice", "local") else "set")

    @property
    def least(self) -> int:
        """A class needs k members, and as many as l."""
        return max(self.request.k, *(ceil(r.at) for r in self.rules if r.kind in ("distinct", "entropy")), 1)

    def run(self, tables: Tables, entropy: Entropy) -> Anonymised:
        return run_plan(self, tables, entropy)

    def pack(self, value: Anonymised) -> bytes:
        return value.pack()

    def unpack(self, kept: bytes) -> Anonymised:
        return Anonymised.unpack(pa.py_buffer(kept))
