"""Frames: a file in pieces, each checked before it is unpacked. Backups and bundles are made of them.

::

    file  = a line that names the format, frame, frame, …, the last frame
    frame = kind u8, length u32 (big-endian), sum 16 bytes, body       sum: BLAKE3 of all before it, and the body
    body  = zlib of MessagePack

A sum covers everything before it. So a reader finds a frame that was changed, moved, left out or cut off at its place,
and reads nothing after it. No size in a file is believed: a body is unpacked up to a bound. Keyed sums can only be made
with the key.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping
from enum import IntEnum
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import msgspec
from blake3 import blake3

from headish.errors import HeadishError, TooLarge
from headish.values.limits import PAYLOAD_LIMIT_BYTES

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

FRAME_BYTES = 4 * 1024 * 1024
"""The size that frames are filled up to; a larger value has a frame of its own."""
BODY_LIMIT_BYTES = 2 * PAYLOAD_LIMIT_BYTES
"""The most bytes that a body may unpack to: zlib packs a megabyte of zeros into a kilobyte."""
_LEVEL = 5
"""The level of zlib. Conversations take half the time of level 6, and a hundredth more bytes; level 4 takes a third of
the time, and a twentieth more bytes."""
_AHEAD_BYTES = 64 * 1024
"""The smallest body that a thread compresses. Handing one over takes a tenth of a millisecond; compressing this many
bytes takes twenty times as long."""
_SUM_BYTES = 16
_HEAD_BYTES = 5
Decode = Callable[[bytes], Any]
_decode_any = msgspec.msgpack.Decoder().decode


class FrameFormat(NamedTuple):
    """A format of frames.

    ``magic`` is the line that it begins with, and ``last`` the kind that ends it. ``refuse`` makes an error from the
    name of a file and a reason; so does ``altered``, if a wrong sum is an error of another class. ``called`` is the
    word for such a file. ``decoders`` read the bodies of some kinds.
    """

    magic: bytes
    kinds: type[IntEnum]
    last: IntEnum
    refuse: Callable[[str, str], HeadishError]
    called: str
    decoders: Mapping[int, Decode] = {}
    altered: Callable[[str, str], HeadishError] | None = None


class FrameWriter:
    """Writes frames to a file. ``digest`` is the BLAKE3 of all that was written. ``key``: 32 bytes, for keyed sums.

    ``ahead``: a thread compresses a large frame while the caller makes the next one. Such a frame is written when the
    next one comes; the last of the format is written at once. Memory holds two frames.
    """

    def __init__(self, file: BinaryIO, format: FrameFormat, key: bytes | None = None, *, ahead: bool = False) -> None:
        self._file, self._hasher, self._last, self._ahead = file, _hasher(key), format.last, ahead
        self._pool: ThreadPoolExecutor | None = None
        self._waiting: tuple[IntEnum, Future[bytes]] | None = None
        self.size_bytes = 0
        self._put(format.magic)

    def write(self, kind: IntEnum, value: Any) -> None:
        """Append a frame. Raises: TooLarge for one that a reader would refuse."""
        packed = msgspec.msgpack.encode(value)
        if len(packed) > BODY_LIMIT_BYTES:
            raise TooLarge("a frame", len(packed), BODY_LIMIT_BYTES)
        body = None
        if self._ahead and kind is not self._last and len(packed) >= _AHEAD_BYTES:
            body = self._begin_compressing(packed)
        # Each sum covers what is before it, so the frame that waits goes first; this one is being compressed meanwhile.
        self._write_waiting()
        if body is None:
            self._put_frame(kind, zlib.compress(packed, _LEVEL))
        else:
            self._waiting = kind, body

    def _begin_compressing(self, packed: bytes) -> Future[bytes] | None:
        """Compress in a thread; None if none can start: the interpreter is ending, or the process may have no more."""
        try:
            from concurrent.futures import ThreadPoolExecutor  # late: most bundles of a sync are small

            self._pool = self._pool or ThreadPoolExecutor(1, thread_name_prefix="headish-frames")
            return self._pool.submit(zlib.compress, packed, _LEVEL)
        except RuntimeError:
            return None

    def _write_waiting(self) -> None:
        if self._waiting is not None:
            (kind, body), self._waiting = self._waiting, None
            self._put_frame(kind, body.result())

    def _put_frame(self, kind: IntEnum, body: bytes) -> None:
        head = bytes([kind]) + len(body).to_bytes(4, "big")
        sum = _sum_behind(self._hasher, head, body)
        self._put(head + sum + body)

    def digest(self) -> str:
        """The hash of what was written, in hex; keyed if there is a key."""
        return str(self._hasher.hexdigest())

    def _put(self, data: bytes) -> None:
        self._hasher.update(data)
        self._file.write(data)
        self.size_bytes += len(data)


class _FrameSource:
    """A file that is read once, from its beginning, and the position in it."""

    def __init__(self, file: BinaryIO, name: str, format: FrameFormat) -> None:
        self._file, self.name, self.format, self.at = file, name, format, 0

    def take(self, length: int) -> bytes:
        """Read exactly ``length`` bytes. Raises: the error of the format if there are fewer."""
        data = self._file.read(length)
        self.at += len(data)
        if len(data) != length:
            raise self.refusal(f"it was cut off at byte {self.at:,}")
        return data

    def is_at_end(self) -> bool:
        return not self._file.read(1)

    def refusal(self, reason: str) -> HeadishError:
        return self.format.refuse(self.name, reason)


def read_frames(
    file: BinaryIO, name: str, format: FrameFormat, key: bytes | None = None
) -> Iterator[tuple[IntEnum, Any]]:
    """Yield the frames of a file, each checked before it is unpacked; the last one is of the kind that ends the format.

    Memory holds one frame. Raises: the errors of the format.
    """
    source, hasher = _FrameSource(file, name, format), _hasher(key)
    if file.read(len(format.magic)) != format.magic:
        raise source.refusal(f"it does not begin as {format.called}")
    source.at = len(format.magic)
    hasher.update(format.magic)
    kind: IntEnum | None = None
    while kind is not format.last:
        kind, body = _read_frame(source, hasher)
        # Before the last frame is yielded: whoever gets it takes the file as whole.
        if kind is format.last and not source.is_at_end():
            raise source.refusal(f"something stands behind its end, at byte {source.at:,}")
        yield kind, _unpack(body, format.decoders.get(kind, _decode_any), source)


def _read_frame(source: _FrameSource, hasher: Any) -> tuple[IntEnum, bytes]:
    head = source.take(_HEAD_BYTES)
    length = int.from_bytes(head[1:], "big")
    if length > BODY_LIMIT_BYTES:  # before the read, which would take as much memory as a forged length says
        raise source.refusal(f"a frame is larger than any that is written, at byte {source.at:,}")
    sum, body = source.take(_SUM_BYTES), source.take(length)
    if _sum_behind(hasher, head, body) != sum:
        refuse = source.format.altered or source.format.refuse
        raise refuse(source.name, f"what stands before byte {source.at:,} was altered: its sum disagrees")
    hasher.update(head + sum + body)
    return _kind(head[0], source), body


def _hasher(key: bytes | None) -> Any:
    return blake3() if key is None else blake3(key=key)


def _sum_behind(hasher: Any, head: bytes, body: bytes) -> bytes:
    so_far = hasher.copy()
    so_far.update(head)
    so_far.update(body)
    return bytes(so_far.digest(length=_SUM_BYTES))


def _kind(number: int, source: _FrameSource) -> IntEnum:
    try:
        return source.format.kinds(number)
    except ValueError:
        raise source.refusal(f"it has a frame of the unknown kind {number}; upgrade headish") from None


def _unpack(body: bytes, decode: Decode, source: _FrameSource) -> Any:
    unpacker = zlib.decompressobj()
    try:
        data = unpacker.decompress(body, BODY_LIMIT_BYTES)
        if not unpacker.eof:
            raise source.refusal("a frame unpacks to more than any that is written")
        return decode(data)
    except (zlib.error, msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise source.refusal(f"the frame before byte {source.at:,} cannot be read ({error})") from None
