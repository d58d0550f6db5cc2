"""All checks of everything Obverse releases with, one line each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from fractions import Fraction
from itertools import chain

from obverse.audit.analytic import at_random, fitted, recomputed
from obverse.audit.black_box import of_case
from obverse.audit.cases import cases, without_case
from obverse.audit.door import checks
from obverse.audit.finding import Finding
from obverse.audit.replay import replayed
from obverse.audit.timing import timed
from obverse.mechanisms.gaussian import Gaussian
from obverse.mechanisms.laplace import Laplace
from obverse.noise.entropy import System


def suite(processes: int = 2) -> Iterator[Finding]:
    """Every finding, as soon as it is there."""
    for name in without_case(cases()):
        yield Finding("case", name, True, note="no case watches it: add one to audit/cases.py")
    works: list[Callable[[], list[Finding]]] = [_random, _replayed, _door, _timing]
    with ProcessPoolExecutor(processes) as pool:
        jobs = [pool.submit(of_mechanism, place) for place in range(len(cases()))]
        jobs += [pool.submit(work) for work in works]
        yield from chain.from_iterable(job.result() for job in jobs)


def of_mechanism(place: int) -> list[Finding]:
    """What is charged, how draws fit, and what can be seen from outside."""
    case, entropy = cases()[place], System()
    found = (recomputed(case), fitted(case, entropy), of_case(case, entropy))
    return [finding for finding in found if finding is not None]


def _random() -> list[Finding]:
    return at_random(System())


def _replayed() -> list[Finding]:
    return replayed()


def _door() -> list[Finding]:
    return checks()


def _timing() -> list[Finding]:
    entropy = System()
    mechanisms = (Laplace(Fraction(10)), Gaussian(Fraction(100)))
    return [timed(type(m).__name__, lambda m=m: m.release(0, entropy)) for m in mechanisms]  # type: ignore[misc]
