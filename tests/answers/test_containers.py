"""Code that Anthropic runs for a thread runs in one container: the next request names it while it lives."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from headish import Store

TOOLS = [{"type": "code_execution_20250825", "name": "code_execution"}]


def answer(container: Any) -> dict[str, Any]:
    said = {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "text", "text": "So."}],
        "stop_reason": "end_turn",
    }
    return {**said, "container": container}


def ending(hours: float) -> dict[str, str]:
    return {"id": "container_1", "expires_at": (datetime.now(UTC) + timedelta(hours=hours)).isoformat()}


def asked(store: Store, given: Any, **params: Any) -> dict[str, Any]:
    turn = store.add_turn("Plot it", inherited={"params": {"anthropic": {"tools": TOOLS, **params}}})
    reply = store.reply(turn.id, "anthropic", answer(given))
    return store.request(store.add_turn("Again", continues=reply.id).id, "anthropic").body


def test_the_next_request_names_the_container_of_the_last_answer(asking: Store) -> None:
    assert asked(asking, ending(1))["container"] == "container_1"


@pytest.mark.parametrize(
    "container", [ending(-1), {"id": "c"}, {"id": 7}, "c", None, {"id": "c", "expires_at": "soon"}]
)
def test_one_that_has_run_out_or_is_none_is_not_named(asking: Store, container: Any) -> None:
    assert "container" not in asked(asking, container)


def test_one_that_was_named_by_hand_wins(asking: Store) -> None:
    assert asked(asking, ending(1), container="mine")["container"] == "mine"


def test_another_provider_and_a_request_without_its_tools_have_none(asking: Store) -> None:
    turn = asking.add_turn("Plot it")
    reply = asking.reply(turn.id, "anthropic", answer(ending(1)))
    assert "container" not in asking.request(reply.id, "anthropic").body
    assert "container" not in asking.request(reply.id, "openai", params={"anthropic": {"tools": TOOLS}}).body
