"""The two ways to a tool server: a program's standard input and output, and streamable HTTP.

The package ``mcp`` ends a program, with its descendants, when the connection ends. Requests stay at the origin of their
address, so headers with a key go nowhere else. At most ``ANSWER_LIMIT_BYTES`` of each answer are read.
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
"""The largest answer of an HTTP server to read. It is more than the limit for a result, because escapes make the same
result longer there."""
CONNECT_SECONDS = 30.0

Told = list[str]
"""The HTTP status of the last answer if that was an error, else empty. Errors of the package do not name it."""
Streams = AbstractAsyncContextManager[Any]


def open_stdio(server: StdioServer, errlog: TextIO | None, told: Told) -> Streams:
    """Start the program. Its stderr goes to ``errlog``, else to the stderr of this process."""
    parameters = StdioServerParameters(
        command=server.command,
        args=list(server.args),
        env=dict(server.env),
        cwd=server.cwd,
        # Otherwise one byte that is not UTF-8 would end the reading, and every later call would wait for its time-out.
        encoding_error_handler="replace",
    )
    # Not sys.stderr: in a test or a notebook that is not a real file, which a child process needs.
    return stdio_client(parameters, cast("TextIO", errlog or sys.__stderr__))


@asynccontextmanager
async def open_http(server: HttpServer, errlog: TextIO | None, told: Told) -> AsyncIterator[Any]:
    """Open the address. The caller limits the time of an answer."""

    async def look(response: httpx2.Response) -> None:
        told[:] = [f"HTTP {response.status_code} {response.reason_phrase}".strip()] if response.is_error else []
        # Of the other kind, an event stream, the package limits each event.
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
        received = 0
        async for chunk in self._stream:
            received += len(chunk)
            if received > ANSWER_LIMIT_BYTES:
                raise httpx2.StreamError(f"the answer exceeded the {ANSWER_LIMIT_BYTES} byte limit")
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


TRANSPORTS: dict[type[ServerConfig], Callable[[Any, TextIO | None, Told], Streams]] = {
    StdioServer: open_stdio,
    HttpServer: open_http,
}
