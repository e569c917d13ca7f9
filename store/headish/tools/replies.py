"""The calls without a reply, the check whether one may run, and replies in the envelope of OpenChatML 2.2 §8.2."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from msgspec import Struct

from headish.content.unfinished import is_cut_off
from headish.transcripts.openchatml.forms import FUNCTIONS, is_builtin
from headish.transcripts.shared.pairs import pair_blocks
from headish.values.blocks import Text, ToolResult, ToolUse
from headish.values.messages import NO_ATTRIBUTES, Attributes, Message

Function = Callable[..., Any]


class Tool(Struct, frozen=True):
    """A function for calls. ``schema`` is the JSON Schema of its arguments, ``source`` names it in replies.

    ``takes_text``: the function gets the exact text of the call, such as code for ``python``; otherwise it gets the
    arguments as one mapping.
    """

    name: str
    function: Function
    schema: Mapping[str, Any] | None = None
    source: str | None = None
    takes_text: bool = False


class OpenCall(NamedTuple):
    """A call that has no reply yet, and its message."""

    block: ToolUse
    message: Message


def open_calls(messages: Sequence[Message]) -> list[OpenCall]:
    """The assistant's calls without a reply, in order, except those that were cut off."""
    placed = [(block, message) for message in messages for block in message.content]
    answered = set(pair_blocks([block for block, _ in placed]).values())
    return [
        OpenCall(block, message)
        for index, (block, message) in enumerate(placed)
        if isinstance(block, ToolUse) and message.role == "assistant" and index not in answered
        # A cut-off call lacks a part of its arguments, so it must not run.
        if not is_cut_off(block, message)
    ]


def make_reply(
    call: OpenCall, tool: Tool | None, *, content: Any = None, error: Mapping[str, Any] | None = None
) -> Message:
    """The reply envelope of §8.2 as a message, on a channel if the call was on one."""
    name = call.block.name
    provenance = {
        "source": (tool.source if tool else None) or name,
        "timestamp": datetime.now(UTC).isoformat(timespec="milliseconds"),
    }
    envelope = {"ok": error is None, "content": content, "error": error, "provenance": provenance}
    try:
        text = json.dumps(envelope, ensure_ascii=False, allow_nan=False)
        text.encode()  # fails for lone surrogates, which the store would refuse
    except (TypeError, ValueError) as failed:
        problem = {"code": "E-TOOL-FAILED", "message": f"its result is not JSON: {failed}"}
        return make_reply(call, tool, error=problem)
    framed = call.message.attributes.channel is not None
    attributes = Attributes(recipient="assistant", channel="commentary") if framed else NO_ATTRIBUTES
    result = ToolResult(call.block.id, name, (Text(text),), True if error else None)
    return Message(role="tool", content=(result,), attributes=attributes)


CUT_OFF = "it was cut off"


def refusal(call: ToolUse, message: Message | None) -> str | None:
    """The reason why a call may not run: it was cut off, or it is on a channel where tools are not called. None if it
    may.

    Without its message, only the call's own mark can show that it was cut off.
    """
    if call.partial:
        return CUT_OFF
    if message is None:
        return None
    # By value, not by identity: a caller may have built the block anew.
    if any(block == call and is_cut_off(block, message) for block in message.content):
        return CUT_OFF
    return _wrong_channel(call, message.attributes.channel)


def _wrong_channel(call: ToolUse, channel: str | None) -> str | None:
    """The reason why a call may not run on its channel; None if it may. Functions are called only on ``commentary``,
    built-in tools also from ``analysis`` (OpenChatML 2.2 §8.3)."""
    # A provider's call has no channel either. A call of a frame shows by its name: only frames write ``functions.``.
    if channel == "commentary" or (channel == "analysis" and is_builtin(call.name)):
        return None
    if channel is None and not call.name.startswith(FUNCTIONS):
        return None
    where = f"on {channel}" if channel else "without a channel"
    return f"a function is called on commentary, not {where}"
