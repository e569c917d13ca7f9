"""Two tools of one name are never sent: the thread's tool gives way to the provider's own, by one rule for all."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headish.errors import Unsupported
from headish.providers import PROVIDERS, Request, Stream, prepare_request
from headish.providers.registry import find_provider
from headish.values.blocks import ToolUse

SEARCHING = {"anthropic": "web_search", "openai_responses": "web_search", "gemini": "googleSearch"}
OWN: dict[str, Any] = {
    "anthropic": {"type": "web_fetch_20260209", "name": "look"},
    "openai": {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}},
    "openai_responses": {"type": "custom", "name": "look"},
    "gemini": {"functionDeclarations": [{"name": "look"}]},
    "cohere": {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}},
    "cerebras": {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}},
}


def tool(called: str) -> dict[str, Any]:
    return {"name": called, "inputSchema": {"type": "object", "properties": {}}}


def ask(provider: str, options: dict[str, Any], *tools: str, called: str = "look") -> Request:
    """The request of a thread that has called a tool, with these tools defined."""
    call = {"type": "tool_use", "id": "c1", "name": called, "input": {}}
    result = {"type": "tool_result", "tool_use_id": "c1", "name": called, "content": [{"type": "text", "text": "4"}]}
    messages = [
        {"role": "user", "content": "?"},
        {"role": "assistant", "content": [call]},
        {"role": "tool", "content": [result]},
    ]
    return prepare_request(provider, {"messages": messages, "options": options}, tools=[tool(each) for each in tools])


def names(provider: str, request: Request) -> list[str]:
    """The names of all tools of a request, or what they are where they have none."""
    writer: Any = find_provider(provider).writer
    found = []
    for each in request.body["tools"]:
        held = writer.names_of(writer, each)
        found += held or writer.kinds_of(writer, each)
    return found


def assert_renamed(provider: str, request: Request, called: str) -> None:
    """The thread's tool, its call and its result go out under one other name, noted; the provider's keeps its own."""
    sent = names(provider, request)
    assert len(sent) == len(set(sent)) == 2
    assert called in sent
    [other] = set(sent) - {called}
    assert other.startswith(called)
    assert request.tool_names == {other: called}
    assert f"the tool {called!r} goes out as {other}" in [note.what for note in request.notes]
    listed = find_provider(provider).writer.list_name
    said = json.dumps(request.body[listed])
    assert json.dumps(other) in said
    assert json.dumps(called) not in said


@pytest.mark.parametrize("provider", SEARCHING)
def test_a_tool_named_like_the_search_gives_way(provider: str) -> None:
    called = SEARCHING[provider]
    assert_renamed(provider, ask(provider, {"search": True}, called, called=called), called)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_tool_named_like_one_of_the_parameters_gives_way(provider: str) -> None:
    assert_renamed(provider, ask(provider, {"params": {provider: {"tools": [OWN[provider]]}}}, "look"), "look")


@pytest.mark.parametrize("provider", PROVIDERS)
def test_without_another_of_its_name_a_tool_keeps_it(provider: str) -> None:
    request = ask(provider, {}, "look", "web_search", "googleSearch")
    assert names(provider, request) == ["look", "web_search", "googleSearch"]
    assert request.tool_names == {}


@pytest.mark.parametrize("provider", SEARCHING)
def test_the_search_of_the_parameters_takes_the_place_of_the_options(provider: str) -> None:
    own = {
        "anthropic": {"type": "web_search_20260209", "name": "web_search", "max_uses": 2},
        "openai_responses": {"type": "web_search", "search_context_size": "low"},
        "gemini": {"google_search": {"timeRangeFilter": {}}},
    }[provider]
    request = ask(provider, {"search": True, "params": {provider: {"tools": [own]}}}, "look")
    assert own in request.body["tools"]
    assert len(request.body["tools"]) == 2
    assert f"the option search adds no tool: params.{provider}.tools has one" in [note.what for note in request.notes]


@pytest.mark.parametrize("provider", PROVIDERS)
def test_two_of_the_parameters_are_refused(provider: str) -> None:
    with pytest.raises(Unsupported, match="2 tools named 'look': a name stands for one tool"):
        ask(provider, {"params": {provider: {"tools": [OWN[provider], OWN[provider]]}}}, "other")


def test_several_tools_without_names_are_no_two_of_one_name() -> None:
    servers = [{"type": "mcp", "server_label": label, "server_url": "https://x.example"} for label in ("a", "b")]
    request = ask("openai_responses", {"params": {"openai_responses": {"tools": servers}}}, "look")
    assert request.body["tools"][1:] == servers


def test_a_call_comes_back_under_the_name_that_the_thread_knows() -> None:
    request = ask("anthropic", {"search": True}, "web_search", called="web_search")
    [sent] = request.tool_names
    stream = Stream("anthropic", tool_names=request.tool_names)
    call = {"type": "tool_use", "id": "t1", "name": sent, "input": {}}
    stream.feed({"type": "message", "content": [call], "stop_reason": "tool_use"})
    [block] = stream.finish().content
    assert isinstance(block, ToolUse)
    assert block.name == "web_search"
