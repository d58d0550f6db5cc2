"""1,000 overlapping counts and ranges on one budget: published once, beside a cache of exact repeats.

`python -m bench.dashboard`. The questions are those of a dashboard: ranges of ages and of hours, by sex, at random,
with the repeats that a thousand draws have. A cache answers what was asked before word for word, and pays for the rest;
each of its answers has the same ± as ours of the same question, so that its ε is what that ± costs. It stops where the
budget is spent. Ours are answered by the real curator, and their errors are measured on the real table.
"""

from __future__ import annotations

import tempfile
from fractions import Fraction
from pathlib import Path
from time import perf_counter, process_time

import duckdb
import numpy as np

import obverse
from obverse.cli.demo import unpack
from obverse.mechanisms.laplace import Laplace

QUESTIONS, BUDGET, GOAL = 1000, Fraction(1), 3
RELEASES = (
    "CREATE RELEASE ages AS DP-SELECT 0.5 COUNT(*) FROM people GROUP BY RANGES(age), sex",
    'CREATE RELEASE hours AS DP-SELECT 0.5 COUNT(*) FROM people GROUP BY RANGES("hours-per-week"), sex',
)


def dashboard(draw: np.random.Generator) -> list[str]:
    """Counts of ranges of a column, of all, of women or of men; round ends as people choose them, or any."""
    found = []
    for _ in range(QUESTIONS):
        column, low, high = (("age", 17, 90), ('"hours-per-week"', 1, 99))[draw.integers(2)]
        step = (1, 5, 10)[draw.integers(3)]
        ends = np.sort(draw.integers(low, high + 1, 2)) // step * step
        whose = ("", "", " AND sex = 'Female'", " AND sex = 'Male'")[draw.integers(4)]
        found.append(
            f"SELECT COUNT(*) FROM people WHERE {column} BETWEEN {ends[0]} AND {ends[1] + step - 1}{whose}"
        )
    return found


def price(margin: float) -> Fraction:
    """The least ε, in thousandths, whose Laplace noise has this ± at 95 %."""
    return next(e for k in range(1, 10_001) if Laplace(1 / (e := Fraction(k, 1000))).interval(0.95) <= margin)


def cached(questions: list[str], margins: dict[str, float]) -> int:
    """How many a cache of exact repeats answers before the budget is gone, the cheap and the dear as they come."""
    spent, known, answered = Fraction(0), set(), 0
    for question in questions:
        if question not in known:
            cost = price(margins[question])
            if spent + cost > BUDGET:
                continue
            spent, known = spent + cost, known | {question}
        answered += 1
    return answered


def main() -> None:
    questions = dashboard(np.random.default_rng(7))
    with tempfile.TemporaryDirectory() as folder:
        unpack(Path(folder))
        truth = duckdb.connect()
        truth.execute(f"CREATE TABLE people AS FROM read_csv('{folder}/adult.csv')")
        with obverse.open(Path(folder) / "census.toml") as census:
            census.check()
            start, busy = perf_counter(), process_time()
            for release in RELEASES:
                census.ask(release)
            published = perf_counter() - start
            answers = {question: census.ask(question) for question in dict.fromkeys(questions)}
            took, work = perf_counter() - start - published, process_time() - busy
            spent = census.ledger.spent(table="people").questions
        assert all(answered.loss.epsilon() == 0 for answered in answers.values()) and spent == len(RELEASES)
        margins = {question: float(answered.margins[0][0] or 0) for question, answered in answers.items()}
        off = [
            abs(answers[question].rows[0][0] - truth.execute(question).fetchall()[0][0]) / margins[question]
            for question in answers
        ]
    theirs = cached(questions, margins)
    print(f"{QUESTIONS:,} questions, {len(answers):,} different, on ε = {BUDGET}: Adult, 32,561 rows\n")
    print(f"{'':44}{'answered':>9}  {'median ±':>9}")
    middle = float(np.median(list(margins.values())))
    print(f"{'published once (ages and hours, by sex)':44}{QUESTIONS:>9,}  {middle:>9.1f}")
    print(f"{'a cache of exact repeats, at the same ±':44}{theirs:>9,}  {middle:>9.1f}")
    each = Laplace(len(answers) / BUDGET).interval(0.95)
    print(f"{'a cache that shares ε among all of them':44}{QUESTIONS:>9,}  {each:>9,.1f}")
    print(
        f"\nratio {QUESTIONS / theirs:.1f} (goal {GOAL}); inside its ±: {np.mean(np.array(off) <= 1):.1%} (stated 95 %)"
    )
    print(
        f"published in {published:.2f} s; then {took / len(answers) * 1e3:.2f} ms a question, {work:.1f} s of CPU in all"
    )


if __name__ == "__main__":
    main()
