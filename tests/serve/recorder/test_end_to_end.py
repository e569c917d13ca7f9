"""From a client through the gateway into the history: real processes, and a provider that follows a script."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headish import Store
from headish.gateway.spool.state import read_state
from support.command import Command
from support.later import Later
from support.passed import CLAUDE_CODE, anthropic_answer, anthropic_body, assistant, user
from support.served import PATIENCE_SECONDS, Served, served
from support.sockets import SocketUpstream, create, created, said
from support.upstream import LAST, Asked, Step, Upstream, chunked, head, out_of_reach

pytestmark = pytest.mark.slow
genai, types = Later("google.genai"), Later("google.genai.types")
KEY = "sk-ant-api03-abcdefghijklmnop0123456789"


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    with Upstream(answer_by_turns) as made:
        yield made


def answer_by_turns(asked: Asked) -> Iterator[Step]:
    """The number of messages, in pieces of seven bytes."""
    text = f"Answer to {len(json.loads(asked.body)['messages'])}"
    body = anthropic_answer(text)
    yield head(200, "text/event-stream")
    yield from chunked([body[at : at + 7] for at in range(0, len(body), 7)])
    yield LAST


def wait_for(server: Served, calls: int) -> None:
    until = time.monotonic() + PATIENCE_SECONDS
    while True:
        with Store.open(server.database, read_only=True) as store:
            if len(store.calls.list()) >= calls:
                return
        assert time.monotonic() < until, (read_state(server.spool.parent), server.told())
        time.sleep(0.1)


def test_a_conversation_through_the_gateway_is_in_the_list_and_goes_on(tmp_path: Path, upstream: Upstream) -> None:
    headers = {**CLAUDE_CODE, "x-api-key": KEY, "content-type": "application/json"}
    messages = [user("Hi")]
    with served(tmp_path, upstream) as server:
        for number in range(4):
            body = json.dumps(anthropic_body(messages, nonce=number)).encode()
            status, came = server.ask("/anthropic/v1/messages", body, headers)
            assert (status, came) == (200, anthropic_answer(f"Answer to {len(messages)}"))
            wait_for(server, number + 1)
            if number == 1:
                server.kill("recorder")
            messages = [*messages, assistant(f"Answer to {len(messages)}"), user(f"and {number}")]
        command = Command(str(server.database))
        printed = command.run("serve", "--env", "claude").out
        assert f"export ANTHROPIC_BASE_URL={server.gateway}/anthropic" in printed
        assert server.end() == 0
    listed = command.run("list").out
    assert "claude-code/097ac8" in listed
    with Store.open(server.database) as store:
        assert store.stats().turns == 1 + 2 * 4
        assert [call.facts.added for call in store.calls.list()] == [1, 1, 1, 2]
        body = store.calls.body(store.calls.list()[0].id)
        assert body == anthropic_body(messages[:-2], nonce=3)
        assert store.verify().problems == ()
        id = store.calls.list()[0].id
    assert id in command.run("call", "list", "claude-code/097ac8").out
    assert "7 output" in command.run("call", "show", id).out
    assert json.loads(command.run("call", "show", id, "--body").out) == body
    for path in tmp_path.rglob("*"):
        assert not path.is_file() or KEY.encode() not in path.read_bytes(), path


def test_what_a_provider_out_of_reach_was_asked_is_in_the_history_once(tmp_path: Path) -> None:
    headers, body = {**CLAUDE_CODE, "content-type": "application/json"}, anthropic_body([user("Hi")])
    with out_of_reach() as gone, served(tmp_path, gone) as server:
        for number in (1, 2):  # a client tries again
            assert server.ask("/anthropic/v1/messages", json.dumps(body).encode(), headers)[0] == 502
            wait_for(server, number)
        with Store.open(server.database, read_only=True) as store:
            calls = store.calls.list()
            assert [(call.facts.outcome, call.facts.status) for call in calls] == [("unreachable", None)] * 2
            assert [call.facts.error for call in calls] == ["Connection refused"] * 2
            [question] = {call.tip for call in calls}
            assert (store.text(question), store.text("claude-code/097ac8")) == ("Hi", "Hi")


def stream_of_gemini(asked: Asked) -> Iterator[Step]:
    """A thought in two chunks, words in two, a signed call for the first question, and an empty chunk."""
    contents = json.loads(asked.body)["contents"]
    parts: list[dict[str, Any]] = [
        *({"text": text, "thought": True} for text in ("Hm", ", so.")),
        *({"text": text} for text in ("Look", f"ing at {len(contents)}.")),
    ]
    if len(contents) == 1:
        parts.append({"functionCall": {"name": "ls", "args": {"path": "/"}}, "thoughtSignature": "//79+w=="})
    events = [{"candidates": [{"content": {"role": "model", "parts": [part]}}]} for part in (*parts, {"text": ""})]
    events[-1]["candidates"][0]["finishReason"] = "STOP"
    yield head(200, "text/event-stream")
    yield from chunked([b"data: " + json.dumps(event).encode() + b"\n\n" for event in events])
    yield LAST


def test_a_streamed_chat_of_google_genai_is_one_thread(tmp_path: Path, upstream: Upstream) -> None:
    def ls(path: str) -> str:
        """List a folder."""
        return "a.txt"

    upstream.script = stream_of_gemini
    with served(tmp_path, upstream) as server:
        options = types.HttpOptions(base_url=f"{server.gateway}/gemini", headers={"x-headish-conversation": "trip"})
        client = genai.Client(api_key=KEY, http_options=options)
        chat = client.chats.create(model="gemini-x", config=types.GenerateContentConfig(tools=[ls]))
        for number, question in enumerate(("List", "and?", "so?")):
            assert [*chat.send_message_stream(question)]
            wait_for(server, number + 2)
            if number == 1:
                server.kill("recorder")
        assert server.end() == 0
    bodies = [json.loads(asked.body) for asked in upstream.asked]
    assert [len(body["contents"]) for body in bodies] == [1, 1 + 6 + 1, 8 + 5 + 1, 14 + 5 + 1]
    with Store.open(server.database) as store:
        assert (store.stats().turns, len(list(store.heads()))) == (8, 1)
        assert [store.calls.body(call.id) for call in reversed(store.calls.list())] == bodies
        assert store.verify().problems == ()


def test_a_tool_is_started_only_where_a_gateway_runs(tmp_path: Path) -> None:
    command = Command(str(tmp_path / "history.db"))
    Store.open(tmp_path / "history.db").close()
    assert "start it with 'headish serve'" in command.run("run", "claude", "--", "-p", "Hi").err
    assert command.run("run", "vim").code == 2
    assert command.run("serve", "--env", "vim").code == 2


class TestAWebSocket:
    """The gateway, the recorder, or the client of a WebSocket goes away at once."""

    def test_what_had_passed_of_an_answer_is_in_the_history_when_the_gateway_is_killed(self, tmp_path: Path) -> None:
        from websockets.exceptions import ConnectionClosed
        from websockets.sync.client import connect

        part = [created("resp_1"), *said("It is", "msg_1")[:2]]
        with SocketUpstream() as sockets, served(tmp_path, sockets) as server:
            address = server.gateway.replace("http", "ws") + "/openai/v1/responses"
            headers = {"x-headish-conversation": "trip", "user-agent": "me", "authorization": f"Bearer {KEY}"}
            with connect(address, additional_headers=headers, proxy=None) as client:
                client.send(json.dumps(create("Where to?")))
                for event in client:
                    if json.loads(event)["type"] == "response.completed":
                        break
                server.kill("recorder")
                sockets.script = lambda _: [*part, 3600.0]
                client.send(json.dumps(create("And then?", previous_response_id=json.loads(event)["response"]["id"])))
                assert [json.loads(client.recv(timeout=PATIENCE_SECONDS)) for _ in part] == part
                time.sleep(1.0)  # a killed gateway may lose what passed in its last ten milliseconds
                server.kill("gateway")
                with pytest.raises(ConnectionClosed):
                    client.recv(timeout=PATIENCE_SECONDS)
            assert server.end() == 0
        with Store.open(server.database) as store:
            texts = [store.text(turn.id) for turn in reversed(list(store.log("me/trip")))]
            assert texts == ["Where to?", "Answer to Where to?.", "And then?", "It is"]
            [last, *_] = store.log("me/trip")
            assert last.meta.reply is not None
            assert last.meta.reply["incomplete"] is True
            assert store.verify().problems == ()
        for path in tmp_path.rglob("*"):
            assert not path.is_file() or KEY.encode() not in path.read_bytes(), path
