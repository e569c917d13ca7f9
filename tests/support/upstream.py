"""A provider on 127.0.0.1 that does what a script says, byte by byte, for the tests and benchmarks of the gateway.

    with Upstream() as upstream:
        upstream.script = lambda asked: [head(200, "text/event-stream"), *chunked([b"data: 1\n\n"]), LAST]
        ...ask upstream.url...
        assert upstream.asked[0].target == "/v1/messages"

A step of a script is bytes that are sent as they are, seconds to wait, or ``CUT``, which closes the connection there.
Requests are kept as they came: target, headers in order, and body.
"""

from __future__ import annotations

import asyncio
import socket
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from hashlib import blake2b
from types import TracebackType
from typing import NamedTuple, Self

CUT = object()
LAST = b"0\r\n\r\n"
Step = bytes | float | object


class Asked(NamedTuple):
    """A request. ``headers`` are pairs as they were spelled; ``digest`` is that of the body."""

    method: str
    target: str
    headers: list[tuple[str, str]]
    body: bytes
    digest: str

    def header(self, name: str) -> str | None:
        """A header's value, by its name in lower case."""
        return next((value for key, value in self.headers if key.lower() == name), None)


Script = Callable[[Asked], Iterable[Step]]


class Upstream:
    """The server. ``gone`` is set whenever a client closes a connection before its answer has ended."""

    def __init__(self, script: Script | None = None, *, keep_bodies: bool = True) -> None:
        self.script: Script = script or (lambda _: answer(b"{}"))
        self.asked: list[Asked] = []
        self.gone = threading.Event()
        self.connections = 0
        self._keep_bodies = keep_bodies
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.port = 0

    @property
    def url(self) -> str:
        """Its address, without a slash at its end."""
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._ready.wait(60)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(asyncio.start_server(self._serve, "127.0.0.1", self.port, limit=2**20))
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        self._loop.run_forever()
        server.close()
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
        self._loop.run_until_complete(asyncio.sleep(0))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while await self._answer(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answer a request; whether the connection goes on."""
        asked = await self._read(reader)
        self.asked.append(asked)
        watching = asyncio.ensure_future(reader.read(1))  # a client that sends no more than its request
        try:
            for step in self.script(asked):
                if step is CUT:
                    return False
                if isinstance(step, bytes):
                    writer.write(step)
                    await writer.drain()
                elif isinstance(step, float):
                    await asyncio.wait([watching], timeout=step)
                if watching.done() and watching.result() == b"":
                    self.gone.set()
                    return False
        except ConnectionError:
            self.gone.set()
            raise
        finally:
            watching.cancel()
            await asyncio.wait([watching])
        return asked.header("connection") != "close"

    async def _read(self, reader: asyncio.StreamReader) -> Asked:
        lines = (await reader.readuntil(b"\r\n\r\n"))[:-4].decode("latin-1").split("\r\n")
        method, target, _ = lines[0].split(" ")
        headers = [(name, value.strip()) for name, _, value in (line.partition(":") for line in lines[1:])]
        lengths = {name.lower(): value for name, value in headers}
        hasher, kept = blake2b(), bytearray()
        async for part in _body(reader, lengths):
            hasher.update(part)
            if self._keep_bodies:
                kept += part
        return Asked(method, target, headers, bytes(kept), hasher.hexdigest())


async def _body(reader: asyncio.StreamReader, headers: dict[str, str]):  # type: ignore[no-untyped-def]
    if headers.get("transfer-encoding") == "chunked":
        while size := int(await reader.readline(), 16):
            yield await reader.readexactly(size)
            await reader.readexactly(2)
        await reader.readline()
        return
    left = int(headers.get("content-length", 0))
    while left:
        part = await reader.read(min(left, 2**16))
        if not part:
            raise ConnectionResetError
        left -= len(part)
        yield part


def head(status: int = 200, content_type: str = "application/json", *others: str, chunks: bool = True) -> bytes:
    """The head of an answer; ``others`` are lines such as ``content-encoding: gzip``."""
    lines = [f"HTTP/1.1 {status} Told", f"content-type: {content_type}", *others]
    return "\r\n".join([*lines, *(["transfer-encoding: chunked"] if chunks else []), "", ""]).encode()


def chunked(parts: Iterable[bytes]) -> Iterator[bytes]:
    """Parts of a body as HTTP chunks."""
    return (b"%x\r\n%b\r\n" % (len(part), part) for part in parts if part)


def answer(body: bytes, status: int = 200, content_type: str = "application/json", *others: str) -> list[Step]:
    """A whole answer with its length."""
    return [head(status, content_type, *others, f"content-length: {len(body)}", chunks=False) + body]


def stream(parts: Iterable[bytes], content_type: str = "text/event-stream", *others: str) -> list[Step]:
    """A whole answer in chunks."""
    return [head(200, content_type, *others), *chunked(parts), LAST]


def byte_by_byte(data: bytes) -> list[bytes]:
    """The same bytes, each a part of its own."""
    return [data[at : at + 1] for at in range(len(data))]


def gzipped(parts: Iterable[bytes]) -> Iterator[bytes]:
    """Parts compressed by one gzip stream, each flushed, as servers compress events."""
    packer = zlib.compressobj(wbits=zlib.MAX_WBITS + 16)
    for part in parts:
        yield packer.compress(part) + packer.flush(zlib.Z_SYNC_FLUSH)
    yield packer.flush()


@contextmanager
def out_of_reach() -> Iterator[str]:
    """The address of a server that refuses every connection: its port is taken, and nobody listens there."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}"
