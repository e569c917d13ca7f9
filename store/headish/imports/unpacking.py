"""Read files that were packed with gzip or zstd as if they were not: nothing is written, and none may expand without
end.

Python 3.14 unpacks zstd by itself; older versions need the package ``zstandard`` (the extra ``zstd``).
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO, cast

from headish.errors import InvalidImport
from headish.values.limits import IMPORT_LINE_BYTES

RATIO_LIMIT = 100
"""How many times its size a member may expand to: JSON of conversations shrinks to a tenth, a bomb to a thousandth."""
HARMLESS_BYTES = 32 * 1024 * 1024
"""A member may expand to this size whatever its ratio."""
ZSTD = b"\x28\xb5\x2f\xfd"
_BUFFER_BYTES = 1024 * 1024
# A block of zstd may expand from four bytes to 128 KB, so 256 bytes of input give 8 MB at most.
_BITE_BYTES = 256


def peek(file: BinaryIO, size: int) -> bytes:
    """Return the next bytes of a file, which stays where it is."""
    place = file.tell()
    data = file.read(size)
    file.seek(place)
    return data


class Allowance:
    """How many bytes an archive may still unpack to. Members that are harmless one by one may be a bomb together."""

    def __init__(self, left_bytes: int) -> None:
        self._left_bytes = left_bytes

    def take(self, size_bytes: int, name: str) -> None:
        """Subtract a size. Raises: InvalidImport once nothing is left."""
        self._left_bytes -= size_bytes
        if self._left_bytes < 0:
            reason = (
                f"its archive swells to more than {RATIO_LIMIT} times its size; unpack it, and import what is in it"
            )
            raise InvalidImport(name, None, reason)


def unpacked(file: BinaryIO, name: str, took: Callable[[int, str], None] = lambda size, name: None) -> BinaryIO:
    """Return the content of a packed file; any other file is returned itself, and so is one that cannot seek. ``took``
    is called with the size of each unpacked piece, and ``name``.

    The result can be rewound to its beginning. It does not close the file.
    Raises: InvalidImport if nothing installed can unpack it.
    """
    if not file.seekable():
        return file
    begin = peek(file, len(ZSTD))
    opener = next((opener for magic, opener in _OPENERS.items() if begin.startswith(magic)), None)
    if opener is None:
        return file
    return cast(BinaryIO, io.BufferedReader(_UnpackedFile(file, name, took, opener(name)), _BUFFER_BYTES))


class _UnpackedFile(io.RawIOBase):
    def __init__(
        self, file: BinaryIO, name: str, took: Callable[[int, str], None], open: Callable[[BinaryIO], Any]
    ) -> None:
        self._file, self._name, self._begin, self._took = file, name, file.tell(), took
        self._open = open
        packed_bytes = file.seek(0, os.SEEK_END) - self._begin
        self._most = max(HARMLESS_BYTES, packed_bytes * RATIO_LIMIT)
        self._rewind()

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Seek to the beginning, or forward. Raises: as ``readinto``."""
        if whence != os.SEEK_SET:
            raise io.UnsupportedOperation("a packed file is read from its beginning")
        if offset < self._at:
            self._rewind()
        # A packed stream has no index: to seek is to unpack and drop what is before the place.
        while self._at < offset and self._take(min(_BUFFER_BYTES, offset - self._at)):
            pass
        return self._at

    def readinto(self, buffer: object) -> int:
        view = cast(memoryview, buffer)
        data = self._take(len(view))
        view[: len(data)] = data
        return len(data)

    def _rewind(self) -> None:
        self._file.seek(self._begin)
        self._inner, self._at = self._open(self._file), 0

    def _take(self, size: int) -> bytes:
        try:
            data = bytes(self._inner.read(size))
        except Exception as error:  # each package has errors of its own
            raise InvalidImport(self._name, None, f"it cannot be unpacked ({error})") from None
        self._at += len(data)
        if self._at > self._most:
            raise InvalidImport(self._name, None, f"it swells to more than {RATIO_LIMIT} times its size")
        self._took(len(data), self._name)
        return data


def _gzip_opener(name: str) -> Callable[[BinaryIO], Any]:
    """Return what opens an unpacking stream of gzip."""
    import gzip  # late: few files are packed

    return lambda file: gzip.GzipFile(fileobj=file, mode="rb")


def _zstd_opener(name: str) -> Callable[[BinaryIO], Any]:
    """Return what opens an unpacking stream of zstd. Raises: InvalidImport with the command that installs it."""
    try:
        from compression import zstd  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        pass
    else:
        return lambda file: zstd.ZstdFile(file)
    try:
        import zstandard
    except ImportError:
        reason = "it is packed with zstd, which needs the extra: pip install 'headish[zstd]'"
        raise InvalidImport(name, None, reason) from None
    # A file names the window that its unpacking needs: without a limit it could ask for any amount of memory.
    unpacker = zstandard.ZstdDecompressor(max_window_size=IMPORT_LINE_BYTES * 2)
    return lambda file: _Frames(file, unpacker.decompressobj)


class _Frames:
    """Unpacks consecutive frames in small pieces of input, because four bytes may become 128 KB, and the package does
    not limit the output of a piece. The package's own stream is not used: it ends without an error if a frame is cut
    off."""

    def __init__(self, file: BinaryIO, new: Callable[[], Any]) -> None:
        self._file, self._new = file, new
        self._frame: Any = None
        self._made = b""

    def read(self, size: int) -> bytes:
        while not self._made:
            bite = self._file.read(_BITE_BYTES)
            if not bite:
                if self._frame is not None:
                    raise EOFError("it ends in the middle")
                return b""
            self._made = b"".join(self._bites(bite))
        data, self._made = self._made[:size], self._made[size:]
        return data

    def _bites(self, bite: bytes) -> Iterator[bytes]:
        while bite:
            self._frame = self._frame or self._new()
            yield self._frame.decompress(bite)
            # A file may hold several frames one after the other; the rest of the piece begins the next one.
            bite = self._frame.unused_data
            if self._frame.eof:
                self._frame = None


_OPENERS: dict[bytes, Callable[[str], Callable[[BinaryIO], Any]]] = {b"\x1f\x8b": _gzip_opener, ZSTD: _zstd_opener}
"""What unpacks a file, by how it begins."""
