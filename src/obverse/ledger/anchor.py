"""The anchor: how far the journal is known to have come, kept outside it, so that a shorter journal is noticed.

One line of less than a disk sector beside the ledger: how many lines the journal has, the seal of the last one, and,
where the ledger was closed in good order, the SHA-256 of the whole database file. It is written after the lines it
speaks of are durable, so whatever a power cut takes away, the anchor never knows more than the journal.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from obverse.errors import Broken

_WORD = b"obverse-anchor-1"
_NONE = bytes(32)
ATTEMPTS = 5  # somebody may be writing it


@dataclass(frozen=True)
class Head:
    """The journal's last line: its number and its seal. `file` is the digest of the database file, or nothing."""

    number: int
    seal: bytes
    file: bytes = b""

    def __str__(self) -> str:
        return f"{self.number}:{self.seal.hex()}"


class Anchor:
    """The file that holds a head."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: int | None = None

    def create(self, head: Head) -> None:
        """Make the file, durably, so that from now on its absence means something."""
        self._file = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600)
        self.write(head)
        self.sync()
        sync_folder(self.path.parent)

    def write(self, head: Head) -> None:
        """Say how far the journal has come; visible to all at once, durable by the next `sync`."""
        if self._file is None:
            self._file = os.open(self.path, os.O_RDWR)
        content = b" ".join(
            [_WORD, b"%020d" % head.number, head.seal.hex().encode(), (head.file or _NONE).hex().encode()]
        )
        os.pwrite(self._file, content + _check(content), 0)

    def sync(self) -> None:
        if self._file is not None:
            os.fsync(self._file)

    def read(self) -> Head | None:
        """The head that is written there, or None where there is no file; Broken where it is damaged."""
        try:
            lines = (self.path.read_bytes() for _ in range(ATTEMPTS))
            content = next((line[:-65] for line in lines if line[-65:] == _check(line[:-65])), b"")
        except FileNotFoundError:
            return None
        if not content.startswith(_WORD):
            raise Broken(f"{self.path} is damaged: compare the journal with a seal kept elsewhere")
        _, number, seal, file = content.split(b" ")
        digest = bytes.fromhex(file.decode())
        return Head(int(number), bytes.fromhex(seal.decode()), b"" if digest == _NONE else digest)

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _check(content: bytes) -> bytes:
    return b" " + sha256(content).hexdigest().encode()
