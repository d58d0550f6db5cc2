"""Kept answers: checked against the digest in the journal; the large ones in files beside the ledger."""

from __future__ import annotations

import os
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from obverse.errors import Broken
from obverse.ledger.anchor import sync_folder

LARGEST_ROW = 1 << 20


class Answers:
    """The folder of the large ones. A file's name is its question's key and its own digest."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def file(self, key: str, digest: str) -> Path:
        """Where a large answer lies."""
        return self.folder / f"{key}.{digest}"

    def write(self, key: str, digest: str, packed: bytes) -> None:
        """Put a large answer into its file, durably, so that the journal may speak of it."""
        final = self.file(key, digest)
        part = final.with_name(f"{final.name}.{os.getpid()}.part")
        try:
            if not self.folder.exists():
                self.folder.mkdir(mode=0o700, exist_ok=True)
                sync_folder(self.folder.parent)
            with os.fdopen(os.open(part, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600), "wb") as file:
                file.write(packed)
                file.flush()
                os.fsync(file.fileno())
            with suppress(FileNotFoundError):  # another answer was kept meanwhile, and `clear` has run
                part.rename(final)
            sync_folder(self.folder)
        except OSError as error:
            part.unlink(missing_ok=True)
            raise Broken(
                f"the answer could not be kept ({error.strerror}), so nothing leaves; asking again is free"
            ) from None

    def clear(self, key: str, digest: str) -> None:
        """Remove what crashes and losers left for a question whose answer is now kept."""
        for file in self.folder.glob(f"{key}.*"):
            if file.name != f"{key}.{digest}":
                with suppress(FileNotFoundError):
                    file.unlink()

    def read(self, key: str, digest: str, packed: bytes | None) -> bytes:
        """The bytes of an answer, from its row or its file; Broken where they are not what was kept."""
        try:
            found = self.file(key, digest).read_bytes() if packed is None else packed
        except OSError as error:
            raise Broken(f"the answer kept for {key[:12]}… cannot be read: {error.strerror}") from None
        if sha256(found).hexdigest() != digest:
            raise Broken(f"the answer kept for {key[:12]}… is damaged")
        return found
