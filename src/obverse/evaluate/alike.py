"""Whether a release can be held against its people, and they against the control: alike in columns and values."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from obverse.attack.interval import Rate
from obverse.attack.mixed import Ladders, counted, legible, numeric, readable, shared
from obverse.errors import BadSource
from obverse.evaluate.held import Held
from obverse.evaluate.tried import few


def alike(release: pa.Table, known: Held) -> tuple[list[str], list[str]]:
    """The columns in which a release can be held against the people; and those whose texts are none of theirs.

    Refused where there is none of the former, where numbers are of another unit, or the control is of the people.
    """
    columns = shared(release, known.people)
    if not release.num_rows:
        raise BadSource("the release is empty: there is nothing to attack")
    _comparable(release.select(columns), known.people)
    if known.control is not None:
        _apart(known.people, known.control)
    strange = [name for name in columns if _strange(name, release, known.people, known.ladders)]
    if len(strange) == len(columns):
        raise BadSource(
            f"no text of the release is one of the people's, in {few(strange)}: write them alike, or give the ladders "
            "of their labels in a settings file"
        )
    return [name for name in columns if name not in strange], strange


def _strange(name: str, release: pa.Table, people: pa.Table, ladders: Ladders) -> bool:
    """Whether most texts of a column are no value of the people's, no label of its ladder, no set and no interval."""
    if numeric(release, name) or numeric(people, name):
        return False
    told = release[name].cast(pa.string()).combine_chunks().drop_null().value_counts()
    counts = told.field("counts").to_numpy()
    values = set(people[name].cast(pa.string()).drop_null().unique().to_pylist())
    fits = readable(told.field("values").to_pylist(), values, ladders.get(name, ()))
    return 2 * int(counts[fits].sum()) < int(counts.sum())


def _comparable(release: pa.Table, people: pa.Table) -> None:
    """Refuse a release whose numbers are not of the people's kind or unit, before they are compared as if they were.

    Numbers of one unit overlap: the middle nine tenths of a column lie nowhere wholly above or below the other's. One
    number for nearly all is a cell that was blanked, and no unit.
    """
    for name in release.column_names:
        for table in (release, people):
            legible(name, table.schema.field(name).type)
        ours, theirs = (counted(table[name].combine_chunks()) for table in (release, people))
        if not all(
            pa.types.is_integer(each.type) or pa.types.is_floating(each.type) for each in (ours, theirs)
        ):
            continue
        spans = [pc.quantile(each, [0.05, 0.95]).to_pylist() for each in (ours, theirs)]
        (low, high), (least, most) = spans
        if None not in (low, least) and low < high and (low > most or least > high):
            raise BadSource(
                f"{name} is in another unit, or is something else, in the release than among the people: the middle "
                "nine tenths of its numbers do not overlap"
            )


def _apart(people: pa.Table, control: pa.Table) -> None:
    """Refuse a control of those very people: what is right of the ones is right of the others, and no risk is seen.

    Of people set apart by chance, no more are like one of the others than those are like each other.
    """
    marked = [
        table.select(people.column_names).append_column("ours", pa.array(np.full(table.num_rows, ours)))
        for table, ours in ((people, 1), (control, 0))
    ]
    try:
        both = pa.concat_tables(marked, promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return  # of another kind, which is told where the two are compared
    classes = both.group_by(people.column_names).aggregate([("ours", "sum"), ("ours", "count")])
    ours = classes["ours_sum"].to_numpy()
    theirs = classes["ours_count"].to_numpy() - ours
    twins = ours[ours > 1].sum() / people.num_rows
    same = Rate(int(theirs[ours > 0].sum()), control.num_rows)
    if same.low > twins + 0.1:
        raise BadSource(
            f"{same.right:,} of the {same.of:,} rows of the control are rows of the people too: it must be of people "
            "whom the release was not made from"
        )
