"""The events of a provider's answer, from bytes that come in any pieces.

One reader for what an answer can be: server-sent events, JSON lines, one JSON object, an array of objects that grows,
or the frames of an AWS event stream. The first bytes decide which. It knows no provider, does no I/O, and gives the
same events however the bytes were cut; what comes out is JSON that can be stored again, but for halves of characters
that the sender cut.

An event before a broken one is never lost: ``feed`` returns what it has, and the next call raises.
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
"""What a stream of server-sent events can begin with; a line without a name is a comment."""
_SLICE_BYTES = 64 * 1024

Piece = bytes | str | Mapping[str, Any]
"""A part of an answer: some of its text, or an event that was read already."""


class EventReader:
    """Bytes in, events out. ``count`` is how many there were, ``failure`` what the next call will raise.

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
        """The events that end in this piece. Raises: InvalidReply, if none came before what is wrong."""
        return self._collect(self._read(chunk, last=False))

    def finish(self) -> list[dict[str, Any]]:
        """What the last line holds, if nothing ended it. Raises: InvalidReply."""
        return self._collect(self._read(b"", last=True))

    @property
    def ended(self) -> bool:
        """Whether the stream has said that it is at its end; a server may keep the connection open all the same."""
        return self._form is not None and self._form.ended

    def _collect(self, events: Iterator[dict[str, Any]]) -> list[dict[str, Any]]:
        if self.failure is not None:
            raise self.failure
        found = []
        try:
            for event in events:
                self.count += 1
                found.append(event)
        # The events before it count: an answer is kept as far as it came.
        except Refusal as refusal:
            self.failure = InvalidReply(self._what, str(refusal), self.count + 1)
            if not found:
                raise self.failure from None
        return found

    def _read(self, chunk: bytes, *, last: bool) -> Iterator[dict[str, Any]]:
        if self._form is None:
            chunk = self._begin(self._head + chunk, last=last)
        if self._form is not None:
            yield from self._form.feed(chunk)
            if last:
                yield from self._form.finish()

    def _begin(self, head: bytes, *, last: bool) -> bytes:
        """Choose the form; what is not enough to tell is kept. The text that the form begins with."""
        if not self._begun:
            if len(head) < len(BYTE_ORDER_MARK) and BYTE_ORDER_MARK.startswith(head) and not last:
                self._head = head
                return b""
            head, self._begun = head.removeprefix(BYTE_ORDER_MARK), True
        # Behind a blank there are no frames, also where the blank came in a piece of its own.
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
    source: Piece | Iterable[Piece],
    what: str = "a reply",
    *,
    event_limit_bytes: int = EVENT_LIMIT_BYTES,
) -> Iterator[Mapping[str, Any]]:
    """The events of a whole text or of its pieces; events that were read already pass through as they are.

    Raises: InvalidReply, or what the source raises; either after all events that had come by then.
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
                return
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
            # Now, not with the next piece: there may be none for a long time.
            raise reader.failure
