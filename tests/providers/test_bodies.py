"""What a body is made of: copies of what the window holds, and JSON that gives back what was meant."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Struct, structs

from headish import ContextWindow, Message
from headish.errors import InvalidContent
from headish.providers import PROVIDERS, prepare_request
from headish.providers.preparing import _writer
from headish.values.blocks import (
    Base64Source,
    ContentBlock,
    Document,
    ProviderBlock,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
)
from support.providers.emitted import windows

USER = Message(role="user", content=(Text("Go on."),))
CALL = Message(role="assistant", content=(ToolUse("weather", "a", {"city": {"name": "Lima"}}),), cache=True)
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}
OPTIONS = {"params": {"schema": SCHEMA, "stop": ["end"]}, "search": False}


def containers(value: Any) -> Iterator[int]:
    """The lists, dicts and the like that can be reached from a value, by identity."""
    if isinstance(value, Struct):
        value = list(structs.asdict(value).values())
    elif isinstance(value, Mapping):
        yield id(value)
        value = list(value.values())
    elif isinstance(value, list):
        yield id(value)
    for each in value if isinstance(value, list | tuple) else ():
        yield from containers(each)


def beside(provider: str) -> dict[str, Any]:
    """All that a provider keeps beside blocks, with something inside."""
    part = {"part": {"type": "text", "more": [1]}, "function": {"more": {}}, "citations": [{"start": 1, "at": [2]}]}
    item = {
        "encrypted_content": "x",
        "summary": [{"text": "s"}],
        "caller": {"type": "code"},
        "cache_control": {"a": [1]},
    }
    return {
        provider: {**part, **item, "functionResponse": {"more": [1]}, "thoughtSignature": "c2ln", "more": {"a": []}}
    }


def rich(provider: str) -> ContextWindow:
    """A window in which everything that can hold something else does."""
    opaque = beside(provider)
    own = ({"type": "x", "more": [1]}, {"part": {"type": "x", "more": [1]}}, {"message": {"more": [1]}}, {"inner": [1]})
    picture = Document(Base64Source("image/png", "aGFsbG8="), opaque=opaque)
    said: tuple[ContentBlock, ...] = (
        Thinking("why", signature="c2ln", provider=provider, opaque=opaque),
        Text("Lima.", opaque=opaque),
        *(ProviderBlock(provider, data) for data in own),
        ToolUse("weather", "a", {"city": {"name": "Lima"}}, opaque=opaque),
        ToolUse("grep", "b", {"q": []}, opaque={provider: {"type": "custom", "custom": {"more": [1]}}}),
    )
    inner = (Text("4"), picture, ProviderBlock(provider, {"type": "x", "part": {"type": "x", "more": []}}))
    results = tuple(ToolResult(id, content=inner, opaque=opaque) for id in "ab")
    told = Message(role="user", content=(Text("And?", opaque=opaque), picture), cache=True)
    messages = (USER, Message(role="assistant", content=said), Message(role="tool", content=results), told, told)
    return ContextWindow(messages, OPTIONS)


@pytest.mark.parametrize("provider", [provider for provider in PROVIDERS if provider != "cohere"])
def test_a_body_shares_nothing_with_its_window_and_nothing_with_another_body(provider: str) -> None:
    window = rich(provider)
    given: dict[str, Any] = {"tools": [{"name": "weather", "inputSchema": SCHEMA}], "cache_breakpoints": True}
    first, second = (prepare_request(provider, window, **given) for _ in range(2))
    held = [list(containers(each)) for each in (window, given["tools"], first.schema)]
    mine, other = list(containers(first.body)), list(containers(second.body))
    assert len(mine) == len(set(mine)), "two places of a body are one object"
    assert not set(mine) & {*held[0], *held[1], *held[2], *other}


@pytest.mark.parametrize("provider", PROVIDERS)
@given(window=windows())
@settings(max_examples=25)
def test_no_window_shares_anything_with_its_body(provider: str, window: ContextWindow) -> None:
    writer = _writer(provider, window, {})
    body = writer.write().body
    assert not set(containers(body[writer.list_name])) & set(containers(window))


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize(
    ("value", "said"),
    [(float("nan"), "NaN"), (b"bytes", "bytes"), ("\ud800", "surrogate"), (object(), "object"), ({1: 2}, "key")],
    ids=["NaN", "bytes", "half a character", "an object", "a key that is a number"],
)
def test_arguments_that_are_no_json_are_refused_and_not_changed(provider: str, value: Any, said: str) -> None:
    call = Message(role="assistant", content=(ToolUse("weather", "a", {"city": value}),))
    with pytest.raises(InvalidContent, match=f"(?i){said}"):
        prepare_request(provider, ContextWindow((USER, call, USER), {}))


@pytest.mark.parametrize("provider", PROVIDERS)
def test_tuples_and_mappings_of_other_kinds_are_as_good_as_lists_and_dicts(provider: str) -> None:
    def asked(arguments: Mapping[str, Any]) -> Any:
        call = Message(role="assistant", content=(ToolUse("weather", "a", arguments),))
        return prepare_request(provider, ContextWindow((USER, call, USER), {})).body

    assert asked(MappingProxyType({"at": (1, 2)})) == asked({"at": [1, 2]})


@given(text=st.text(min_size=1, max_size=5).filter(lambda text: bool(text.strip())))
@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("role", ["user", "assistant"])
@settings(max_examples=10)
def test_a_message_of_one_text_is_placed_as_it_is_block_by_block(provider: str, role: str, text: str) -> None:
    """The short way and the long way: a blank text beside it goes the long way, and leaves no more than a note."""
    alone = Message(role=role, content=(Text(text),))
    beside = Message(role=role, content=(Text(text), Text(" ")))
    bodies = [prepare_request(provider, ContextWindow((USER, each, USER), {})).body for each in (alone, beside)]
    assert bodies[0] == bodies[1]
