"""Convert messages of ShareGPT, ``{"from": human|gpt|…, "value": text}``, to messages of Chat Completions.

A call is JSON text without an id, and its result follows it; reasoning and a text may stand before it. Several results
of several calls may be a list in one message. Other text in its place stays text. ``weight`` means what it means in
OpenAI's messages: exports for trainers honour it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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


def results_apart(message: Mapping[str, Any], calls: Sequence[str]) -> list[Mapping[str, Any]]:
    """Return a message as a list; one that lists the results of all ``calls``, which are several, as one message
    each."""
    value = message["value"]
    if len(calls) < 2 or ROLES.get(str(message["from"]).lower()) != "tool" or not isinstance(value, str):
        return [message]
    try:
        results, _ = decode(value.encode(errors="replace"))
    except NotJson:
        return [message]
    if not isinstance(results, list) or len(results) != len(calls) or not all(isinstance(it, str) for it in results):
        return [message]
    return [{**message, "value": each} for each in results]


def read_said(message: Mapping[str, Any], call: str | None) -> tuple[Entry, dict[str, Any]]:
    """Return a message as one of Chat Completions, and what else it says; ``call`` is the tool whose result it is."""
    sayer, value = str(message["from"]), message["value"]
    role = ROLES.get(sayer.lower(), "user")
    weight = {"weight": message["weight"]} if type(message.get("weight")) in (int, float) else {}
    own = ("from", "value", *weight)
    rest = {key: each for key, each in message.items() if key not in own and each is not None}
    rest |= {} if sayer.lower() in ROLES else {"from": message["from"]}
    text = value if isinstance(value, str | list) else "" if value is None else str(value)
    if sayer.lower() in _CALLS and isinstance(value, str):
        beside, made = _beside(value)
        calls = _calls(made)
        if calls:
            return {"role": "assistant", **beside, "tool_calls": calls, **weight}, rest
    if role == "tool":
        # A function's message needs no call id, and ShareGPT has none.
        return {"role": "function", "name": call, "content": text, **weight}, rest
    return {"role": role, "content": text, **weight}, rest


def _beside(value: str) -> tuple[Entry, str]:
    """Return the reasoning and the text before calls, as LLaMA-Factory finds them, and the text of the calls."""
    thought, ends, rest = value.removeprefix("<think>\n").partition("\n</think>\n\n")
    if not ends or not value.startswith("<think>\n"):
        thought, rest = "", value
    text, begins, made = rest.partition("<tool_call>")
    if not begins or not made.rstrip().endswith("</tool_call>"):
        text, made = "", rest
    beside = {"reasoning_content": thought} if thought else {}
    return {"content": text.removesuffix("\n") or None, **beside}, made.rstrip().removesuffix("</tool_call>")


def _calls(text: str) -> list[Entry]:
    """Return the calls of a JSON text; none for any other text."""
    try:
        value, _ = decode(text.encode(errors="replace"))
    except NotJson:
        return []
    listed = value if isinstance(value, list) else [value]
    if not listed or not all(isinstance(each, Mapping) and isinstance(each.get("name"), str) for each in listed):
        return []
    made = [{"name": each["name"], "arguments": each.get("arguments", each.get("parameters", {}))} for each in listed]
    return [{"type": "function", "function": each} for each in made]
