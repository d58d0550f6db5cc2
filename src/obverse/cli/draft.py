"""Draft a settings file from tables, for the curator to correct: every guess is marked as read from data.

The draft is for the curator's eyes only, and no command accepts it until its `draft = true` line is deleted.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from obverse.cli.progress import Progress

EXAMPLES = (
    "obverse draft people.csv > people.toml",
    "obverse draft visits.parquet clinic.duckdb#patients > clinic.toml",
)


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "source", nargs="+", help="a CSV, Parquet, Arrow or DuckDB file (clinic.duckdb#table)"
    )


def run(args: Namespace) -> int:
    from obverse.data.draft import draft

    with Progress("reading " + ", ".join(args.source)):
        text = draft(args.source)
    print(text, end="")
    return 0
