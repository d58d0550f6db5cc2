"""A PostgreSQL of our own, started in a folder of its own, whose default collation is not ours."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

BINARIES = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
LOCALE = ("--locale=C.UTF-8", "--locale-provider=icu", "--icu-locale=en-US", "--encoding=UTF8")
QUICK = ("-c", "fsync=off", "-c", "listen_addresses=", "-c", "max_connections=20")


@contextmanager
def serving() -> Iterator[str]:
    """The address of a server, to be ended by #table."""
    folder = Path(tempfile.mkdtemp(prefix="obverse-pg-", dir="/tmp"))
    user = "postgres" if os.getuid() == 0 else None
    if user:
        shutil.chown(folder, user)

    def start(program: str, *arguments: str) -> subprocess.Popen[bytes]:
        quiet = subprocess.DEVNULL
        command = [str(BINARIES[-1] / program), *arguments]
        return subprocess.Popen(command, user=user, cwd=folder, stdout=quiet, stderr=quiet)

    data = str(folder / "data")
    assert start("initdb", "-D", data, "-A", "trust", "-U", "obverse", "--no-sync", *LOCALE).wait() == 0
    running = start("postgres", "-D", data, "-k", str(folder), *QUICK)
    try:
        ready = ("pg_isready", "-h", str(folder), "-q")
        assert any(start(*ready).wait() == 0 for _ in range(1000))
        yield f"postgresql://obverse:hush@/postgres?host={folder}"
    finally:
        running.send_signal(signal.SIGINT)  # ends connections too
        running.wait()
        shutil.rmtree(folder)
