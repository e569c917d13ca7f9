"""Remember where the reading of a growing log stopped, and what its reader knows of the lines before.

Whoever watches a file keeps its tail in memory and reads on from there. The tail fits a file that only grew: the same
inode, not shorter, and with the same block before the place. Any other file is read from its beginning.
"""

from __future__ import annotations

import os
from typing import BinaryIO

from blake3 import blake3

BLOCK_BYTES = 4096
"""The number of bytes before the place to compare."""
TAILS_LIMIT = 64
"""The most files that keep a tail: those that changed last."""


class LogTail:
    """A place in a file, with the number of lines before it. ``state`` belongs to the reader; None at the beginning."""

    def __init__(self) -> None:
        self.state: object = None
        self.offset = self.lines = 0
        self._file: tuple[int, int] | None = None
        self._size_bytes = 0
        self._stamp: bytes | None = None
        self._block = b""

    def fits(self, file: BinaryIO, stamp: bytes | None) -> bool:
        """Whether a file only grew since ``settle``; ``stamp`` is its state now."""
        now = os.fstat(file.fileno())
        if self._file != (now.st_dev, now.st_ino) or now.st_size < self._size_bytes:
            return False
        if now.st_size == self._size_bytes and stamp != self._stamp:
            return False  # it was written to, and did not grow
        # A program may replace what it wrote and keep the inode: size alone would not show it.
        return self._read_block(file) == self._block

    def settle(self, file: BinaryIO, stamp: bytes | None) -> None:
        """Remember the file as it was read."""
        now = os.fstat(file.fileno())
        self._file, self._stamp = (now.st_dev, now.st_ino), stamp
        self._size_bytes = now.st_size
        self._block = self._read_block(file)

    def _read_block(self, file: BinaryIO) -> bytes:
        file.seek(max(0, self.offset - BLOCK_BYTES))
        return blake3(file.read(min(self.offset, BLOCK_BYTES))).digest()
