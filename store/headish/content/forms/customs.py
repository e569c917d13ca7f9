"""Custom tools of OpenAI's APIs: their input is any text, not JSON.

A call of such a tool is a call whose ``raw`` is that text. Its kind is kept in ``opaque``, under the provider that it
came from. For an API whose tools take JSON alone, the text becomes the one argument ``input``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headish.content import strictjson
from headish.values.blocks import ToolUse

CHAT, RESPONSES = "custom", "custom_tool_call"
OUTPUT = "custom_tool_call_output"
INPUT = "input"
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {INPUT: {"type": "string"}},
    "required": [INPUT],
    "additionalProperties": False,
}
"""The parameters of a function that takes the place of a custom tool."""
_KINDS = {"openai": CHAT, "openai_responses": RESPONSES}


def is_custom(call: ToolUse) -> bool:
    """Whether a call is one of a custom tool, whichever API it came from."""
    for provider, kind in _KINDS.items() if call.opaque else ():
        own = call.opaque.get(provider)
        if isinstance(own, Mapping) and own.get("type") == kind:
            return True
    return False


def kind_kept(call: ToolUse) -> dict[str, Any]:
    """The mark of a custom tool's call, without anything else that is kept beside the call."""
    own = {provider: call.opaque.get(provider) for provider in _KINDS}
    return {
        provider: {"type": _KINDS[provider]}
        for provider, each in own.items()
        if isinstance(each, Mapping) and each.get("type") == _KINDS[provider]
    }


def text_of(call: ToolUse) -> str:
    """The text that a custom tool was called with."""
    return call.raw if call.raw is not None else strictjson.encode(call.input).decode()
