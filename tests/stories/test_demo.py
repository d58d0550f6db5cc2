"""A stranger runs the demonstration and reads a true story to its end."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from obverse.cli.main import main


def test_the_story_is_told_whole_and_plain_where_it_is_piped(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo"]) == 0
    told = capsys.readouterr().out
    assert "7,841 − 7,840 = 1" in told  # what exact counts give away, counted on the real table
    assert "11,972 of the 32,561 people are alone" in told
    assert "that says next to nothing about her" in told
    assert "hours" in told and "±" in told and "Husband" in told
    assert "cost ε = 0.5, for one row of people added or removed" in told
    assert "ε = 1.3 left of 2" in told and "The same answer, free" in told
    assert "IN is followed by a list of constants" in told and "this costs 5" in told
    assert "Where to go next" in told
    assert "\x1b" not in told and max(map(len, told.splitlines())) <= 100


def test_a_terminal_sees_colour_unless_it_asks_for_none() -> None:
    def on_a_terminal(**environment: str) -> bytes:
        ours, theirs = pty.openpty()
        command = [sys.executable, "-m", "obverse.cli.main", "demo"]
        with subprocess.Popen(
            command, stdout=theirs, env={**os.environ, "TERM": "xterm", **environment}
        ) as process:
            os.close(theirs)
            told = b""
            try:
                while piece := os.read(ours, 65536):
                    told += piece
            except OSError:  # how Linux says that the other side has closed
                pass
        assert process.returncode == 0
        return told

    assert b"\x1b[1m" in on_a_terminal()
    assert b"\x1b" not in on_a_terminal(NO_COLOR="1")


def test_the_sample_is_left_to_go_on_with_and_nothing_is_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "census"
    assert main(["demo", "--into", str(folder)]) == 0
    monkeypatch.chdir(folder)
    assert main(["query", "SELECT sex, AVG(age) FROM people GROUP BY sex"]) == 0
    assert main(["check"]) == main(["budget"]) == 0
    assert main(["demo", "--into", str(folder)]) == 7
    assert "is there already, and is left as it is" in capsys.readouterr().err
