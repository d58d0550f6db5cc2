"""One PostgreSQL for all tests of a process."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from tests.engines.server import serving


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """The address of a server, to be ended by #table."""
    with serving() as address:
        yield address


@pytest.fixture(scope="session")
def owner(server: str) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    """A connection that may write."""
    with psycopg.connect(server, autocommit=True) as connection:
        yield connection
