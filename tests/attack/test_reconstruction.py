"""Answers that are too many and too exact give the bits back; answers with a small total ε do not."""

from fractions import Fraction

import numpy as np
import pytest

from obverse.attack.base import Contest, Game, View, bound, words
from obverse.attack.reconstruction import (
    Answers,
    Fourier,
    Reconstruction,
    least_squares,
    linear_programme,
    transform,
    worlds,
)
from obverse.errors import BadParameter, BadSource
from obverse.mechanisms import Laplace
from obverse.noise.entropy import Keyed


def coins(count, key):
    return words(count, Keyed(key)) >> np.uint64(63) == 1


def gaussian(count, key):
    """Box and Muller: for errors of a careless curator, which promise nothing."""
    u, v = (words(count, Keyed(f"{key} {part}")) / 2.0**64 for part in "uv")
    return np.sqrt(-2 * np.log(1 - u)) * np.cos(2 * np.pi * v)


def asked(people, count, error, key="asked"):
    """Random questions about random bits, answered with this error."""
    bits, questions = (
        coins(people, f"{key} bits"),
        coins(people * count, f"{key} questions").reshape(count, people),
    )
    return bits, Answers(questions, questions @ bits.astype(float) + error * gaussian(count, key))


def careless(attack):
    bits, answers = asked(256, 1024, error=1.6)
    return Contest(attack, View({"answers": answers}), bits, game=Game(coins=True))


def private(attack, epsilon=1):
    """The same questions, each with Laplace noise of its share of ε."""
    bits, exact = asked(256, 1024, error=0)
    scale, entropy = Fraction(1024, epsilon), Keyed("private")
    noisy = [Laplace(scale).release(int(answer), entropy) for answer in exact.answers]
    answers = Answers(exact.questions, np.array(noisy, dtype=float))
    return Contest(attack, View({"answers": answers}), bits, game=Game(coins=True, ledger=float(epsilon)))


def parities(noise):
    bits = coins(1 << 10, "parities")
    return Contest(Fourier("answers"), View({"answers": noise((transform(bits) + bits.sum()) / 2)}), bits)


def laplace_of_epsilon_one(answers):
    """Sensitivity 1 for each of 1,024 parities."""
    entropy = Keyed("parities")
    return answers + np.array([Laplace(Fraction(1024)).release(0, entropy) for _ in answers])


PLANTED = {
    "Reconstruction": lambda: careless(Reconstruction("answers")),
    "Fourier": lambda: parities(lambda answers: answers + 3.2 * gaussian(1 << 10, "parities")),
}
PRIVATE = {
    "Reconstruction": lambda: private(Reconstruction("answers")),
    "Fourier": lambda: parities(laplace_of_epsilon_one),
}


@pytest.mark.parametrize("method", ["linear programme", "least squares"])
def test_errors_below_the_root_of_n_give_the_bits_back(method):
    """An error of 0.1√n on 4n random questions: nearly every bit."""
    bits, answers = asked(64, 256, error=0.8)
    claims = Reconstruction("answers", method).run(View({"answers": answers}))
    assert (claims.values == bits).mean() > 0.95


def test_everybody_is_exact_without_noise():
    bits, answers = asked(64, 256, error=0)
    for solve in (linear_programme, least_squares):
        assert ((solve(answers) > 0.5) == bits).all()


def test_no_best_world_is_further_than_four_errors_from_the_truth():
    """[DN03, Theorem 3], on every question there is and errors up to E = 1."""
    people = 9
    questions = (np.arange(1 << people)[:, None] >> np.arange(people) & 1) > 0
    for trial in range(10):
        bits = coins(people, f"truth {trial}")
        errors = 2.0 * (words(1 << people, Keyed(f"errors {trial}")) / 2.0**64) - 1
        found = worlds(Answers(questions, questions @ bits.astype(float) + errors))
        assert max((world != bits).sum() for world in found) <= 4


def test_the_bound_of_four_errors_is_tight_on_adversarial_answers():
    """Answers half-way between two worlds 4E apart are right within E for both: neither can be told from the other."""
    truth, other = np.repeat([1, 0], [4, 4]) > 0, np.repeat([0, 1], [4, 4]) > 0  # E = 2
    questions = (np.arange(256)[:, None] >> np.arange(8) & 1) > 0
    answers = (questions @ truth.astype(float) + questions @ other.astype(float)) / 2
    assert np.abs(answers - questions @ truth.astype(float)).max() == 2
    found = {tuple(world) for world in worlds(Answers(questions, answers))}
    assert {tuple(truth), tuple(other)} <= found
    claims = Reconstruction("a", "exhaustive").run(View({"a": Answers(questions, answers)}))
    assert not claims.made.any()  # a tie is no claim


def test_fourier_reads_a_million_bits_through_noise():
    """n = 2²⁰, error 0.1√n: each bit is 2.5 standard errors from the other value, so 0.9938 are right."""
    bits = coins(1 << 20, "million")
    answers = (transform(bits) + bits.sum()) / 2 + 102.4 * gaussian(1 << 20, "million")
    claims = Fourier("answers").run(View({"answers": answers}))
    assert (claims.values == bits).mean() > 0.993


def test_transform_is_its_own_inverse_but_for_n():
    for size in (1, 2, 4, 8, 512):
        values = gaussian(size, "inverse").astype(np.float32)
        assert transform(transform(values)) / size == pytest.approx(values, abs=1e-5)
    signs = [[(-1) ** (i & j).bit_count() for i in range(8)] for j in range(8)]
    assert transform(np.arange(8)).tolist() == (np.array(signs) @ np.arange(8)).tolist()


@pytest.mark.parametrize("total", [1, 8])
def test_success_stays_below_what_the_total_epsilon_allows(total):
    """However many questions share it. [KOV15]: at most e^ε/(1 + e^ε) of fair coins."""
    evidence = private(Reconstruction("answers"), total).evidence()
    assert evidence.success.low <= bound(total)


def test_epsilon_per_question_is_not_what_protects():
    """ε = 1/2 for each of 1,024 questions looks small; in total it is 512, and nearly every bit is read."""
    assert (
        private(Reconstruction("answers"), total := 512).evidence().success.share > 0.95
        and total / 1024 == 0.5
    )


def test_bad_input_is_refused():
    with pytest.raises(BadSource, match="question"):
        Answers(np.ones((2, 3), bool), np.ones(3))
    with pytest.raises(BadParameter, match="no method"):
        Reconstruction("a", "guess")
    with pytest.raises(BadParameter, match=r"2\^21 worlds"):
        worlds(Answers(np.ones((1, 21), bool), np.ones(1)))
    with pytest.raises(BadSource, match="one answer for each parity"):
        Fourier("a").run(View({"a": np.ones(3)}))
    with pytest.raises(BadSource, match="an answer is a number"):
        Answers(np.ones((1, 3), bool), np.array([np.nan]))
    with pytest.raises(BadSource, match="lacks an answer"):
        Fourier("a").run(View({"a": np.array([1.0, np.nan])}))
    with pytest.raises(BadSource, match="no questions"):
        Reconstruction("a").run(View({"a": 3}))
