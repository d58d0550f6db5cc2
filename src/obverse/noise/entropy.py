"""Where random bits come from: the operating system, or a key for tests and replay."""

from __future__ import annotations

import hashlib
import os
from typing import Protocol

from obverse.noise.stock import Stock


class Entropy(Protocol):
    """A source of independent fair bits that sees, before each draw, what the draw is for."""

    def bytes(self, count: int) -> bytes:
        """`count` fresh random bytes."""
        ...

    def bits(self, count: int) -> int:
        """A whole number of `count` fresh random bits."""
        ...

    def watch(self, mechanism: object, value: object) -> None:
        """Told what a mechanism is about to add noise to; only an audit's recorder listens."""
        ...


class System:
    """The operating system's generator. Draws made ahead are kept in its own stock, safe under fork and threads."""

    def __init__(self) -> None:
        self.stock: Stock[tuple[str, int, int]] = Stock()

    def bytes(self, count: int) -> bytes:
        return os.urandom(count)

    def bits(self, count: int) -> int:
        return int.from_bytes(os.urandom((count + 7) // 8), "little") & ((1 << count) - 1)

    def watch(self, mechanism: object, value: object) -> None:
        pass


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

    def watch(self, mechanism: object, value: object) -> None:
        pass
