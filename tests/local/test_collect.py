"""Collect: what a respondent runs has the law it should, and the curator concludes from the lines it prints."""

import io
from contextlib import redirect_stdout
from fractions import Fraction

import numpy as np
import pytest

from obverse.cli import collect as verb
from obverse.errors import BadParameter, BadSource
from obverse.local.collect import Collect
from obverse.noise.entropy import Keyed

E = Fraction(1)
MANY = tuple(f"answer {i}" for i in range(12))
QUESTIONS = [
    (Collect(("yes", "no", "maybe"), E), "no"),
    (Collect(MANY, E, "unary"), "answer 5"),
    (Collect(MANY, E, "hadamard"), "answer 5"),
    (Collect((), E, low=Fraction(0), high=Fraction(80)), "60.5"),
]


def program(collect, answer, times):
    """The respondent's program, run as it is printed, with the answer typed in."""
    code, printed = compile(collect.script(), "device", "exec"), io.StringIO()
    with redirect_stdout(printed):
        for _ in range(times):
            exec(code, {"input": lambda prompt: answer})
    return printed.getvalue().split()


@pytest.mark.parametrize(("collect", "answer"), QUESTIONS)
def test_the_program_and_the_library_report_alike(collect, answer):
    """The estimate from 600 printed reports, and from 600 of ours, is the truth within five standard errors."""
    entropy = Keyed("library")
    for reports in (program(collect, answer, 600), [collect.report(answer, entropy) for _ in range(600)]):
        found = collect.estimate(reports)
        true = 60.5 if collect.low is not None else 600 * (np.array(collect.answers) == answer)
        assert (np.abs(found.values - true) < 5 * found.errors).all()


def test_the_protocol_follows_the_number_of_answers():
    """[WBLJ17, Section 4.4]"""
    assert type(Collect(("a", "b"), E).protocol).__name__ == "RandomizedResponse"
    assert type(Collect(MANY, E).protocol).__name__ == "HadamardResponse"


def test_clipping_is_only_done_when_named():
    collect = Collect(("a", "b", "c"), Fraction(1, 10))
    found = collect.estimate([collect.report("a", Keyed(str(i))) for i in range(200)])
    assert found.values.min() < 0 <= found.clipped(0, 200).min()


def test_what_it_costs():
    """k attributes cost kε; a shuffler makes it less.  [FMT23]"""
    collect = Collect(("yes", "no"), E)
    assert collect.loss().epsilon() == 1 and collect.loss(questions=5).epsilon() == 5
    assert collect.shuffled(10_000, 1e-6) < 0.5


@pytest.mark.parametrize(
    "make",
    [
        lambda: Collect(("yes",), E),
        lambda: Collect(("yes", "yes"), E),
        lambda: Collect((), E, low=Fraction(3), high=Fraction(3)),
        lambda: Collect(("yes", "no"), Fraction(0)),
        lambda: Collect(("yes", "no"), E).report("never", Keyed("bad")),
    ],
)
def test_bad_questions_are_refused(make):
    with pytest.raises(BadParameter):
        make()


@pytest.mark.parametrize("lines", [[], ["2"], ["-1"], ["x"], [str(10**30)]])
def test_bad_reports_are_refused(lines):
    with pytest.raises(BadSource):
        Collect(("yes", "no"), E).estimate(lines)
    with pytest.raises(BadSource):
        Collect(MANY, E, "unary").estimate(lines)


def run(*words):
    import argparse

    parser = argparse.ArgumentParser()
    verb.arguments(parser)
    return verb.run(parser.parse_args(words))


def test_the_command_prints_a_program_a_report_and_a_conclusion(tmp_path, capsys):
    assert run("--answers", "yes,no", "--epsilon", "20") == 0
    assert "say(mine, 1)" in capsys.readouterr().out
    assert run("--answers", "yes,no", "--epsilon", "20", "--answer", "no") == 0
    assert capsys.readouterr().out == "1\n"
    (tmp_path / "reports").write_text("1\n1\n0\n")
    assert run("--answers", "yes,no", "--epsilon", "20", "--reports", str(tmp_path / "reports")) == 0
    assert capsys.readouterr().out.splitlines()[1].startswith("no\t2.0\t±")
    with pytest.raises(BadSource):
        run("--answers", "yes,no", "--epsilon", "20", "--reports", str(tmp_path / "none"))
    with pytest.raises(BadParameter):
        run("--answers", "yes,no", "--epsilon", "much")
