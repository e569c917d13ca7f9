"""The two ways to a tool server: a program's standard input and output, and streamable HTTP.

A program is ended with the connection, its descendants too (the package ``mcp`` does that). Requests stay at the origin
of their address, so headers that hold a key go nowhere else. At most ``ANSWER_LIMIT_BYTES`` of each answer are read.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, TextIO, cast

import httpx2
from mcp import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from headish.tools.servers.config import HttpServer, ServerConfig, StdioServer
from headish.tools.servers.results import RESULT_LIMIT_BYTES

ANSWER_LIMIT_BYTES = 2 * RESULT_LIMIT_BYTES
"""The largest answer of an HTTP server that is read. A result that may be kept can be longer there, because it is
escaped."""
CONNECT_SECONDS = 30.0

Told = list[str]
"""The HTTP status of the last answer where it was an error, else empty: the package's own errors leave it out."""
Streams = AbstractAsyncContextManager[Any]


def open_stdio(server: StdioServer, errlog: TextIO | None, told: Told) -> Streams:
    """Start the program. Its stderr goes to ``errlog``, else to the stderr of this process."""
    parameters = StdioServerParameters(
        command=server.command,
        args=list(server.args),
        env=dict(server.env),
        cwd=server.cwd,
        # One byte that is not UTF-8 would otherwise end the reading, and every later call would wait for its time-out.
        encoding_error_handler="replace",
    )
    # Not sys.stderr: in a test or a notebook that is no real file, and a child process needs one.
    return stdio_client(parameters, cast("TextIO", errlog or sys.__stderr__))


@asynccontextmanager
async def open_http(server: HttpServer, errlog: TextIO | None, told: Told) -> AsyncIterator[Any]:
    """Open the address. The caller decides how long an answer may take."""

    async def look(response: httpx2.Response) -> None:
        told[:] = [f"HTTP {response.status_code} {response.reason_phrase}".strip()] if response.is_error else []
        if response.headers.get("content-type", "").lower().startswith("application/json"):
            response.stream = _Bounded(cast("httpx2.AsyncByteStream", response.stream))

    # A compressed answer could be small on the way and huge here.
    headers = {"accept-encoding": "identity", **server.headers}
    timeout = httpx2.Timeout(CONNECT_SECONDS, read=None)
    async with (
        httpx2.AsyncClient(headers=headers, timeout=timeout, event_hooks={"response": [look]}) as http,
        streamable_http_client(server.url, http_client=http, max_sse_event_size=ANSWER_LIMIT_BYTES) as streams,
    ):
        yield streams


class _Bounded(httpx2.AsyncByteStream):
    """The bytes of one answer, up to the limit."""

    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        read = 0
        async for chunk in self._stream:
            read += len(chunk)
            if read > ANSWER_LIMIT_BYTES:
                raise httpx2.StreamError(f"the answer exceeded the {ANSWER_LIMIT_BYTES} byte limit")
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


TRANSPORTS: dict[type[ServerConfig], Callable[[Any, TextIO | None, Told], Streams]] = {
    StdioServer: open_stdio,
    HttpServer: open_http,
}
