"""Exact noise beside NumPy's floats and, where it is installed in bench/.env-opendp, OpenDP: `python -m bench.noise`."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from fractions import Fraction
from math import sqrt
from pathlib import Path
from statistics import median
from time import perf_counter_ns, process_time

import numpy as np

from obverse.mechanisms import Gaussian, Laplace
from obverse.noise import bulk
from obverse.noise.entropy import System

MILLION = 10**6
PEER = Path(__file__).parent / ".env-opendp" / "bin" / "python"
PEER_CODE = """
import time, opendp.prelude as dp
dp.enable_features("contrib")
space = dp.atom_domain(T=int), dp.absolute_distance(T=int)
for make in (dp.m.make_laplace, dp.m.make_gaussian):
    release = make(*space, scale=10.0)
    start = time.process_time()
    for _ in range(2000): release(5)
    print((time.process_time() - start) / 2000 * 1e6)
"""


def seconds(work: Callable[[], object], times: int = 5) -> float:
    """The median processor time of some runs."""
    taken = []
    for _ in range(times):
        start = process_time()
        work()
        taken.append(process_time() - start)
    return median(taken)


def rank(values: list[int]) -> np.ndarray:
    """Ranks, equal values sharing theirs."""
    _, index, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[index]


def correlation(mechanism: Laplace | Gaussian, value: int, entropy: System, calls: int = 200_000) -> float:
    """Spearman's correlation of a call's time with the size of its noise."""
    times, sizes = [], []
    for _ in range(calls):
        start = perf_counter_ns()
        noisy = mechanism.release(value, entropy)
        times.append(perf_counter_ns() - start)
        sizes.append(abs(noisy - value))
    return float(np.corrcoef(rank(times), rank(sizes))[0, 1])


def line(name: str, goal: str, measured: str, ratio: str) -> None:
    print(f"{name:44} {goal:>12} {measured:>14} {ratio:>10}")


def main() -> None:
    entropy = System()
    line("noise", "goal", "measured", "ratio")
    peers = [float("nan")] * 2
    if PEER.exists():
        shown = subprocess.run([PEER, "-c", PEER_CODE], capture_output=True, text=True, check=True)
        peers = [float(each) for each in shown.stdout.split()]
    for name, many, peer, times in (
        ("Laplace", lambda: bulk.laplace(Fraction(10), MILLION, entropy), np.random.laplace, 6),
        ("Gaussian", lambda: bulk.gaussian(Fraction(100), MILLION, entropy), np.random.normal, 20),
    ):
        ours, theirs = seconds(many), seconds(lambda peer=peer: peer(0.0, 10.0, MILLION))
        ratio = ours / theirs
        line(f"10^6 exact {name}, of numpy.random", f"<= {times}x", f"{ours * 1e3:.0f} ms", f"{ratio:.1f}x")
    cases = ((Laplace(Fraction(10)), 2), (Gaussian(Fraction(100)), 5))
    for (mechanism, goal), peer_time in zip(cases, peers, strict=True):
        one = seconds(lambda m=mechanism: [m.release(5, entropy) for _ in range(100_000)]) * 10
        name = type(mechanism).__name__
        line(f"one exact {name} (OpenDP)", f"<= {goal} us", f"{one:.2f} us", f"{one / peer_time:.3f}x")
        for value in (0, 1000):
            found = correlation(mechanism, value, entropy)
            error = 1 / sqrt(200_000)
            line(
                f"rank correlation of time and |{name}| at {value}",
                "<= 0.03",
                f"{found:+.4f}",
                f"se {error:.4f}",
            )


if __name__ == "__main__":
    main()
