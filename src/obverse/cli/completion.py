"""Print the lines that make a shell complete obverse's commands and options.

The lists are made from the verbs that are installed, so they are never out of date with them.
"""

from __future__ import annotations

import re
from argparse import ArgumentParser, Namespace

from obverse.cli.main import load, parser, verbs

EXAMPLES = (
    'eval "$(obverse completion bash)"      # in ~/.bashrc',
    'eval "$(obverse completion zsh)"       # in ~/.zshrc',
    "obverse completion fish | source       # in ~/.config/fish/config.fish",
)


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("shell", choices=sorted(_SHELLS))


def run(args: Namespace) -> int:
    known = verbs()
    options = {name: _options(parser(name, sentence, load(name))) for name, sentence in known.items()}
    print(_SHELLS[args.shell](known, options))
    return 0


def _options(made: ArgumentParser) -> list[str]:
    return sorted({"--help", *re.findall(r"--[a-z-]+", made.format_usage())})


def _bash(known: dict[str, str], options: dict[str, list[str]]) -> str:
    cases = "\n".join(f'    {name}) words="{" ".join(options[name])}" ;;' for name in known)
    return f"""\
_obverse() {{
  local words current=${{COMP_WORDS[COMP_CWORD]}}
  case ${{COMP_WORDS[1]}} in
{cases}
    *) words="{" ".join(known)}" ;;
  esac
  [ "$COMP_CWORD" -eq 1 ] && words="{" ".join(known)}"
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o default -F _obverse obverse"""


def _zsh(known: dict[str, str], options: dict[str, list[str]]) -> str:
    return "autoload -U +X bashcompinit && bashcompinit\n" + _bash(known, options)


def _fish(known: dict[str, str], options: dict[str, list[str]]) -> str:
    verbs = [
        f"complete -c obverse -n __fish_use_subcommand -a {name} -d {_fish_text(sentence)}"
        for name, sentence in known.items()
    ]
    flags = [
        f"complete -c obverse -n '__fish_seen_subcommand_from {name}' -l {option.removeprefix('--')}"
        for name in known
        for option in options[name]
    ]
    return "\n".join([*verbs, *flags])


def _fish_text(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


_SHELLS = {"bash": _bash, "zsh": _zsh, "fish": _fish}
