"""Mechanisms beside the numbers of the issue; those of peers are quoted from it: `python -m bench.mechanisms`."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import exp
from time import process_time

import numpy as np

from obverse.local.frequency import HadamardResponse, UnaryEncoding
from obverse.mechanisms import (
    GaussianRanges,
    LaplaceRanges,
    LongRanges,
    PermuteAndFlip,
    Quantiles,
    RandomizedResponse,
    RunningTotals,
    Score,
)
from obverse.noise.entropy import Keyed, System

ONE, HALF, ENTROPY = Fraction(1), Fraction(1, 2), System()


def seconds(work: Callable[[], object], times: int, repeat: int = 5) -> float:
    """The least processor time of one call, over some repeats of `times` calls."""
    taken = []
    for _ in range(repeat):
        start = process_time()
        for _ in range(times):
            work()
        taken.append((process_time() - start) / times)
    return min(taken)


def line(name: str, goal: str, measured: str, ratio: float) -> None:
    print(f"{name:64} {goal:>12} {measured:>16} {ratio:>8.2f}")


def selection() -> None:
    scores = np.array([(i * 7919) % 1000 for i in range(1000)])
    mechanism = PermuteAndFlip.at(ONE, Score.count("add-remove"))
    taken = seconds(lambda: mechanism.release(scores, ENTROPY), 2000) * 1e6
    line(
        "noisy max (permute-and-flip) over 1,000 (OpenDP 2,187 us)", "<= 15 us", f"{taken:.1f} us", taken / 15
    )


def ranges() -> None:
    for mechanism, goal, peer in (
        (LaplaceRanges((256,), ONE), 68, "OpenDP 135, the notes' tree 980"),
        (GaussianRanges((256,), HALF), 8.6, "rho = 1/2"),
    ):
        found = mechanism.average_variance()
        line(f"ranges of 256, average variance ({peer})", f"<= {goal}", f"{found:.2f}", found / goal)
    long, size = LongRanges(65_536, ONE), 65_536
    cells = np.arange(size) % 50
    true = np.append(0, cells.cumsum())
    edges = np.sort(
        np.frombuffer(Keyed("edges").bytes(160_000), np.uint32).reshape(-1, 2) % (size + 1)
    ).astype(int)
    squares = []
    for _ in range(200):
        off = np.append(0, long.release(cells, ENTROPY).cumsum()) - true
        squares.append(np.square(off[edges] @ [-1, 1]).mean())
    found, error = np.mean(squares), np.std(squares) / len(squares) ** 0.5
    line(
        "ranges of 65,536, average variance (OpenDP 896)",
        "<= 520",
        f"{found:.0f} +- {error:.0f}",
        found / 520,
    )
    taken = seconds(lambda: long.release(cells, ENTROPY), 20) * 1e3
    line("  released in (OpenDP 1,265 ms)", "<= 5 ms", f"{taken:.2f} ms", taken / 5)


def totals() -> None:
    found = RunningTotals(1 << 20, HALF).variance(1 << 20)
    line("running totals, 2^20 steps, largest variance (tree 420)", "<= 31", f"{found:.2f}", found / 31)


def quantiles() -> None:
    deciles = Quantiles.at([Fraction(k, 10) for k in range(1, 10)], 0, 1_000_000, ONE)
    drawn = np.frombuffer(Keyed("values").bytes(4000 * 500), np.uint32).reshape(500, 1000)
    for name, values in (
        ("uniform", drawn % 1_000_001),
        ("log-uniform", np.exp(drawn / 2**32 * np.log(1e6))),
    ):
        errors = []
        for row in np.sort(values.astype(np.int64)):
            found = row.searchsorted(deciles.release(row, ENTROPY))
            errors.append(np.abs(found - np.arange(100, 1000, 100)).mean())
        error = float(np.mean(errors))
        line(f"nine deciles of 1,000 {name}, mean rank error (PyDP 11.5)", "<= 5", f"{error:.2f}", error / 5)
    taken = seconds(lambda: deciles.release(drawn[0].astype(np.int64) % 1_000_001, ENTROPY), 200) * 1e3
    line("  released in", "<= 1 ms", f"{taken:.2f} ms", taken)


def local() -> None:
    people, size = np.arange(1_000_000) % 50, 1_000_000
    for protocol, goal, peer in (
        (RandomizedResponse(ONE, 2), 1e7, "pure-ldp 5e5"),
        (HadamardResponse(ONE, 64), 1e7, "pure-ldp 5e5"),
        (UnaryEncoding(ONE, 64), 1e6, "pure-ldp 4e4"),
    ):
        answers = people % 2 if isinstance(protocol, RandomizedResponse) else people
        speed = size / seconds(lambda p=protocol, a=answers: p.release(a, ENTROPY), 1, 4)
        name = f"{type(protocol).__name__}, users a second ({peer})"
        line(name, f">= {goal:.0e}", f"{speed:.2e}", goal / speed)
    theory = {
        HadamardResponse: ((exp(1) + 1) / (exp(1) - 1)) ** 2,
        UnaryEncoding: 4 * exp(1) / (exp(1) - 1) ** 2,
    }
    for kind, each in theory.items():
        protocol, runs, nobody = kind(ONE, 64), 500, np.zeros(4000, np.int64)
        values = np.array([protocol.estimate(protocol.release(nobody, ENTROPY)).values for _ in range(runs)])
        ratio = float(np.square(values[:, 1:]).mean() / (4000 * each))
        line(f"{kind.__name__}, variance over theory", "1 +- 0.02", f"{ratio:.3f}", abs(ratio - 1) / 0.02)
        bias = float(np.abs(values.mean(0) - np.bincount([0], minlength=64) * 4000).max())
        sigma = float((values.std(0) / runs**0.5).max())
        line(
            f"{kind.__name__}, largest bias in standard errors",
            "<= 5",
            f"{bias / sigma:.1f}",
            bias / sigma / 5,
        )


def main() -> None:
    print(f"{'mechanisms':64} {'goal':>12} {'measured':>16} {'ratio':>8}")
    for part in (selection, ranges, totals, quantiles, local):
        part()


if __name__ == "__main__":
    main()
