"""WebSockets where the spool must have all that passes, is full, or is sealed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed

from headish.gateway.recording import spooling
from headish.gateway.recording.messages import SocketMessage
from headish.gateway.recording.sockets import _read_event
from support.gateways import PATIENCE_SECONDS, running
from support.sockets import SocketUpstream, completed, create
from support.websockets import PATH, RawEnds, answered, open_socket, read_bytes, receive, requests_of, wait_for

pytestmark = pytest.mark.slow


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


def test_with_require_record_nothing_follows_what_cannot_be_read(tmp_path: Path) -> None:
    ends = RawEnds()
    with running(tmp_path, ends.address, require_record=True) as gateway:
        client, upstream = ends.open(gateway)
        client.sendall(b"\x89\x80abcd")
        assert read_bytes(upstream, 6) == b"\x89\x80abcd"
        upstream.sendall(b"\xf1\x00")
        assert read_bytes(client, 2) == b"\xf1\x00"
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


def test_an_unexpected_error_in_a_socket_ends_its_record_and_no_other(
    upstream: SocketUpstream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(message: SocketMessage) -> Any:
        if b"odd" in message.data:
            raise KeyError("what the call said")
        return _read_event(message)

    monkeypatch.setattr("headish.gateway.recording.sockets._read_event", read)
    with running(tmp_path, upstream.url) as gateway:
        with open_socket(gateway) as client:
            answered(client, create("hello"))
            answered(client, create("odd"))
        with open_socket(gateway) as client:
            answered(client, create("hello"))
        said = [json.loads(call.request) for call in requests_of(gateway, 2)]
        assert said == [create("hello")] * 2
        assert "calls that were not recorded: 1 (an unexpected error (KeyError))" in gateway.health()["problems"]
