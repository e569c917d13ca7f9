"""What each known server answers, taken to every other: what only its maker can read goes back to its maker alone."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import pytest

from headish import Store
from headish.providers.dialects.table import DIALECTS
from headish.values.blocks import Text, ToolResult, ToolUse
from support.providers.compatible import ANSWER, answers, only_keys

THOUGHT, SEAL = "I look up how high it is.", "c2VhbGVk"
TOOL = {"name": "height", "inputSchema": {"type": "object", "properties": {"peak": {"type": "string"}}}}
PLACES = {
    "openai": None, "azure": None, "xai": None, "groq": None, "together": None, "lmstudio": None, "gemini": None,
    "deepseek": "reasoning_content", "kimi": "reasoning_content", "qwen": "reasoning_content",
    "glm": "reasoning_content", "fireworks": "reasoning_content", "sglang": "reasoning_content",
    "llamacpp": "reasoning_content", "litellm": "reasoning_content", "minimax": None, "openrouter": "reasoning",
    "ollama": "reasoning", "vllm": "reasoning", "mistral": "content",
}  # fmt: skip
"""The key under which a server takes reasoning that is a plain text."""
THINKING = ("minimax", "groq", "together", "fireworks", "ollama", "vllm", "sglang", "llamacpp", "lmstudio")
TAGS = {**dict.fromkeys(THINKING, "think"), "gemini": "thought"}
"""Servers that take reasoning between tags, if it came between them."""


class Answered(NamedTuple):
    """What a server said beside the call: keys of the message, of the call, and of the call's function."""

    message: Mapping[str, Any] = {}
    call: Mapping[str, Any] = {}
    function: Mapping[str, Any] = {}


def detail(kind: str, **said: Any) -> dict[str, Any]:
    return {"type": f"reasoning.{kind}", "index": 0, **said}


SAID: dict[str, list[Answered]] = {
    "openrouter": [
        Answered({
            "reasoning": THOUGHT,
            "reasoning_details": [
                detail("text", text=THOUGHT, signature=SEAL, format="anthropic-claude-v1"),
                detail("encrypted", data=SEAL, id="rs_1", format="openai-responses-v1"),
            ],
        }),
        Answered({"reasoning_details": [detail("encrypted", data=SEAL, id="call_1", format="google-gemini-v1")]}),
    ],
    "mistral": [
        Answered({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": THOUGHT}], "closed": True}]}),
    ],
    "litellm": [
        Answered({
            "reasoning_content": THOUGHT,
            "thinking_blocks": [
                {"type": "thinking", "thinking": THOUGHT, "signature": SEAL},
                {"type": "redacted_thinking", "data": SEAL},
            ],
        }),
        Answered(
            {"provider_specific_fields": {"thought_signatures": [SEAL]}},
            {"provider_specific_fields": {"thought_signature": SEAL}},
            {"provider_specific_fields": {"thought_signature": SEAL}},
        ),
    ],
    "gemini": [
        Answered({"content": f"<thought>{THOUGHT}</thought>"},
                 {"extra_content": {"google": {"thought_signature": SEAL}}}),
        Answered({"content": "A look.", "extra_content": {"google": {"thought_signature": SEAL}}}),
    ],
    "minimax": [
        Answered({"content": f"<think>{THOUGHT}</think>"}),
        Answered({"reasoning_details": [detail("text", text=THOUGHT, id="r-1", format="MiniMax-response-v1")]}),
    ],
    "groq": [Answered({"reasoning": THOUGHT})],
    "together": [Answered({"content": f"<think>{THOUGHT}</think>"}), Answered({"reasoning": THOUGHT})],
    "lmstudio": [Answered({"content": f"<think>{THOUGHT}</think>"})],
    "openai": [Answered()],
    "azure": [Answered()],
}  # fmt: skip
"""What servers answer, as their rows' sources have it. The others say their reasoning under one key."""
SERVERS = {name: SAID.get(name) or [Answered({PLACES[name] or "reasoning_content": THOUGHT})] for name in DIALECTS}
UNKNOWN = "https://models.example.org/v1"


@pytest.fixture
def everywhere(asking: Store) -> Store:
    """A pointer for each dialect, by its host where it has one, and one for a server that nobody knows."""
    for name, dialect in DIALECTS.items():
        host = next((each for each in dialect.hosts if not each.startswith("loopback")), None)
        host = host and (f"me{host}" if host.startswith(".") else host)
        server = {"dialect": name} if host is None else {"base_url": f"https://{host}/v1"}
        asking.pointers.set(name, "openai/m", **server)
    asking.pointers.set("unknown", "openai/m", base_url=UNKNOWN)
    return asking


def answered(store: Store, maker: str) -> Iterator[tuple[dict[str, Any], Callable[[str], dict[str, Any]]]]:
    """Each answer of a server with its result behind it: its message, and what makes the next request for a server."""
    for said in SERVERS[maker]:
        asked = store.add_turn("How high is K2?", provider_ptr=maker)
        function = {"name": "height", "arguments": '{"peak":"K2"}', **said.function}
        call = {"id": "a1B2c3D4e", "type": "function", **said.call, "function": function}
        message = {"role": "assistant", "content": None, **said.message, "tool_calls": [call]}
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
        response = {"id": "c-1", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice]}
        reply = store.reply(store.request(asked.id, tools=[TOOL]), "openai", response)
        [called] = [block for block in store.blocks(reply.id) if isinstance(block, ToolUse)]
        result = ToolResult(called.id, called.name, (Text("8611"),))
        turn = store.add_turn([result], role="tool", continues=reply.id)
        yield message, lambda target, turn=turn: store.request(turn.id, ptr=target, tools=[TOOL]).body


def without_reasoning(message: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in message.items() if key not in ("reasoning", "reasoning_content")}


@pytest.mark.parametrize("maker", DIALECTS)
def test_what_is_sealed_goes_to_no_other_server(everywhere: Store, maker: str) -> None:
    for message, body_for in answered(everywhere, maker):
        for target in DIALECTS.keys() - {maker}:
            assert SEAL not in json.dumps(body_for(target)), (message, target)


@pytest.mark.parametrize("maker", DIALECTS)
def test_reasoning_goes_only_where_there_is_a_place_for_it(everywhere: Store, maker: str) -> None:
    for message, body_for in answered(everywhere, maker):
        is_tagged = str(message["content"]).startswith("<")
        for target in DIALECTS.keys() - {maker}:
            [found] = answers(body_for(target))
            places = {"content" if is_tagged and TAGS[maker] == TAGS.get(target) else PLACES[target]}
            places |= {"reasoning_details"} if (maker, target) == ("minimax", "openrouter") else set()
            assert {key for key, value in found.items() if THOUGHT in json.dumps(value)} <= places, (message, target)


@pytest.mark.parametrize("maker", DIALECTS)
def test_those_who_take_no_reasoning_get_what_their_api_has(everywhere: Store, maker: str) -> None:
    for message, body_for in answered(everywhere, maker):
        for target in ("openai", "azure", "xai"):
            body = body_for(target)
            assert only_keys(*ANSWER)(body) is None, (message, target)
            [found] = answers(body)
            assert all(call.keys() == {"id", "type", "function"} for call in found["tool_calls"])
            assert found["content"] in (None, "A look.")


@pytest.mark.parametrize("maker", ["openrouter", "mistral", "litellm", "gemini", "minimax"])
def test_the_maker_gets_it_back_as_it_came(everywhere: Store, maker: str) -> None:
    for message, body_for in answered(everywhere, maker):
        expected = without_reasoning(message) if "reasoning_details" in message else message
        assert answers(body_for(maker)) == [expected]


@pytest.mark.parametrize("maker", ["openrouter", "mistral", "litellm", "gemini", "minimax"])
def test_a_server_that_nobody_knows_gets_what_was_said_there(everywhere: Store, maker: str) -> None:
    """It may be a gateway in front of any of them."""
    everywhere.pointers.set(maker, "openai/m", base_url=UNKNOWN)
    for message, body_for in answered(everywhere, maker):
        assert answers(body_for("unknown")) == [without_reasoning(message)]


@pytest.mark.parametrize(
    ("provider", "own"),
    [
        ("anthropic", {"signature": SEAL}),
        ("openai_responses", {"opaque": {"openai_responses": {"encrypted_content": SEAL}}}),
    ],
)
def test_what_an_api_sealed_goes_wherever_it_is_spoken_and_to_no_other_api(
    everywhere: Store, provider: str, own: dict[str, Any]
) -> None:
    asked = everywhere.add_turn("How high is K2?")
    thought = {"type": "thinking", "text": THOUGHT, "provider": provider, **own}
    answer = [thought, {"type": "text", "text": "High."}]
    turn = everywhere.add_turn(
        "Really?", continues=everywhere.add_turn(answer, role="assistant", continues=asked.id).id
    )
    for at, base_url in enumerate((None, UNKNOWN, "https://openrouter.ai/api", "https://api.deepseek.com/anthropic")):
        everywhere.pointers.set(f"sealed-{at}", f"{provider}/m", base_url=base_url)
        assert SEAL in json.dumps(everywhere.request(turn.id, ptr=f"sealed-{at}").body), base_url
    for other in {"anthropic", "openai", "openai_responses", "gemini", "cohere", "cerebras"} - {provider}:
        assert SEAL not in json.dumps(everywhere.request(turn.id, other).body), other
