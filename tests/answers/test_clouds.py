"""A thread is asked at a cloud by its pointer: what arrives is stored, and nothing of the credentials is."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from headish import Store
from support.clouds import FRAMES, chunk, chunks, frame
from support.insides import dump
from support.loopback import Loopback, event_stream

SECRETS = ("AKIDEXAMPLEEXAMPLE00", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "session-token/of+the-test==")
USAGE = {"input_tokens": 3, "output_tokens": 1}
EVENTS = [
    {"type": "message_start", "message": {"id": "msg_1", "model": "claude-x", "content": [], "usage": USAGE}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Paris"}},
    {"type": "content_block_stop", "index": 0},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}},
    {"type": "message_stop", "amazon-bedrock-invocationMetrics": {"inputTokenCount": 3}},
]


@pytest.fixture
def amazon(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("botocore", reason="the extra is not installed: pip install 'headish[bedrock]'")
    monkeypatch.setenv("HOME", str(tmp_path))
    for name, value in zip(("ACCESS_KEY_ID", "SECRET_ACCESS_KEY", "SESSION_TOKEN"), SECRETS, strict=True):
        monkeypatch.setenv(f"AWS_{name}", value)


@pytest.fixture
def bedrock(asking: Store, server: Loopback, amazon: None) -> Store:
    asking.pointers.set(
        "milli", "anthropic/us.anthropic.claude-x-v1:0", cloud="bedrock", region="us-east-1", base_url=server.url,
        headers={"Anthropic-Beta": "context-1m"}, params={"max_tokens": 9},
    )  # fmt: skip
    return asking


def test_what_bedrock_streams_is_the_next_turn(bedrock: Store, server: Loopback) -> None:
    server.answer(headers=FRAMES, chunks=chunks(EVENTS))
    shown: list[str] = []
    turn = bedrock.ask("capital of France?", ptr="milli", on_delta=lambda delta: shown.append(delta.content))
    assert "".join(shown) == turn.text == "Paris"
    assert turn.meta.reply["stop_reason"] == "end_turn"
    assert turn.meta.reply["usage"] == {"input_tokens": 3, "output_tokens": 2}
    assert "notes" not in turn.meta.reply
    assert turn.meta.reply["details"] == {"amazon-bedrock-invocationMetrics": {"inputTokenCount": 3}}
    assert server.requests[0].body["anthropic_beta"] == ["context-1m"]


def test_an_error_in_the_middle_keeps_what_came(bedrock: Store, server: Loopback) -> None:
    broken = frame(b'{"message":"slow down"}', message_type="exception", exception_type="throttlingException")
    server.answer(headers=FRAMES, chunks=[*chunks(EVENTS[:3]), broken])
    turn = bedrock.ask("capital of France?", ptr="milli")
    assert turn.text == "Paris"
    assert turn.meta.reply["error"] == {"type": "throttlingException", "message": "slow down"}


def test_a_damaged_frame_ends_the_answer_and_says_so(bedrock: Store, server: Loopback) -> None:
    damaged = bytearray(chunk(EVENTS[3]))
    damaged[-1] ^= 1
    server.answer(headers=FRAMES, chunks=[*chunks(EVENTS[:3]), bytes(damaged)])
    turn = bedrock.ask("capital of France?", ptr="milli")
    assert (turn.text, turn.meta.reply["incomplete"]) == ("Paris", True)
    assert "checksum" in turn.meta.reply["error"]["message"]


def test_credentials_are_neither_stored_nor_logged(
    bedrock: Store, server: Loopback, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    echo = {"type": "message_start", "message": {"id": SECRETS[2], "model": SECRETS[1], "content": []}}
    server.answer(headers=FRAMES, chunks=chunks([echo, *EVENTS[1:], {"type": "odd", "said": list(SECRETS)}]))
    bedrock.ask("capital of France?", ptr="milli")
    written = f"{dump(bedrock)} {caplog.text}"
    assert not any(each in written for each in SECRETS)
    assert "***" in written


def test_asking_again_asks_the_same_cloud_and_another_server_gets_nothing_of_it(
    bedrock: Store, server: Loopback
) -> None:
    server.answer(headers=FRAMES, chunks=chunks(EVENTS))
    server.answer(headers=FRAMES, chunks=chunks(EVENTS))
    server.answer(chunks=event_stream(EVENTS))
    turn = bedrock.ask("capital of France?", ptr="milli")
    again = bedrock.retry(turn.id)
    bedrock.retry(again.id, base_url=server.url)
    first, second, third = server.requests
    assert first.path == second.path
    assert first.body == second.body
    assert third.path == "/v1/messages"
    assert not third.headers.keys() & {"authorization", "x-amz-date", "anthropic-beta"}


def test_a_header_of_a_pointer_goes_with_its_requests_and_one_of_the_call_wins(asking: Store, server: Loopback) -> None:
    asking.pointers.set("other", "anthropic/x", base_url=server.url, headers={"anthropic-beta": "a", "X-Team": "t"})
    for _ in range(2):
        server.answer(chunks=event_stream(EVENTS))
    asking.ask("hello", ptr="other")
    asking.ask("hello", ptr="other", headers={"Anthropic-Beta": "b"})
    said = [(each.headers["anthropic-beta"], each.headers["x-team"]) for each in server.requests]
    assert said == [("a", "t"), ("b", "t")]
