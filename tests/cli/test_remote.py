"""``recover --remote``: answers that their provider keeps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from support.command import Command
from support.loopback import Loopback


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Loopback]:
    monkeypatch.setenv("TEST_KEY", "the-key-of-the-test")
    monkeypatch.setattr("headish.calls.client.FIRST_DELAY_SECONDS", 0.001)
    with Loopback() as server:
        yield server


def response(status: str, said: str | None = None) -> dict[str, Any]:
    parts = [{"type": "output_text", "text": said, "annotations": []}]
    output = [] if said is None else [{"type": "message", "id": "msg_1", "role": "assistant", "content": parts}]
    return {"object": "response", "id": "resp_1", "status": status, "model": "m", "output": output}


def test_the_command_tells_what_became_of_them(headish: Command, server: Loopback) -> None:
    headish("ptr", "set", "far", "openai_responses/m", "--base-url", f"{server.url}/v1", "--key-env", "TEST_KEY")
    server.answer_json(response("queued"))
    option = 'openai_responses={"background":true,"store":true}'
    asked = headish.run("ask", "Think", "-b", "main", "-p", "far", "-o", option, "--no-stream")
    assert asked.code == 1
    assert "'headish recover --remote --wait 60' fetches it" in asked.err
    server.answer_json(response("in_progress"))
    assert "is still being made" in headish("recover", "--remote").err
    server.answer_json({"error": {"message": "gone"}}, 404)
    done = headish.run("recover", "--remote")
    assert done.code == 1
    assert "is not fetched: openai_responses: status 404: gone" in done.err
    server.answer_json(response("completed", "42."))
    assert headish("recover", "--remote").out.strip() == headish("get", "main", "--json").json["id"]
    assert headish("recover", "--remote").err == "Nothing is left to recover.\n"
