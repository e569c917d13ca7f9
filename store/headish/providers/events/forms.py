"""The forms of an answer's text: server-sent events, or JSON objects in a row or in an array.

Each form takes bytes in any pieces, looks at each byte once, and yields the events that end in them. It holds one
unfinished event, and refuses one that is larger than the limit, so both time and memory are bounded.

Source: WHATWG HTML, "Server-sent events" (https://html.spec.whatwg.org/multipage/server-sent-events.html, read
2026-11-20), except that an event at the end of the text counts even without the blank line; RFC 8259.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from headish.providers.events.eventjson import Refusal, decode_event, too_large

BLANKS = b" \t\r\n"
END_OF_STREAM = b"[DONE]"
"""The data with which OpenAI and Cerebras end a stream. It is neither an event nor JSON."""


class ServerSentEvents:
    """Lines become fields, a blank line ends an event. Holds one unfinished line and the data before it."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._line, self._data, self._name = bytearray(), bytearray(), b""
        self._has_data = False
        self._after_return = False
        self.ended = False
        """Whether the stream announced its end. Nothing after that is read."""

    def feed(self, chunk: bytes) -> Iterator[dict[str, Any]]:
        if self._after_return and chunk:
            # A line end of two characters was cut in half: this is not a second, blank line.
            chunk = chunk.removeprefix(b"\n")
            self._after_return = False
        self._after_return = self._after_return or chunk.endswith(b"\r")
        for line in chunk.splitlines(keepends=True):
            content = line.rstrip(b"\r\n")
            if len(self._data) + len(self._line) + len(content) > self._limit_bytes:
                raise too_large(self._limit_bytes)
            if len(content) == len(line):
                self._line += line
            elif self._line:
                whole, self._line = bytes(self._line + content), bytearray()
                yield from self._take(whole)
            else:
                yield from self._take(content)

    def finish(self) -> Iterator[dict[str, Any]]:
        line, self._line = bytes(self._line), bytearray()
        yield from self._take(line)
        if line:
            yield from self._take(b"")

    def _take(self, line: bytes) -> Iterator[dict[str, Any]]:
        if self.ended:
            return
        if not line:
            yield from self._dispatch()
            return
        field, _, value = line.partition(b":")
        if field == b"data":
            if self._has_data:
                self._data += b"\n"
            self._data += value.removeprefix(b" ")
            self._has_data = True
        elif field == b"event":
            self._name = value.removeprefix(b" ")

    def _dispatch(self) -> Iterator[dict[str, Any]]:
        data, name = bytes(self._data), self._name
        self._data, self._name, self._has_data = bytearray(), b"", False
        self.ended = data.strip() == END_OF_STREAM
        if self.ended or not data.strip():
            return
        event = decode_event(data)
        if name not in (b"", b"message") and "type" not in event:
            # Readers look at ``type`` alone, but a stream may name its events only in the field ``event``.
            try:
                event["type"] = name.decode()
            except UnicodeDecodeError:
                raise Refusal("the name of the event is not UTF-8") from None
        yield event


class JsonText:
    """Objects one after the other, or between the brackets of one array. Holds one unfinished object.

    It looks only at brackets and quotes, each byte once; msgspec checks the rest.
    """

    ended = False
    """A JSON text ends with the connection: another object may always follow."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._expected, self._after_object = b"{[", b"{"
        self._pending = bytearray()
        self._depth = 0
        self._in_string = False
        self._skip = 0

    def feed(self, chunk: bytes) -> Iterator[dict[str, Any]]:
        at, self._skip = self._skip, 0
        start, line_end = 0, 0
        while True:
            if not self._depth:
                start = at = self._seek_object(chunk, at)
                if at == len(chunk):
                    return
                if at >= line_end:
                    line_end = _find_line_end(chunk, at)
                    event = self._decode_line(chunk[at:line_end])
                    if event is not None:
                        at = line_end
                        yield event
                        continue
            end = self._scan(chunk, at)
            self._pending += chunk[start : len(chunk) if end is None else end]
            if len(self._pending) > self._limit_bytes:
                raise too_large(self._limit_bytes)
            if end is None:
                return
            document, self._pending = bytes(self._pending), bytearray()
            yield decode_event(document)
            self._expected, start, at = self._after_object, end, end

    def finish(self) -> Iterator[dict[str, Any]]:
        if self._depth:
            raise Refusal("the text ends in the middle of it")
        return iter(())

    def _seek_object(self, chunk: bytes, at: int) -> int:
        """The index at which the next object begins, after blanks and an array's commas and brackets."""
        while True:
            at = _skip_blanks(chunk, at)
            mark = chunk[at : at + 1]
            if not mark or (mark == b"{" and mark in self._expected):
                return at
            if mark not in self._expected:
                raise Refusal(f"it is not a JSON object, it begins with {mark.decode(errors='replace')!r}")
            if mark == b"[":
                self._after_object = b",]"
            self._expected = _AFTER_MARK[mark]
            at += 1

    def _decode_line(self, line: bytes) -> dict[str, Any] | None:
        """The object that fills a line, as in JSON lines; None if the line is not one whole object."""
        # A shortcut around the scan below: text that decodes as one object cannot end anywhere else.
        if not line or len(line) > self._limit_bytes:
            return None
        try:
            event = decode_event(line)
        except Refusal:
            return None
        self._expected = self._after_object
        return event

    def _scan(self, chunk: bytes, at: int) -> int | None:
        """The index after the object at or around ``at``; None if it continues in the next piece."""
        while match := (_IN_STRING if self._in_string else _IN_OBJECT).search(chunk, at):
            at = match.end()
            mark = match[0]
            if mark == b'"':
                self._in_string = not self._in_string
            elif mark == b"\\":
                at += 1
            elif mark in b"{[":
                self._depth += 1
            else:
                self._depth -= 1
                if not self._depth:
                    return at
        # A backslash ended this piece: the character that it escapes is the first of the next one.
        self._skip = max(0, at - len(chunk))
        return None


def _find_line_end(chunk: bytes, at: int) -> int:
    end = chunk.find(b"\n", at)
    return len(chunk) if end < 0 else end


def _skip_blanks(chunk: bytes, at: int) -> int:
    match = _BLANKS.match(chunk, at)
    return match.end() if match else at


_BLANKS = re.compile(rb"[ \t\r\n]*")
_IN_OBJECT = re.compile(rb'["{}\[\]]')
_IN_STRING = re.compile(rb'["\\]')
_AFTER_MARK = {b"[": b"{]", b",": b"{", b"]": b""}
