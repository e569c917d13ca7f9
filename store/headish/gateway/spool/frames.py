"""Frames: the form of a spool on the disk.

::

    segment = "headish-spool-1" LF, *frame
    frame   = kind u8, call 25 bytes, length u32 (big-endian), sum 8 bytes, body     sum: BLAKE3 of all but itself

A segment is only ever appended to. Its readable part ends before a frame that is cut short or whose sum disagrees: the
writer was stopped there, or has not finished. That is never an error.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from enum import IntEnum
from struct import Struct as Layout
from typing import BinaryIO, NamedTuple

from blake3 import blake3

MAGIC = b"headish-spool-1\n"
NO_CALL = "0" * 25
"""The ``call`` of a frame that belongs to no call."""
_HEAD = Layout(">B25sI")
_SUM_BYTES = 8
FRONT_BYTES = _HEAD.size + _SUM_BYTES
"""The bytes of a frame without its body."""


class SpoolKind(IntEnum):
    """What a frame holds. The frames of a call come in this order; chunks of request and response may alternate."""

    BEGIN = 1
    """JSON of ``CallBegin``."""
    REQUEST = 2
    """Bytes of the request's body, decompressed, without the call's key."""
    SENT = 3
    """Empty: the request's body is whole."""
    HEAD = 4
    """JSON of ``ResponseHead``."""
    RESPONSE = 5
    """Bytes of the response's body, also decompressed and without the call's key."""
    END = 6
    """JSON of ``CallEnd``."""
    SEALED = 7
    """Empty, with ``NO_CALL``: no frame follows in this segment."""


class SpoolFrame(NamedTuple):
    """A frame before it is written, or after it was read. ``call`` is the id of a call: 25 digits."""

    kind: SpoolKind
    call: str
    body: bytes


def write_frame(frame: SpoolFrame) -> bytes:
    """Encode a frame as a segment holds it."""
    front = _HEAD.pack(frame.kind, frame.call.encode(), len(frame.body))
    return b"".join((front, _sum_of(front, frame.body), frame.body))


def read_frames(data: bytes | memoryview) -> Iterator[tuple[SpoolFrame, int]]:
    """Yield the frames at the beginning of ``data``, each with the position after it, up to the first that is not
    whole."""
    view, at = memoryview(data), 0
    while at + FRONT_BYTES <= len(view):
        kind, call, length = _HEAD.unpack_from(view, at)
        body_start = at + FRONT_BYTES
        if body_start + length > len(view) or kind not in _KINDS:
            return
        body = bytes(view[body_start : body_start + length])
        if _sum_of(view[at : at + _HEAD.size], body) != view[at + _HEAD.size : body_start]:
            return
        at = body_start + length
        yield SpoolFrame(_KINDS[kind], call.decode("ascii", "replace"), body), at


def find_calls(file: BinaryIO) -> Iterator[SpoolFrame]:
    """Yield the frames of a segment that begin calls, up to a frame that is cut off. Skips the bodies of all others.
    Cost: a few bytes of each frame."""
    if file.read(len(MAGIC)) != MAGIC:
        return
    while len(front := file.read(FRONT_BYTES)) == FRONT_BYTES:
        kind, _, length = _HEAD.unpack_from(front)
        if kind != SpoolKind.BEGIN:
            file.seek(length, os.SEEK_CUR)
            continue
        yield from (frame for frame, _ in read_frames(front + file.read(length)))


def _sum_of(front: bytes | memoryview, body: bytes) -> bytes:
    hasher = blake3(front)
    hasher.update(body)
    return hasher.digest(length=_SUM_BYTES)


_KINDS = {kind.value: kind for kind in SpoolKind}
