"""What was not tested of a release, and why: as much a part of the page as what was."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from obverse.evaluate.held import Held
from obverse.evaluate.named import unjudged
from obverse.evaluate.tried import few

if TYPE_CHECKING:
    from obverse.evaluate.risk import World


def untested(world: World) -> Iterator[tuple[str, str]]:
    """What was not tested, and why."""
    if world.known.control is None:
        yield "membership", "needs --control: people of the same kind whom the release was not made from"
    if not world.idle[2]:
        yield (
            "a control",
            "no --control was given, and the people's rows are not to be found in the release",
        )
    if world.sharp is None:
        yield "linking of two halves, and descriptions by few columns", "the release has generalised cells"
    elif world.sharp.linking is None:
        yield "linking of two halves", "the release is so coarse that wrong pairs look like rows"
    yield from _uninferred(world)
    if world.known.listed is None:
        yield (
            "linkage to a list with names",
            "needs --population: a list of everybody, as an outsider has it",
        )
    elif world.known.names is None:
        yield "linkage to a list with names", unjudged(world.release, world.known, world.known.listed)
    more = (
        "beside the one given with --earlier"
        if world.known.earlier is not None
        else "such as --earlier would name"
    )
    yield "other releases", f"what else was or will be published about these people, {more}"
    yield "other knowledge", "friends, histories and lists with columns that the table does not have"


def _uninferred(world: World) -> Iterator[tuple[str, str]]:
    """Secrets that were not inferred; and people who are perhaps not in the release, so that risks are shared."""
    coarse = [secret for secret in world.secrets if not world.alike(secret)]
    if coarse:
        yield f"inference of {few(coarse)}", "numbers that the release gives as intervals or as text"
    every = world.known.sensitive or tuple(world.release.column_names)
    if left := every[: -len(world.secrets)]:
        yield (
            f"inference of {few(left)}",
            f"{len(world.secrets)} columns are enough for a page: name others with --sensitive",
        )
    rows, people = world.release.num_rows, world.known.people.num_rows
    if 2 * rows < people:
        yield (
            "somebody who knows that a person is in it",
            f"the release has {rows:,} rows and was held against {people:,} people, among whom risks are shared "
            "out; hold it against those alone who are in it",
        )


def unread(release: pa.Table, known: Held, strange: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Columns that were left out of all attacks: their texts, or they themselves, are none of the people's."""
    if strange:
        yield (
            f"what {few(strange)} tells",
            "most texts are no value of the people's: write them alike, or give the ladder in a settings file",
        )
    has = (*known.people.column_names, *known.identifiers)
    if alien := [name for name in release.column_names if name not in has]:
        yield f"what {few(alien)} tells", "the people have no such column"
