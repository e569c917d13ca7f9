"""WebSockets through a gateway: clients, both ends as sockets, and what the spool has of them."""

from __future__ import annotations

import json
import socket
import time
from typing import Any

from websockets.sync.client import ClientConnection, connect

from headish.gateway.spool import SpooledCall
from support.gateways import PATIENCE_SECONDS, Running

PATH = "/openai/v1/responses"
KEY = "sk-proj-abcdefghijklmnop0123456789"


def open_socket(gateway: Running, path: str = PATH, **headers: str) -> ClientConnection:
    sent = {"Authorization": f"Bearer {KEY}", **{name.replace("_", "-"): value for name, value in headers.items()}}
    return connect(f"ws://127.0.0.1:{gateway.port}{path}", additional_headers=sent, proxy=None, max_size=2**28)


def receive(client: ClientConnection) -> Any:
    return json.loads(client.recv(timeout=PATIENCE_SECONDS))


def answered(client: ClientConnection, *asked: dict[str, Any], count: int = 1) -> list[Any]:
    """What comes until so many answers have ended."""
    for each in asked:
        client.send(json.dumps(each))
    came: list[Any] = []
    while sum(event["type"] in ("response.completed", "error") for event in came) < count:
        came.append(receive(client))
    return came


def requests_of(gateway: Running, count: int) -> list[SpooledCall]:
    """So many calls that were made inside a WebSocket."""
    until = time.monotonic() + PATIENCE_SECONDS
    while True:
        found = [call for call in gateway.calls(0) if call.begin.method == "POST"]
        if len(found) >= count:
            return found
        assert time.monotonic() < until, found
        time.sleep(0.01)


def told(call: SpooledCall) -> list[Any]:
    """The events of a call's answer."""
    return [json.loads(each[6:]) for each in call.response.decode().split("\n\n") if each]


def wait_for(found: Any) -> None:
    until = time.monotonic() + PATIENCE_SECONDS
    while not found():
        assert time.monotonic() < until
        time.sleep(0.01)


class RawEnds:
    """A client and an upstream that are no more than sockets, with a gateway between them."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.sent = self.came = b""

    def open(self, gateway: Running, extensions: str = "", behind: bytes = b"") -> tuple[socket.socket, socket.socket]:
        """Both ends, once the WebSocket is open. ``behind`` comes at once behind the answer."""
        client = socket.create_connection(("127.0.0.1", gateway.port), timeout=PATIENCE_SECONDS)
        client.sendall(
            f"GET {PATH}?a=%2F HTTP/1.1\r\nHost: 127.0.0.1:{gateway.port}\r\nConnection: keep-alive, Upgrade\r\n"
            f"Upgrade: WebSocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
            f"sec-Websocket-Protocol: one, two\r\n{extensions}X-Odd: yes\r\nCookie: a=b\r\n\r\n".encode()
        )
        upstream, _ = self._listener.accept()
        upstream.settimeout(PATIENCE_SECONDS)
        self.sent = head_of(upstream)
        upstream.sendall(
            b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\nx-codex-turn-state: abc\r\nSet-Cookie: c=d\r\n"
            + extensions.encode()
            + b"\r\n"
            + behind
        )
        self.came = head_of(client)
        return client, upstream


def head_of(connection: socket.socket) -> bytes:
    read = b""
    while not read.endswith(b"\r\n\r\n"):
        piece = connection.recv(1)
        assert piece, read
        read += piece
    return read


def read_bytes(connection: socket.socket, size: int) -> bytes:
    read = bytearray()
    while len(read) < size and (piece := connection.recv(65536)):
        read += piece
    return bytes(read)
