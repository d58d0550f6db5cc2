"""The one thread of a process that writes its ledger: many charges, one commit.  [GK85]

Whoever charges hands over a `Job` and waits for as much as it needs: until it is decided, or until it is durable. The
writer waits for more to come only as long as its last commit took, so that the wait costs at most as much as it can
save, and only while there is somebody to wait for: callers whom the last commit let go, or a scan whose answer may
still share the commit of its charge.

A failed fsync is never tried again: after it the kernel may report success for pages it has dropped.  [RPAA20]
"""

from __future__ import annotations

from _thread import allocate_lock
from contextlib import suppress
from copy import copy
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from time import perf_counter

import apsw

from obverse.errors import Broken, ObverseError, Refusal
from obverse.ledger.anchor import Anchor, Head
from obverse.ledger.book import Book
from obverse.ledger.store import file_digest

LONGEST_WAIT = 0.005
LONGEST_LOG = 1000  # pages of the write-ahead log, before they are copied into the database


class Job:
    """Something for the writer to do: decided first, durable later; or refused, and then it has an error."""

    def __init__(self, urgent: bool) -> None:
        self.urgent = urgent
        self.error: ObverseError | None = None
        self.settled = False
        self._let_go = False
        self._decided = allocate_lock()
        self._durable = allocate_lock()
        self._decided.acquire()
        self._durable.acquire()

    def enter(self, book: Book) -> None:
        """Do it, inside the transaction."""
        raise NotImplementedError

    def decide(self) -> None:
        """Let go whoever waits for the decision."""
        if not self._let_go:
            self._let_go = True
            self._decided.release()

    def settle(self, error: ObverseError | None) -> None:
        """Let go everybody: it is durable, or refused."""
        self.error = None if error is None else error.with_traceback(None)
        self.settled = True
        self.decide()
        self._durable.release()

    def wait(self, *, durable: bool) -> None:
        """Wait until it is decided, or durable; raise its error."""
        with self._durable if durable else self._decided:
            pass
        if self.error is not None:
            raise copy(self.error)  # whose trace, and the frames it holds, are not kept here


HURRY = Job(urgent=True)


class Writer:
    """The thread, and the queue to it."""

    def __init__(self, connection: apsw.Connection, book: Book, anchor: Anchor, path: Path) -> None:
        self._connection = connection
        self._book = book
        self._anchor = anchor
        self._path = path
        self._queue: SimpleQueue[Job | None] = SimpleQueue()
        self._batch: list[Job] = []
        self._error: Broken | None = None
        self._stopped = False
        self._expected = 1
        self._took = 0.0
        self._pages = 0
        self._urgent = False
        connection.set_wal_hook(self._logged)
        self._thread = Thread(target=self._run, name="obverse-ledger", daemon=True)
        self._thread.start()

    def put(self, job: Job) -> None:
        """Hand over a job."""
        self._queue.put(job)
        if self._stopped:
            self._refuse_all()

    def hurry(self) -> None:
        """Say that somebody waits for what was handed over before."""
        self.put(HURRY)

    def close(self) -> None:
        """Finish what was handed over, and leave the files in good order; Broken where that failed."""
        if self._thread.is_alive():
            self._queue.put(None)
            self._thread.join()
        if self._error is not None:
            raise self._error

    def _run(self) -> None:
        try:
            while self._error is None and (job := self._queue.get()) is not None:
                if job is not HURRY:
                    self._serve(job)
        finally:
            self._stopped = True
            try:
                self._leave()
            finally:
                self._refuse_all()

    def _serve(self, job: Job) -> None:
        """One transaction, or the end of this writer."""
        try:
            self._transact(job)
        except (apsw.Error, OSError) as error:
            self._error = Broken(f"the ledger could not be written ({error}): stop, and look at the disk")
        except Broken as error:
            self._error = error

    def _transact(self, job: Job) -> None:
        """One transaction, with all that comes in time for it; or none, where that can be told for certain."""
        self._batch = [job]
        try:
            self._fill(job)
            self._commit()
        except apsw.BusyError:
            self._give_up("another process has held the ledger for a minute; nothing was charged")
        except apsw.FullError:
            self._give_up("the disk is full; nothing was charged")

    def _fill(self, job: Job | None) -> None:
        """Enter this job, and all that come in time for the same commit."""
        self._book.begin()
        self._urgent = False
        deadline = perf_counter() + min(self._took, LONGEST_WAIT)
        while job is not None:
            self._urgent |= job.urgent
            if job is not HURRY:
                self._enter(job)
            job = self._next(deadline)

    def _enter(self, job: Job) -> None:
        try:
            job.enter(self._book)
        except Refusal as error:
            self._batch.pop()
            job.settle(error)
        else:
            job.decide()

    def _next(self, deadline: float) -> Job | None:
        """The next job for this transaction, which joins the batch; or None when it is time to commit."""
        waiting = self._book.grown and (not self._urgent or len(self._batch) < self._expected)
        left = deadline - perf_counter() if waiting else 0.0
        with suppress(Empty):
            job = self._queue.get(timeout=left) if left > 0 else self._queue.get_nowait()
            if job is None:
                self._queue.put(None)
            elif job is not HURRY:
                self._batch.append(job)
            return job
        return None

    def _commit(self) -> None:
        start, grown = perf_counter(), self._book.grown
        self._book.commit()
        if grown:
            self._anchor.write(self._book.head)
            self._took = perf_counter() - start
        self._expected = len(self._batch)
        self._settle(None)
        if self._pages > LONGEST_LOG:
            self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
            self._pages = 0

    def _give_up(self, why: str) -> None:
        self._book.abandon()
        self._settle(Broken(why))

    def _settle(self, error: Broken | None) -> None:
        batch, self._batch = self._batch, []
        for job in batch:
            job.settle(error)

    def _refuse_all(self) -> None:
        """Let nobody wait for a writer that has stopped."""
        error = self._error or Broken("the ledger is closed")
        self._settle(error)
        with suppress(Empty):
            while True:
                job = self._queue.get_nowait()
                if job is not None and job is not HURRY:
                    job.settle(error)

    def _logged(self, _connection: apsw.Connection, _name: str, pages: int) -> int:
        self._pages = pages
        return apsw.SQLITE_OK

    def _leave(self) -> None:
        """Close the files: in good order, or so that the write-ahead log stays as it is."""
        try:
            if self._error is None:
                self._tidy()
        except (apsw.Error, OSError) as error:
            self._error = Broken(f"the ledger could not be closed in good order ({error}): look at the disk")
        except Broken as error:
            self._error = error
        if self._error is not None:
            self._connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        self._connection.close(True)
        self._anchor.close()

    def _tidy(self) -> None:
        """Copy the log into the database and anchor the digest of the whole file, unless somebody else is at it."""
        self._connection.set_busy_timeout(0)
        with suppress(apsw.BusyError):
            self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
            self._book.begin()
            now, known = self._book.head, self._anchor.read()
            if known is None or known.number != now.number or not known.file:
                self._anchor.write(Head(now.number, now.seal, file_digest(self._path)))
                self._anchor.sync()
            self._book.abandon()
