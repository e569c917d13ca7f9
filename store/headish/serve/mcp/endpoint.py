"""``/mcp`` of the web application. The SDK is imported for the first request: it takes three times as long to import as
all else of the server, and most servers are never asked."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

from headish.serve.access.settings import WebSettings

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

PATH = "/mcp"
LOG = logging.getLogger("headish.mcp")


class McpEndpoint:
    """The route. Each request is admitted by itself, so no session outlives its token."""

    def __init__(self, settings: WebSettings) -> None:
        self._allow_write = not settings.read_only

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._asked.set()
        manager = await asyncio.shield(self._manager)
        await manager.handle_request(scope, receive, send)

    @asynccontextmanager
    async def running(self, app: Starlette) -> AsyncIterator[None]:
        """The lifespan of the application that has it."""
        self._renew()
        working = asyncio.ensure_future(self._work())
        try:
            yield
        finally:
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)
            self._manager.cancel()  # whoever waits still is let go

    def _renew(self) -> None:
        self._asked = asyncio.Event()
        self._manager: asyncio.Future[StreamableHTTPSessionManager] = asyncio.get_running_loop().create_future()

    async def _work(self) -> None:
        """Keep the SDK's server from the first request on, and a new one from the next on where it failed. One task
        does it: its tasks end where they began."""
        while True:
            await self._asked.wait()
            try:
                await self._keep()
            except Exception as error:
                if self._manager.done():
                    LOG.exception("the server of MCP has ended; the next request starts another")
                else:
                    self._manager.set_exception(error)  # every request that waits is told
                self._renew()

    async def _keep(self) -> None:
        manager = await asyncio.to_thread(self._make)
        async with manager.run():
            self._manager.set_result(manager)
            await asyncio.Event().wait()

    def _make(self) -> StreamableHTTPSessionManager:
        from headish.serve.mcp.server import make_web_server

        return make_web_server(allow_write=self._allow_write)

    def routes(self) -> list[BaseRoute]:
        """Its route. Nothing is sent but answers: a GET would open a stream that stays empty."""
        return [Route(PATH, endpoint=self, methods=["POST"])]
