"""The events of a provider's answer, from bytes in any pieces.

One reader takes all forms of an answer: server-sent events, JSON lines, one JSON object, an array of objects that
grows, or the frames of an AWS event stream. The first bytes decide which. The reader knows no provider, does no I/O,
and gives the same events however the bytes were cut. The events are JSON that can be stored again, except for halves of
characters that the sender cut.

An event before a broken one is never lost: ``feed`` returns it, and the next call raises.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any, cast

from headish.errors import InvalidReply
from headish.providers.events.eventjson import Refusal
from headish.providers.events.forms import BLANKS, JsonText, ServerSentEvents
from headish.providers.events.frames import FIRST_BYTES, EventStream
from headish.values.limits import EVENT_LIMIT_BYTES

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
FIELDS = (b"data:", b"event:", b"id:", b"retry:", b":")
"""The possible beginnings of a stream of server-sent events; a line without a name is a comment."""
# A whole file may come as one piece; ``feed`` would return all of its events as one list.
_SLICE_BYTES = 64 * 1024

Piece = bytes | str | Mapping[str, Any]
"""A part of an answer: some of its text, or an event that was read already."""


class EventReader:
    """Bytes in, events out. ``count`` is the number of events so far, ``failure`` the error that the next call raises.

    ``what`` names the source in errors.
    """

    def __init__(self, what: str = "a reply", *, event_limit_bytes: int = EVENT_LIMIT_BYTES) -> None:
        self.count = 0
        self._what, self._limit_bytes = what, event_limit_bytes
        self._form: ServerSentEvents | JsonText | EventStream | None = None
        self._head = b""
        self._begun = self._blank = False
        self.failure: InvalidReply | None = None

    def feed(self, chunk: bytes) -> list[dict[str, Any]]:
        """The events that end in this piece. Raises: InvalidReply, if no event of it came before the broken one."""
        return self._collect(self._read(chunk, last=False))

    def finish(self) -> list[dict[str, Any]]:
        """The event of the last line, if nothing ended that. Raises: InvalidReply."""
        return self._collect(self._read(b"", last=True))

    @property
    def ended(self) -> bool:
        """Whether the stream announced its end. A server may keep the connection open after that."""
        return self._form is not None and self._form.ended

    def _collect(self, events: Iterator[dict[str, Any]]) -> list[dict[str, Any]]:
        if self.failure is not None:
            raise self.failure
        collected = []
        try:
            for event in events:
                self.count += 1
                collected.append(event)
        # The events before it are returned first: an answer is kept as far as it came.
        except Refusal as refusal:
            self.failure = InvalidReply(self._what, str(refusal), self.count + 1)
            if not collected:
                raise self.failure from None
        return collected

    def _read(self, chunk: bytes, *, last: bool) -> Iterator[dict[str, Any]]:
        if self._form is None:
            chunk = self._begin(self._head + chunk, last=last)
        if self._form is not None:
            yield from self._form.feed(chunk)
            if last:
                yield from self._form.finish()

    def _begin(self, head: bytes, *, last: bool) -> bytes:
        """Choose the form, and return the text for it to begin with. Keeps bytes that are too few to decide."""
        if not self._begun:
            if len(head) < len(BYTE_ORDER_MARK) and BYTE_ORDER_MARK.startswith(head) and not last:
                self._head = head
                return b""
            head, self._begun = head.removeprefix(BYTE_ORDER_MARK), True
        # After a blank no frames follow, even if the blank came in a piece of its own: frames would begin at once.
        if not self._blank and head.startswith(FIRST_BYTES):
            self._form, self._head = EventStream(self._limit_bytes), b""
            return head
        self._blank |= head != head.lstrip(BLANKS)
        head = head.lstrip(BLANKS)
        if head.startswith((b"{", b"[")):
            self._form = JsonText(self._limit_bytes)
        elif head.startswith(FIELDS):
            self._form = ServerSentEvents(self._limit_bytes)
        elif head and (last or len(head) >= max(map(len, FIELDS))):
            raise Refusal("it begins like neither server-sent events nor a JSON object or array")
        self._head = head if self._form is None else b""
        return head


def read_events(
    source: Piece | Iterable[Piece], what: str = "a reply", *, event_limit_bytes: int = EVENT_LIMIT_BYTES
) -> Iterator[Mapping[str, Any]]:
    """The events of a whole text or of its pieces; events that were read already pass through unchanged.

    Raises: InvalidReply, or the error of the source, in both cases after all events that had come by then.
    """
    reader = EventReader(what, event_limit_bytes=event_limit_bytes)
    pieces = cast("Iterable[Piece]", [source] if isinstance(source, bytes | str | Mapping) else source)
    try:
        for piece in pieces:
            if isinstance(piece, Mapping):
                yield piece
            else:
                yield from _read_piece(reader, piece)
            if reader.ended:
                return  # without waiting for a connection that the server may keep open
    except InvalidReply:
        raise
    except Exception:
        # The stream itself broke, and its error says why. What arrived before is given out first.
        with suppress(InvalidReply):
            yield from reader.finish()
        raise
    yield from reader.finish()


def _read_piece(reader: EventReader, piece: bytes | str) -> Iterator[dict[str, Any]]:
    data = piece.encode(errors="surrogatepass") if isinstance(piece, str) else piece
    for at in range(0, len(data), _SLICE_BYTES):
        yield from reader.feed(data[at : at + _SLICE_BYTES])
        if reader.failure is not None:
            # Now, not with the next piece, which may not come for a long time.
            raise reader.failure
