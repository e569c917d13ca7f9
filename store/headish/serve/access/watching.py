"""End the streams of events of callers who are no longer admitted, and of clients that do not read.

A stream lasts for hours, and admission checks only the request that began it. So a revoked token or an ended session
must end the streams that it opened.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from anyio import CancelScope
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headish.errors import DatabaseError, HeadishError

WATCHED_SECONDS = 1.0
"""How often a stream's caller is checked."""
FAILED_LOOKS = 3
"""After this many failed checks in a row, the caller counts as not admitted."""
SLOW_SECONDS = 60.0
"""How long a client may leave an event unread."""
EVENTS = b"text/event-stream"
END_STREAM = "headish.end_stream"
"""The key of a request's scope with a function that ends the stream that answers it. A server that ends calls it: a
stream that waits for events would go on for ever."""

IsAdmitted: TypeAlias = Callable[[Scope], Awaitable[bool]]


class WatchedStream:
    """Passes on the answer to one request unchanged and, if it is a stream of events, watches it until it ends."""

    def __init__(self, scope: Scope, send: Send, is_admitted: IsAdmitted) -> None:
        self._scope, self._send, self._is_admitted = scope, send, is_admitted
        self._cancelling = CancelScope()
        self._watching: asyncio.Task[None] | None = None
        self._waits_since: float | None = None
        self._failed_looks = 0

    async def run(self, app: ASGIApp, receive: Receive) -> None:
        """Run an application, and pass on its answer."""
        try:
            with self._cancelling:
                await app(self._scope, receive, self._pass)
        finally:
            if self._watching is not None:
                self._watching.cancel()
        # A client that reads learns that the stream is over; for one that does not, this would wait for ever.
        if self._cancelling.cancelled_caught and self._waits_since is None:
            await self._send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _pass(self, message: Message) -> None:
        if message["type"] == "http.response.start" and _is_stream(message):
            self._watching = asyncio.create_task(self._watch())
            self._scope[END_STREAM] = self._cancelling.cancel
        self._waits_since = time.monotonic()
        await self._send(message)
        self._waits_since = None

    async def _watch(self) -> None:
        try:
            while not self._is_stuck() and await self._may_go_on():
                await asyncio.sleep(WATCHED_SECONDS)
        finally:  # whatever ends the watch also ends the stream: none goes on unwatched
            self._cancelling.cancel()

    def _is_stuck(self) -> bool:
        return self._waits_since is not None and time.monotonic() - self._waits_since > SLOW_SECONDS

    async def _may_go_on(self) -> bool:
        try:
            is_admitted = await self._is_admitted(self._scope)
        except (DatabaseError, OSError):
            # A database that is busy for a moment must not end every stream.
            self._failed_looks += 1
            return self._failed_looks < FAILED_LOOKS
        except HeadishError:  # admission itself is refused; the client connects again and gets the reason
            return False
        self._failed_looks = 0
        return is_admitted


def _is_stream(start: Message) -> bool:
    return any(name.lower() == b"content-type" and value.startswith(EVENTS) for name, value in start["headers"])
