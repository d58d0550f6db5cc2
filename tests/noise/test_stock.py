"""A draw made ahead is handed out once: to one thread, in one process, for one law."""

import itertools
import os
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

from obverse.mechanisms import Gaussian, Laplace
from obverse.noise import stock
from obverse.noise.entropy import Keyed, System
from obverse.noise.stock import LAWS, Stock


def test_no_draw_is_handed_out_twice_to_threads():
    numbers = itertools.count()
    held = Stock()
    with ThreadPoolExecutor(8) as threads:
        taken = list(
            threads.map(
                lambda _: held.add(0, "law", lambda n: [next(numbers) for _ in range(n)]), range(20_000)
            )
        )
    assert len(set(taken)) == len(taken)


def in_child(work):
    """What `work` gives in a forked child."""
    read, write = os.pipe()
    if (child := os.fork()) == 0:
        os.write(write, repr(work()).encode())
        os._exit(0)
    os.waitpid(child, 0)
    return eval(os.read(read, 1 << 16))


def test_a_forked_child_draws_noise_of_its_own():
    """Forty draws of scale 10⁶ agree by chance less than once in 10²⁰⁰."""
    entropy, mechanism = System(), Laplace(Fraction(10**6))
    for _ in range(9):
        mechanism.release(0, entropy)
    child = in_child(lambda: [mechanism.release(0, entropy) for _ in range(40)])
    assert child != [mechanism.release(0, entropy) for _ in range(40)]


def test_a_stock_without_the_check_would_share_its_noise(monkeypatch):
    """The planted bug: entropy shared after fork."""
    monkeypatch.setattr(stock, "_process", lambda: (0, 0))
    entropy, mechanism = System(), Laplace(Fraction(10**6))
    for _ in range(9):
        mechanism.release(0, entropy)
    child = in_child(lambda: [mechanism.release(0, entropy) for _ in range(5)])
    assert child == [mechanism.release(0, entropy) for _ in range(5)]


def test_laws_do_not_mix_and_old_ones_make_room():
    held = Stock()
    for law in range(10 * LAWS):
        assert held.add(0, law, lambda n, law=law: [law] * n) == law
    assert len(held._shelf) <= LAWS


def test_two_entropies_share_nothing():
    a, b, mechanism = System(), System(), Gaussian(Fraction(10**12))
    assert [mechanism.release(0, a) for _ in range(5)] != [mechanism.release(0, b) for _ in range(5)]


def test_keyed_entropy_replays_whatever_was_drawn_elsewhere():
    first = [Laplace(Fraction(100)).release(0, Keyed("replay")) for _ in range(3)]
    Laplace(Fraction(100)).release(0, System())
    assert first == [Laplace(Fraction(100)).release(0, Keyed("replay")) for _ in range(3)]
    many = Gaussian(Fraction(100)).release_many([1, 2, 3], Keyed("replay"))
    assert many == Gaussian(Fraction(100)).release_many([1, 2, 3], Keyed("replay"))


def test_values_beyond_64_bits_keep_their_size():
    noisy = Laplace(Fraction(3)).release_many([2**80, -(2**80)], System())
    assert abs(noisy[0] - 2**80) < 1000 and abs(noisy[1] + 2**80) < 1000
