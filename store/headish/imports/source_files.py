"""Open and close the files to import, and read them in bounded pieces."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from typing import BinaryIO

from headish.errors import InvalidImport
from headish.imports.archives import CHUNK_BYTES, spooled
from headish.imports.unpacking import unpacked
from headish.values.checks.files import open_regular
from headish.values.limits import IMPORT_LINE_BYTES, STREAM_LIMIT_BYTES

Progress = Callable[[int], None]
"""Called with the number of bytes read since the last call."""


class SourceFile:
    """Opens a path and closes it again. An already open file stays open; it is copied if it must be ``rewindable`` and
    cannot seek. A file packed with gzip or zstd is unpacked while it is read."""

    def __init__(self, source: str | os.PathLike[str] | BinaryIO, *, rewindable: bool) -> None:
        self._source, self._rewindable = source, rewindable
        self._own: BinaryIO | None = None

    def __enter__(self) -> tuple[BinaryIO, str]:
        file, name = self._opened()
        try:
            return unpacked(file, name), name
        # ``with`` calls ``__exit__`` only once ``__enter__`` has returned: without this the file would stay open.
        except BaseException:
            self.__exit__()
            raise

    def _opened(self) -> tuple[BinaryIO, str]:
        if isinstance(self._source, str | os.PathLike):
            return self._open(str(self._source))
        name = str(getattr(self._source, "name", "the input"))
        if not self._rewindable or self._source.seekable():
            return self._source, name
        self._own = spooled(self._source, name, "import it as a file")
        return self._own, name

    def __exit__(self, *_: object) -> None:
        if self._own is not None:
            self._own.close()

    def _open(self, name: str) -> tuple[BinaryIO, str]:
        try:
            self._own = open_regular(name)
        except OSError as error:
            raise InvalidImport(name, None, f"it cannot be read ({error.strerror})") from None
        return self._own, name


QUIET_SECONDS = 30 * 60
"""headish takes a session's file that has not changed for so long for finished (rule R40, grown versions)."""


def is_running(path: str | os.PathLike[str]) -> bool:
    """Whether a file was changed a short time ago."""
    try:
        return time.time() - os.stat(path).st_mtime < QUIET_SECONDS
    except OSError:
        return False


def read_beginning(path: str | os.PathLike[str]) -> bytes | None:
    """Return the beginning of a file, unpacked if it is packed; None if it cannot be read."""
    try:
        with SourceFile(path, rewindable=True) as (file, _):
            return file.read(CHUNK_BYTES)
    except (InvalidImport, OSError):
        return None


LONG_LINE = f"the line is longer than {IMPORT_LINE_BYTES:,} bytes"
BOM = b"\xef\xbb\xbf"


def read_lines(file: BinaryIO, name: str, progress: Progress | None) -> Iterator[bytes | None]:
    """Yield the lines of a file, without the byte order mark that some editors put before the first; None for a line
    that is too long for memory, which is skipped in pieces.

    Raises: InvalidImport for a line without end, such as that of a device.
    """
    number, beginning = 0, BOM
    while line := file.readline(IMPORT_LINE_BYTES + 1):
        number += 1
        is_long = len(line) > IMPORT_LINE_BYTES
        yield None if is_long else line.removeprefix(beginning)
        beginning = b""
        if progress:
            progress(len(line))
        if is_long and not line.endswith(b"\n"):
            _pass_over(file, name, number, progress)


def _pass_over(file: BinaryIO, name: str, number: int, progress: Progress | None) -> None:
    """Read on to the end of a line."""
    size_bytes = 0
    while piece := file.readline(CHUNK_BYTES):
        size_bytes += len(piece)
        if progress:
            progress(len(piece))
        if piece.endswith(b"\n"):
            return
        if size_bytes > STREAM_LIMIT_BYTES:
            raise InvalidImport(name, number, f"the line does not end within {STREAM_LIMIT_BYTES:,} bytes")
