"""Read the messages of a WebSocket from a copy of one direction's bytes, for the record.

The reader answers nothing and closes nothing: both ends do that themselves. It reads the frames of one side, joins
fragments and unpacks ``permessage-deflate``. Where it cannot read on, it stops, and the bytes still pass.
Source: RFC 6455 §5.2 to §5.5, RFC 7692 §7.2.2.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from enum import IntEnum
from typing import NamedTuple

from headish.gateway.recording.bodies import BODY_LIMIT_BYTES

HELD_LIMIT_BYTES = 2 * BODY_LIMIT_BYTES
"""The most bytes of unfinished messages, over all WebSockets together."""
_CONTROL_BYTES = 125  # the longest payload of a control frame (RFC 6455 §5.5)
_ENDING = b"\x00\x00\xff\xff"  # a sender cuts these off each message, and a reader adds them again (RFC 7692 §7.2.2)


class Opcode(IntEnum):
    """The kind of a frame."""

    CONTINUATION = 0
    TEXT = 1
    BINARY = 2
    CLOSE = 8
    PING = 9
    PONG = 10


class SocketMessage(NamedTuple):
    """A whole message, or a control frame. ``size`` is the bytes of its frames on the wire."""

    opcode: Opcode
    data: bytes
    size: int


class UnreadableFrames(Exception):
    """Bytes that cannot be read as frames; the message says why, in words for people."""


class HeldBytes:
    """Counts the bytes of unfinished messages. For one thread."""

    def __init__(self, limit_bytes: int = HELD_LIMIT_BYTES) -> None:
        self._limit_bytes, self._bytes = limit_bytes, 0

    def add(self, size: int) -> None:
        """Count more bytes, or with a negative number fewer. Raises: UnreadableFrames beyond the limit."""
        self._bytes += size
        if size > 0 and self._bytes > self._limit_bytes:
            raise UnreadableFrames(f"unfinished messages hold more than {self._limit_bytes:,} bytes")


class _FrameHead(NamedTuple):
    """The head of a frame: its own length, its mask, and the length of its payload."""

    is_last: bool
    is_packed: bool
    opcode: Opcode
    mask: bytes
    head_bytes: int
    length: int


class MessageReader:
    """Reads one direction. ``is_packed``: both ends agreed on ``permessage-deflate``."""

    def __init__(self, held: HeldBytes, *, is_packed: bool) -> None:
        self._held, self._is_packed = held, is_packed
        self._inflater = zlib.decompressobj(-zlib.MAX_WBITS)
        self._bytes = bytearray()
        self._head: _FrameHead | None = None
        self._first: _FrameHead | None = None
        self._parts = bytearray()
        self._size = 0

    def feed(self, data: bytes) -> Iterator[SocketMessage]:
        """Yield the messages that end in the next chunk. Raises: UnreadableFrames."""
        self._bytes += data
        self._held.add(len(data))
        while (head := self._head or _read_head(self._bytes)) is not None:
            self._head = head
            self._check(head)
            frame_bytes = head.head_bytes + head.length
            if len(self._bytes) < frame_bytes:
                return
            payload = _unmask(bytes(self._bytes[head.head_bytes : frame_bytes]), head.mask)
            del self._bytes[:frame_bytes]
            self._head = None
            yield from self._take(head, payload, frame_bytes)

    def drop(self) -> None:
        """Drop the bytes of unfinished messages."""
        self._held.add(-len(self._bytes) - len(self._parts))
        self._bytes, self._parts = bytearray(), bytearray()

    def _check(self, head: _FrameHead) -> None:
        if head.opcode >= Opcode.CLOSE:
            if head.length > _CONTROL_BYTES or not head.is_last or head.is_packed:
                raise UnreadableFrames("a control frame does not follow RFC 6455")
        elif (head.opcode is Opcode.CONTINUATION) != (self._first is not None):
            raise UnreadableFrames("a message begins within another, or goes on without a beginning")
        if head.is_packed and (not self._is_packed or head.opcode is Opcode.CONTINUATION):
            raise UnreadableFrames("a frame is compressed and should not be")
        if len(self._parts) + head.length > BODY_LIMIT_BYTES:
            raise UnreadableFrames(f"a message has more than {BODY_LIMIT_BYTES:,} bytes")

    def _take(self, head: _FrameHead, payload: bytes, wire_bytes: int) -> Iterator[SocketMessage]:
        if head.opcode >= Opcode.CLOSE:  # a control frame may come between the fragments of a message (§5.4)
            self._held.add(-wire_bytes)
            yield SocketMessage(head.opcode, payload, wire_bytes)
            return
        self._first = self._first or head
        self._parts += payload
        self._size += wire_bytes
        self._held.add(len(payload) - wire_bytes)
        if not head.is_last:
            return
        data, first, size = bytes(self._parts), self._first, self._size
        self._held.add(-len(self._parts))
        self._parts, self._first, self._size = bytearray(), None, 0
        yield SocketMessage(first.opcode, self._unpack(data) if first.is_packed else data, size)

    def _unpack(self, data: bytes) -> bytes:
        try:
            # One inflater for all messages: a message may refer to the ones before it (RFC 7692 §7.2.2).
            unpacked = self._inflater.decompress(data + _ENDING, BODY_LIMIT_BYTES + 1)
        except zlib.error as error:
            raise UnreadableFrames(f"a message cannot be decompressed ({error})") from None
        if len(unpacked) > BODY_LIMIT_BYTES:
            raise UnreadableFrames(f"a message has more than {BODY_LIMIT_BYTES:,} bytes")
        if self._inflater.eof:  # a sender may end its stream with any message and begin another
            self._inflater = zlib.decompressobj(-zlib.MAX_WBITS)
        return unpacked


def _read_head(data: bytearray) -> _FrameHead | None:
    """Read the head of the frame at the beginning of ``data``; None if it is not whole. Raises: UnreadableFrames."""
    if len(data) < 2:
        return None
    short = data[1] & 0x7F
    wide = {126: 2, 127: 8}.get(short, 0)
    masked = 4 if data[1] & 0x80 else 0
    head_bytes = 2 + wide + masked
    if len(data) < head_bytes:
        return None
    if data[0] & 0x30 or data[0] & 0x0F not in _OPCODES:  # RSV2 and RSV3 belong to extensions that are not read here
        raise UnreadableFrames("a frame does not follow RFC 6455")
    return _FrameHead(
        is_last=bool(data[0] & 0x80),
        is_packed=bool(data[0] & 0x40),
        opcode=Opcode(data[0] & 0x0F),
        mask=bytes(data[2 + wide : head_bytes]),
        head_bytes=head_bytes,
        length=int.from_bytes(data[2 : 2 + wide]) if wide else short,
    )


_OPCODES = frozenset(each.value for each in Opcode)


def _unmask(payload: bytes, mask: bytes) -> bytes:
    """Remove the mask of a payload. Cost: one pass, by arithmetic on large integers instead of a loop over bytes."""
    if not mask:
        return payload
    size = len(payload)
    repeated = (mask * (size // len(mask) + 1))[:size]
    return (int.from_bytes(payload) ^ int.from_bytes(repeated)).to_bytes(size)
