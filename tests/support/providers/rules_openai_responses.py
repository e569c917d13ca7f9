"""The rules of OpenAI's Responses API as a check that knows nothing of the writer (PROVIDERS.md §3).

``refusal_of_the_sdk`` asks the types of the official SDK; ``check_openai_responses`` what no type says.

Used by the tests of openai_responses.
"""

from __future__ import annotations

import json
import re
from base64 import b64decode
from collections import Counter
from itertools import pairwise
from typing import Any

from support.later import Later
from support.providers.sdk_types import check_strictly, strict

IMAGES = ("image/jpeg", "image/png", "image/gif", "image/webp")
ENDINGS = (".pdf", ".doc", ".dot", ".docx", ".rtf", ".odt", ".ppt", ".pot", ".pps", ".pptx", ".xls", ".xlt", ".xlsx")
CLIENTS = ("function_call", "custom_tool_call", "computer_call", "shell_call", "local_shell_call", "apply_patch_call")
"""Calls that the client answers."""
_params = Later("openai.types.responses.response_create_params")


def check_openai_responses(body: dict[str, Any]) -> None:
    """Assert what the API demands of a request."""
    items = body["input"]
    assert items, "a request has an item"
    assert body["store"] is False or "reasoning" not in [item.get("type") for item in items]
    for item in items:
        _check_item(item)
    _check_pairs(items)
    _check_reasoning(items)
    _check_tools(body.get("tools"), body.get("tool_choice"))
    marks = json.dumps(items).count('"prompt_cache_breakpoint": ')
    assert marks <= 4


def refusal_of_the_sdk(body: dict[str, Any]) -> str | None:
    """What the SDK's types do not take in the body, or do not know; None if it fits."""
    whole, streamed = _params.ResponseCreateParamsNonStreaming, _params.ResponseCreateParamsStreaming
    try:
        check_strictly(strict(streamed if body["stream"] else whole), body)
    except ValueError as error:
        return str(error)
    return None


def _check_item(item: dict[str, Any]) -> None:
    role, kind = item.get("role"), item.get("type", "message")
    if kind == "message" and role == "assistant":
        assert isinstance(item["content"], str), "an answer is text, without the id of its item"
        assert item["content"].strip(), "no blank text"
        assert item.keys() <= {"role", "content", "phase"}
        assert item.get("phase", "commentary") in ("commentary", "final_answer")
    elif kind == "message":
        assert role in ("user", "system", "developer")
        assert item["content"], "no empty message"
        assert role == "user" or all(part["type"] == "input_text" for part in item["content"])
        _check_parts(item["content"])
    elif kind == "function_call":
        assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", item["call_id"])
        assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", item["name"])
        assert isinstance(json.loads(item["arguments"]), dict)
        assert "id" not in item, "the server keeps nothing that an id could name"
    elif kind == "function_call_output" and not isinstance(item["output"], str):
        _check_parts(item["output"])
        assert any(part["type"] != "input_text" for part in item["output"]), "texts alone are a string"


def _check_parts(parts: list[dict[str, Any]]) -> None:
    for part in parts:
        if part["type"] == "input_text":
            assert part["text"].strip(), "no blank text"
        elif part["type"] == "input_image":
            media_type, data = _read_url(part["image_url"])
            assert media_type in IMAGES
            assert data
        else:
            assert part["type"] == "input_file"
            assert part["filename"].lower().endswith(ENDINGS), "the API tells the type by the name"
            assert _read_url(part["file_data"])[1]


def _read_url(url: str) -> tuple[str, bytes]:
    found = re.fullmatch(r"data:([^;,]+);base64,(.*)", url)
    assert found is not None
    return found[1], b64decode(found[2], validate=True)


def _check_pairs(items: list[dict[str, Any]]) -> None:
    """Each call has its output behind it, and each output its call before it."""
    called: Counter[tuple[str, str]] = Counter()
    for item in items:
        kind = item.get("type", "message")
        if kind in CLIENTS:
            called[f"{kind}_output", item["call_id"]] += 1
            assert called[f"{kind}_output", item["call_id"]] == 1, "an id names one call"
        elif kind.removesuffix("_output") in CLIENTS:
            called[kind, item.get("call_id") or item["id"]] -= 1
            assert called[kind, item.get("call_id") or item["id"]] == 0, "an output answers an open call"
    assert not any(called.values()), "every call is answered"


def _check_reasoning(items: list[dict[str, Any]]) -> None:
    for item, follower in pairwise([*items, {}]):
        if item.get("type") != "reasoning":
            continue
        assert item["encrypted_content"], "the server keeps nothing, so reasoning comes whole"
        assert isinstance(item["summary"], list)
        assert None not in item.values()
        kind = follower.get("type", "message")
        said = follower.get("role") == "assistant" if kind == "message" else not kind.endswith("_output")
        assert follower, "reasoning is followed by something"
        assert said, "reasoning is followed by what it led to"


def _check_tools(tools: list[dict[str, Any]] | None, choice: Any) -> None:
    assert tools != []
    assert choice is None or tools
    for tool in tools or []:
        if tool["type"] == "function":
            assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", tool["name"])
            parameters = tool["parameters"]
            assert parameters["type"] == "object"
            assert isinstance(parameters["properties"], dict)
            assert not parameters.keys() & {"oneOf", "anyOf", "allOf", "enum", "not"}
            assert tool["strict"] is False
    if isinstance(choice, dict) and choice["type"] == "function":
        assert choice["name"] in [tool.get("name") for tool in tools or []]
