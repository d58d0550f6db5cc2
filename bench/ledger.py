"""How fast the ledger charges, against the disk it is on: `python -m bench.ledger`."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from threading import Thread
from time import perf_counter, process_time

import apsw

from obverse.ledger.ledger import Ledger
from obverse.ledger.policy import Account, Policy, limits
from obverse.ledger.verify import verify
from obverse.loss.loss import Sensitivity
from obverse.mechanisms import Laplace
from obverse.release import Charge

POLICY = Policy(limits(1_000_000), accounts=(Account("research"),))
TENTH = Laplace(Fraction(10)).loss(Sensitivity.of(1))
HERE = Path(__file__).parent


def main() -> None:
    with tempfile.TemporaryDirectory(dir=HERE) as name:
        folder = Path(name)
        print(f"{'':44}{'goal':>10}{'measured':>12}{'ratio':>9}")
        raw = _raw(folder)
        _show("raw append and fdatasync, a second", "", raw)
        _one(folder, raw)
        _eight_threads(folder)
        _sixty_four_threads(folder)
        _eight_processes(folder)
        _verified(folder)


def _raw(folder: Path, times: int = 500) -> float:
    """Appends of 300 bytes, each made durable, a second."""
    file = os.open(folder / "raw", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    start = perf_counter()
    for _ in range(times):
        os.write(file, b"x" * 300)
        os.fdatasync(file)
    os.close(file)
    return times / (perf_counter() - start)


def _one(folder: Path, raw: float) -> None:
    """One thread: what a charge costs beyond its fsync, and the frames of a question on the caller's side."""
    with _opened(folder / "one.ledger") as ledger:
        start, cpu = perf_counter(), process_time()
        _charge(ledger, "warm", 500)
        each = (perf_counter() - start) / 500
        _show("one charge, ms beyond one fsync", "<= 1", (each - 1 / raw) * 1000)
        _show("one charge, CPU ms", "", (process_time() - cpu) / 500 * 1000)
        frames = 0

        def count(frame: object, event: str, argument: object) -> None:
            nonlocal frames
            frames += event == "call"

        charge = _ask("counted")
        sys.setprofile(count)
        pending = ledger.submit(charge)
        ledger.kept(pending)
        ledger.keep(pending, b"17")
        pending.receipt()
        sys.setprofile(None)
        _show("frames of submit, keep and receipt", "<= 300", frames)


def _eight_threads(folder: Path) -> None:
    syncs = Counted()
    with _opened(folder / "eight.ledger", vfs="counted") as ledger:
        before = syncs.count
        _threads(8, lambda n: _charge(ledger, f"{n}", 250))
        _show("charges per fsync, 8 threads", ">= 4", 2000 / (syncs.count - before))
    syncs.unregister()


def _sixty_four_threads(folder: Path) -> None:
    """Against the raw rate of the same moment: measured before and after, the better of the two."""
    with _opened(folder / "many.ledger") as ledger:
        before = _raw(folder)
        start, cpu = perf_counter(), process_time()
        _threads(64, lambda n: _charge(ledger, f"{n}", 200))
        rate, used = 64 * 200 / (perf_counter() - start), (process_time() - cpu) / (64 * 200)
        raw = max(before, _raw(folder))
        _show("charges a second, 64 threads, over raw rate", ">= 12", rate, rate / raw)
        _show("a charge of those, CPU µs", "", used * 1e6)


def _eight_processes(folder: Path) -> None:
    def work(n: int) -> None:
        with _opened(folder / "processes.ledger") as ledger:
            _charge(ledger, f"{n}", 100)

    with _opened(folder / "processes.ledger"):
        pass
    start = perf_counter()
    children = []
    for n in range(8):
        if (child := os.fork()) == 0:
            work(n)
            os._exit(0)
        children.append(child)
    assert all(os.waitpid(child, 0)[1] == 0 for child in children)
    rate = 800 / (perf_counter() - start)
    verdict = verify(folder / "processes.ledger")
    _show("charges a second, 8 processes", "", rate)
    _show("  of 800, in the journal and whole", "= 800", verdict.head.number if verdict else 0)


def _verified(folder: Path) -> None:
    start = perf_counter()
    verdict = verify(folder / "many.ledger")
    assert verdict
    _show("lines verified a second", "", verdict.head.number / (perf_counter() - start))


class Counted(apsw.VFS):
    """The real disk, counting fsyncs."""

    def __init__(self) -> None:
        self.count = 0
        super().__init__("counted", "")

    def xOpen(self, name: apsw.URIFilename | str | None, flags: list[int]) -> apsw.VFSFile:
        return CountedFile(self, name, flags)


class CountedFile(apsw.VFSFile):
    def __init__(self, disk: Counted, name: apsw.URIFilename | str | None, flags: list[int]) -> None:
        self.disk = disk
        super().__init__("", name, flags)

    def xSync(self, flags: int) -> None:
        self.disk.count += 1
        super().xSync(flags)


@contextmanager
def _opened(path: Path, vfs: str = "") -> Iterator[Ledger]:
    with Ledger(path, POLICY, lambda: datetime(2026, 1, 1, tzinfo=UTC), vfs=vfs) as ledger:
        yield ledger


def _ask(question: str) -> Charge:
    return Charge("research", ("people",), "answer", question, TENTH)


def _charge(ledger: Ledger, name: str, times: int) -> None:
    for n in range(times):
        ledger.charge(_ask(f"{name} {n}"))


def _threads(number: int, work: Callable[[int], None]) -> None:
    threads = [Thread(target=work, args=(n,)) for n in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _show(name: str, goal: str, measured: float, ratio: float | None = None) -> None:
    print(f"{name:44}{goal:>10}{measured:12.5g}{'' if ratio is None else f'{ratio:9.2f}'}", flush=True)


if __name__ == "__main__":
    main()
