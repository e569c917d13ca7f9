"""WebSockets through the gateway: their bytes pass as they are, and each request in them becomes a call."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import os
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientConnectionResetError
from aiohttp.http import StreamWriter
from aiohttp.web import StreamResponse
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from headish.gateway.files import write_whole
from headish.gateway.passing import tunnel
from headish.gateway.passing.access import ACCESS_FILE, Access
from headish.gateway.passing.proxy import Passed
from headish.gateway.recording import spooling
from headish.gateway.spool import SpooledCall
from headish.values.access.tokens import Token, make_token, token_hash
from support.gateways import PATIENCE_SECONDS, Running, running
from support.sockets import Close, SocketUpstream, completed, create, created, reply, said
from support.upstream import CUT, Upstream, answer

pytestmark = pytest.mark.slow
PATH = "/openai/v1/responses"
KEY = "sk-proj-abcdefghijklmnop0123456789"


@pytest.fixture
def upstream() -> Iterator[SocketUpstream]:
    with SocketUpstream() as started:
        yield started


@pytest.fixture
def gateway(upstream: SocketUpstream, tmp_path: Path) -> Iterator[Running]:
    with running(tmp_path, upstream.url) as started:
        yield started


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
        self.sent = _head_of(upstream)
        upstream.sendall(
            b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\nx-codex-turn-state: abc\r\nSet-Cookie: c=d\r\n"
            + extensions.encode()
            + b"\r\n"
            + behind
        )
        self.came = _head_of(client)
        return client, upstream


def _head_of(connection: socket.socket) -> bytes:
    read = b""
    while not read.endswith(b"\r\n\r\n"):
        piece = connection.recv(1)
        assert piece, read
        read += piece
    return read


def _read(connection: socket.socket, size: int) -> bytes:
    read = bytearray()
    while len(read) < size and (piece := connection.recv(65536)):
        read += piece
    return bytes(read)


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
        assert _read(client, 4) == b"\x81\x02hi", "what came in one piece with the head is not lost"
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
        reading = threading.Thread(target=lambda: found.append(_read(client, len(down))))
        for thread in (*writing, reading):
            thread.start()
        assert hashlib.blake2b(_read(upstream, len(up))).digest() == hashlib.blake2b(up).digest()
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


def test_each_request_in_a_websocket_is_a_call_and_its_events_are_the_answer(
    upstream: SocketUpstream, gateway: Running
) -> None:
    upstream.extra = {"x-ratelimit-limit-requests": "5", "x-codex-turn-state": "abc"}
    first, second = create("hello"), create("and?", previous_response_id="resp_1")
    with open_socket(gateway, session_id="s1", User_Agent="codex_exec/0.171.0") as client:
        assert client.response is not None
        assert client.response.headers["x-codex-turn-state"] == "abc"
        came = [answered(client, first), answered(client, second)]
    calls = requests_of(gateway, 2)
    assert [json.loads(call.request) for call in calls] == [first, second]
    assert [told(call) for call in calls] == came
    for call in calls:
        assert call.begin.path == "/v1/responses"
        assert call.begin.headers["session-id"] == "s1"
        assert call.is_sent
        assert call.head is not None
        assert call.head.headers == {"x-ratelimit-limit-requests": "5"}
        assert call.end is not None
        assert (call.end.outcome, call.head.status, call.end.error) == ("ok", 200, None)
        assert call.end.first_byte_at is not None
        assert call.begin.at <= call.end.first_byte_at <= call.end.at
        assert call.end.request_bytes > 0
        assert call.end.response_bytes > 0
    assert upstream.asked == [first, second]
    assert gateway.health()["unrecorded"] == 0
    assert client.protocol.extensions, "the ends agreed on compression, and the record reads it"
    assert KEY.encode() not in gateway.spooled()


def test_the_streams_of_one_websocket_are_kept_apart(upstream: SocketUpstream, gateway: Running) -> None:
    events: dict[str, list[Any]] = {}

    def together(asked: dict[str, Any]) -> Iterator[Any]:
        """Answers once all have asked: first those of one stream in order, with the other's in between."""
        if len(upstream.asked) < 4:
            return
        for stream, id in (("a", "1"), ("b", "3"), ("a", "2"), (None, "4")):
            more = {} if stream is None else {"stream_id": stream}
            events[id] = [created(id, **more), *said(f"It is {id}.", id, **more), completed(id, **more)]
        yield from (events["1"][0], events["3"][0], events["4"][0], *events["1"][1:], events["2"][0],
                    *events["4"][1:], *events["2"][1:], *events["3"][1:])  # fmt: skip

    upstream.script = together
    asked = [create(str(number), **more) for number, more in
             enumerate(({"stream_id": "a"}, {"stream_id": "a"}, {"stream_id": "b"}, {}))]  # fmt: skip
    with open_socket(gateway) as client:
        answered(client, *asked, count=4)
    calls = requests_of(gateway, 4)
    assert [json.loads(call.request) for call in calls] == asked
    assert [told(call) for call in calls] == [events["1"], events["2"], events["3"], events["4"]]


ERROR = {"type": "error", "status": 400, "error": {"code": "previous_response_not_found",
         "message": "Previous response with id 'resp_x' not found.", "param": "previous_response_id"}}  # fmt: skip


def test_an_error_ends_the_request_that_it_answers(upstream: SocketUpstream, gateway: Running) -> None:
    scripts = iter(
        (
            [ERROR],
            [created("r", stream_id="a"), {"type": "error", "code": "server_error", "message": "Oh."}],
            [{**ERROR, "error": {"message": f"Incorrect API key {KEY} or sk-proj-1234567890abcdefgh"}}],
        )
    )
    upstream.script = lambda _: next(scripts)
    with open_socket(gateway) as client:
        for _ in range(3):
            answered(client, create("hello", stream_id="a"))
    calls = requests_of(gateway, 3)
    assert [call.head and call.head.status for call in calls] == [400, 200, 400]
    assert json.loads(calls[0].response) == ERROR
    assert [each["type"] for each in told(calls[1])] == ["response.created", "error"]
    assert b"sk-proj" not in calls[2].response
    assert [call.end and call.end.outcome for call in calls] == ["ok"] * 3


@pytest.mark.parametrize(
    ("ending", "outcome", "error"),
    [
        (CUT, "broken", "the provider closed the connection"),
        (Close(1011, f"keepalive {KEY} lost"), "broken", "the provider closed the WebSocket: 1011 keepalive *** lost"),
    ],
)
def test_what_had_passed_of_an_answer_that_breaks_off_is_kept(
    upstream: SocketUpstream, gateway: Running, ending: Any, outcome: str, error: str
) -> None:
    part = [created("r"), *said("It is")[:2]]
    upstream.script = lambda _: [*part, ending]
    with open_socket(gateway) as client:
        client.send(json.dumps(create("hello")))
        assert [receive(client) for _ in part] == part
        with pytest.raises(ConnectionClosed) as closed:
            client.recv(timeout=PATIENCE_SECONDS)
        if isinstance(ending, Close):
            assert closed.value.rcvd is not None
            assert (closed.value.rcvd.code, closed.value.rcvd.reason) == tuple(ending)
    [call] = requests_of(gateway, 1)
    assert told(call) == part
    assert call.end is not None
    assert (call.end.outcome, call.end.error) == (outcome, error)


@pytest.mark.parametrize("says_so", [True, False])
def test_a_client_that_goes_away_ends_it_and_leaves_what_had_come(
    upstream: SocketUpstream, gateway: Running, says_so: bool
) -> None:
    part = [created("r"), *said("It is")[:2]]
    upstream.script = lambda _: part
    client = open_socket(gateway)
    client.send(json.dumps(create("hello")))
    assert [receive(client) for _ in part] == part
    if says_so:
        client.close(4000, "enough")
    else:
        client.socket.shutdown(socket.SHUT_RDWR)
    [call] = requests_of(gateway, 1)
    assert told(call) == part
    assert call.end is not None
    assert call.end.outcome == "client gone"
    wait_for(lambda: upstream.closed)
    assert upstream.closed == [4000 if says_so else 1006]


def test_what_is_no_request_passes_and_is_counted_once(upstream: SocketUpstream, gateway: Running) -> None:
    odd = [{"type": "response.steer", "previous_response_id": "r", "input": "wait"}, {"type": "session.update"}, [1], 5]

    def answer_oddly(asked: Any) -> Any:
        if isinstance(asked, dict) and asked["type"] in ("response.create", "response.processed"):
            return reply(asked) if "model" in asked else []
        return [b"\0\1", "what?"]

    upstream.script = answer_oddly
    with open_socket(gateway) as client:
        for each in odd:
            client.send(json.dumps(each))
            assert client.recv(timeout=PATIENCE_SECONDS) == b"\0\1"
            assert client.recv(timeout=PATIENCE_SECONDS) == "what?"
        client.send(json.dumps({"type": "response.processed", "response_id": "r"}))
        answered(client, create("hello"))
    assert upstream.asked[:4] == odd
    [call] = requests_of(gateway, 1)
    assert json.loads(call.request) == create("hello")
    health = gateway.health()
    assert health["unrecorded"] == 1
    assert "no request of the Responses API" in str(health["problems"])


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
        _head_of(connection)
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


def test_a_token_opens_its_space_for_every_request_in_it(upstream: SocketUpstream, gateway: Running) -> None:
    text = make_token()
    token = Token("laptop", 1, "work", ("gateway",), token_hash(text), 0, None)
    write_whole(gateway.folder / ACCESS_FILE, Access(tokens=(token,)))
    with open_socket(gateway, x_headish_token=text) as client:
        answered(client, create(f"my token is {text}"))
    [call] = requests_of(gateway, 1)
    assert (call.begin.space, call.begin.token) == ("work", "laptop")
    assert text not in str(upstream.opened)
    assert upstream.opened[0]["authorization"] == f"Bearer {KEY}"
    assert text.encode() not in gateway.spooled()


def test_a_key_that_is_shown_as_a_protocol_is_written_nowhere(tmp_path: Path) -> None:
    ends = RawEnds()
    with running(tmp_path, ends.address) as gateway:
        client, upstream = ends.open(gateway, f"Sec-WebSocket-Protocol: realtime, openai-insecure-api-key.{KEY}\r\n")
        assert KEY.encode() in ends.sent
        body = json.dumps({"type": "response.create", "model": "m", "input": f"my key is {KEY}"}).encode()
        client.sendall(b"\x81\x7e" + len(body).to_bytes(2) + body)
        assert _read(upstream, len(body) + 4)[4:] == body
        client.close()
        [call] = requests_of(gateway, 1)
        assert b"my key is ***" in call.request
        assert KEY.encode() not in gateway.spooled()


def test_with_require_record_nothing_passes_that_is_not_in_the_spool(upstream: SocketUpstream, tmp_path: Path) -> None:
    with running(tmp_path, upstream.url, require_record=True, spool_limit_bytes=3000) as gateway:
        sent = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Key": "x" * 22 + "=="}
        assert gateway.ask("/openai/v1/realtime", headers=sent)[0] == 503, "which nobody reads"
        with open_socket(gateway) as client:
            answered(client, create("hello"))
            before = len(upstream.asked)
            with pytest.raises(ConnectionClosed):
                # One after the other, since what comes in one piece is written in one.
                [answered(client, create("x" * 500)) for _ in range(20)]
        recorded = [call for call in requests_of(gateway, 1) if call.end and call.end.outcome == "ok"]
        assert [json.loads(call.request) for call in recorded] == upstream.asked[: len(recorded)]
        assert before == 1
        assert len(upstream.asked) <= len(recorded) + 1, "at most the answer found no room"
        assert gateway.ask(PATH, headers=sent)[0] == 503
        assert len(upstream.opened) == 1
    with running(tmp_path / "odd", upstream.url, require_record=True) as gateway:
        with open_socket(gateway) as client:
            client.send(json.dumps({"type": "session.update"}))
            with pytest.raises(ConnectionClosed):
                client.recv(timeout=PATIENCE_SECONDS)
        assert {"type": "session.update"} not in upstream.asked


def test_with_require_record_nothing_passes_behind_what_else_was_missed(
    upstream: SocketUpstream, tmp_path: Path
) -> None:
    upstream.script = lambda _: ["what?", completed("r")] if len(upstream.asked) == 1 else ["It passed."]
    with running(tmp_path, upstream.url, require_record=True) as gateway, open_socket(gateway) as client:
        client.send(json.dumps(create("hello")))
        assert client.recv(timeout=PATIENCE_SECONDS) == "what?"
        assert receive(client)["type"] == "response.completed"
        wait_for(lambda: gateway.health()["unrecorded"])
        client.send(json.dumps({"type": "session.update"}))
        with pytest.raises(ConnectionClosed):
            client.recv(timeout=PATIENCE_SECONDS)
    assert upstream.asked == [create("hello")]


def test_an_answer_that_comes_before_its_request_is_taken_whole_is_its_own(
    upstream: SocketUpstream, gateway: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    has_answer = threading.Event()

    class Slow(StreamWriter):
        async def write(self, *given: Any, **more: Any) -> None:
            await super().write(*given, **more)
            while not has_answer.is_set():
                await asyncio.sleep(0.01)

    monkeypatch.setattr(tunnel, "StreamWriter", Slow)
    with open_socket(gateway) as client:
        came = answered(client, create("hello"))
        has_answer.set()
    [call] = requests_of(gateway, 1)
    assert told(call) == came
    assert gateway.health()["unrecorded"] == 0


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
        assert _read(client, 5) == b"\x81\x02hi"
        client.close()


def test_with_require_record_nothing_follows_what_cannot_be_read(tmp_path: Path) -> None:
    ends = RawEnds()
    with running(tmp_path, ends.address, require_record=True) as gateway:
        client, upstream = ends.open(gateway)
        client.sendall(b"\x89\x80abcd")
        assert _read(upstream, 6) == b"\x89\x80abcd"
        upstream.sendall(b"\xf1\x00")
        assert _read(client, 2) == b"\xf1\x00"
        wait_for(lambda: gateway.health()["unrecorded"])
        client.sendall(b"\x89\x80abcd")
        assert upstream.recv(1) == b""
        assert client.recv(1) == b""


def test_a_full_spool_delays_and_fails_nothing(upstream: SocketUpstream, tmp_path: Path) -> None:
    with running(tmp_path, upstream.url, spool_limit_bytes=0) as gateway:
        with open_socket(gateway) as client:
            for _ in range(3):
                answered(client, create("hello"))
        wait_for(lambda: gateway.health()["unrecorded"] == 4)
        assert gateway.health()["failure"] is not None


def test_a_segment_is_sealed_while_a_websocket_stays_open(
    upstream: SocketUpstream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spooling, "SEALED_SECONDS", 0.05)
    with running(tmp_path, upstream.url) as gateway, open_socket(gateway) as client:
        for number in range(2):
            answered(client, create("hello"))
            for call in requests_of(gateway, number + 1):
                gateway.reader.forget(call.id)
            for call in gateway.calls(1):
                gateway.reader.forget(call.id)
            wait_for(lambda: not list(gateway.reader.read()) and not gateway.spooled())


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


def test_fifty_at_once_are_all_recorded(upstream: SocketUpstream, gateway: Running) -> None:
    clients = [open_socket(gateway) for _ in range(50)]
    for number, client in enumerate(clients):
        client.send(json.dumps(create(f"hello {number}")))
    for client in clients:
        answered(client)
        client.close()
    asked = {json.loads(call.request)["input"][0]["content"][0]["text"] for call in requests_of(gateway, 50)}
    assert asked == {f"hello {number}" for number in range(50)}
    wait_for(lambda: gateway.health()["open"] == 0)


def test_the_sdk_of_openai_continues_a_conversation(upstream: SocketUpstream, gateway: Running) -> None:
    import openai

    client = openai.OpenAI(
        base_url=f"{gateway.url}/openai/v1", api_key=KEY, default_headers={"x-headish-conversation": "trip"}
    )
    texts, last = [], None
    with client.responses.connect() as connection:
        for words in ("Where to?", "And then?"):
            more = {} if last is None else {"previous_response_id": last}
            connection.response.create(model="m", input=words, **more)
            for event in connection:
                if event.type == "response.completed":
                    last = event.response.id
                    texts.append(event.response.output_text)
                    break
    assert texts == ["Answer to .", "Answer to ."]
    calls = requests_of(gateway, 2)
    assert [json.loads(call.request)["input"] for call in calls] == ["Where to?", "And then?"]
    assert {call.begin.headers["x-headish-conversation"] for call in calls} == {"trip"}
    assert gateway.health()["unrecorded"] == 0
