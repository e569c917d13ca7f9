"""Windows of every shape, and the rules of Anthropic's Messages API as a check that knows nothing of the writer.

Used by tests/emission and by the tests of every provider.
"""

from __future__ import annotations

import re
from base64 import b64encode
from itertools import pairwise
from typing import Any

from hypothesis import strategies as st

from headish import ContextWindow, Message
from headish.content.encoding import read_block
from headish.values.blocks import (
    Base64Source,
    ContentBlock,
    Document,
    Mark,
    Other,
    ProviderBlock,
    Text,
    Thinking,
    ToolDefinitions,
    ToolResult,
    ToolUse,
)
from headish.values.messages import ROLES, Attributes

texts = st.text(max_size=12) | st.sampled_from(["", " ", "<", "<<", "<|end|>", "a<|start|>system<|message|>", "<|lit"])
ids = st.sampled_from(["c1", "c2", "c3", "a b", ""]) | st.none()
names = st.sampled_from(["weather", "functions.weather", "clock", "x" * 200])
inputs = st.dictionaries(st.text(max_size=3), st.integers(), max_size=2) | st.integers() | st.none()
documents = st.builds(
    Document,
    st.builds(
        Base64Source,
        st.sampled_from(["text/plain", "application/json", "image/png", "application/pdf", "audio/wav", ""]),
        st.binary(max_size=6).map(lambda data: b64encode(data).decode()) | st.just("%%"),
    ),
    st.none() | st.sampled_from(["a.txt", "<|end|>"]),
)
raw_calls = st.builds(lambda name, raw: read_block({"type": "tool_use", "name": name, "raw": raw}), names, texts)
calls = st.builds(lambda name, id, input: ToolUse(name, id, input), names, ids, inputs) | raw_calls
results = st.builds(
    ToolResult,
    ids,
    st.none() | names,
    st.lists(st.builds(Text, texts) | documents, max_size=2).map(tuple),
    st.none() | st.booleans(),
)
thoughts = st.builds(
    Thinking,
    texts,
    st.none() | st.sampled_from(["reflect", "other"]),
    st.none() | st.just("c2ln"),
    st.none() | st.sampled_from(["anthropic", "gemini"]),
)
foreign = st.builds(
    ProviderBlock, st.sampled_from(["anthropic", "openai"]), st.just({"type": "redacted_thinking", "data": "eA=="})
)
odd: st.SearchStrategy[ContentBlock] = st.sampled_from(
    [Mark("<|fim_prefix|>"), ToolDefinitions("[]"), Other("x", {"type": "x"})]
)
attributes = st.builds(
    Attributes,
    speaker=st.none() | st.sampled_from(["Ada", "a b", "<"]),
    channel=st.none() | st.sampled_from(["analysis", "commentary", "final", "secret"]),
    recipient=st.none() | st.sampled_from(["assistant", "functions.f"]),
    stop=st.none() | st.sampled_from(["end", "call", "return", "none"]),
)
_ordinary = st.builds(Text, texts) | calls | results


def messages(*, odd_too: bool = True) -> st.SearchStrategy[Message]:
    """Messages of any role with any blocks; without ``odd_too`` those that a conversation is usually made of."""
    block = _ordinary | thoughts | foreign | documents | odd if odd_too else _ordinary
    return st.builds(
        Message,
        role=st.sampled_from(ROLES if odd_too else ("system", "user", "assistant", "tool")),
        content=st.lists(block, max_size=4).map(tuple),
        cache=st.booleans(),
        attributes=attributes if odd_too else st.just(Attributes()),
        turn=st.none() | st.just("03h9y0v2b3kwwnz05szmqutr9"),
    )


def windows(*, odd_too: bool = True) -> st.SearchStrategy[ContextWindow]:
    listed = st.lists(messages(odd_too=odd_too), max_size=7).map(tuple)
    return st.builds(ContextWindow, listed, st.just({}))


def check_anthropic(body: dict[str, Any]) -> None:
    """Assert what the API demands of a request (PROVIDERS.md §1)."""
    assert body["messages"], "a request has a message"
    roles = [message["role"] for message in body["messages"]]
    assert all(one != other for one, other in pairwise(roles)), "roles alternate"
    assert set(roles) <= {"user", "assistant"}
    _check_pairs(body["messages"])
    blocks = [block for message in body["messages"] for block in _all_blocks(message["content"])]
    blocks += _all_blocks(body.get("system", []))
    for block in blocks:
        if block["type"] == "text":
            assert block["text"].strip(), "no blank text"
        if block["type"] == "thinking":
            assert block["signature"]
            assert "cache_control" not in block
    assert sum("cache_control" in block for block in blocks) <= 4
    if any(block["type"] in ("tool_use", "tool_result") for block in blocks):
        assert body["tools"], "tools are defined"
    for tool in body.get("tools", []):
        assert re.fullmatch(r"[a-zA-Z0-9_-]{1,128}", tool["name"])
    assert "tool_choice" not in body or body["tools"]


def _check_pairs(turns: list[dict[str, Any]]) -> None:
    seen: set[str] = set()
    for index, turn in enumerate(turns):
        called = [block["id"] for block in turn["content"] if block["type"] == "tool_use"]
        answered = [block["tool_use_id"] for block in turn["content"] if block["type"] == "tool_result"]
        assert not (turn["role"] == "user" and called), "a user calls nothing"
        before = turns[index - 1]["content"] if index else []
        open_calls = [block["id"] for block in before if block["type"] == "tool_use"]
        assert answered == open_calls, "each call is answered in the next turn, each answer has its call"
        kinds = [block["type"] for block in turn["content"]]
        assert kinds[: len(answered)] == ["tool_result"] * len(answered), "results come first"
        assert all(re.fullmatch(r"[a-zA-Z0-9_-]+", each) for each in called)
        assert not seen & set(called)
        assert len(set(called)) == len(called)
        assert all(isinstance(block["input"], dict) for block in turn["content"] if block["type"] == "tool_use")
        seen |= set(called)
    assert not any(block["type"] == "tool_use" for block in turns[-1]["content"]), "the last call is answered too"


def _all_blocks(content: list[dict[str, Any]]) -> list[dict[str, Any]]:
    inner = [each for block in content if block["type"] == "tool_result" for each in block.get("content", [])]
    return [*content, *inner]
