"""Each request in a WebSocket becomes a call, and its events are the answer."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp.http import StreamWriter
from websockets.exceptions import ConnectionClosed

from headish.gateway.files import write_whole
from headish.gateway.passing import tunnel
from headish.gateway.passing.access import ACCESS_FILE, Access
from headish.values.access.tokens import Token, make_token, token_hash
from support.gateways import PATIENCE_SECONDS, Running, running
from support.sockets import Close, SocketUpstream, completed, create, created, reply, said
from support.upstream import CUT
from support.websockets import KEY, RawEnds, answered, open_socket, read_bytes, receive, requests_of, told, wait_for

pytestmark = pytest.mark.slow


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
    assert "not a request of the Responses API" in str(health["problems"])


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
        assert read_bytes(upstream, len(body) + 4)[4:] == body
        client.close()
        [call] = requests_of(gateway, 1)
        assert b"my key is ***" in call.request
        assert KEY.encode() not in gateway.spooled()


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
