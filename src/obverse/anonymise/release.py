"""One release from start to end: read, encode, search, label, shuffle, check twice, and only then hand over."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from obverse.anonymise import check, files
from obverse.anonymise.changes import change
from obverse.anonymise.codes import Ints, combined, encode
from obverse.anonymise.matching import certain, k_map, presence
from obverse.anonymise.measure import Figures, histograms, measure
from obverse.anonymise.mondrian import Wish
from obverse.anonymise.reach import obstacles
from obverse.anonymise.reading import occurring, read
from obverse.anonymise.recode import Recoding, relabel
from obverse.anonymise.report import facts, page
from obverse.anonymise.search import Classes, prepare, search
from obverse.data.schema import Role, Schema
from obverse.data.table import Tables
from obverse.errors import Withheld
from obverse.noise.entropy import Entropy

if TYPE_CHECKING:
    from obverse.anonymise.anonymise import AnonymisePlan

FACTS, RECODING, PAGE = b"obverse.facts", b"obverse.recoding", b"obverse.curators-eyes-only"


@dataclass(frozen=True)
class Anonymised:
    """An anonymised table, what the public may know of how it was made, and a page for the curator's eyes only.

    Its texts are Arrow dictionaries, since few labels stand for many rows; a file written of it holds plain texts.
    """

    table: pa.Table = field(repr=False, compare=False)
    facts: tuple[tuple[str, str], ...]
    recoding: Recoding = field(repr=False)
    page: str = field(default="", repr=False, compare=False)

    def public(self) -> Anonymised:
        """The same without what is for the curator's eyes: the page, and which rows the recoding lists."""
        return replace(self, page="", recoding=self.recoding.public())

    def pack(self) -> bytes:
        """The table as compressed Arrow, the rest in its metadata."""
        metadata = {
            FACTS: json.dumps(self.facts).encode(),
            RECODING: self.recoding.to_json().encode(),
            PAGE: self.page.encode(),
        }
        sink = pa.BufferOutputStream()
        options = pa.ipc.IpcWriteOptions(compression="zstd")
        with pa.ipc.new_file(sink, self.table.schema.with_metadata(metadata), options=options) as writer:
            writer.write_table(self.table.replace_schema_metadata(metadata))
        return bytes(sink.getvalue())

    @classmethod
    def unpack(cls, kept: pa.Buffer) -> Anonymised:
        """A release back from its bytes."""
        table = pa.ipc.open_file(kept).read_all()
        metadata = table.schema.metadata
        told = tuple((name, value) for name, value in json.loads(metadata[FACTS]))
        made = Recoding.from_json(metadata[RECODING].decode())
        return cls(table.replace_schema_metadata(), told, made, metadata[PAGE].decode())


def run_plan(plan: AnonymisePlan, tables: Tables, entropy: Entropy) -> Anonymised:
    """The release of a plan, checked twice."""
    request, schema = plan.request, plan.schema
    left_out = _dropped(plan)
    told_apart = [schema.unit.column] if schema.unit.column else []
    table = read(
        tables, schema, [c.name for c in schema.columns if c.name not in left_out or c.name in told_apart]
    )
    if not len(table):
        raise Withheld(
            f"{schema.name} cannot be anonymised to k = {request.k}: too few rows",
            page=obstacles(plan, table, None),
        )
    who = _persons(table, schema)
    table = table.drop_columns([name for name in left_out if name in table.column_names])
    table = change(table, request.changes, entropy)
    classes, made = _fitting(plan, table, who)
    order = arrange(made, entropy, shuffle=request.shuffle)
    order = order[classes.keep[order]]
    made, who = occurring(made.take(order)), None if who is None else who[order]
    figures = checked(plan, made, who)
    told, betrayed = facts(plan, classes, figures), together(plan, table, made)
    return Anonymised(made, told, classes.recoding, page(plan, table, classes, figures) + betrayed)


def _fitting(plan: AnonymisePlan, table: pa.Table, who: Ints | None) -> tuple[Classes, pa.Table]:
    """The classes and their labels; with a population, the smallest classes that hide well enough in it."""
    request, least = plan.request, plan.least
    people = None if request.population is None else beside(request.population, plan.quasi)
    reached = ""
    while True:
        try:
            classes = classes_of(plan, table, who, least)
        except Withheld as error:
            raise Withheld(str(error), page=(reached or obstacles(plan, table, who)) + error.page) from None
        made = labelled(plan, table, classes)
        if people is None:
            return classes, made
        kept = made.filter(pa.array(classes.keep))
        low, high = presence(kept, people, plan.quasi)
        fitting = k_map(kept, people, plan.quasi)
        if fitting >= request.k_map and request.presence[0] <= low <= high <= request.presence[1]:
            return classes, made
        reached = (
            f"With classes of {least} or more, at least {fitting} of the population fit each row ({request.k_map} "
            f"asked), and each of them is in the release with a chance of {low:.4g} to {high:.4g}.\n"
        )
        least = max(least + 1, least * 5 // 4)


def beside(file: str, names: Sequence[str]) -> pa.Table:
    """A file that the request names beside the table; Withheld where it lacks a column."""
    table = files.read(Path(file), apart=names)
    if missing := [name for name in names if name not in table.column_names]:
        raise Withheld(f"{file} has no column {', '.join(missing)}: it cannot be compared")
    return table


def together(plan: AnonymisePlan, table: pa.Table, made: pa.Table) -> str:
    """For the curator: whose secrets become certain with earlier releases; Withheld if they are too many."""
    lines = []
    earlier = [beside(name, (*plan.quasi, *plan.sensitive)) for name in plan.request.earlier]
    for name in plan.sensitive if earlier else ():
        counts = certain(table, [*earlier, made], plan.quasi, name)
        grown = counts[-1] - counts[-2]
        if grown > plan.request.bear * len(table):
            raise Withheld(
                f"with the earlier releases, too many people's {name} becomes certain: see `bear`",
                page=f"{name}: certain for {counts[-2]} people without this release, for {counts[-1]} with it, "
                f"of {len(table)}; bear = {ceil(1e4 * grown / len(table)) / 1e4} would let it leave\n",
            )
        lines.append(f"{name}: certain for {counts[-2]} people before this release, for {counts[-1]} with it")
    return "\n".join(["\n## With earlier releases", *lines, ""]) if lines else ""


def labelled(plan: AnonymisePlan, table: pa.Table, classes: Classes) -> pa.Table:
    """All rows with their labels; a column that loses nothing stays as it is."""
    made, averaged = table, plan.request.how == "mdav"
    for j, name in enumerate(plan.quasi):
        if not classes.exact[j]:
            labels = [test.label or "" for test in classes.recoding.tests[j]]
            made = relabel(made, name, labels, classes.which[j], table[name].type if averaged else None)
    return made


def _persons(table: pa.Table, schema: Schema) -> Ints | None:
    """A number for each person, where the schema says who is who; a row of nobody is a person of its own."""
    if schema.unit.column is None:
        return None
    domain, codes = encode("who", table[schema.unit.column])
    numbers = codes.astype(np.int64)
    nobody = numbers == len(domain.values)
    numbers[nobody] += np.arange(int(nobody.sum()))
    return numbers


def _dropped(plan: AnonymisePlan) -> list[str]:
    """Identifiers leave only as a change made them."""
    changed = {each.column for each in plan.request.changes}
    named = [c.name for c in plan.schema.columns if c.role is Role.IDENTIFIER and c.name not in plan.quasi]
    unit = plan.schema.unit.column
    if unit and unit not in (*plan.quasi, *plan.sensitive, *named):
        named.append(unit)
    return [name for name in named if name not in changed]


def classes_of(plan: AnonymisePlan, table: pa.Table, who: Ints | None, least: int) -> Classes:
    """The classes of at least so many that the plan's algorithm finds."""
    request = plan.request
    weights = dict(request.weights)
    ladders = {ladder.column: ladder for ladder in plan.ladders}
    prepared = prepare(
        table,
        plan.quasi,
        ranges(plan.schema),
        ladders,
        plan.style,
        [weights.get(q, 1.0) for q in plan.quasi],
        fan=3
        if request.how == "lattice"
        else 2,  # shorter ladders where all combinations of steps are searched
    )
    used = [name for name in plan.sensitive if plan.rules]
    _, joint, rules = histograms(table, plan.rules, used, ladders, request.apart)
    target = None if request.target is None else encode(request.target, table[request.target])[1]
    wish = Wish(least, request.care if request.target else 0.0)
    return search(
        prepared,
        joint,
        rules,
        request.how,
        wish,
        limit=request.suppress,
        who=who,
        target=target,
        relaxed=request.relaxed,
    )


def ranges(schema: Schema) -> Mapping[str, tuple[float | None, float | None]]:
    """The public bounds of number columns."""
    found = {}
    for column in schema.columns:
        low, high = column.low, column.high
        plain = [None if b is None or hasattr(b, "year") else float(b) for b in (low, high)]
        found[column.name] = (plain[0], plain[1])
    return found


def arrange(table: pa.Table, entropy: Entropy, *, shuffle: bool) -> Ints:
    """An order of rows that does not depend on how they came: by content, or random; equal rows are alike.

    Random: each value of each column draws 64 bits and a row has the sum of its values' (Zobrist's hashing), so the
    order follows from what is released and from the entropy alone, and says nothing of how the rows came.
    """
    coded = [encode(name, table[name]) for name in table.column_names]
    if not shuffle:
        key, _ = combined([codes for _, codes in coded], [domain.size for domain, _ in coded])
        return np.argsort(key, kind="stable")
    place = np.zeros(len(table), np.uint64)
    for domain, codes in coded:
        place += np.frombuffer(entropy.bytes(8 * domain.size), "<u8")[codes]
    return np.argsort(place)


def checked(plan: AnonymisePlan, made: pa.Table, who: Ints | None) -> Figures:
    """The figures of what would leave; Withheld unless both checkers find every promise kept."""
    ladders = {ladder.column: ladder for ladder in plan.ladders}
    used = [name for name in plan.sensitive if plan.rules]
    persons = None if who is None else pa.chunked_array([pa.array(who)])
    figures = measure(
        made,
        plan.quasi,
        plan.rules,
        sensitive=used,
        least=plan.request.k,
        ladders=ladders,
        apart=plan.request.apart,
        who=persons,
    )
    others: Sequence[str] = () if plan.request.apart else used
    seen = made if who is None else made.append_column(check.WHO, persons)
    second = check.keeps(seen, plan.quasi, plan.request.k, plan.rules, ladders, others)
    first = figures.k >= plan.request.k and figures.holds
    if not (first and second):
        how = "one checker finds a promise broken" if first != second else "a promise is broken"
        raise Withheld(f"the release of {plan.schema.name} is withheld: {how}; please report this")
    return figures
