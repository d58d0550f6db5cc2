"""Every classical bug is caught; an honest mechanism is not accused.

Each planted bug is one that a published library or paper had. A lie is proved with an error of 10⁻⁶ a case, so that a
caught bug is no luck, and a thousand clean runs accuse nobody but once in a thousand such thousands.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction as F
from math import log
from typing import Any

import numpy as np
import pytest

from obverse.audit.analytic import fitted, recomputed
from obverse.audit.black_box import of_callable, of_case
from obverse.audit.cases import COUNTS, GENERAL, ONE, TWO, Case, cases, without_case
from obverse.audit.door import Watched, checks, honest
from obverse.audit.one_run import one_run
from obverse.audit.replay import BASE, Recorder, replayed
from obverse.audit.timing import timed
from obverse.audit.witness import witness
from obverse.curator.curator import Curator
from obverse.data.schema import Schema
from obverse.data.table import Tables
from obverse.errors import OverBudget, Withheld
from obverse.loss.loss import Sensitivity
from obverse.mechanisms import Gaussian, Laplace
from obverse.mechanisms.base import Mechanism
from obverse.mechanisms.exponential import Exponential
from obverse.mechanisms.long_ranges import LongRanges
from obverse.mechanisms.noisy_max import NoisyMax
from obverse.mechanisms.partition import NamedCounts, Partition
from obverse.mechanisms.permute_and_flip import PermuteAndFlip
from obverse.mechanisms.quantile import Quantiles
from obverse.mechanisms.randomized_response import RandomizedResponse
from obverse.mechanisms.ranges import LaplaceRanges
from obverse.mechanisms.running_totals import RunningTotals
from obverse.mechanisms.sparse_vector import SparseVector
from obverse.mechanisms.top_k import TopK
from obverse.noise.entropy import Keyed, System
from obverse.query.ask import Ask
from obverse.query.plan import AskPlan
from obverse.release import Charge, Terms

E = F(1)
CLAIMED = SparseVector.at(E, GENERAL, threshold=0, hits=1)
TOO_LITTLE: dict[str, tuple[Mechanism[Any, Any], Case]] = {
    "a Laplace scale 5 % too small": (Laplace(F(19, 20)), Case(Laplace(E), 0, 1, ONE)),
    "a Gaussian scale 5 % too small": (Gaussian(F(361, 100)), Case(Gaussian(F(4)), 0, 1, ONE)),
    "a sensitivity that ignores a bound": (Laplace(E), Case(Laplace(E), 0, 3, ONE)),
    "a sensitivity that ignores replace-one": (Laplace(E), Case(Laplace(E), 1, -1, ONE)),
    "a Gaussian that ignores a bound": (Gaussian(F(4)), Case(Gaussian(F(4)), 0, 3, ONE)),
    "the exponential mechanism without its 2": (
        Exponential.at(E, COUNTS),
        Case(Exponential.at(E, GENERAL), (3, 4), (4, 3), ONE),
    ),
    "the exponential mechanism with a spurious 2": (
        Exponential.at(E, GENERAL),
        Case(Exponential.at(E, COUNTS), (3, 3, 4), (3, 4, 4), ONE),
    ),
    "permute-and-flip without its 2": (
        PermuteAndFlip.at(F(2), COUNTS),
        Case(PermuteAndFlip.at(E, GENERAL), (3, 4), (4, 3), ONE),
    ),
    "noisy max without its 2": (
        NoisyMax.at(F(4), COUNTS),
        Case(NoisyMax.at(E, GENERAL), (3, 4), (4, 3), ONE),
    ),
    "top-k that pays for one of its k": (
        TopK.at(F(4), GENERAL, 2),
        Case(TopK.at(E, GENERAL, 2), (3, 4, 4), (4, 3, 3), ONE),
    ),
    "a tree that pays for one of three levels": (
        LaplaceRanges((2,), F(3), "haar"),
        Case(LaplaceRanges((2,), E, "haar"), (0, 0), (1, 0), ONE),
    ),
    "long ranges whose levels are uncharged": (
        LongRanges(46, F(6)),
        Case(LongRanges(46, E), (0,) * 46, (1,) + (0,) * 45, ONE),
    ),
    "running totals with nodes uncharged": (
        RunningTotals(3, F(20)),
        Case(RunningTotals(3, F(1, 2)), (0, 1), (1, 1), ONE),
    ),
    "groups named too soon": (Partition(E, F(1, 4)), Case(Partition(E, F(1, 100)), (1,), (0,), ONE)),
    "groups named with another ε": (
        Partition(F(6), F(1, 100)),
        Case(Partition(E, F(1, 100)), (2,), (1,), ONE),
    ),
    "a cut that is too low": (NamedCounts(E, 1), Case(NamedCounts.at(E, F(1, 100)), (1,), (0,), ONE)),
    "naming that is charged for one of two groups": (
        Partition(E, F(1, 10)),
        Case(Partition(E, F(1, 100)), (1, 1), (0, 0), TWO),
    ),
    "randomised response with the wrong odds": (
        RandomizedResponse(F(3, 2)),
        Case(RandomizedResponse(E), (0,), (1,), ONE),
    ),
    "randomised response that forgets k": (
        RandomizedResponse(F(2), 5),
        Case(RandomizedResponse(E, 5), (0,), (3,), ONE),
    ),
    "a median with eight times its ε": (
        Quantiles.median(0, 999, F(8)),
        Case(Quantiles.median(0, 999, E), (0, 0), (0, 0, 999), ONE),
    ),
    "a sparse vector with too small scales": (
        SparseVector(0, 1, F(1, 9), F(1, 9)),
        Case(CLAIMED, (-1, -1), (0, 0), ONE),
    ),
}


@pytest.mark.parametrize("bug", TOO_LITTLE)
def test_too_little_noise_is_caught(bug: str) -> None:
    does, case = TOO_LITTLE[bug]
    entropy = Keyed(bug)
    seen = of_case(case, entropy, does)
    fit = None if seen.lies else fitted(case, entropy, does=does)
    assert seen.lies or (fit is not None and fit.lies), str(seen)


@dataclass(frozen=True)
class Classical(Gaussian):
    """σ = √(2 ln(1.25/δ))·Δ/ε, and the claim that this is (ε, δ) above ε = 1 as well."""

    epsilon: float = 10.0
    delta: float = 1e-5

    def profile(self, epsilon: float, sensitivity: Sensitivity) -> float:
        return self.delta if epsilon >= self.epsilon else 1.0


@dataclass(frozen=True)
class Understated(Laplace):
    """A curve that forgets a tail."""

    def profile(self, epsilon: float, sensitivity: Sensitivity) -> float:
        return super().profile(epsilon, sensitivity) / 2


@dataclass(frozen=True)
class OneSided(Exponential):
    """A curve for scores that move one way, charged for scores that do not."""

    def profile(self, epsilon: float, sensitivity: Sensitivity) -> float:
        return Exponential(self.rate / 2).profile(epsilon, sensitivity)


CURVES = {
    "the classical Gaussian above ε = 1": Case(
        Classical(F(round(2 * log(1.25e5) / 100 * 200**2 * 1000), 1000)), 0, 200, Sensitivity.of(200)
    ),
    "a curve that is half the truth": Case(Understated(E), 0, 1, ONE),
    "a curve of half the ε": Case(OneSided(E), (3, 4), (4, 3), ONE),
}


@pytest.mark.parametrize("bug", CURVES)
def test_a_curve_that_claims_too_little_is_caught(bug: str) -> None:
    case = CURVES[bug]
    if isinstance(
        case.mechanism, Classical
    ):  # at the ε of the claim, which the usual grid of ε stops short of
        assert case.mechanism.delta < 0.8 * Gaussian(case.mechanism.variance).profile(10.0, case.sensitivity)
        from obverse.audit.laws import delta, law

        laws = [law(case.mechanism, value) or {} for value in (case.value, case.neighbour)]
        assert delta(laws[0], laws[1], 10.0) > 1.2 * case.mechanism.delta
    else:
        found = recomputed(case)
        assert found is not None and found.lies


# ── functions that somebody might have written ────────────────────────────────────────────────────────────

DICE = np.random.default_rng(7)


def noise(scale: float = 1.0) -> float:
    return float(DICE.laplace(0.0, scale))


def whole(scale: float = 1.0) -> int:
    p = 1 - np.exp(-1 / scale)
    return int(DICE.geometric(p) - DICE.geometric(p))


def sparse(
    answers: list[int], *, noisy: bool = True, tell: bool = False, stop: bool = True, fresh: float = 4
) -> tuple[object, ...]:
    """Above the threshold 0 or not, ε = 1, one hit: what the papers' wrong forms leave out."""
    threshold, said = whole(2.0), []
    for answer in answers:
        number = answer + (whole(fresh) if noisy else 0)
        if number >= threshold:
            said.append(number if tell else True)
            if stop:
                break
        else:
            said.append(False)
    return tuple(said)


def on_coarse_grid(value: float) -> float:
    """Noise on a grid, the value beside it."""
    return value + round(noise() * 1024) / 1024


def fine_grid(value: float) -> float:
    """2⁻⁵⁷ steps do not survive an addition in float64."""
    return value + float(DICE.integers(-(2**59), 2**59)) * 2.0**-57


def mean_over_true_count(values: list[float]) -> float:
    return (sum(values) + round(noise(1.0), 3)) / max(1, len(values))


def bounds_from_data(values: list[float]) -> float:
    top = max(values, default=0.0)
    return round(sum(min(v, top) for v in values) / (top or 1.0) + noise(), 3) * (top or 1.0)


def step_from_data(values: list[float]) -> float:
    step = 1.0 if max(values, default=0) < 100 else 64.0
    return round((len(values) + noise()) / step) * step


def refusing(values: list[float]) -> float:
    if len(values) < 2:
        raise ValueError("too few rows")
    return round(len(values) + noise(), 2)


def telling(values: list[float]) -> float:
    if noise() > -1:
        raise ValueError(f"cannot handle {values[-1]}")
    return 0.0


def nan_through_the_clamp(values: list[float]) -> float:
    return round(sum(max(0.0, min(v, 1.0)) if v == v else v for v in values) + noise(), 3)


def wrapping(values: list[int]) -> int:
    return int(np.array(values, dtype=np.int64).sum()) + whole()


def same_after_fork(value: int) -> int:
    return value + int(np.random.default_rng(1).integers(-3, 3))


def as_they_are(values: list[str]) -> tuple[str, ...]:
    return tuple(sorted(set(values)))


FUNCTIONS: dict[str, tuple[Callable[[Any], object], object, object]] = {
    "a sparse vector whose answers have no noise": (lambda a: sparse(a, noisy=False), [0, 1], [1, 0]),
    "a sparse vector that tells its noisy answer": (lambda a: sparse(a, tell=True, fresh=0.5), [5], [6]),
    "a sparse vector that does not stop": (
        lambda a: sparse(a, stop=False, fresh=1),
        [0] * 3 + [1] * 3,
        [1] * 3 + [0] * 3,
    ),
    "a sparse vector with too little noise on answers": (
        lambda a: sparse(a, fresh=0.4),
        [0, 0, 1],
        [1, 1, 0],
    ),
    "float noise as it comes": (lambda v: v + noise(), 0.0, 1.0),
    "float noise of a value that is off the grid": (on_coarse_grid, 0.0, 0.1),
    "a 2⁻⁵⁷ grid added in float64": (fine_grid, 0.0, 1.0),
    "a true divisor under a noisy sum": (mean_over_true_count, [1.0], [1.0, 1.0]),
    "bounds read from the data": (bounds_from_data, [1.0, 1.0], [1.0, 1.0, 50.0]),
    "a grid read from the data": (step_from_data, [1.0], [1.0, 500.0]),
    "a refusal that depends on rows": (refusing, [1.0], [1.0, 2.0]),
    "an error text that quotes a row": (telling, [1.0, 2.0], [1.0, 3.0]),
    "NaN through the clamp": (nan_through_the_clamp, [0.5], [0.5, float("nan")]),
    "a sum that wraps": (wrapping, [2**62, 2**62 - 1], [2**62, 2**62 - 1, 1]),
    "entropy shared after a fork": (same_after_fork, 0, 1),
    "groups named because they exist": (as_they_are, ["flu"], ["flu", "plague"]),
    "a scale from a float that underflows": (lambda v: v + noise(1e-3), 0.0, 1.0),
}


@pytest.mark.parametrize("bug", FUNCTIONS)
def test_a_function_that_lies_is_caught(bug: str) -> None:
    function, one, other = FUNCTIONS[bug]
    found = of_callable(bug, function, (one, other), 1.0, 0.0)
    assert found.lies, str(found)


def test_an_honest_function_is_not_accused() -> None:
    assert not of_callable("honest", lambda value: value + whole(), (0, 1), 1.0, 0.0, rounds=3).lies


# ── questions ────────────────────────────────────────────────────────────────────────────────────────────


def halved(sql: str, schemas: dict[str, Schema]) -> AskPlan:
    """A sensitivity of half the truth."""
    plan = Ask(sql).plan(schemas, Terms())
    less = [replace(t, sensitivity=Sensitivity.of(t.sensitivity.l1 / 2)) for t in plan.noisy]
    return replace(plan, noisy=tuple(less))


def as_rows(sql: str, schemas: dict[str, Schema]) -> AskPlan:
    """People charged as if each had one row."""
    plan = Ask(sql).plan(schemas, Terms())
    rows = schemas["t"].unit.rows
    less = [replace(t, sensitivity=Sensitivity.of(t.sensitivity.l1 / rows)) for t in plan.noisy]
    return replace(plan, noisy=tuple(less))


def unbounded(plan: AskPlan, engine: Tables, entropy: Recorder) -> object:
    """SUM in floats, of values as they are, in the order they come."""
    from sqlglot import parse_one

    rows = engine.run(parse_one("SELECT SUM(pay), COUNT(*) FROM t", dialect="duckdb"))  # type: ignore[arg-type]
    total = float(rows[0][0] or 0)  # type: ignore[arg-type]
    for noisy in plan.noisy:
        noisy.mechanism.release_many([int(max(-1e300, min(total, 1e300)))], entropy)
    return None


def only_what_is_there(plan: AskPlan, engine: Tables, entropy: Recorder) -> object:
    """Noise for the groups that exist."""
    for places, select in plan.selects:
        rows = engine.run(select)
        for place in places:
            plan.noisy[place].mechanism.release_many([1] * len(rows), entropy)
    return None


def more_noise_for_few(plan: AskPlan, engine: Tables, entropy: Recorder) -> object:
    """A mechanism that is chosen by looking."""
    from sqlglot import parse_one

    count = engine.run(parse_one("SELECT COUNT(*) FROM t"))[0][0]  # type: ignore[arg-type]
    for noisy in plan.noisy:
        mechanism = noisy.mechanism if count == len(BASE) else Laplace(F(77))
        mechanism.release_many([0] * len(plan.groups()), entropy)
    return None


def failing_on_a_row(plan: AskPlan, engine: Tables, entropy: Recorder) -> object:
    """An overflow on row 17."""
    from sqlglot import parse_one

    if engine.run(parse_one("SELECT COUNT(*) FROM t WHERE age > 1000000"))[0][0]:  # type: ignore[arg-type]
        raise Withheld("overflow")
    return plan.run(engine, entropy)


QUESTIONS: dict[str, dict[str, Any]] = {
    "a sensitivity of half the truth": {"ask": halved},
    "people charged as if each had one row": {"ask": as_rows},
    "a median of more of one's rows than are charged": {
        "ask": as_rows,
        "questions": ["SELECT MEDIAN(age) FROM t"],
    },
    "a float SUM of values as they are": {"run": unbounded, "questions": ["SELECT SUM(pay) FROM t"]},
    "groups that are there": {
        "run": only_what_is_there,
        "questions": ["SELECT FLOOR(age / 30) AS k, COUNT(*) FROM t GROUP BY 1"],
    },
    "a mechanism chosen by looking": {"run": more_noise_for_few, "questions": ["SELECT COUNT(*) FROM t"]},
    "an overflow on one row": {"run": failing_on_a_row, "questions": ["SELECT COUNT(*) FROM t"]},
}


@pytest.mark.parametrize("bug", QUESTIONS)
def test_a_question_that_lies_is_caught(bug: str) -> None:
    assert any(finding.lies for finding in replayed(**QUESTIONS[bug]))


# ── the door ─────────────────────────────────────────────────────────────────────────────────────────────


class ChargesAfter(Curator):
    def release(self, request: Any, to: str = "curator") -> Any:
        plan = request.plan(self.schemas, self.ledger.policy.terms(to))
        plan.run(self._open(plan.tables), self._entropy)
        return super().release(request, to)


class ForgetsTheEdition(Curator):
    def _key(self, plan: Any, tables: Any) -> str:
        return str(plan.key)


class NoiseByTheQuestion(Curator):
    """Similar questions, similar noise: drawn from the question's text."""

    def release(self, request: Any, to: str = "curator") -> Any:
        self._entropy = Keyed(str(request))
        return super().release(request, to)


class AnswersAnew(Curator):
    asked = 0

    def _key(self, plan: Any, tables: Any) -> str:
        self.asked += 1
        return f"{plan.key} {self.asked}"


class GivesBack(Curator):
    def release(self, request: Any, to: str = "curator") -> Any:
        plan = request.plan(self.schemas, self.ledger.policy.terms(to))
        plan.run(self._open(plan.tables), self._entropy)  # what fails is never charged
        return super().release(request, to)


class ChecksThenSpends(Curator):
    """Looks at what is left, and spends it by a second step that does not look."""

    def release(self, request: Any, to: str = "curator") -> Any:
        if self.ledger.spent(table="t").questions > 4:
            raise OverBudget("nothing is left")
        self.ledger.submit = lambda charge: type(self.ledger).submit(  # type: ignore[method-assign]
            self.ledger, Charge(charge.account, (), charge.kind, charge.key, charge.guarantee)
        )
        return super().release(request, to)


DOORS = [ChargesAfter, ForgetsTheEdition, NoiseByTheQuestion, AnswersAnew, GivesBack, ChecksThenSpends]


@pytest.mark.parametrize("bug", DOORS)
def test_a_door_that_lies_is_caught(bug: type[Curator]) -> None:
    def door(schema: Schema, ledger: Any, engine: Watched) -> Curator:
        return bug([schema], ledger, System(), {"duckdb": engine})  # type: ignore[dict-item]

    assert any(finding.lies for finding in checks(door))


def test_the_door_is_honest() -> None:
    assert not [finding for finding in checks(honest) if finding.lies]


# ── time, and one run ────────────────────────────────────────────────────────────────────────────────────


def test_a_draw_whose_time_follows_its_noise_is_caught() -> None:
    def slow() -> int:
        tries = 1
        while DICE.random() < 0.9:
            tries += 1
        return tries

    assert timed("slow", slow, 5000).lies


def test_one_run_catches_what_keeps_its_records() -> None:
    records = list(range(400))

    def kept(output: set[int], record: int) -> float:
        return float(record in output)

    assert one_run("copy", set, records, kept, 1.0, 0.0, Keyed("one run")).lies
    assert not one_run("nothing", lambda inside: set(), records, kept, 1.0, 0.0, Keyed("one run")).lies


# ── nobody is accused ────────────────────────────────────────────────────────────────────────────────────


def test_every_mechanism_is_watched() -> None:
    assert without_case(cases()) == []


@pytest.mark.slow
def test_a_thousand_clean_runs_accuse_nobody() -> None:
    """The pair that uses the whole ε: P/Q = e everywhere, where an accusation is likeliest."""
    entropy, scale = Keyed("clean"), Laplace(E)
    profile = lambda epsilon: scale.profile(epsilon, ONE)  # noqa: E731
    for _ in range(1000):
        here, there = (scale.release_many([value] * 400, entropy) for value in (0, 1))
        assert not witness(here, there).exceeds(profile, [0.0, 0.5, 1.0])


def test_the_whole_audit_fits_a_test_run(capsys: pytest.CaptureFixture[str]) -> None:
    from obverse.cli.main import main

    assert main(["audit"]) == 0
    assert "LIES" not in capsys.readouterr().out


def test_a_function_of_yours_from_the_command_line(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from obverse.cli.main import main

    (tmp_path / "mine_to_try.py").write_text(
        "from fractions import Fraction\nfrom obverse import Laplace\nfrom obverse.noise.entropy import System\n"
        "def honest(x): return Laplace(Fraction(1)).release(x, System())\n"
        "def liar(x): return Laplace(Fraction(1, 2)).release(x, System())\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    assert main(["audit", "mine_to_try:honest", "--epsilon", "1", "--seconds", "3"]) == 0
    assert main(["audit", "mine_to_try:liar", "--epsilon", "1", "--seconds", "3"]) == 1
    assert main(["audit", "mine_to_try:nothing"]) == 2
    assert "LIES" in capsys.readouterr().out


def test_there_are_forty_planted_bugs() -> None:
    assert len(TOO_LITTLE) + len(CURVES) + len(FUNCTIONS) + len(QUESTIONS) + len(DOORS) + 2 >= 40
