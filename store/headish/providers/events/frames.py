"""The event stream of AWS, in which Amazon Bedrock sends an answer: frames of bytes, each with two checksums.

::

    total length   4 bytes, big-endian: of the whole frame
    headers length 4 bytes
    prelude CRC    4 bytes: CRC-32 of the eight bytes before
    headers        each: length of name 1, name, type 1, value
    payload        total length - headers length - 16 bytes
    message CRC    4 bytes: CRC-32 of all bytes before

A frame holds one event of the model, as base64 in the payload's ``bytes``, or an error. Source: "Event stream
encoding", https://docs.aws.amazon.com/transcribe/latest/dg/event-stream.html; smithy.io, "Amazon Event Stream
Specification"; botocore 1.44.5 ``eventstream.py``; read 2026-11-22.
"""

from __future__ import annotations

from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple
from zlib import crc32

from headish.providers.events.eventjson import Refusal, decode_event, too_large

FIRST_BYTES = (b"\0", b"\1")
"""The possible first bytes of a frame, which is below 32 MB (AWS allows 16, and 128 kB of headers). No text of an
answer begins with them."""
PRELUDE_BYTES = 12
LEAST_BYTES = PRELUDE_BYTES + 4
_MOST_BYTES = 0x02000000
_FIXED = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}
"""The size of a header's value, by its type; types 6 (bytes) and 7 (text) give theirs in two bytes."""
_TEXT = 7


class Frame(NamedTuple):
    """A checked frame: its headers of the type text, and its payload."""

    headers: Mapping[str, str]
    payload: bytes


class EventStream:
    """Reads events from frames in any pieces. Holds one unfinished frame; refuses a frame over the limit as soon as its
    length is known."""

    ended = False
    """It ends only with the connection."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = min(limit_bytes, _MOST_BYTES)
        self._pending = bytearray()

    def feed(self, chunk: bytes) -> Iterator[dict[str, Any]]:
        self._pending += chunk
        while (size := self._next_size()) is not None:
            data = bytes(self._pending[:size])
            del self._pending[:size]
            event = _read_event(_read_frame(data))
            if event is not None:
                yield event

    def finish(self) -> Iterator[dict[str, Any]]:
        if self._pending:
            raise Refusal("the stream ends in the middle of its frame")
        return iter(())

    def _next_size(self) -> int | None:
        """The size of the next frame; None if it has not arrived yet."""
        if len(self._pending) < PRELUDE_BYTES:
            return None
        prelude = bytes(self._pending[:PRELUDE_BYTES])
        # Before the length is used: a wrong one would have it wait for bytes that never come.
        if crc32(prelude[:8]) != _number(prelude[8:]):
            raise Refusal("the checksum of its length is wrong: bytes were lost or changed on the way")
        size, headers = _number(prelude[:4]), _number(prelude[4:8])
        if size < LEAST_BYTES + headers:
            raise Refusal("its lengths contradict each other")
        if size > self._limit_bytes:
            raise too_large(self._limit_bytes)
        return size if len(self._pending) >= size else None


def _read_frame(data: bytes) -> Frame:
    """The frame of its bytes. Raises: Refusal."""
    if crc32(data[:-4]) != _number(data[-4:]):
        raise Refusal("its checksum is wrong: bytes were lost or changed on the way")
    border = PRELUDE_BYTES + _number(data[4:8])
    return Frame(_read_headers(data[PRELUDE_BYTES:border]), data[border:-4])


def _read_headers(data: bytes) -> dict[str, str]:
    """The headers whose value is text, by name. Raises: Refusal if the bytes break off inside a header."""
    headers: dict[str, str] = {}
    at = 0
    while at < len(data):
        name_end = at + 1 + data[at]
        if name_end >= len(data):
            raise Refusal("its headers break off")
        kind, value_at = data[name_end], name_end + 1
        size = _FIXED.get(kind)
        if size is None and kind in (6, _TEXT):
            size, value_at = _number(data[value_at : value_at + 2]), value_at + 2
        if size is None or value_at + size > len(data):
            raise Refusal("its headers break off" if size is not None else f"it has a header of the type {kind}")
        if kind == _TEXT:
            name, value = data[at + 1 : name_end], data[value_at : value_at + size]
            headers[name.decode(errors="replace")] = value.decode(errors="replace")
        at = value_at + size
    return headers


def _read_event(frame: Frame) -> dict[str, Any] | None:
    """The event in a frame, as the provider's own stream would have it; None if the frame holds none."""
    kind = frame.headers.get(":message-type", "event")
    if kind == "error":
        return _make_error(frame.headers.get(":error-code"), frame.headers.get(":error-message"))
    if kind == "exception":
        payload = decode_event(frame.payload) if frame.payload else {}
        return _make_error(frame.headers.get(":exception-type"), payload.get("message") or payload.get("Message"))
    name = frame.headers.get(":event-type", "chunk")
    if name == "initial-response" or not frame.payload:
        return None
    payload = decode_event(frame.payload)
    if name != "chunk":
        return {"type": name, **payload}
    return _open_chunk(payload.get("bytes"))


def _open_chunk(encoded: object) -> dict[str, Any]:
    """The event of a chunk. Raises: Refusal if it holds none."""
    try:
        return decode_event(b64decode(encoded if isinstance(encoded, str) else b"", validate=True))
    except (Base64Error, ValueError):
        raise Refusal("its chunk is not base64") from None


def _make_error(code: str | None, message: object) -> dict[str, Any]:
    """An error event in the form of Anthropic's own stream, so that one reader reads both."""
    reason = message if isinstance(message, str) else "no reason given"
    return {"type": "error", "error": {"type": code or "error", "message": reason}}


def _number(data: bytes) -> int:
    return int.from_bytes(data, "big")
