"""The file of a backup that any database can read: frames behind a line that names the format.

::

    file  = "headish-backup-1" LF, header, *(space, *rows, counter), end
    frame = kind u8, length u32 (big-endian), sum 16 bytes, body       sum: BLAKE3 of all before it, and the body
    body  = zlib of MessagePack

A sum covers everything before it, so a frame that was changed, moved, left out or cut off is found where it stands, and
nothing behind it is read. A frame says nothing of its size that is believed: a body is unpacked up to a bound.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from enum import IntEnum
from typing import Any, BinaryIO

import msgspec
from blake3 import blake3

from headish.errors import InvalidBackup
from headish.values.limits import PAYLOAD_LIMIT_BYTES

MAGIC = b"headish-backup-1\n"
FRAME_BYTES = 4 * 1024 * 1024
"""About so many bytes of rows stand in a frame; a row that is larger has a frame of its own."""
BODY_LIMIT_BYTES = 2 * PAYLOAD_LIMIT_BYTES
"""The most bytes that a body unpacks to."""
_SUM_BYTES = 16
_HEAD_BYTES = 5


class FrameKind(IntEnum):
    """What a frame holds."""

    HEADER = 1
    SPACE = 2
    ROWS = 3
    COUNTER = 4
    END = 5


class FrameWriter:
    """Writes frames to a file. ``digest`` is the BLAKE3 of all that was written."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._hasher = file, blake3()
        self.size_bytes = 0
        self._put(MAGIC)

    def write(self, kind: FrameKind, value: Any) -> None:
        """Append a frame."""
        body = zlib.compress(msgspec.msgpack.encode(value), 6)
        head = bytes([kind]) + len(body).to_bytes(4, "big")
        sum = _sum_behind(self._hasher, head, body)
        self._put(head + sum + body)

    def digest(self) -> str:
        """In hex."""
        return self._hasher.hexdigest()

    def _put(self, data: bytes) -> None:
        self._hasher.update(data)
        self._file.write(data)
        self.size_bytes += len(data)


def read_frames(file: BinaryIO, name: str) -> Iterator[tuple[FrameKind, Any]]:
    """The frames of a file, each checked before it is unpacked, the last one an END.

    Memory holds one frame. Raises: InvalidBackup.
    """
    hasher = blake3()
    if file.read(len(MAGIC)) != MAGIC:
        raise InvalidBackup(name, "it does not begin as a backup")
    hasher.update(MAGIC)
    while True:
        head = _read(file, _HEAD_BYTES, name)
        length = int.from_bytes(head[1:], "big")
        if length > BODY_LIMIT_BYTES:
            raise InvalidBackup(name, "a frame is larger than any that is written")
        sum, body = _read(file, _SUM_BYTES, name), _read(file, length, name)
        if _sum_behind(hasher, head, body) != sum:
            raise InvalidBackup(name, f"what stands before byte {file.tell():,} was altered: its sum disagrees")
        hasher.update(head + sum + body)
        kind = _kind(head[0], name)
        if kind is FrameKind.END and file.read(1):
            raise InvalidBackup(name, "something stands behind its end")
        yield kind, _unpack(body, name)
        if kind is FrameKind.END:
            return


def _sum_behind(hasher: Any, head: bytes, body: bytes) -> bytes:
    so_far = hasher.copy()
    so_far.update(head)
    so_far.update(body)
    return bytes(so_far.digest(length=_SUM_BYTES))


def _read(file: BinaryIO, length: int, name: str) -> bytes:
    data = file.read(length)
    if len(data) != length:
        raise InvalidBackup(name, "it was cut off")
    return data


def _kind(number: int, name: str) -> FrameKind:
    try:
        return FrameKind(number)
    except ValueError:
        raise InvalidBackup(name, f"it has a frame of the unknown kind {number}; upgrade headish") from None


def _unpack(body: bytes, name: str) -> Any:
    unpacker = zlib.decompressobj()
    try:
        data = unpacker.decompress(body, BODY_LIMIT_BYTES)
        if not unpacker.eof:
            raise InvalidBackup(name, "a frame unpacks to more than any that is written")
        return msgspec.msgpack.decode(data)
    except (zlib.error, msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidBackup(name, f"a frame cannot be read ({error})") from None
