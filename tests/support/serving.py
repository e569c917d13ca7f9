"""A web process of ``headish serve`` on a loopback port, run in a thread of the test.

with serving(tmp_path) as served:
    served.client().get("/")            # logged in, as a browser is
    served.ask(b"GET / HTTP/1.1\\r\\n…")  # bytes as they are
"""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

import httpx2 as httpx
import uvicorn

from headish.aio import AsyncDatabase
from headish.serve.access.logins import Logins
from headish.serve.access.settings import WebSettings
from headish.serve.web.running import make_server


class Served:
    """The server, and ways to ask it."""

    def __init__(self, settings: WebSettings, logins: Logins) -> None:
        self.settings, self.logins = settings, logins
        self.url = f"http://127.0.0.1:{settings.port}"

    def client(self, token: str | None = None, **further: Any) -> httpx.Client:
        """A client that is logged in as a browser, or shows a token."""
        if token is not None:
            return httpx.Client(base_url=self.url, headers={"Authorization": f"Bearer {token}"}, timeout=60)
        with self.stranger() as browser:
            assert browser.get("/login", params={"code": self.logins.make_code()}).status_code == 200
            cookies = browser.cookies
        return self.stranger(headers={"Sec-Fetch-Site": "same-origin"}, cookies=cookies, **further)

    def stranger(self, **further: Any) -> httpx.Client:
        """A client that nobody knows."""
        return httpx.Client(base_url=self.url, timeout=60, **further)

    def ask(self, raw: bytes) -> bytes:
        """What comes back for bytes, until the server closes the connection."""
        with socket.create_connection(("127.0.0.1", self.settings.port), timeout=60) as connection:
            connection.sendall(raw)
            answer = b""
            while piece := connection.recv(65536):
                answer += piece
            return answer


@contextmanager
def serving(place: Path | str, folder: Path, *, at: int = 0, **settings: Any) -> Iterator[Served]:
    """Serve the database at a place, on port ``at`` or a free one; ``settings`` are those of WebSettings."""
    listener = socket.create_server(("127.0.0.1", at))
    made = WebSettings(str(place), str(folder), port=listener.getsockname()[1], **settings)
    started: list[uvicorn.Server] = []
    thread = Thread(target=lambda: asyncio.run(_serve(made, listener, started)), daemon=True)
    thread.start()
    while not (started and started[0].started):
        assert thread.is_alive(), "the server did not start"
        time.sleep(0.01)
    try:
        yield Served(made, Logins(folder, time.time))
    finally:
        started[0].should_exit = True
        thread.join(60)


async def _serve(settings: WebSettings, listener: socket.socket, started: list[uvicorn.Server]) -> None:
    async with AsyncDatabase.open(settings.target, read_only=settings.read_only) as database:
        if not settings.read_only:
            await database.store(settings.space)
        started.append(make_server(settings, database))
        await started[0].serve(sockets=[listener])
