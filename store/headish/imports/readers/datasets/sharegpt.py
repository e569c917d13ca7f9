"""Convert messages of ShareGPT, ``{"from": human|gpt|…, "value": text}``, to messages of Chat Completions.

A call is JSON text without an id, and its result follows it. Other text in its place stays text. ``weight`` means what
it means in OpenAI's messages: exports for trainers honour it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headish.imports.cleaning import NotJson, decode

ROLES = {
    "human": "user", "user": "user", "gpt": "assistant", "assistant": "assistant", "chatgpt": "assistant",
    "bing": "assistant", "bard": "assistant", "model": "assistant", "system": "system", "function_call": "assistant",
    "tool_call": "assistant", "observation": "tool", "tool": "tool", "function_response": "tool",
    "tool_response": "tool",
}  # fmt: skip
"""The role for each word that files use for a speaker."""
_CALLS = ("function_call", "tool_call")
Entry = dict[str, Any]


def is_sharegpt(message: Any) -> bool:
    """Whether a message is one of ShareGPT."""
    return isinstance(message, Mapping) and "from" in message and "value" in message


def read_said(message: Mapping[str, Any], call: str | None) -> tuple[Entry, dict[str, Any]]:
    """Return a message as one of Chat Completions, and what else it says; ``call`` is the tool that was called last."""
    sayer, value = str(message["from"]), message["value"]
    role = ROLES.get(sayer.lower(), "user")
    weight = {"weight": message["weight"]} if type(message.get("weight")) in (int, float) else {}
    own = ("from", "value", *weight)
    rest = {key: each for key, each in message.items() if key not in own and each is not None}
    rest |= {} if sayer.lower() in ROLES else {"from": message["from"]}
    text = value if isinstance(value, str | list) else "" if value is None else str(value)
    if sayer.lower() in _CALLS and isinstance(value, str):
        calls = _calls(value)
        if calls:
            return {"role": "assistant", "content": None, "tool_calls": calls, **weight}, rest
    if role == "tool":
        # A function's message needs no call id, and ShareGPT has none.
        return {"role": "function", "name": call, "content": text}, rest
    return {"role": role, "content": text, **weight}, rest


def _calls(text: str) -> list[Entry]:
    """Return the calls of a JSON text; none for any other text."""
    try:
        value, _ = decode(text.encode(errors="replace"))
    except NotJson:
        return []
    listed = value if isinstance(value, list) else [value]
    if not listed or not all(isinstance(each, Mapping) and isinstance(each.get("name"), str) for each in listed):
        return []
    return [{"type": "function", "function": _function(each)} for each in listed]


def _function(call: Mapping[str, Any]) -> Entry:
    arguments = call.get("arguments", call.get("parameters", {}))
    return {"name": call["name"], "arguments": arguments}
