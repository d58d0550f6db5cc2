"""The `obverse` command: one file a verb, found by its place; a refusal is one line and an exit code.

A verb's module holds EXAMPLES, `arguments(parser)` and `run(args)`; its docstring's first sentence is its help.
Help reads the files as text and imports none of them.
"""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import Protocol, cast

from obverse import __version__
from obverse.errors import BadSource, ObverseError

REPORT = "https://github.com/obverse/obverse/issues"
USAGE = 2
INTERRUPTED = 130
FIRST = ("demo", "draft", "check", "query", "preview", "budget", "log", "audit-log")

LAST = ("completion",)


class Verb(Protocol):
    """What a verb's module holds."""

    EXAMPLES: tuple[str, ...]

    def arguments(self, parser: ArgumentParser) -> None: ...
    def run(self, args: Namespace) -> int: ...


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb and give back what a script sees: 0, or the exit code of the refusal."""
    sys.excepthook = _bug
    given = list(sys.argv[1:] if arguments is None else arguments)
    known = verbs()
    if not given or given[0] in ("-h", "--help", "help"):
        print(_overview(known))
        return 0
    if given[0] in ("-V", "--version"):
        print(f"obverse {__version__}")
        return 0
    if given[0] not in known:
        return _refuse(f"there is no command {given[0]}{_nearest(given[0], known)}", USAGE)
    verb = load(given[0])
    args = parser(given[0], known[given[0]], verb).parse_args(given[1:])
    try:
        code = verb.run(args)
        sys.stdout.flush()
        return code
    except ObverseError as error:
        return _refuse(str(error), error.exit_code)
    except KeyboardInterrupt:
        return _refuse("interrupted", INTERRUPTED)
    except BrokenPipeError:  # the reader has seen enough, as in `obverse log | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        return _refuse(f"{place}{error.strerror or 'the system refused'}", BadSource.exit_code)


def verbs() -> dict[str, str]:
    """Every verb and its first sentence, those of a first day first."""
    found = {}
    for file in Path(__file__).parent.glob("*.py"):
        text = file.read_text(encoding="utf-8")
        if "\nEXAMPLES" in text:
            found[file.stem.replace("_", "-")] = _first_sentence(text)
    rest = sorted(set(found) - set(FIRST) - set(LAST))
    return {name: found[name] for name in (*FIRST, *rest, *LAST) if name in found}


def load(name: str) -> Verb:
    """The module of a verb."""
    return cast(Verb, import_module(f"obverse.cli.{name.replace('-', '_')}"))


def parser(name: str, sentence: str, verb: Verb) -> ArgumentParser:
    """What a verb's command line may hold, with its examples."""
    examples = "\n".join(f"  {example}" for example in verb.EXAMPLES)
    made = ArgumentParser(
        prog=f"obverse {name}",
        description=sentence,
        epilog=f"examples:\n{examples}" if examples else None,
        formatter_class=RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    verb.arguments(made)
    return made


def _overview(known: dict[str, str]) -> str:
    width = max(map(len, known), default=0)
    lines = "\n".join(f"  {name:{width}}  {_gist(sentence)}" for name, sentence in known.items())
    return (
        "Obverse: the side of your data that you can show.\n\n"
        f"usage: obverse COMMAND …\n\n{lines}\n\n"
        "`obverse COMMAND --help` shows a command's options, with examples. New here: `obverse demo`."
    )


def _first_sentence(text: str) -> str:
    docstring = text.split('"""', 2)[1]
    return " ".join(docstring.partition("\n\n")[0].split()).partition(". ")[0].rstrip(".")


def _gist(sentence: str) -> str:
    """As much of a sentence as stands in a line of its own."""
    return sentence.replace(";", ":").partition(":")[0].partition(", and ")[0]


def _nearest(word: str, known: dict[str, str]) -> str:
    from obverse.data.toml import nearest

    return nearest(word, tuple(known)) or "; `obverse --help` shows them all"


def _refuse(message: str, code: int) -> int:
    sys.stdout.flush()
    print(f"obverse: {message}", file=sys.stderr)
    return code


def _bug(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """A fault of ours: no row may stand in what is printed, so the error's own text is shown only on request."""
    if os.environ.get("OBVERSE_TRACE"):
        sys.__excepthook__(kind, error, trace)
        return
    print(
        f"obverse: this is a bug in Obverse ({kind.__name__}); nothing more was released. "
        f"Run again with OBVERSE_TRACE=1 to see where, and report it at {REPORT}; "
        "look through the trace first: it may quote your data.",
        file=sys.stderr,
    )


if __name__ == "__main__":
    sys.exit(main())
