"""An answer that has begun: its events, one by one, within the bounds of time and size.

From here on nothing is tried again, because the caller may have shown or stored the first events. Whatever goes wrong
is raised after every event that had arrived.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from msgspec import Struct

from headish.calls.deadline import Deadline, Timeouts
from headish.calls.redaction import Redactor
from headish.errors import Interrupted, TimedOut, UnreadableAnswer
from headish.limits import EVENT_LIMIT_BYTES, REPLY_LIMIT_BYTES
from headish.providers.events.decoder import read_events
from headish.providers.registry import find_provider

if TYPE_CHECKING:
    import httpx2

    from headish.calls.clouds.credentials import Signer

_LENGTHS = frozenset({"content-length", "transfer-encoding"})
"""The headers that say where an answer ends."""


class Limits(Struct, frozen=True, kw_only=True):
    """The most bytes of one event, and of the whole answer."""

    event_bytes: int = EVENT_LIMIT_BYTES
    reply_bytes: int = REPLY_LIMIT_BYTES


class Exchange(Struct, frozen=True, kw_only=True):
    """What sending and reading share: the provider, the time and bytes allowed, what to keep out of errors, and who
    signs."""

    provider: str
    origin: str
    timeouts: Timeouts
    limits: Limits
    deadline: Deadline
    redactor: Redactor
    signer: Signer | None = None

    def overdue(self) -> TimedOut:
        """The error of a call whose whole time is over."""
        return TimedOut(self.provider, self.timeouts.total_seconds or 0, "the answer did not end")


class Call:
    """An open call. Iterate over it for the events as dicts; a whole answer is one event. Close it, or use ``with``.

    The events hold ``***`` for each key of the call, wherever the server echoes one outside the model's own words.

    Iterating raises: InvalidReply for what is no event; Interrupted, TimedOut, UnreadableAnswer (too large). Events
    that came before remain valid.
    """

    def __init__(self, exchange: Exchange, response: httpx2.Response, resources: ExitStack) -> None:
        self.provider = exchange.provider
        self.url = str(response.url)
        self.content_type = response.headers.get("content-type", "")
        self._exchange, self._response, self._resources = exchange, response, resources
        read = read_events(
            self._read_chunks(),
            f"the answer of {self.provider}",
            event_limit_bytes=exchange.limits.event_bytes,
        )
        words = find_provider(self.provider).reader.words
        self._events = (exchange.redactor.clean(event, words) for event in read)

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        return self._events

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the connection, even in the middle of the answer."""
        self._resources.close()

    def _read_chunks(self) -> Iterator[bytes]:
        import httpx2

        exchange, received = self._exchange, 0
        try:
            for chunk in self._response.iter_raw():
                received += len(chunk)
                if exchange.deadline.passed:
                    raise exchange.overdue()
                if received > exchange.limits.reply_bytes:
                    reason = f"the answer has more than {exchange.limits.reply_bytes:,} bytes"
                    raise UnreadableAnswer(self.provider, reason)
                yield chunk
        except httpx2.ReadTimeout:
            seconds = exchange.timeouts.read_seconds
            raise TimedOut(self.provider, seconds, "no further byte of the answer came") from None
        except (httpx2.TransportError, httpx2.StreamError) as error:
            # The deadline ends a call by cutting its connection, which looks like this too.
            if exchange.deadline.passed:
                raise exchange.overdue() from None
            reason = exchange.redactor.show(str(error)) or type(error).__name__
            raise Interrupted(self.provider, f"the answer broke off: {reason}") from None
        if exchange.deadline.passed and not _LENGTHS.intersection(self._response.headers):
            # Such an answer ends with its connection, so the deadline may have ended it.
            raise exchange.overdue()
