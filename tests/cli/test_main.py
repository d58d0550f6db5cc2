"""The command says in one line what is wrong, with an exit code, and never shows a trace."""

import os
import subprocess
import sys
from pathlib import Path
from threading import Event

import pytest

from obverse.cli.main import load, main, verbs
from obverse.cli.progress import Progress

VERBS = list(verbs())


def obverse(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "obverse.cli.main", *words]
    return subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, **environment}, check=False
    )


def test_help_names_every_command_and_imports_none(capsys: pytest.CaptureFixture[str]) -> None:
    code = "import sys, obverse.cli.main as m; m.main(['--help']); print([n for n in sys.modules if n.startswith('obverse.cli.') or n in ('numpy', 'duckdb', 'pyarrow', 'sqlglot')])"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    for verb in VERBS:
        assert f"\n  {verb} " in said
    assert said.splitlines()[-1] == "['obverse.cli.main']"


@pytest.mark.parametrize("verb", VERBS)
def test_every_command_has_help_with_examples(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main([verb, "--help"])
    said = capsys.readouterr().out
    assert stopped.value.code == 0
    assert all(example in said for example in load(verb).EXAMPLES)
    assert load(verb).EXAMPLES and all("obverse " in example for example in load(verb).EXAMPLES)


def test_version_and_no_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == main(["--version"]) == 0
    assert "usage: obverse COMMAND" in capsys.readouterr().out


def test_a_typo_is_answered_with_the_nearest_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["darft"]) == 2
    assert capsys.readouterr().err == "obverse: there is no command darft: did you mean draft?\n"


def test_a_refusal_is_one_line_and_its_exit_code(tmp_path: Path) -> None:
    result = obverse("draft", str(tmp_path / "none.csv"))
    assert (result.returncode, result.stdout) == (7, "")
    assert result.stderr == f"obverse: {tmp_path}/none.csv: there is no such file\n"


BUG = "import obverse.cli.main as m, types; m.load = lambda n: types.SimpleNamespace(EXAMPLES=(), arguments=lambda p: 0, run=lambda a: 1 / {'x': 0}['x']); m.main(['draft'])"


def test_a_bug_tells_nothing_of_the_rows_unless_asked() -> None:
    command = [sys.executable, "-c", BUG]
    quiet = subprocess.run(command, capture_output=True, text=True, check=False)
    assert quiet.returncode == 1
    assert "bug in Obverse (ZeroDivisionError)" in quiet.stderr and "Traceback" not in quiet.stderr
    loud = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, "OBVERSE_TRACE": "1"}
    )
    assert "Traceback" in loud.stderr


def test_a_reader_that_leaves_is_no_error() -> None:
    command = f"{sys.executable} -m obverse.cli.main completion bash | true; exit ${{PIPESTATUS[0]}}"
    result = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_offers_every_command(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    said = capsys.readouterr().out
    assert all(verb in said for verb in VERBS)


def test_bash_completes() -> None:
    script = 'eval "$(%s -m obverse.cli.main completion bash)"; COMP_WORDS=(obverse dra); COMP_CWORD=1; _obverse; echo "${COMPREPLY[@]}"'
    result = subprocess.run(
        ["bash", "-c", script % sys.executable], capture_output=True, text=True, check=True
    )
    assert result.stdout == "draft\n"


class Screen:
    """A stream that is a terminal, or says that it is."""

    def __init__(self, terminal: bool) -> None:
        self.text, self.drawn, self._terminal = "", Event(), terminal

    def isatty(self) -> bool:
        return self._terminal

    def write(self, text: str) -> None:
        self.text += text
        if text.strip("\r\x1b[K"):
            self.drawn.set()

    def flush(self) -> None:
        pass


def shown(terminal: bool, patience: float) -> str:
    screen = Screen(terminal)
    with Progress("counting", screen, patience) as progress:
        progress.at(1, 4)
        screen.drawn.wait(5 if terminal and patience < 1 else 0)
    return screen.text


def test_progress_shows_on_a_terminal_after_a_while_and_erases_itself() -> None:
    assert " 25 %  counting" in shown(terminal=True, patience=0.01)
    assert shown(terminal=True, patience=0.01).endswith("\r\x1b[K")
    assert shown(terminal=True, patience=60) == shown(terminal=False, patience=0.01) == ""
