"""A gateway in a thread of the test, between clients and a scripted upstream; its spool is read with ``calls``.

with running(tmp_path, upstream) as gateway:
    ...ask gateway.url + "/anthropic/v1/messages"...
    [call] = gateway.calls(1)
"""

from __future__ import annotations

import asyncio
import http.client
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from headish.gateway.passing.upstreams import UPSTREAMS
from headish.gateway.running import Gateway, open_gateway
from headish.gateway.settings import GatewaySettings
from headish.gateway.spool import SpooledCall, SpoolReader
from support.upstream import Upstream

PATIENCE_SECONDS = 60.0


class Running(NamedTuple):
    """A gateway that runs."""

    folder: Path
    port: int
    gateway: Gateway
    reader: SpoolReader
    seen: dict[str, SpooledCall]

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.port}"

    def ask(
        self, path: str, body: Any = None, headers: Mapping[str, str] | None = None, *, method: str | None = None
    ) -> tuple[int, dict[str, str], bytes]:
        """Ask and read the whole answer: status, headers with names in lower case, body. What breaks off raises."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_SECONDS)
        try:
            connection.request(method or ("GET" if body is None else "POST"), path, body, dict(headers or {}))
            response = connection.getresponse()
            return response.status, {key.lower(): value for key, value in response.getheaders()}, response.read()
        finally:
            connection.close()

    def calls(self, count: int) -> list[SpooledCall]:
        """The complete calls of the spool, once there are so many, in the order in which they began."""
        until = time.monotonic() + PATIENCE_SECONDS
        while True:
            self.seen.update({call.id: call for call in self.reader.read()})
            complete = sorted((call for call in self.seen.values() if call.is_complete), key=lambda call: call.id)
            if len(complete) >= count:
                return complete
            assert time.monotonic() < until, f"{len(complete)} of {count} calls are complete"
            time.sleep(0.01)

    def health(self) -> dict[str, Any]:
        """What ``/healthz`` says."""
        answered: dict[str, Any] = msgspec.json.decode(self.ask("/healthz")[2])
        return answered

    def spooled(self) -> bytes:
        """Every byte of the spool."""
        return b"".join(path.read_bytes() for path in sorted((self.folder / "spool").glob("*.spool")))


@contextmanager
def running(folder: Path, upstream: Upstream | str, **settings: Any) -> Iterator[Running]:
    """A gateway whose every API is the upstream; a string is its address."""
    base_url = upstream if isinstance(upstream, str) else upstream.url
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    given = {"base_urls": dict.fromkeys(UPSTREAMS, base_url), **settings}
    started: list[Gateway] = []
    ready, ending = threading.Event(), asyncio.Event()
    loop = asyncio.new_event_loop()

    async def serve() -> None:
        async with open_gateway(GatewaySettings(folder=str(folder), port=port, **given), listener) as gateway:
            started.append(gateway)
            ready.set()
            await ending.wait()

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()), daemon=True)
    thread.start()
    assert ready.wait(PATIENCE_SECONDS)
    try:
        yield Running(folder, port, started[0], SpoolReader(folder / "spool"), {})
    finally:
        loop.call_soon_threadsafe(ending.set)
        thread.join(PATIENCE_SECONDS)
