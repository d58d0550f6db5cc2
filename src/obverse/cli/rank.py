"""Number each person's rows in a secret random order, once, so that questions about people take as long as about rows.

Of a Parquet file or a table of a DuckDB file, a new Parquet file is written beside the old one. Of PostgreSQL and
Spark the SQL is printed, to be run by a role that may write. Both say what the settings are to say then.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from obverse.cli.options import found, settings
from obverse.cli.progress import Progress
from obverse.errors import BadParameter

if TYPE_CHECKING:
    from obverse.data.schema import Schema

EXAMPLES = ("obverse rank visits", "obverse rank visits --column nr | psql clinic")


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("table", help="a declared table whose unit is a column")
    parser.add_argument(
        "--column", metavar="NAME", default="rank", help="what to call the column (else rank)"
    )
    settings(parser)


def run(args: Namespace) -> int:
    from obverse.data.files import locate
    from obverse.data.settings import load
    from obverse.engines._ranks import statements, write
    from obverse.noise.entropy import System

    loaded = load(found(args))
    schema = _wanting({schema.name: schema for schema in loaded.schemas}, args.table)
    source = locate(schema.source)
    if source.scheme == "duckdb":
        with Progress(f"numbering the rows of {schema.name}"):
            new = write(schema, System(loaded.ledger.with_suffix(".secret")).secret(), args.column)
        print(f'source = "{new.name}"')
    else:
        print(statements(schema, args.column))
        if source.scheme == "spark":
            print(
                f'source = "{source.place}#{source.table}{".ranked" if "/" in source.table else "_ranked"}"',
                file=sys.stderr,
            )
    rows = f", rows = {schema.unit.rows}" if schema.unit.told else ""
    unit = f'unit = {{ column = "{schema.unit.column}"{rows}, rank = "{args.column}" }}'
    print(f"{unit}\nis what [tables.{schema.name}] is to say then", file=sys.stderr)
    return 0


def _wanting(schemas: dict[str, Schema], name: str) -> Schema:
    """The table, if ranks are of use to it."""
    from obverse.data.forms import copied
    from obverse.data.schema import hint

    if (schema := schemas.get(name)) is None:
        raise BadParameter(
            f"there is no table {name}{hint(name, tuple(schemas)).replace('; it has', '; declared are')}"
        )
    if schema.unit.column is None:
        raise BadParameter(f"each row of {name} is a unit by itself: only people with many rows need ranks")
    if copied(schema):
        raise BadParameter(f"{name} is copied when it is opened, and gets ranks by itself")
    return schema
