"""An answer that has begun: its events, one by one, within the bounds of time and size.

From here on headish does not try again, because the caller may have shown or stored the first events. An error is
raised only after every event that had arrived.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, suppress
from itertools import islice
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from msgspec import Struct

from headish.calls.deadline import Deadline, Stop, Timeouts
from headish.calls.redaction import Redactor
from headish.errors import (
    CallCancelled,
    CallError,
    CallTimedOut,
    FirstByteTimedOut,
    Interrupted,
    SilenceTimedOut,
    UnreadableAnswer,
)
from headish.providers.events.decoder import read_events
from headish.providers.registry import find_provider
from headish.values.limits import EVENT_LIMIT_BYTES, REPLY_LIMIT_BYTES

if TYPE_CHECKING:
    import httpx2

    from headish.calls.clouds.credentials import Signer

DRAIN_SECONDS = 0.05
"""The longest wait for the end of a body after its last event: an unread body would take its connection with it."""
DRAIN_CHUNKS = 8
"""The most chunks to read after the last event."""
_LENGTHS = frozenset({"content-length", "transfer-encoding"})
"""The headers that mark the end of an answer."""


class Limits(Struct, frozen=True, kw_only=True):
    """The most bytes of one event, and of the whole answer."""

    event_bytes: int = EVENT_LIMIT_BYTES
    reply_bytes: int = REPLY_LIMIT_BYTES


class Exchange(Struct, frozen=True, kw_only=True):
    """The values that sending and reading share: the provider, the limits of time and size, the keys to keep out of
    errors, and the signer."""

    provider: str
    origin: str
    timeouts: Timeouts
    limits: Limits
    deadline: Deadline
    redactor: Redactor
    signer: Signer | None = None

    def ended(self) -> CallError:
        """The error of a call that its deadline ended."""
        timeouts, provider = self.timeouts, self.provider
        match self.deadline.ended_by:
            case "cancelled":
                return CallCancelled(provider, "the call was cancelled before its answer ended")
            case "first_byte":
                return FirstByteTimedOut(provider, timeouts.first_byte_seconds, "no byte of an answer came")
            case "silence":
                return SilenceTimedOut(provider, timeouts.silence_seconds, "no further byte of the answer came")
            case _:
                return CallTimedOut(provider, timeouts.total_seconds or 0, "the answer did not end")


class Call:
    """An open call. Iterate over it for the events as dicts; a whole answer is one event. Close it, or use ``with``.

    The events hold ``***`` for each key of the call, wherever the server echoes one outside the model's own words.

    Iterating raises: InvalidReply if something is not an event; Interrupted, TimedOut, CallCancelled, UnreadableAnswer
    (too large). Events that came before remain valid.
    """

    def __init__(self, exchange: Exchange, response: httpx2.Response, resources: ExitStack, stop: Stop) -> None:
        self.provider = exchange.provider
        self.url = str(response.url)
        self.content_type = response.headers.get("content-type", "")
        self._exchange, self._response, self._resources, self._stop = exchange, response, resources, stop
        self._response_chunks = response.iter_raw()
        events = read_events(
            self._read_chunks(),
            f"the answer of {self.provider}",
            event_limit_bytes=exchange.limits.event_bytes,
        )
        words = find_provider(self.provider).reader.words
        self._is_ended = False
        self._events = self._take(exchange.redactor.clean(event, words) for event in events)

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        return self._events

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def cancel(self) -> None:
        """End the request at once, from any thread: iterating raises CallCancelled after the events that arrived."""
        self._stop.now()

    def close(self) -> None:
        """End the call. Keeps its connection if the answer was read to its end, else closes it."""
        if self._is_ended:
            self._drain()
        self._resources.close()

    def _take(self, read: Iterator[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
        """The events; then note that the answer was read to its end."""
        yield from read
        self._is_ended = True

    def _drain(self) -> None:
        """Read on to the mark that ends the body, so that the connection can be kept."""
        import httpx2

        self._exchange.deadline.await_end(DRAIN_SECONDS)
        with suppress(CallError, httpx2.HTTPError, httpx2.StreamError):
            for _ in islice(self._response_chunks, DRAIN_CHUNKS):
                pass

    def _read_chunks(self) -> Iterator[bytes]:
        import httpx2

        exchange, deadline, received = self._exchange, self._exchange.deadline, 0
        try:
            deadline.await_first_byte()
            for chunk in self._response_chunks:
                deadline.heard()
                received += len(chunk)
                if deadline.ended_by is not None:
                    raise exchange.ended()
                if received > exchange.limits.reply_bytes:
                    reason = f"the answer has more than {exchange.limits.reply_bytes:,} bytes"
                    raise UnreadableAnswer(self.provider, reason)
                yield chunk
                deadline.await_byte()
        except (httpx2.TransportError, httpx2.StreamError) as error:
            # The deadline ends a call by cutting its connection, which looks like this too.
            if deadline.ended_by is not None:
                raise exchange.ended() from None
            if isinstance(error, httpx2.ReadTimeout):
                seconds = exchange.timeouts.silence_seconds
                raise SilenceTimedOut(self.provider, seconds, "no further byte of the answer came") from None
            raise Interrupted(self.provider, f"the answer broke off: {exchange.redactor.reason(error)}") from None
        finally:
            deadline.heard()
        if deadline.ended_by is not None and not _LENGTHS.intersection(self._response.headers):
            # Such an answer ends with its connection, so the deadline may have ended it.
            raise exchange.ended()
