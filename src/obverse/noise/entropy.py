"""Where random bits come from: the operating system, or a key for tests and replay."""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from obverse.errors import Broken
from obverse.noise.stock import Stock

SECRET = 32
Secret = bytes


class Entropy(Protocol):
    """A source of independent fair bits that sees, before each draw, what the draw is for."""

    def bytes(self, count: int) -> bytes:
        """`count` fresh random bytes."""
        ...

    def bits(self, count: int) -> int:
        """A whole number of `count` fresh random bits."""
        ...

    def secret(self) -> Secret:
        """32 random bytes that stay the same: for noise that must be the same wherever the same people are counted."""
        ...

    def watch(self, mechanism: object, value: object) -> None:
        """Told what a mechanism is about to add noise to; only an audit's recorder listens."""
        ...


class System:
    """The operating system's generator. Draws made ahead are kept in its own stock, safe under fork and threads.

    Its secret is kept in a file that only its owner reads, made when it is first needed; without one, in memory.
    """

    def __init__(self, kept: Path | None = None) -> None:
        self.stock: Stock[tuple[str, int, int]] = Stock()
        self._kept = kept
        self._secret = b""

    def bytes(self, count: int) -> bytes:
        return os.urandom(count)

    def bits(self, count: int) -> int:
        return int.from_bytes(os.urandom((count + 7) // 8), "little") & ((1 << count) - 1)

    def secret(self) -> Secret:
        if not self._secret:
            self._secret = os.urandom(SECRET) if self._kept is None else _kept(self._kept)
        return self._secret

    def watch(self, mechanism: object, value: object) -> None:
        pass


def _kept(file: Path) -> bytes:
    """The secret in a file; made whole beside it and linked into place, so that of several makers one wins."""
    if not file.exists():
        mine = file.with_name(f"{file.name}.{os.getpid()}.{os.urandom(4).hex()}")
        with open(os.open(mine, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as fresh:
            fresh.write(os.urandom(SECRET))
            fresh.flush()
            os.fsync(fresh.fileno())
        with suppress(FileExistsError):
            os.link(mine, file)
        mine.unlink()
    secret = file.read_bytes()
    if len(secret) != SECRET:
        raise Broken(f"{file} is not the secret that was made: noise that must not change would")
    return secret


BLOCK = 4096


class Keyed:
    """Bits that follow from a key, for tests and replay; never for a release that leaves."""

    def __init__(self, key: str) -> None:
        self._key = key.encode()
        self._block = 0
        self._spare = b""

    def bytes(self, count: int) -> bytes:
        blocks = [self._spare]
        for _ in range(-(-(count - len(self._spare)) // BLOCK)):
            seed = self._key + self._block.to_bytes(8, "little")
            blocks.append(hashlib.shake_256(seed).digest(BLOCK))
            self._block += 1
        self._spare = b"".join(blocks)
        taken, self._spare = self._spare[:count], self._spare[count:]
        return taken

    def bits(self, count: int) -> int:
        return int.from_bytes(self.bytes((count + 7) // 8), "little") & ((1 << count) - 1)

    def secret(self) -> Secret:
        return hashlib.sha256(b"secret " + self._key).digest()

    def watch(self, mechanism: object, value: object) -> None:
        pass
