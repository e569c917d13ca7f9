"""``/mcp`` of the web application. The SDK is imported at the first request: its import takes three times as long as
that of the rest of the server, and most servers never get such a request."""

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
    """The route. Each request is admitted on its own, so no session outlives its token."""

    def __init__(self, settings: WebSettings) -> None:
        self._allow_write = not settings.read_only

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._asked.set()
        manager = await asyncio.shield(self._manager)  # all requests share it: one that goes away must not cancel it
        await manager.handle_request(scope, receive, send)

    @asynccontextmanager
    async def running(self, app: Starlette) -> AsyncIterator[None]:
        """Run the endpoint for the lifespan of its application."""
        self._renew()
        working = asyncio.ensure_future(self._work())
        try:
            yield
        finally:
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)
            self._manager.cancel()  # requests that still wait for it end

    def _renew(self) -> None:
        self._asked = asyncio.Event()
        self._manager: asyncio.Future[StreamableHTTPSessionManager] = asyncio.get_running_loop().create_future()

    async def _work(self) -> None:
        """Run the SDK's server from the first request on; if it fails, start another at the next request. One task does
        all of it, because the SDK's group of tasks must end in the task that began it."""
        while True:
            await self._asked.wait()
            try:
                await self._keep()
            except Exception as error:
                if self._manager.done():
                    LOG.exception("the server of MCP has ended; the next request starts another")
                else:
                    self._manager.set_exception(error)  # every request that waits fails with it
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
        """The route. POST alone: the server sends nothing but answers, and a GET would open a stream that stays
        empty."""
        return [Route(PATH, endpoint=self, methods=["POST"])]
