"""A PostgreSQL of our own, started in a folder of its own, whose default collation is not ours."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

BINARIES = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
LOCALE = ("--locale=C.UTF-8", "--locale-provider=icu", "--icu-locale=en-US", "--encoding=UTF8")
QUICK = ("-c", "fsync=off", "-c", "listen_addresses=", "-c", "max_connections=20")


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """The address of a server, to be ended by #table."""
    folder = Path(tempfile.mkdtemp(prefix="obverse-pg-", dir="/tmp"))
    user = "postgres" if os.getuid() == 0 else None
    if user:
        shutil.chown(folder, user)

    def start(program: str, *arguments: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [str(BINARIES[-1] / program), *arguments],
            user=user,
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    data = str(folder / "data")
    assert start("initdb", "-D", data, "-A", "trust", "-U", "obverse", "--no-sync", *LOCALE).wait() == 0
    running = start("postgres", "-D", data, "-k", str(folder), *QUICK)
    address = f"postgresql://obverse:hush@/postgres?host={folder}"
    try:
        assert start("pg_isready", "-h", str(folder), "-t", "20").wait() in (0, 1, 2)
        for _ in range(100):
            if start("pg_isready", "-h", str(folder), "-q").wait() == 0:
                break
        yield address
    finally:
        running.send_signal(signal.SIGINT)  # ends connections too
        running.wait()
        shutil.rmtree(folder)


@pytest.fixture(scope="session")
def owner(server: str) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    """A connection that may write."""
    with psycopg.connect(server, autocommit=True) as connection:
        yield connection
