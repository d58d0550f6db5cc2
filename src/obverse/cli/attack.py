"""Attack a released file as an outsider would, and write the one-page risk report.

The release is held against the people it was made from: a settings file with its schema, or a CSV file with
--quasi and --sensitive. Nothing leaves: the report is for the curator, and --public makes a copy to pass on.
"""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from obverse.cli.options import writable
from obverse.cli.progress import Progress

if TYPE_CHECKING:
    from obverse.evaluate.own import Released

EXAMPLES = (
    "obverse attack release.csv --against people.toml",
    "obverse attack release.csv --against people.toml --control others.csv --to press --date 2026-11-18",
    "obverse attack release.csv --against people.toml --population voters.csv",
    "obverse attack 12 --against people.toml",
    "obverse attack release.csv --against people.csv --quasi age,zip,sex --sensitive diagnosis",
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """What can be said of the release and of the people."""
    parser.add_argument(
        "release",
        help="the released table: a CSV, Parquet or Arrow file; or a release's number in obverse log",
    )
    parser.add_argument(
        "--against", required=True, help="the people it was made from: a settings file, or a table"
    )
    parser.add_argument("--table", default="", help="which table of the settings file")
    parser.add_argument("--control", help="people of the same kind whom the release was not made from")
    parser.add_argument("--population", help="a list of everybody with names, as an outsider may have it")
    parser.add_argument("--person", default="", help="the column that names people on it")
    parser.add_argument("--misspelt", action="store_true", help="its columns may be wrong here and there")
    parser.add_argument("--earlier", help="a release about the same people that left before")
    parser.add_argument("--quasi", default="", help="columns by which a person could be known, with commas")
    parser.add_argument("--sensitive", default="", help="columns that must not be learned, with commas")
    parser.add_argument("--html", help="where the page goes; beside the release, as .risk.html, if not said")
    parser.add_argument("--json", help="where the figures go")
    parser.add_argument("--public", action="store_true", help="a copy that names no row")
    parser.add_argument("--to", default="not said", help="to whom it is released")
    parser.add_argument("--date", default="not said", help="when it is released")
    parser.add_argument("--epsilon", type=float, help="the ε that the ledger charged for it")
    parser.add_argument("--delta", type=float, default=0.0, help="and the δ")
    parser.add_argument("--threshold", type=float, default=0.09, help="the risk accepted at most (0.09)")
    parser.add_argument("--seed", default="assess", help="what the draws follow from")


def run(args: argparse.Namespace) -> int:
    """Attack, write the page, and say the verdict."""
    from obverse.evaluate.examine import Said, examine
    from obverse.evaluate.held import against

    writable(args.html, args.json)
    known = against(
        args.against,
        table=args.table,
        control=args.control,
        quasi=_names(args.quasi),
        sensitive=_names(args.sensitive),
        population=args.population,
        person=args.person,
        misspelt=args.misspelt,
        earlier=args.earlier,
    )
    spent, left = _balance(args)
    said = Said(
        to=args.to,
        date=args.date,
        epsilon=args.epsilon,
        delta=args.delta,
        spent=spent,
        left=left,
        threshold=args.threshold,
        seed=args.seed,
        command=_command(args),
    )
    with Progress(f"attacking {args.release}"):
        made = examine(_released(args), known, said)
    beside = Path(made.about.file.replace(" ", "-")) if args.release.isdigit() else Path(args.release)
    page = Path(args.html or beside.with_suffix(".risk.html"))
    page.write_text(made.html(curator=not args.public), encoding="utf-8")
    if args.json:
        Path(args.json).write_text(made.json(curator=not args.public), encoding="utf-8")
    verdict, rule = made.found.verdict
    print(f"{verdict}: {rule}.")
    named = [("by name", each) for each in made.found.named]
    for question, worst in [*made.found.worst.items(), *named]:
        low, high = worst.evidence.risk_interval
        word = worst.word(made.found.threshold)
        print(f"  {question:13} {word:8} {worst.evidence.risk:6.1%}  [{low:.1%}, {high:.1%}]")
    print(f"{page}, in {made.seconds:.0f} s")
    return 0


def _released(args: argparse.Namespace) -> str | Released:
    """The file; or, for a number that is none, the release of that number in the ledger of the settings file."""
    from obverse.curator.curator import open_settings
    from obverse.errors import BadParameter
    from obverse.evaluate.own import own

    release: str = args.release
    if not release.isdigit() or Path(release).exists():
        return release
    if Path(args.against).suffix != ".toml":
        raise BadParameter(f"release {release} is looked for in a ledger: say --against SETTINGS.toml")
    given = [name for name in ("to", "date", "epsilon") if getattr(args, name) not in ("not said", None)]
    if given:
        raise BadParameter(f"--{given[0]} is read from the ledger for a release of our own: leave it out")
    with open_settings(args.against) as curator:
        return own(int(release), curator.ledger, curator.schemas)


def _balance(args: argparse.Namespace) -> tuple[float | None, float | None]:
    """What all accounts have spent on the table and what is left, where there is a ledger."""
    from obverse.curator.curator import open_settings
    from obverse.data.settings import load

    if Path(args.against).suffix != ".toml" or not load(args.against).ledger.exists():
        return None, None
    with open_settings(args.against) as curator:
        for share in curator.budget().tables:
            if not args.table or share.table == args.table:
                left, spent = share.all.left, share.all.spent
                return (None if spent is None else float(spent)), (None if left is None else float(left))
    return None, None


def _command(args: argparse.Namespace) -> str:
    """The command that was given, option by option."""
    words = ["obverse", "attack", args.release]
    for name, value in vars(args).items():
        if name in ("release", "html", "json") or value in (None, "", False, "not said"):
            continue
        words += [f"--{name}"] if value is True else [f"--{name}", str(value)]
    return shlex.join(words)


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())
