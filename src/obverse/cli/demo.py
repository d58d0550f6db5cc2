"""See in ten seconds, on 32,561 real people, what exact counts give away.

Runs in a temporary folder; with --into it leaves the sample table and its settings in a folder to go on with.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator
from os.path import abspath, relpath
from pathlib import Path
from shutil import copyfile, which
from tempfile import TemporaryDirectory
from textwrap import wrap
from typing import TYPE_CHECKING

from obverse.cli.terminal import Tint, painter
from obverse.errors import BadSource, Refusal

if TYPE_CHECKING:
    from obverse.curator.account import Account
    from obverse.query.answer import Answered

EXAMPLES = ("obverse demo", "obverse demo --into census")

SAMPLE = Path(__file__).parent.parent / "sample"
RICH = "SELECT COUNT(*) FROM people WHERE \"salary-class\" = '>50K'"
BUT_HER = RICH + "\n  AND NOT (sex = 'Female' AND age = 52 AND education = 'Doctorate')"
KNOWN = 'age, education, "marital-status", occupation, race, sex, "native-country"'
ALONE = f"SELECT COUNT(*) FROM (SELECT COUNT(*) AS n FROM people GROUP BY {KNOWN}) WHERE n = 1"
TABLE = (
    'DP-SELECT 0.5 relationship, COUNT(*) AS people, AVG("hours-per-week") AS hours\n'
    "  FROM people GROUP BY relationship ORDER BY people DESC"
)
FOUND = "SELECT COUNT(*) FROM people WHERE age IN (SELECT age FROM people)"
DEAR = "DP-SELECT 5 COUNT(*) FROM people"
WIDE = 90

Paint = Callable[[Tint, str], str]


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--into", metavar="FOLDER", help="write the sample table and its settings there, to go on with"
    )


def run(args: Namespace) -> int:
    if args.into:
        folder = Path(args.into)
        unpack(folder)
        print(f"adult.csv and census.toml are in {folder}; try:\n\n  cd {folder}")
        print(f'  {_typed(abspath)} query "SELECT sex, AVG(age) FROM people GROUP BY sex"')
        return 0
    with TemporaryDirectory() as temporary:
        unpack(Path(temporary))
        for line in _story(Path(temporary), painter(sys.stdout)):
            print(line, flush=True)
    return 0


def unpack(folder: Path) -> None:
    """The sample as a curator would have it: a CSV, and a settings file beside it."""
    import duckdb

    from obverse.data.files import literal

    folder.mkdir(parents=True, exist_ok=True)
    for name in ("adult.csv", "census.toml"):
        if (folder / name).exists():
            raise BadSource(f"{folder / name} is there already, and is left as it is")
    copyfile(SAMPLE / "census.toml", folder / "census.toml")
    rows, csv = literal(str(SAMPLE / "adult.parquet")), literal(str(folder / "adult.csv"))
    with duckdb.connect() as connection:
        connection.execute(f"COPY (FROM read_parquet({rows})) TO {csv} (HEADER)")


def _story(folder: Path, paint: Paint) -> Iterator[str]:
    from obverse.curator.curator import open_settings

    with open_settings(folder / "census.toml") as curator:
        research = curator.account("research")
        yield from _exact(folder, paint)
        yield from _private(research, paint)
        yield from _tabulated(research, paint)
        yield from _again(research, paint)
        yield from _refused(research, paint)
        yield from _next(paint)


def _exact(folder: Path, paint: Paint) -> Iterator[str]:
    """What a differencing pair of exact counts gives away.  [DDS79]"""
    import duckdb

    from obverse.data.files import literal

    with duckdb.connect() as connection:
        connection.execute(f"CREATE VIEW people AS FROM read_csv({literal(str(folder / 'adult.csv'))})")
        everybody, but_her, alone = (
            connection.execute(sql).fetchall()[0][0] for sql in (RICH, BUT_HER, ALONE)
        )
    yield paint("head", "1  Two harmless counts")
    yield "   “Adult”, an extract of the 1994 US census: 32,561 people. One of them is a woman of 52 with a"
    yield "   doctorate, whom you know. A database that shows only totals over thousands of people answers:"
    yield ""
    yield from _sql(RICH, paint)
    yield f"   → {everybody:,}"
    yield from _sql(BUT_HER, paint)
    yield f"   → {but_her:,}"
    yield ""
    yield f"   {everybody:,} − {but_her:,} = {everybody - but_her}: {paint('bad', 'she earns more than $50,000.')}"
    yield "   The totals have told you about one person, for certain."
    yield ""
    yield "   Nor does it help to hand out the rows without names: by age, education, marital status,"
    found = paint("bad", f"{alone:,} of the 32,561 people are alone.")
    yield f"   occupation, race, sex and country {found} Whoever knows that"
    yield "   much of somebody has found the row, and reads off it whatever else it says."


def _private(research: Account, paint: Paint) -> Iterator[str]:
    preview = research.preview(RICH)
    first, second = research.ask(RICH), research.ask(BUT_HER)
    margin = (first.margins[0][0] or 0) + (second.margins[0][0] or 0)
    gap = _number(first) - _number(second)
    yield ""
    yield paint("head", "2  The same two questions through Obverse")
    yield f"   Before asking: {str(preview).splitlines()[0]}."
    yield ""
    for answered in (first, second):
        yield f"   → {_number(answered):,.0f} {paint('margin', f'± {answered.margins[0][0]:,.0f}')}"
    yield ""
    yield f"   {_number(first):,.0f} − {_number(second):,.0f} = {gap:,.0f} ± {margin:,.0f}: ".replace(
        "= -", "= −"
    ) + paint("good", "that says next to nothing about her.")
    yield "   Whoever reads both answers, whatever they know already, can change their odds about any one"
    yield "   person by a factor of at most e^0.2 = 1.22: two questions at ε = 0.1 each. That is a theorem."


def _tabulated(research: Account, paint: Paint) -> Iterator[str]:
    from obverse.query.show import notes, table

    answered = research.ask(TABLE)
    yield ""
    yield paint("head", "3  And the statistics are still there")
    yield from _sql(TABLE, paint)
    yield ""
    for line in table(answered.value, paint):
        yield f"   {line}"
    yield ""
    for note in notes(answered):
        yield f"   {paint('note', note)}"


def _again(research: Account, paint: Paint) -> Iterator[str]:
    again = research.ask(RICH)
    yield ""
    yield paint("head", "4  Every question is paid for, once")
    for line in str(research.budget()).splitlines():
        yield f"   {line}"
    yield f"   The first question again: {_number(again):,.0f}. {paint('good', 'The same answer, free:')}"
    yield "   asking often does not wear the noise away."


def _refused(research: Account, paint: Paint) -> Iterator[str]:
    yield ""
    yield paint("head", "5  What cannot be private is refused, before a row is read")
    for sql in (FOUND, DEAR):
        yield from _sql(sql, paint)
        try:
            research.ask(sql)
        except Refusal as refusal:
            first, *more = wrap(str(refusal), WIDE, break_on_hyphens=False)
            yield f"   → {paint('bad', first)}"
            yield from (f"     {paint('bad', line)}" for line in more)


def _next(paint: Paint) -> Iterator[str]:
    here = _typed(relpath)
    yield ""
    yield paint("head", "Where to go next")
    for command, what in (
        (f"{here} demo --into census", "this table, for questions of your own"),
        (f"{here} draft people.csv > people.toml", "first settings for a table of yours"),
        (f"{here} --help", "everything else: anonymise, attack, watch"),
        ("docs/quickstart.md", "the same from Python, step by step"),
    ):
        yield f"   {paint('code', command.ljust(len(here) + 34))}{what}"


def _typed(path: Callable[[str], str]) -> str:
    """What to type for `obverse`: its path where it was started by one, as `make demo` does."""
    started = sys.argv[0]
    return path(started) if started.endswith("obverse") and not which("obverse") else "obverse"


def _sql(sql: str, paint: Paint) -> Iterator[str]:
    yield from (f"   {paint('code', line)}" for line in sql.splitlines())


def _number(answered: Answered) -> float:
    cell = answered.rows[0][0]
    assert isinstance(cell, int | float)
    return cell
