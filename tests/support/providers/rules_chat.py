"""The rules of the three chat APIs as checks that know nothing of the writers (PROVIDERS.md §2, §5, §6).

Used by the tests of openai, cerebras and cohere.
"""

from __future__ import annotations

import json
import re
from base64 import b64decode
from typing import Any

PARAMETERS = {"max_completion_tokens", "max_tokens", "temperature", "stop", "stop_sequences", "response_format"}
BREAKPOINT = {"mode": "explicit"}
OWN = {"aura", "audio", "reasoning_details"}
"""Keys of a message that a server said in an answer, and that go back to it."""
KEYWORDS = ("$schema", "format", "minimum", "nullable")
OPENAI_IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")


def check_openai(body: dict[str, Any]) -> None:
    """Assert what OpenAI's Chat Completions demand of a request."""
    _check_frame(body, {"stream_options"})
    assert ("stream_options" in body) == body["stream"], "only a stream has options"
    marks = 0
    for message in body["messages"]:
        _check_roles(message, {"system", "developer"})
        marks += sum("prompt_cache_breakpoint" in part for part in _parts(message))
        _check_openai_message(message, {*OPENAI_IMAGES, "application/pdf"})
    assert marks <= 4
    _check_pairs(body["messages"])
    _check_tools(body, ("auto", "none", "required"))


def check_cerebras(body: dict[str, Any]) -> None:
    """Assert what Cerebras' chat completions demand of a request."""
    _check_frame(body, {"stream_options"})
    assert ("stream_options" in body) == body["stream"]
    for message in body["messages"]:
        _check_roles(message, {"system"})
        assert not any("prompt_cache_breakpoint" in part for part in _parts(message))
        if message["role"] == "assistant":
            assert message.get("reasoning", "x").strip(), "no blank reasoning"
            message = {key: value for key, value in message.items() if key != "reasoning"}
        _check_openai_message(message, {"image/png", "image/jpeg"})
    _check_pairs(body["messages"])
    _check_tools(body, ("auto", "none", "required"))
    for tool in body.get("tools", []):
        assert not set(KEYWORDS) & set(_keywords(tool["function"]["parameters"]))


def check_cohere(body: dict[str, Any]) -> None:
    """Assert what Cohere's chat demands of a request."""
    _check_frame(body, set())
    images = 0
    for message in body["messages"]:
        _check_roles(message, {"system"})
        if message["role"] == "assistant":
            _check_cohere_answer(message)
        else:
            _check_openai_message(message, set(OPENAI_IMAGES))
        images += sum(part["type"] == "image_url" for part in _parts(message))
    assert images <= 20
    _check_pairs(body["messages"])
    _check_tools(body, ("REQUIRED", "NONE"))
    assert not ("response_format" in body and "tools" in body)


def _check_frame(body: dict[str, Any], more: set[str]) -> None:
    known = {"model", "stream", "messages", "tools", "tool_choice"} | PARAMETERS | more
    assert body.keys() <= known
    assert isinstance(body["stream"], bool)
    assert body["messages"], "a request has a message"


def _check_roles(message: dict[str, Any], instructing: set[str]) -> None:
    assert message["role"] in {"user", "assistant", "tool", *instructing}


def _parts(message: dict[str, Any]) -> list[dict[str, Any]]:
    content = message.get("content")
    return content if isinstance(content, list) else []


def _check_openai_message(message: dict[str, Any], media: set[str]) -> None:
    content, role = message["content"], message["role"]
    if role == "assistant":
        assert message.keys() <= {"role", "content", "tool_calls"} | OWN
        assert isinstance(content, str | list) or (content is None and ("tool_calls" in message or "audio" in message))
        assert message.get("audio", {"id": ""}).keys() == {"id"}
        assert "tool_calls" not in message or message["tool_calls"], "no empty list of calls"
    else:
        assert message.keys() == {"role", "content"} | ({"tool_call_id"} if role == "tool" else set())
    if isinstance(content, str):
        assert content.strip(), "no blank text"
        return
    if role == "assistant":
        assert content is None or all(part["type"] in ("text", "thinking", "reference") for part in content)
        return
    assert content is None or (content and role in ("user", "system", "developer"))
    for part in content or []:
        _check_part(part, media if role == "user" else set())


def _check_part(part: dict[str, Any], media: set[str]) -> None:
    assert part.get("prompt_cache_breakpoint", BREAKPOINT) == BREAKPOINT
    part = {key: value for key, value in part.items() if key != "prompt_cache_breakpoint"}
    if part["type"] == "text":
        assert part.keys() == {"type", "text"}
        assert part["text"].strip(), "no blank text"
        return
    holder = part[part["type"]]
    assert part.keys() == {"type", part["type"]}
    if part["type"] == "image_url":
        assert holder.keys() == {"url"}
        assert _media_type(holder["url"]) in media - {"application/pdf"}
    else:
        assert part["type"] == "file"
        assert holder.keys() == {"filename", "file_data"}
        assert _media_type(holder["file_data"]) == "application/pdf"
        assert "application/pdf" in media


def _media_type(url: str) -> str:
    found = re.fullmatch(r"data:([a-z/]+);base64,(.*)", url)
    assert found
    b64decode(found[2], validate=True)
    return found[1]


def _check_cohere_answer(message: dict[str, Any]) -> None:
    content, calls = message.get("content", []), message.get("tool_calls")
    assert message.keys() <= {"role", "content", "tool_calls", "tool_plan", "citations"}
    assert content or calls, "an answer says something or calls"
    kinds = [part["type"] for part in _parts(message)]
    for part in _parts(message):
        assert part.keys() == {"type", part["type"]}
        assert part[part["type"]].strip(), "no blank part"
    if calls:
        assert not isinstance(content, str), "no text beside calls"
        assert set(kinds) <= {"thinking"}, "no text beside calls"
        assert not ("tool_plan" in message and kinds), "a plan or reasoning"
        assert message.get("tool_plan", "x").strip()
    else:
        assert "tool_plan" not in message, "a plan is one of calls"
        assert (isinstance(content, str) and content.strip()) or "text" in kinds
    for citation in message.get("citations", []):
        assert 0 <= citation["content_index"] < max(len(kinds), 1)


def _check_pairs(messages: list[dict[str, Any]]) -> None:
    """Each call is answered directly behind its message, in order, once, and nothing else is."""
    waiting: list[str] = []
    seen: set[str] = set()
    for message in messages:
        if message["role"] == "tool":
            assert waiting, "a result answers a call"
            assert message["tool_call_id"] == waiting.pop(0)
            continue
        assert not waiting, "every call is answered before anything else"
        for call in message.get("tool_calls", []):
            kind = call["type"]
            assert kind in ("function", "custom")
            assert call.keys() - {"extra_content"} == {"id", "type", kind}
            assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", call["id"])
            assert call["id"] not in seen
            seen.add(call["id"])
            waiting.append(call["id"])
            assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", call[kind]["name"])
            given = call[kind]["arguments" if kind == "function" else "input"]
            assert isinstance(json.loads(given) if kind == "function" else {"text": given}, dict)
    assert not waiting, "the last call is answered too"


def _check_tools(body: dict[str, Any], words: tuple[str, ...]) -> None:
    names = [tool["function"]["name"] for tool in body.get("tools", [])]
    assert len(set(names)) == len(names)
    for tool in body.get("tools", []):
        assert tool.keys() == {"type", "function"}
        assert tool["type"] == "function"
        assert tool["function"].keys() <= {"name", "description", "parameters"}
        assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", tool["function"]["name"])
        assert tool["function"]["parameters"]["type"] == "object"
    assert "tools" not in body or names, "no empty list of tools"
    choice = body.get("tool_choice")
    assert choice is None or names, "no choice without tools"
    if isinstance(choice, dict):
        assert "auto" in words, "this API can name no tool"
        assert choice == {"type": "function", "function": {"name": choice["function"]["name"]}}
        assert choice["function"]["name"] in names
    else:
        assert choice is None or choice in words


def _keywords(schema: Any) -> list[str]:
    """The keywords of a schema and of those inside it; names of properties are none."""
    if not isinstance(schema, dict):
        return []
    found = list(schema)
    for key, value in schema.items():
        if key == "properties":
            found += [each for inner in value.values() for each in _keywords(inner)]
        elif key in ("items", "additionalProperties", "not"):
            found += _keywords(value)
    return found
