"""Run the web process: open the database, serve the application, and end on the parent's signal.

    listener = socket.create_server(("127.0.0.1", 8321))
    multiprocessing.get_context("spawn").Process(target=run_web, args=(settings, listener))

``Logins(Path(settings.folder), time.time).make_code()`` in any process gives a code for ``login_url``.
"""

from __future__ import annotations

import asyncio
import signal
import socket
from typing import Any, cast

import h11
import uvicorn
from starlette.types import Scope
from uvicorn.protocols.http.h11_impl import H11Protocol

from headish.aio import AsyncDatabase
from headish.serve.access.settings import WebSettings
from headish.serve.access.watching import END_STREAM
from headish.serve.web.app import build_app

HEAD_SECONDS = 10.0
"""How long a client may take to send the head of a request."""
END_SECONDS = 5
"""How long begun answers may continue after the process gets the signal to end."""
HEAD_LIMIT_BYTES = 32 * 1024


def run_web(settings: WebSettings, listener: socket.socket) -> None:
    """Serve until SIGTERM or SIGINT. ``listener`` is bound to the port of the settings and listens.

    Raises: as ``AsyncDatabase.open`` and ``build_app``.
    """
    asyncio.run(serve_web(settings, listener))


async def serve_web(settings: WebSettings, listener: socket.socket) -> None:
    """``run_web`` in a running loop."""
    async with AsyncDatabase.open(settings.target, read_only=settings.read_only) as database:
        if not settings.read_only:
            await database.store(settings.space)
        server = make_server(settings, database)
        for number in (signal.SIGTERM, signal.SIGINT):
            # When uvicorn ends, it raises the signal again for the handler that was there before. The default handler
            # would kill the process here, and leave the database open.
            signal.signal(number, lambda *_: setattr(server, "should_exit", True))
        await server.serve(sockets=[listener])


def make_server(settings: WebSettings, database: AsyncDatabase) -> uvicorn.Server:
    """Make the server of an open database. Raises: as ``build_app``."""
    return uvicorn.Server(
        uvicorn.Config(
            build_app(settings, database),
            http=PunctualProtocol,
            ws="none",
            lifespan="on",  # "auto" takes a failed start for an application without a lifespan, and goes on
            # Admission reads the proxy's headers about the client, and trusts the proxy alone.
            proxy_headers=False,
            server_header=False,
            # A path may hold a code.
            access_log=False,
            log_config=None,
            timeout_graceful_shutdown=END_SECONDS,
            h11_max_incomplete_event_size=HEAD_LIMIT_BYTES,
        )
    )


class PunctualProtocol(H11Protocol):
    """HTTP/1.1 that closes a connection if the head of a request takes too long: many slow heads would hold up the
    server."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        # asyncio leaves Nagle's algorithm on for a socket that does not name its protocol: 40 ms for each answer.
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._watch()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def shutdown(self) -> None:
        """Begin to end: an answer may continue for ``END_SECONDS``; a stream that only reads waits for nothing."""
        super().shutdown()
        scope = cast(Scope | None, self.scope)
        if scope is not None and scope["method"] == "GET" and END_STREAM in scope:
            scope[END_STREAM]()

    def send_400_response(self, msg: str) -> None:
        """Answer what is not HTTP. It may be the body of a request whose answer is under way: then there is no place
        for another one, and the answer under way has nobody left to read it."""
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            super().send_400_response(msg)
        else:
            self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget()
        super().connection_lost(exc)

    def _watch(self) -> None:
        """Start the deadline for the next head, or stop it when the head is there."""
        if self.conn.their_state is not h11.IDLE:
            self._forget()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(HEAD_SECONDS, self.transport.close)

    def _forget(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
