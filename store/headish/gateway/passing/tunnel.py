"""A WebSocket on its way: once both ends have agreed on it, the gateway passes the bytes of each to the other.

So frames, their cuts, masks and compression, pings and closing codes remain between the ends; the gateway adds nothing
to a message and does not wait for its end. A copy of the bytes is read for the record (``recording.sockets``).
"""

from __future__ import annotations

import asyncio
from contextlib import suppress

import aiohttp
from aiohttp import web
from aiohttp.base_protocol import BaseProtocol
from aiohttp.client_proto import ResponseHandler
from aiohttp.http import StreamWriter

from headish.gateway.recording.sockets import SocketRecording
from headish.gateway.spool import Outcome, now

IDLE_SECONDS = 3600.0
"""A WebSocket in which nothing passes for this long is closed: its client may be gone without having closed it."""
LOOKED_SECONDS = 60.0
"""How often the tunnel checks that."""
STOPPING_SECONDS = 0.1
"""How often a gateway that ends checks whether a WebSocket still waits for an answer."""


class _Incoming:
    """The raw bytes that a connection receives from now on. aiohttp feeds it as it would feed its own WebSocket
    parser."""

    def __init__(self, protocol: BaseProtocol) -> None:
        # Beyond twice this size reading pauses, so a slow end slows the other instead of filling the memory.
        self.content = aiohttp.StreamReader(protocol, 2**16, loop=asyncio.get_running_loop())

    def feed_data(self, data: bytes) -> tuple[bool, bytes]:
        self.content.feed_data(data)
        return False, b""  # for aiohttp: not at the end, and no bytes left over

    def feed_eof(self) -> None:
        self.content.feed_eof()


_GONE: tuple[Outcome, str | None] = "client gone", None
_STOPPED: tuple[Outcome, str | None] = "broken", "the gateway was stopped"


class Tunnel:
    """A WebSocket between a client, whose ``response`` has begun, and the upstream of ``answer``.

    With ``must_record``, a chunk of the client passes only after it is in the spool; if that fails, the tunnel closes
    the WebSocket.
    """

    def __init__(
        self,
        request: web.Request,
        response: web.StreamResponse,
        answer: aiohttp.ClientResponse,
        recording: SocketRecording,
        *,
        must_record: bool,
    ) -> None:
        self._request, self._response, self._answer = request, response, answer
        self._recording, self._must_record = recording, must_record
        self._passed_at = asyncio.get_running_loop().time()
        self._outcome: tuple[Outcome, str | None] = "ok", None

    async def run(self, stopping: asyncio.Event) -> None:
        """Pass bytes until one side closes its connection, nothing passes for an hour, or the gateway ends and no
        request waits for an answer. Closes both."""
        tasks = [asyncio.ensure_future(each) for each in (self._up(), self._down(), self._watch(stopping))]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            self._outcome = _STOPPED if stopping.is_set() else _GONE
            raise
        finally:
            for task in tasks:
                task.cancel()
            self._answer.close()
            if self._request.transport is not None:
                self._request.transport.close()  # sends what was written first
            outcome, error = self._outcome
            self._recording.end(outcome, now(), error)

    async def _up(self) -> None:
        """Pass what the client sends."""
        incoming = _Incoming(self._request.protocol)
        self._request.protocol.set_parser(incoming)  # type: ignore[arg-type]
        upstream = StreamWriter(self._upstream, asyncio.get_running_loop())
        async for chunk in incoming.content.iter_any():
            self._passed_at = asyncio.get_running_loop().time()
            # Before it passes, since an answer may come before the upstream has taken the whole chunk.
            if not self._must_record:
                self._recording.sent(chunk, now())
            elif not await self._recording.confirm(chunk, now()):
                self._outcome = "unrecorded", "it could not be recorded, so the gateway closed the WebSocket"
                return
            # If the upstream is gone, `_down` ends the tunnel, after the client got what the upstream said before.
            with suppress(aiohttp.ClientError, OSError):
                await upstream.write(chunk)
        self._outcome = _GONE

    async def _down(self) -> None:
        """Pass what the upstream sends."""
        incoming = _Incoming(self._upstream)
        self._upstream.set_parser(incoming, incoming.content)
        async for chunk in incoming.content.iter_any():
            self._passed_at = asyncio.get_running_loop().time()
            try:
                await self._response.write(chunk)
            except (aiohttp.ClientError, OSError):
                self._outcome = _GONE
                return
            self._recording.came(chunk, now())
        self._outcome = "broken", "the provider closed the connection"

    async def _watch(self, stopping: asyncio.Event) -> None:
        while not stopping.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(stopping.wait(), LOOKED_SECONDS)
            if asyncio.get_running_loop().time() - self._passed_at > IDLE_SECONDS:
                self._outcome = "broken", f"nothing passed for {IDLE_SECONDS / 60:.0f} minutes"
                return
        # The gateway ends: a request that waits for its answer still gets it, within aiohttp's time for the shutdown.
        while not self._recording.is_idle:
            await asyncio.sleep(STOPPING_SECONDS)
        self._outcome = _STOPPED

    @property
    def _upstream(self) -> ResponseHandler:
        assert self._answer.connection is not None
        assert self._answer.connection.protocol is not None
        return self._answer.connection.protocol
