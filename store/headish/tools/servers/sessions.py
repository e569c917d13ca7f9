"""Connections to tool servers, on the event loop of a background thread.

Invariant: one task, ``ServerSession.run``, enters and leaves a connection, and stays in it for as long as the server
runs. Calls come from other tasks and only borrow the client, so a cancelled call leaves the connection whole.

The package ``mcp`` takes half a second to import. This module and ``transports`` import it, so they are imported only
when servers start.
"""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, TextIO, cast

import anyio
from mcp import Client
from mcp.client import Transport
from mcp_types import Implementation, ListToolsRequest, PaginatedRequestParams
from pydantic import RootModel, ValidationError

from headish.errors import ServerFailed
from headish.tools.servers.config import ServerConfig
from headish.tools.servers.transports import TRANSPORTS, Told
from headish.version import __version__

PAGES_LIMIT = 100
"""A server that lists its tools on more pages counts as one that never ends."""
STOP_SECONDS = 5.0
"""The seconds that a server has to end its connection. After that, the package ends the process of a program."""
_REASON_LIMIT = 300
_ME = Implementation(name="headish", version=__version__)


class ServerSession:
    """One server: its tools as listed at the start, and its connection while there is one."""

    def __init__(
        self, name: str, config: ServerConfig, start_seconds: float, call_seconds: float, errlog: TextIO | None
    ) -> None:
        self.name = name
        self.tools: list[dict[str, Any]] = []
        self.started = anyio.Event()
        self.stopping = anyio.Event()
        self._config, self._errlog = config, errlog
        self._start_seconds, self._call_seconds = start_seconds, call_seconds
        self._client: Client | None = None
        self._told: Told = []
        self._ended = "it was stopped"

    async def run(self) -> None:
        """Connect, list the tools, and keep the connection until ``stopping``.

        Raises: ServerFailed, but only before ``started``: later failures go to the calls.
        """
        limit = anyio.CancelScope(deadline=anyio.current_time() + self._start_seconds)
        try:
            with limit:
                await self._stay_connected(limit)
        except Exception as error:
            self._ended = explain(error, self._told)
        finally:
            self._client = None
        if not self.started.is_set():
            late = f"it did not start within {self._start_seconds:g} seconds"
            raise ServerFailed(self.name, late if limit.cancel_called else self._ended)

    async def call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Call a tool; return the server's answer as JSON. Raises: ServerFailed for every failure."""
        if self._client is None:
            raise ServerFailed(self.name, self._ended)
        with anyio.move_on_after(self._call_seconds):
            try:
                result = await self._client.call_tool(tool, arguments)
                return result.model_dump(by_alias=True)
            except Exception as error:
                raise ServerFailed(self.name, explain(error, self._told)) from None
        raise ServerFailed(self.name, f"it did not answer within {self._call_seconds:g} seconds")

    async def _stay_connected(self, limit: anyio.CancelScope) -> None:
        transport = TRANSPORTS[type(self._config)](self._config, self._errlog, self._told)
        async with Client(cast("Transport", transport), client_info=_ME, cache=None) as client:
            self.tools = await list_tools(client)
            self._client = client
            limit.deadline = math.inf  # the limit was for the start alone
            self.started.set()
            await self.stopping.wait()
            self._client = None
            limit.deadline = anyio.current_time() + STOP_SECONDS


@asynccontextmanager
async def open_sessions(
    configs: Mapping[str, ServerConfig], start_seconds: float, call_seconds: float, errlog: TextIO | None
) -> AsyncIterator[dict[str, ServerSession]]:
    """Start all servers at the same time, and stop them at the end.

    Raises: ServerFailed for the first that does not start, once the others are stopped.
    """
    sessions = {
        name: ServerSession(name, config, start_seconds, call_seconds, errlog) for name, config in configs.items()
    }
    try:
        async with anyio.create_task_group() as group:
            for session in sessions.values():
                group.start_soon(session.run)
            for session in sessions.values():
                await session.started.wait()
            yield sessions
            for session in sessions.values():
                session.stopping.set()
    except BaseExceptionGroup as failed:
        raise _first(failed) from None


async def list_tools(client: Client) -> list[dict[str, Any]]:
    """The tools of ``tools/list``, all pages, with every key as the server gave it and in its order."""
    # Each page is requested twice. The client's own listing drops unknown keys, but from it the client learns what a
    # call needs, and which tools the protocol forbids to use.
    if client.server_capabilities.tools is None:
        return []
    tools: list[dict[str, Any]] = []
    cursor: str | None = None
    for _ in range(PAGES_LIMIT):
        page = await client.list_tools(cursor=cursor)
        request = ListToolsRequest(params=PaginatedRequestParams(cursor=cursor))
        answer = await client.session.send_request(request, _Said)
        usable = {tool.name for tool in page.tools}
        tools += [tool for tool in answer.root["tools"] if tool["name"] in usable]
        cursor = page.next_cursor
        if not cursor:
            return tools
    raise RuntimeError(f"it lists its tools on more than {PAGES_LIMIT} pages")


def explain(error: BaseException, told: Told) -> str:
    """The reason of a failure, on one line of bounded length."""
    error = _first(error)
    if isinstance(error, ValidationError):
        wrong = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in wrong["loc"])
        return f"its answer breaks the protocol: {wrong['msg']} (at {place})"
    reason = " ".join([*str(error).split(), *(f"({status})" for status in told)]) or type(error).__name__
    return reason if len(reason) <= _REASON_LIMIT else reason[: _REASON_LIMIT - 1] + "…"


class _Said(RootModel[dict[str, Any]]):
    """A result with every key that came."""


def _first(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
