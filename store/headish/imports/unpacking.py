"""Files that were packed with zstd, read as if they were not: nothing is written, and none may swell without end.

Python 3.14 unpacks them by itself; before, the package ``zstandard`` does (the extra ``zstd``).
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO, cast

from headish.errors import InvalidImport
from headish.values.limits import IMPORT_LINE_BYTES

RATIO_LIMIT = 100
"""How much a member may swell: JSON of conversations is packed to a tenth, a bomb to a thousandth."""
HARMLESS_BYTES = 32 * 1024 * 1024
"""Up to here a member may swell as it likes."""
ZSTD = b"\x28\xb5\x2f\xfd"
_BUFFER_BYTES = 1024 * 1024
_BITE_BYTES = 256


class Allowance:
    """How many bytes an archive may still give. Members that are harmless one by one may be a flood together."""

    def __init__(self, left_bytes: int) -> None:
        self._left_bytes = left_bytes

    def take(self, size_bytes: int, name: str) -> None:
        """Raises: InvalidImport once nothing is left."""
        self._left_bytes -= size_bytes
        if self._left_bytes < 0:
            reason = (
                f"its archive swells to more than {RATIO_LIMIT} times its size; unpack it, and import what is in it"
            )
            raise InvalidImport(name, None, reason)


def unpacked(file: BinaryIO, name: str, took: Callable[[int, str], None] = lambda size, name: None) -> BinaryIO:
    """The content of a packed file; any other file itself, and one that cannot be read twice. ``took`` is called with
    what it gave, and its name.

    What is returned can be rewound to its beginning. It does not close the file.
    Raises: InvalidImport where nothing here can unpack it.
    """
    if not file.seekable():
        return file
    begin = file.tell()
    beginning = file.read(len(ZSTD))
    file.seek(begin)
    return (
        file if beginning != ZSTD else cast(BinaryIO, io.BufferedReader(_UnpackedFile(file, name, took), _BUFFER_BYTES))
    )


class _UnpackedFile(io.RawIOBase):
    def __init__(self, file: BinaryIO, name: str, took: Callable[[int, str], None]) -> None:
        self._file, self._name, self._begin, self._took = file, name, file.tell(), took
        self._open = _opener(name)
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


def _opener(name: str) -> Callable[[BinaryIO], Any]:
    """What unpacks. Raises: InvalidImport with the line that installs it."""
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
    # The window is memory that the file asks for.
    unpacker = zstandard.ZstdDecompressor(max_window_size=IMPORT_LINE_BYTES * 2)
    return lambda file: _Frames(file, unpacker.decompressobj)


class _Frames:
    """Unpacks frames one after the other, in small pieces, because four bytes may become 128 KB, and nothing limits the
    output of a piece. The package's own stream ends without an error where a frame is cut off.
    """

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
            bite = self._frame.unused_data
            if self._frame.eof:
                self._frame = None
