"""Windows that nobody would make by accident: sent, or refused by name, in steps that grow with their size alone."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from headish import ContextWindow, Message
from headish.errors import Unsupported
from headish.providers import PROVIDERS, prepare_request
from headish.values.blocks import ContentBlock, Erased, ProviderBlock, Text, Thinking, ToolResult, ToolUse
from headish.values.ids import TurnId
from support.counting import calls

USER = Message(role="user", content=(Text("Go on."),))


def window(*messages: Message) -> ContextWindow:
    return ContextWindow((USER, *messages, USER), {})


def said(role: str, *content: ContentBlock, turn: str | None = None) -> Message:
    return Message(role=role, content=content, turn=None if turn is None else TurnId(turn))


def searches(count: int) -> Message:
    """An answer of Gemini's with its own searches and what they gave."""
    pairs = ({"toolCall": {"id": str(index)}} for index in range(count))
    given = ({"toolResponse": {"id": str(index)}} for index in range(count))
    return said("assistant", *(ProviderBlock("gemini", data) for data in (*pairs, *given)))


def thoughts(count: int) -> Message:
    """Reasoning, all of which stands in the details of the message."""
    details = ProviderBlock("openai", {"message": {"reasoning_details": [{"text": "x"}]}})
    return said("assistant", *[Thinking("x", provider="openai")] * count, details, Text("Lima."))


def joined(count: int) -> tuple[Message, ...]:
    return tuple(said("user", Text("x"), turn=f"{index:025d}") for index in range(count))


@pytest.mark.parametrize(
    ("provider", "made", "settings"),
    [("gemini", searches, {}), ("openai", thoughts, {"dialect": "openrouter"})],
    ids=["searches of one message", "reasoning of one message"],
)
def test_a_message_of_many_blocks_takes_steps_for_each_block_alone(
    provider: str, made: Callable[[int], Message], settings: dict[str, Any]
) -> None:
    few, many = (calls(lambda n=n: prepare_request(provider, window(made(n)), **settings)) for n in (50, 400))
    assert many < 9 * few


@pytest.mark.parametrize("provider", ["anthropic", "gemini"])
def test_messages_that_are_joined_keep_each_turn_once(provider: str) -> None:
    given = joined(300)
    [origin] = prepare_request(provider, ContextWindow((*given, given[7]), {})).origins
    assert origin.turns == tuple(message.turn for message in given)


@pytest.mark.parametrize(("provider", "place"), [("anthropic", "system"), ("gemini", "systemInstruction.parts")])
def test_each_instruction_names_its_own_place_in_the_head(provider: str, place: str) -> None:
    instructions = [
        said("system", Text(text), turn=str(at) * 25) for at, text in enumerate(("Be brief.", "In French."))
    ]
    origins = prepare_request(provider, window(*instructions)).origins
    hoisted = [origin for origin in origins if origin.place.startswith(place)]
    assert [(origin.place, origin.turns) for origin in hoisted] == [
        (f"{place}[0]", (instructions[0].turn,)),
        (f"{place}[1]", (instructions[1].turn,)),
    ]


@pytest.mark.parametrize("turn", [None, "1" * 25, "x" * 1000, "no id at all", "\ud800"])
def test_the_ids_that_are_made_are_legal_and_all_different(turn: str | None) -> None:
    calls = (said("assistant", ToolUse("f", None, {}), turn=turn) for _ in range(200))
    body = prepare_request("anthropic", window(*calls)).body
    ids = [part["id"] for each in body["messages"] for part in each["content"] if part["type"] == "tool_use"]
    assert len(ids) == len(set(ids)) == 200
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", id) for id in ids)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_an_erased_message_is_refused_by_name(provider: str) -> None:
    gone = said("user", Erased(1, datetime(2026, 1, 1, tzinfo=UTC), "asked"))
    with pytest.raises(Unsupported, match="'erased'"):
        prepare_request(provider, window(gone))


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("role", ["user", "tool", "assistant", "system"])
def test_a_result_inside_a_result_is_refused_even_where_the_outer_one_answers_no_call(provider: str, role: str) -> None:
    inner = ToolResult("b", "f", (Text("4"),))
    with pytest.raises(Unsupported, match="inside a tool result"):
        prepare_request(provider, window(said(role, ToolResult("a", "f", (inner,)))))


def test_a_call_of_a_custom_tool_is_an_ordinary_call_for_cohere() -> None:
    call = ToolUse("grep", "a", raw="a.*b", opaque={"cohere": {"type": "custom", "custom": {}}})
    sent = prepare_request("cohere", window(said("assistant", call)))
    assert sent.body["messages"][1]["tool_calls"][0]["function"] == {
        "name": "grep",
        "arguments": '{"invalid_json":"a.*b"}',
    }
    assert any("are not a JSON object" in note.what for note in sent.notes)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_what_stands_beside_a_text_of_a_result_is_not_left_out_in_silence(provider: str) -> None:
    call = said("assistant", ToolUse("f", "a", {}))
    result = said("tool", ToolResult("a", "f", (Text("4", opaque={"mistral": {"key": "secret"}}),)))
    notes = [note.what for note in prepare_request(provider, window(call, result)).notes]
    assert "what mistral keeps beside 1 block is left out" in notes


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_note_does_not_repeat_a_name_of_a_megabyte(provider: str) -> None:
    name = "f" * 1_000_000
    call, orphan = ToolUse(name, "a" * 1_000_000, {}), ToolResult("c" * 1_000_000, name, ())
    prepared = prepare_request(provider, window(said("assistant", call), said("tool", orphan)))
    assert prepared.notes
    assert all(len(note.what) < 1000 for note in prepared.notes)
