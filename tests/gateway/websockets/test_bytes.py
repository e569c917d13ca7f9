"""WebSockets through the gateway: their bytes pass as they are, while both sides are there."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientConnectionResetError
from aiohttp.http import StreamWriter
from aiohttp.web import StreamResponse
from websockets.exceptions import ConnectionClosed

from headish.gateway.passing import tunnel
from headish.gateway.passing.proxy import Passed
from headish.values.access.tokens import make_token
from support.gateways import PATIENCE_SECONDS, Running, running
from support.sockets import SocketUpstream, completed, create, created, said
from support.upstream import Upstream, answer
from support.websockets import PATH, RawEnds, answered, head_of, open_socket, read_bytes, receive, requests_of, wait_for

pytestmark = pytest.mark.slow


def test_what_opens_a_websocket_passes_but_for_what_is_of_one_host(tmp_path: Path) -> None:
    ends = RawEnds()
    with running(tmp_path, ends.address) as gateway:
        client, upstream = ends.open(gateway, behind=b"\x81\x02hi")
        sent, came = ends.sent.lower(), ends.came.lower()
        assert ends.sent.startswith(b"GET /v1/responses?a=%2F HTTP/1.1\r\n")
        for each in (b"upgrade: websocket", b"connection: upgrade", b"sec-websocket-key: dghlihnhbxbszsbub25jzq==",
                     b"sec-websocket-protocol: one, two", b"x-odd: yes"):  # fmt: skip
            assert sent.count(b"\r\n" + each + b"\r\n") == 1, each
        assert b"cookie" not in sent + came
        assert came.startswith(b"http/1.1 101 switching protocols\r\n")
        lines = sorted(came.strip().split(b"\r\n")[1:])
        assert lines == [b"connection: upgrade", b"sec-websocket-accept: s3pplmbitxaq9kygzzhzrbk+xoo=",
                         b"upgrade: websocket", b"x-codex-turn-state: abc"]  # fmt: skip
        assert read_bytes(client, 4) == b"\x81\x02hi", "what came in one piece with the head is not lost"
        client.close()
        assert upstream.recv(1) == b"", "a client that goes away ends the connection to the provider"
        [call] = gateway.calls(1)
        assert (call.begin.method, call.head and call.head.status, call.end and call.end.outcome) == ("GET", 101, "ok")


def test_bytes_pass_unchanged_whatever_they_are(tmp_path: Path) -> None:
    ends = RawEnds()
    with running(tmp_path, ends.address) as gateway:
        client, upstream = ends.open(gateway)
        up, down = os.urandom(3_000_000), os.urandom(5_000_000)
        writing = [threading.Thread(target=client.sendall, args=(up,)),
                   threading.Thread(target=upstream.sendall, args=(down,))]  # fmt: skip
        found: list[bytes] = []
        reading = threading.Thread(target=lambda: found.append(read_bytes(client, len(down))))
        for thread in (*writing, reading):
            thread.start()
        assert hashlib.blake2b(read_bytes(upstream, len(up))).digest() == hashlib.blake2b(up).digest()
        for thread in (*writing, reading):
            thread.join(PATIENCE_SECONDS)
        assert found == [down]
        wait_for(lambda: gateway.health()["unrecorded"])
        assert gateway.health()["unrecorded"] == 1, "what is no frame is counted, once"
        upstream.close()
        assert client.recv(1) == b"", "a provider that goes away ends the client's connection"
        client.close()


def test_a_side_that_reads_nothing_holds_back_the_other(tmp_path: Path) -> None:
    ends = RawEnds()
    with running(tmp_path, ends.address) as gateway:
        client, upstream = ends.open(gateway)
        upstream.settimeout(1.0)
        sent = 0
        with contextlib.suppress(TimeoutError):
            while sent < 200_000_000:
                sent += upstream.send(b"\0" * 65536)
        assert sent < 100_000_000, "what nobody reads does not gather in the gateway"
        client.close()
        upstream.close()


def test_a_websocket_of_another_api_passes_and_is_counted(upstream: SocketUpstream, gateway: Running) -> None:
    with open_socket(gateway, "/openai/v1/realtime?model=m") as client:
        answered(client, create("hello"))
    wait_for(lambda: gateway.health()["open"] == 0)
    wait_for(lambda: gateway.health()["unrecorded"])
    assert gateway.health()["unrecorded"] == 1
    assert [call.begin.method for call in gateway.calls(1)] == ["GET"]


def test_what_a_provider_says_instead_of_opening_one_passes(tmp_path: Path) -> None:
    body = b'{"error": {"message": "You have no credit."}}'
    with Upstream(lambda _: answer(body, 429)) as upstream, running(tmp_path, upstream) as gateway:
        sent = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Key": "x" * 22 + "=="}
        status, _, came = gateway.ask(PATH, headers=sent)
        assert (status, came) == (429, body)
        assert upstream.asked[0].header("upgrade") == "websocket"
        [call] = gateway.calls(1)
        assert call.head is not None
        assert (call.head.status, call.response) == (429, body)
        # What only looks like one is refused, or passes as the request that it is without that header.
        for method, content, status in (("POST", b"{}", 400), ("GET", b"{}", 400), ("PUT", None, 400)):
            assert gateway.ask(PATH, content, sent, method=method)[0] == status
        assert len(upstream.asked) == 1
        assert gateway.ask(PATH, headers={"Upgrade": "websocket"})[0] == 429
        assert upstream.asked[1].header("upgrade") is None


@pytest.mark.parametrize("asks", [True, False])
def test_a_server_that_changes_to_what_nobody_asked_for_is_not_passed_on(tmp_path: Path, asks: bool) -> None:
    changed = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n"
    listener = socket.create_server(("127.0.0.1", 0))

    def change() -> None:
        connection, _ = listener.accept()
        head_of(connection)
        connection.sendall(changed % (b"h2c" if asks else b"websocket"))
        connection.recv(1)

    threading.Thread(target=change).start()
    with running(tmp_path, f"http://127.0.0.1:{listener.getsockname()[1]}") as gateway:
        sent = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Key": "x" * 22 + "=="}
        status, _, body = gateway.ask(PATH, headers=sent if asks else {})
        assert (status, json.loads(body)["error"]["code"]) == (502, "upstream_unreachable")
        [call] = gateway.calls(1)
        assert call.end is not None
        assert call.end.outcome == "unreachable"


def test_who_may_not_ask_may_open_none(upstream: SocketUpstream, gateway: Running) -> None:
    sent = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Key": "x" * 22 + "=="}
    for status, path, headers in (
        (421, PATH, {"Host": "evil.example"}),
        (403, PATH, {"Origin": "https://evil.example"}),
        (403, PATH, {"Sec-Fetch-Site": "cross-site"}),
        (401, PATH, {"Authorization": f"Bearer {make_token()}"}),
        (401, f"/t/{make_token()}{PATH}", {}),
        (401, PATH, {"Sec-WebSocket-Protocol": f"openai-insecure-api-key.{make_token()}"}),
        (404, "/unknown", {}),
    ):
        assert gateway.ask(path, headers={**sent, **headers})[0] == status, headers
    assert upstream.opened == []


def test_what_a_provider_said_before_it_went_away_still_comes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    has_failed = threading.Event()

    class Gone(StreamWriter):
        async def write(self, *_given: Any, **_more: Any) -> None:
            has_failed.set()
            raise ClientConnectionResetError

    async def late(self: Passed, data: Any) -> None:
        while not has_failed.is_set():
            await asyncio.sleep(0.01)
        await StreamResponse.write(self, data)

    monkeypatch.setattr(tunnel, "StreamWriter", Gone)
    monkeypatch.setattr(Passed, "write", late)
    ends = RawEnds()
    with running(tmp_path, ends.address) as gateway:
        client, upstream = ends.open(gateway, behind=b"\x81\x02hi")
        upstream.close()
        client.sendall(b"\x89\x80abcd")
        assert read_bytes(client, 5) == b"\x81\x02hi"
        client.close()


def test_a_gateway_that_ends_waits_for_answers_and_closes_what_waits_for_none(
    upstream: SocketUpstream, tmp_path: Path
) -> None:
    goes_on = threading.Event()

    def slow(asked: dict[str, Any]) -> Iterator[Any]:
        yield created("r")
        goes_on.wait(PATIENCE_SECONDS)
        yield from (*said("It is."), completed("r"))

    upstream.script = slow
    with contextlib.ExitStack() as stack:
        ending = threading.Event()
        gateway = stack.enter_context(running(tmp_path, upstream.url))
        idle, busy = open_socket(gateway), open_socket(gateway)
        busy.send(json.dumps(create("hello")))
        assert receive(busy)["type"] == "response.created"
        thread = threading.Thread(target=lambda: (stack.close(), ending.set()))
        thread.start()
        with pytest.raises(ConnectionClosed):
            idle.recv(timeout=PATIENCE_SECONDS)
        assert not ending.is_set()
        goes_on.set()
        assert answered(busy)[-1]["type"] == "response.completed"
        with pytest.raises(ConnectionClosed):
            busy.recv(timeout=PATIENCE_SECONDS)
        assert ending.wait(PATIENCE_SECONDS)
        thread.join()
    [call] = requests_of(gateway, 1)
    assert call.end is not None
    assert call.end.outcome == "ok"


def test_one_in_which_nothing_passes_is_closed_at_last(
    upstream: SocketUpstream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tunnel, "IDLE_SECONDS", 0.2)
    monkeypatch.setattr(tunnel, "LOOKED_SECONDS", 0.05)
    with running(tmp_path, upstream.url) as gateway, open_socket(gateway) as client:
        with pytest.raises(ConnectionClosed):
            client.recv(timeout=PATIENCE_SECONDS)
        wait_for(lambda: gateway.health()["open"] == 0)
