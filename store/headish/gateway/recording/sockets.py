"""Record a WebSocket of the Responses API as calls: one for each ``response.create``.

Each is recorded as if it had been ``POST …/responses`` with a stream: the message is the body of the request, as it was
sent, and the events up to the one that ends the response are the answer. So the spool and its reader know nothing of
WebSockets. A message of another kind passes and is counted as unrecorded, once for each WebSocket.

Sources: OpenAI's guide "WebSocket mode" and openai 3.54.0 ``types/responses/responses_client_event.py``, read on
2026-11-26; @openai/codex 0.171.0, seen on that day.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from headish.gateway.recording.bodies import RecordedBody
from headish.gateway.recording.messages import HeldBytes, MessageReader, Opcode, SocketMessage, UnreadableFrames
from headish.gateway.recording.redacting import KeyFilter
from headish.gateway.recording.spooling import TOO_SLOW, Recording, Spooler, unforeseen
from headish.gateway.spool import (
    UNREADABLE,
    CallBegin,
    CallEnd,
    Outcome,
    ResponseHead,
    SpoolFrame,
    SpoolKind,
    begin,
    end,
    head,
)

OPEN_LIMIT = 64
"""The most requests of one WebSocket that may wait for the end of their answers."""
ENDING = frozenset(("response.completed", "response.failed", "response.incomplete", "response.cancelled", "error"))
"""The events that end an answer."""
_NO_CODE = (1005).to_bytes(2)
_REQUEST, _ANSWER, _ERROR = "response.create", "response.", "error"
_SAYS_NOTHING = frozenset(("response.processed",))
"""Messages of a client that belong to no conversation: Codex acknowledges an answer with one."""


def is_read(path: str) -> bool:
    """Whether a WebSocket at this path speaks the Responses API."""
    return path.endswith("/responses")


class SocketBegin(NamedTuple):
    """What is known of a WebSocket when it opens. The records of its calls copy ``call`` and ``answer``, with times of
    their own. ``secrets`` are written nowhere. ``is_packed``: both ends agreed on compression."""

    call: CallBegin
    answer: ResponseHead
    secrets: list[str]
    is_packed: bool


class _Event(Struct):
    """The fields of a message that are read: its kind, its stream, and the status of an error."""

    type: Any = None
    stream_id: Any = None
    status: Any = None

    @property
    def kind(self) -> str | None:
        """The type of the message; None if it names none."""
        return self.type if isinstance(self.type, str) else None

    @property
    def lane(self) -> str | None:
        """The stream that an event belongs to; None if it names none. The answers of a stream come one by one."""
        return self.stream_id if isinstance(self.stream_id, str) else None

    @property
    def refusal(self) -> int | None:
        """The HTTP status of an error event that has one; else None."""
        is_status = self.kind == _ERROR and isinstance(self.status, int) and 400 <= self.status < 600
        return self.status if is_status else None


class _OpenCall:
    """A request whose answer has not ended."""

    def __init__(self, id: str, secrets: Iterable[str], request_bytes: int) -> None:
        self.id = id
        self._secrets, self._request_bytes = secrets, request_bytes
        self._answer: RecordedBody | None = None
        self._is_refused = False
        self._first_at: int | None = None
        self._answer_bytes = 0

    def add(self, event: _Event, message: SocketMessage, at: int, answer: ResponseHead) -> Iterator[SpoolFrame]:
        """Add an event of the answer, as a server-sent event, or as the body of an error that refuses the request."""
        if self._answer is None:
            self._is_refused, self._first_at = event.refusal is not None, at
            self._answer = RecordedBody(self._secrets, "", "", is_refusal=self._is_refused)
            yield head(self.id, replace(answer, status=event.refusal or 200, at=at))
        self._answer_bytes += message.size
        data = message.data if self._is_refused else _as_event(message.data)
        yield from self._pieces(self._answer.feed(data))

    def end(self, outcome: Outcome, at: int, error: str | None) -> Iterator[SpoolFrame]:
        """End the call: nothing more of it follows."""
        if self._answer is not None:
            yield from self._pieces(self._answer.finish())
        yield end(
            self.id,
            CallEnd(
                outcome="unrecorded" if self.left_out else outcome,
                at=at,
                first_byte_at=self._first_at,
                request_bytes=self._request_bytes,
                response_bytes=self._answer_bytes,
                error=error,
                left_out=self.left_out,
            ),
        )

    @property
    def left_out(self) -> str | None:
        """Why a part of the answer is not written down; None if all of it is."""
        return None if self._answer is None else self._answer.left_out

    def _pieces(self, pieces: Iterable[bytes]) -> Iterator[SpoolFrame]:
        return (SpoolFrame(SpoolKind.RESPONSE, self.id, piece) for piece in pieces)


class SocketCalls:
    """Turns the bytes of a WebSocket into frames of calls. For the thread that writes.

    ``mint`` gives ids; ``miss`` counts what is not recorded, with the reason. Hostile bytes never raise; less is
    recorded then.
    """

    def __init__(
        self, begin: SocketBegin, mint: Callable[[], str], miss: Callable[[str], None], held: HeldBytes
    ) -> None:
        self._begin, self._mint, self._miss = begin, mint, miss
        self._client, self._upstream = (MessageReader(held, is_packed=begin.is_packed) for _ in range(2))
        self._lanes: dict[str | None, deque[_OpenCall]] = {}
        self._has_missed = False
        self.has_passed_over = False
        """Whether the client sent a message that is not recorded."""
        self._closing: tuple[Outcome, str | None] | None = None
        self.is_over = False
        """Whether reading has stopped."""
        self.open = 0
        """How many requests wait for the end of their answers."""

    def sent(self, data: bytes, at: int) -> Iterator[SpoolFrame]:
        """Take bytes that the client sent at ``at``, in milliseconds since 1970."""
        return self._take(self._client, self._ask, data, at)

    def came(self, data: bytes, at: int) -> Iterator[SpoolFrame]:
        """Take bytes that the upstream sent."""
        return self._take(self._upstream, self._answer, data, at)

    def stop(self, reason: str, at: int) -> Iterator[SpoolFrame]:
        """Stop reading: requests that wait for an answer, and all that follow, are not recorded."""
        if not self.is_over:
            for _ in range(max(1, self.open)):
                self._miss(reason)
            yield from self.end("unrecorded", at, reason)

    def end(self, outcome: Outcome, at: int, error: str | None) -> Iterator[SpoolFrame]:
        """End the WebSocket and every request that waits for an answer."""
        self.is_over = True
        self._client.drop()
        self._upstream.drop()
        # A closing frame says more than the end of the connection that follows it.
        if self._closing is not None and outcome != "unrecorded":
            outcome, error = self._closing
        calls = sorted((call for lane in self._lanes.values() for call in lane), key=lambda call: call.id)
        self._lanes, self.open = {}, 0
        for call in calls:
            yield from call.end(outcome, at, error)

    def _take(
        self, reader: MessageReader, use: Callable[[SocketMessage, int], Iterator[SpoolFrame]], data: bytes, at: int
    ) -> Iterator[SpoolFrame]:
        if self.is_over:
            return
        try:
            for message in reader.feed(data):
                yield from use(message, at)
        except UnreadableFrames as error:
            yield from self.stop(str(error), at)

    def _ask(self, message: SocketMessage, at: int) -> Iterator[SpoolFrame]:
        if message.opcode >= Opcode.CLOSE:
            if message.opcode is Opcode.CLOSE and self._closing is None:
                self._closing = "client gone", None
            return
        event = _read_event(message)
        if event.kind != _REQUEST or self.open >= OPEN_LIMIT:
            if event.kind not in _SAYS_NOTHING:
                self.has_passed_over = True
                self._miss_once(
                    "a client sent a message that is not a request of the Responses API, or too many requests at once"
                )
            return
        call = _OpenCall(self._mint(), self._begin.secrets, message.size)
        self._lanes.setdefault(event.lane, deque()).append(call)
        self.open += 1
        yield begin(call.id, replace(self._begin.call, at=at))
        body = RecordedBody(self._begin.secrets, "", "")
        for piece in (*body.feed(message.data), *body.finish()):
            yield SpoolFrame(SpoolKind.REQUEST, call.id, piece)
        yield SpoolFrame(SpoolKind.SENT, call.id, b"")

    def _answer(self, message: SocketMessage, at: int) -> Iterator[SpoolFrame]:
        if message.opcode >= Opcode.CLOSE:
            if message.opcode is Opcode.CLOSE and self._closing is None:
                reason = KeyFilter(self._begin.secrets).clean(_code_of(message.data))
                self._closing = "broken", f"the provider closed the WebSocket: {reason}"
            return
        event = _read_event(message)
        lane = self._lanes.get(event.lane)
        if lane is None and event.kind == _ERROR and len(self._lanes) == 1:
            [lane] = self._lanes.values()  # an error of the connection need not name a stream
        if lane is None or event.kind is None:
            if event.kind is None or event.kind.startswith(_ANSWER):
                self._miss_once("a provider sent a message that answers no request")
            return
        yield from lane[0].add(event, message, at, self._begin.answer)
        if event.kind in ENDING:
            yield from self._end_first(lane, at)

    def _end_first(self, lane: deque[_OpenCall], at: int) -> Iterator[SpoolFrame]:
        call = lane.popleft()
        self._lanes = {name: calls for name, calls in self._lanes.items() if calls}
        self.open -= 1
        if call.left_out is not None:
            self._miss(f"an answer is too large: {call.left_out}")
        yield from call.end("ok", at, None)

    def _miss_once(self, reason: str) -> None:
        if not self._has_missed:
            self._has_missed = True
            self._miss(reason)


def _read_event(message: SocketMessage) -> _Event:
    """Decode the fields of a message; all of them None if it is not a JSON object."""
    try:
        return _decode_event(message.data) if message.opcode is Opcode.TEXT else _Event()
    except UNREADABLE:
        return _Event()


_decode_event = msgspec.json.Decoder(_Event).decode


def _code_of(closing: bytes) -> str:
    """The code and the reason of a closing frame (RFC 6455 §5.5.1); 1005 if it has no code (§7.1.5)."""
    return f"{int.from_bytes(closing[:2] or _NO_CODE)} {closing[2:].decode(errors='replace')}".strip()


def _as_event(data: bytes) -> bytes:
    """Write a message as a server-sent event: JSON over several lines becomes several ``data`` lines."""
    return b"data: " + b"\ndata: ".join(data.splitlines()) + b"\n\n"


class SocketRecording:
    """The record of one WebSocket. All methods except ``confirm`` return at once.

    ``opening`` is the record of the call that asked for the WebSocket, and ``answer`` the head of its answer.
    """

    def __init__(
        self, spooler: Spooler, opening: Recording, answer: ResponseHead, mint: Callable[[], str], *, is_packed: bool
    ) -> None:
        assert opening.begun is not None
        begun = replace(opening.begun, method="POST")  # the recorder knows an API by POST; the opening was a GET
        self._spooler = spooler
        self._calls = SocketCalls(
            SocketBegin(begun, answer, opening.secrets, is_packed), mint, spooler.cut, spooler.held
        )
        self._passed = self._read = 0
        self._is_dropped = False
        spooler.open_calls += 1
        if not is_read(begun.path):
            self.stop("headish reads WebSockets of the Responses API alone", answer.at)

    @property
    def is_idle(self) -> bool:
        """Whether all that passed was read, and no request waits for the end of its answer."""
        return self._passed == self._read and not self._calls.open

    def sent(self, data: bytes, at: int) -> None:
        """Record a chunk that the client sent."""
        self._put(self._calls.sent, data, at)

    def came(self, data: bytes, at: int) -> None:
        """Record a chunk of the upstream that has passed."""
        self._put(self._calls.came, data, at)

    async def confirm(self, data: bytes, at: int) -> bool:
        """Record a chunk of the client before it passes. Returns whether all that the client sent so far is in the
        spool."""
        self._passed += 1
        is_written = await self._spooler.confirm_all(lambda: self._counted(self._calls.sent(data, at), at))
        return is_written and not (self._calls.is_over or self._calls.has_passed_over)

    def stop(self, reason: str, at: int) -> None:
        """Stop recording this WebSocket, and count what is missed."""
        self._is_dropped = True
        self._spooler.put(lambda: self._calls.stop(reason, at))

    def end(self, outcome: Outcome, at: int, error: str | None = None) -> None:
        """Record that the WebSocket is closed."""
        self._spooler.open_calls -= 1
        self._spooler.put(lambda: self._calls.end(outcome, at, error))

    def _put(self, use: Callable[[bytes, int], Iterator[SpoolFrame]], data: bytes, at: int) -> None:
        if self._is_dropped:
            return
        if not self._spooler.put(lambda: self._counted(use(data, at), at), len(data)):
            self.stop(TOO_SLOW, at)  # for good: after a missing chunk, the frames cannot be read
            return
        self._passed += 1

    def _counted(self, frames: Iterator[SpoolFrame], at: int) -> Iterator[SpoolFrame]:
        try:
            yield from frames
        except Exception as error:  # the frames of other calls follow in the same list
            yield from self._calls.stop(unforeseen(error), at)
        self._read += 1
