"""The rows of a table, texts coded batch by batch as they arrive, so that no text is held twice."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from obverse.data.schema import Schema
from obverse.data.table import Tables


def read(tables: Tables, schema: Schema, names: Sequence[str]) -> pa.Table:
    """Some columns of a table, in one scan; what is not named is not read."""
    select = exp.select(*(exp.column(name, quoted=True) for name in names))
    parts: list[list[pa.Array]] = [[] for _ in names]
    for batch in tables.batches(select.from_(exp.to_identifier(schema.name, quoted=True))):
        for part, column in zip(parts, batch.columns, strict=True):
            part.append(_own(column))
    found = {}
    for name in names:  # one column after the other, so that its batches are let go
        found[name] = _whole(parts.pop(0))
    return pa.table(found)


def _own(column: pa.Array) -> pa.Array:
    """A text coded, anything else copied: a column of an engine's batch would keep all of the batch alive."""
    text = pa.types.is_string(column.type)
    return column.dictionary_encode() if text else column.copy_to(pa.default_cpu_memory_manager())


def _whole(parts: list[pa.Array]) -> pa.ChunkedArray:
    """The batches of one column as one column; of texts, one list of values in order, each once."""
    if not parts:
        return pa.chunked_array([], pa.null())
    column = pa.chunked_array(parts)
    return pa.chunked_array([ordered(column)]) if pa.types.is_dictionary(column.type) else column


def ordered(column: pa.ChunkedArray) -> pa.DictionaryArray:
    """The same texts, with exactly the values that occur, in order."""
    coded = column.unify_dictionaries().combine_chunks()
    coded = coded.chunk(0) if isinstance(coded, pa.ChunkedArray) else coded
    count = len(coded.dictionary)
    once = coded.dictionary.dictionary_encode()
    codes = pc.fill_null(coded.indices, count).to_numpy(zero_copy_only=False)
    place = np.append(pc.fill_null(once.indices, -1).to_numpy(zero_copy_only=False), -1)
    used = np.zeros(len(once.dictionary) + 1, np.bool_)
    used[place[np.bincount(codes, minlength=count + 1) > 0]] = True
    order = pc.sort_indices(once.dictionary).to_numpy()
    order = order[used[order]]
    rank = np.full(len(used), -1, np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    rank[-1] = -1
    at = rank[place][codes]
    missing = at < 0
    indices = pa.array(at, mask=missing) if missing.any() else pa.array(at)
    return pa.DictionaryArray.from_arrays(indices, once.dictionary.take(pa.array(order)))


def in_order(coded: pa.DictionaryArray) -> bool:
    """Whether the values are exactly those that occur, in order, each once."""
    values, count = coded.dictionary, len(coded.dictionary)
    if values.null_count or not pc.all(pc.less(values[:-1], values[1:]), min_count=0).as_py():
        return False
    return bool(np.bincount(pc.drop_null(coded.indices).to_numpy(), minlength=count).all()) if count else True


def occurring(table: pa.Table) -> pa.Table:
    """The same table with its texts' lists of values made anew: a value of rows that are gone must not stay in one."""
    for index, each in enumerate(table.schema):
        column = table.column(index)
        if pa.types.is_dictionary(each.type) and not all(map(in_order, column.chunks)):
            table = table.set_column(index, each.name, pa.chunked_array([ordered(column)]))
    return table


def decoded(table: pa.Table) -> pa.Table:
    """The same table with its texts as texts again."""
    for index, each in enumerate(table.schema):
        if pa.types.is_dictionary(each.type):
            texts = [part.dictionary.take(part.indices) for part in table.column(index).chunks]
            table = table.set_column(index, each.name, pa.chunked_array(texts, each.type.value_type))
    return table
